from diastase import grad, qjit


def program():
    def power(base, exponent):
        return base**exponent

    @qjit
    def slopes(base: float, exponent: int):
        return grad(power, argnums=(0, 1))(base, exponent)
