import jax

from diastase import pure_callback, qjit


def program():
    @qjit
    def f(x):
        return pure_callback(str, jax.ShapeDtypeStruct((), "U8"))(x)

    f(1.0)
