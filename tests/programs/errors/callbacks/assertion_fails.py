from diastase import debug_assert, qjit


def program():
    @qjit
    def f(x: int):
        debug_assert(x < 5, "x is too large")
        return x * 8

    return f(6)
