"""Systems of equations, eigenvalues and singular values beside `jax.jit`, in one process.

Both call the same LAPACK. Shown are the least times of a call, the two systems in turn, and the
time to the first result. In the last column one program serves all sizes.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

from diastase import qjit

SIZES = (2, 10, 100, 300)
SECONDS = 0.5
PROGRAMS = {
    "solve": lambda a: jnp.linalg.solve(a, a[0]),
    "eigh": lambda a: jnp.linalg.eigh(a + a.T),
    "svd": jnp.linalg.svd,
}


def main():
    """Print a table for each program."""
    generator = np.random.default_rng(1)
    for name, function in PROGRAMS.items():
        dynamic = qjit(function, abstracted_axes=("n", "n"))
        for size in SIZES:
            a = jnp.asarray(generator.normal(size=(size, size)))
            systems = {"jax.jit": jax.jit(function), "qjit": qjit(function), "any size": dynamic}
            first = {system: first_call(call, a) for system, call in systems.items()}
            least = in_turn(systems, a)
            columns = [
                f"{system} {least[system] * 1e6:9.1f} us (first {first[system] * 1e3:5.0f} ms)"
                for system in systems
            ]
            print(f"{name:6} n = {size:3}:  " + "   ".join(columns))


def first_call(call, a):
    """Seconds to the first result."""
    start = time.perf_counter()
    jax.block_until_ready(call(a))
    return time.perf_counter() - start


def in_turn(systems, a):
    """The least seconds of a call of each system; in turn, so that all see the same machine."""
    least = dict.fromkeys(systems, float("inf"))
    end = time.perf_counter() + SECONDS * len(systems)
    while time.perf_counter() < end:
        for system, call in systems.items():
            least[system] = min(least[system], first_call(call, a))
    return least


if __name__ == "__main__":
    main()
