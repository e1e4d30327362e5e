from diastase import pure_callback, qjit


def program():
    def parts(x):
        return {"re": x, "im": x}

    @qjit
    def f(x):
        return pure_callback(parts, {"real": float, "imag": float})(x)

    f(1.0)
