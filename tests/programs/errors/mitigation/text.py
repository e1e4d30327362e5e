from diastase import mitigate_with_zne, qjit


def program():
    def f(x):
        return "no noise"

    qjit(mitigate_with_zne(f, scale_factors=[1, 3]))(0.1)
