from diastase import debug_assert, qjit


def program():
    @qjit
    def f(x):
        debug_assert(x, "x is zero")
        return 1 / x

    f(1.0)
