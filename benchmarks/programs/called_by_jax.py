"""A compiled function (`scalar.py`), called by a program that `jax.jit` has compiled."""

from programs import scalar

classical = scalar.classical


def around(compiled):
    import jax

    return jax.jit(compiled)
