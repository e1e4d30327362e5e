"""Arrays whose sizes are known only at run time: compiled once, at decoration, run at any size.

The program is the first one of Catalyst's description of tracing with dynamic dimensions; the jaxpr
that it prints names every dynamic dimension by a variable, as there.
"""

import jax.numpy as jnp
import numpy as np

from diastase import for_loop, qjit

traces = 0


@qjit
def circuit(sz: int):
    """`a0 + a0 * sz**10`, where `a0` has `sz` ones."""
    global traces
    traces += 1
    a0 = jnp.ones([sz], dtype=float)

    @for_loop(0, 10, 1)
    def loop(i, a):
        return a * sz

    a2 = loop(a0)
    return a0 + a2


if __name__ == "__main__":
    print(circuit.jaxpr)
    for size in (3, 1, 8, 0, 100):
        result = circuit(size)
        np.testing.assert_allclose(result, np.ones(size) + float(size) ** 10)
        print(f"size {size:3}: {result.shape} {np.asarray(result)[:3]}")
    print(f"traced {traces} time(s)")
    assert traces == 1
