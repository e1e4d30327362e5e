"""The programs of `classical_programs.py`, by name."""

import numpy as np


def classical(name):
    import jax.numpy as jnp
    from classical_programs import PROGRAMS

    function, arguments = PROGRAMS[name]
    arrays = (jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
    return function, tuple(arrays)
