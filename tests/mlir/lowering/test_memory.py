"""Calls leave no memory behind, whatever a program's loops and branches allocate."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

V = np.linspace(-1.0, 2.0, 500)


class MallocInfo(ctypes.Structure):
    """`struct mallinfo2` of the C library."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def allocated():
    """Bytes in use, as the C library counts them."""
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = MallocInfo
    information = library.mallinfo2()
    return information.uordblks + information.hblkhd


PROGRAMS = {
    "elementwise": lambda v: (v * 2, v.sum(), v),
    "same_result_twice": lambda v: (v * 2,) * 2,
    "constant": lambda v: (jnp.arange(500.0), v),
    "while": lambda v: lax.while_loop(lambda c: c.sum() < 1e4, lambda c: c * c + 1, v),
    "loop_swap": lambda v: lax.fori_loop(0, 5, lambda i, c: (c[1], c[0] + 1), (v, v)),
    "scan": lambda v: lax.scan(lambda c, x: (c * x + v, c), v, v[:7]),
    "branches": lambda v: [lax.switch(k, [jnp.sin, lambda x: x, lambda x: v], v) for k in range(3)],
    "branch_in_loop": lambda v: lax.fori_loop(
        0, 6, lambda i, c: lax.cond(c[i] > 0, lambda x: x * 2, lambda x: v, c), v
    ),
    "sort": jnp.sort,
    "gather_scatter": lambda v: v.at[jnp.arange(9)].add(v[jnp.arange(9) * 2]),
    "host": lambda v: lax.fori_loop(0, 2, lambda i, c: lax.fft(c, "FFT", (500,)), v + 0j),
    "decompositions_in_a_loop": lambda v: lax.fori_loop(
        0,
        3,
        lambda i, a: lax.linalg.svd(lax.linalg.lu(a)[0] + lax.linalg.qr(a)[0])[0],
        v[:50].reshape(2, 5, 5),
    ),
    "random": lambda v: jax.random.normal(jax.random.key(1), (300,)) + v[:300],
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_leak(compile_function, name):
    compiled = compile_function(PROGRAMS[name], V)
    executable = compiled.executable
    for _ in range(20):
        executable([V])
    before = allocated()
    for _ in range(200):
        executable([V])
    # One array lost per call would be 800 kB.
    assert allocated() - before < 200_000
