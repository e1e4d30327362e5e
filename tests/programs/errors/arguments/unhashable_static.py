from diastase import qjit


def program():
    @qjit(static_argnums=1)
    def scale(x, factors):
        return x * factors[0]

    scale(1.0, [2.0])
