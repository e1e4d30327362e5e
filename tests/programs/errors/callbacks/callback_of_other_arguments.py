from diastase import pure_callback, qjit


def program():
    def double(a) -> float:
        return 2 * a

    @qjit
    def f(x):
        return pure_callback(double)(x, x)

    f(1.0)
