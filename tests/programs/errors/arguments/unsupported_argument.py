from diastase import qjit


def program():
    @qjit
    def greet(x, options):
        return x

    greet(1.0, {"mode": "fast"})
