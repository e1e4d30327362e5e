from diastase import debug_assert, qjit


def program():
    @qjit
    def f(x: int):
        debug_assert("x is too large", x < 5)
        return x * 8

    return f
