"""Classical programs of known sizes are StableHLO, as any compiler takes it: XLA runs them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.backend import get_backend
from jaxlib import xla_client  # noqa: TID251

from diastase import qjit

V = np.linspace(0.1, 1.0, 6)
M = np.linspace(0.1, 1.0, 12).reshape(3, 4)
S = np.eye(3) + 0.1
K = np.arange(6)

PROGRAMS = {
    "scalars": (lambda x, y: (2 * x + y, jnp.sin(x) ** 3 / y, x > y), 3.0, 4.0),
    "integers": (lambda k: (k // 2, k % 3, k << 2, lax.population_count(k)), K),
    "small integers": (lambda k: k.astype(np.uint8) * 2, K),
    "flags": (lambda v: ((v > 0.5) & ~(v < 0.3), jnp.any(v > 0.5), jnp.where(v > 0.5, v, 0)), V),
    "complex": (lambda v: (jnp.exp(1j * v), jnp.abs(v + 1j), jnp.conj(v * 1j)), V),
    "elements": (lambda v: v[0] * v[-1] + v[2:4].sum(), V),
    "element at": (lambda v, i: v[i] * 2, V, 3),
    "slices": (lambda m: (m[::-1], m[1:, ::2], jnp.roll(m, 1), jnp.split(m, 2, axis=1)), M),
    "shapes": (lambda m: (m.T, m.reshape(2, 6), m[:, None], m.ravel(), jnp.pad(m, 1)), M),
    "side by side": (lambda v: (jnp.stack([v] * 7), jnp.concatenate([v, v[:2]] * 3)), V),
    "numbers": (lambda x: jnp.array([x, x * 2, jnp.sin(x), 1.0])[::-1], 0.3),
    "masks": (lambda s: (jnp.tril(s), s + jnp.eye(3), jnp.arange(3.0) + s), S),
    "gathers": (
        lambda m, k: (
            m[:, k % 4],
            m.at[k].get(mode="fill"),
            jnp.take_along_axis(m, m.argsort(1), 1),
        ),
        M,
        K,
    ),
    "scatters": (
        lambda v, k, i: (v.at[k % 3].add(v), v.at[i].set(1.0), v.at[k * 2].max(0.5, mode="clip")),
        V,
        K,
        3,
    ),
    "orders": (lambda v: (jnp.sort(jnp.sin(9 * v)), jnp.argsort(-v), lax.top_k(v, 2)), V),
    "running": (lambda m: (jnp.cumsum(m, 1), jnp.cumprod(m, 0), lax.cummax(m, 1, reverse=True)), M),
    "floats to integers": (lambda v: ((v * 1e3).astype(np.uint8), jnp.int32(v[0] * 1e10)), V),
    "16 bits": (lambda v: (jnp.sin(v.astype(jnp.float16)), v.astype(jnp.bfloat16) * 2), V),
    "random": (lambda n: jax.random.uniform(jax.random.PRNGKey(n), (3, 2)), 5),
    "tiles": (lambda m: jnp.tile(m, (2, 3)), M),
    "reductions": (lambda m: (m.sum(), m.mean(0), m.std(), m.max(1), m.argmax(1), m.prod()), M),
    "functions": (lambda v: (jax.nn.softmax(v), jax.scipy.special.erf(v), jnp.round(v, 1)), V),
    "outer": (lambda v: (jnp.outer(v, v), jnp.diff(v), jnp.polyval(v, 2.0)), V),
    "branch": (lambda x: lax.cond(x > 2, lambda x: (x, 1), lambda x: (x * 2, 2), x), 1.0),
    "branches": (lambda n, v: lax.switch(n, [lambda v: v, jnp.sin, lambda v: v[::-1]], v), 7, V),
    "while": (
        lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2, c[1] + 1), (x, 0)),
        1.0,
    ),
    "counted": (lambda v, n: lax.fori_loop(2, n, lambda i, c: c * v + i, v), V, 5),
    "scan": (
        lambda v: lax.scan(lambda c, x: (jnp.sin(c * x), (c, x * v)), 1.0, v, reverse=True),
        V,
    ),
    "gradient": (jax.grad(lambda v: jnp.sin(v).sum() ** 2), V),
    "gradient of a loop": (
        jax.grad(lambda v: lax.scan(lambda c, x: (jnp.sin(c * x), c), 1.0, v)[1].sum()),
        V,
    ),
    "hessian": (jax.hessian(lambda v: (v**3).sum() * v[0]), V),
    "products": (
        lambda m, s: (m @ m.T, jnp.einsum("ij,kj->ik", m, m), m.T @ s, m[0] @ m.T, jnp.kron(s, s)),
        M,
        S,
    ),
    "products of batches": (
        lambda m: jnp.einsum("zab,zbc->zac", m.reshape(2, 2, 3), m.reshape(2, 3, 2)),
        M,
    ),
    "products of integers": (lambda k: (k @ k, (k > 2) @ (k < 4)), K.astype(np.uint8)),
    "convolutions": (
        lambda v, m: (
            jnp.convolve(v, v[:3]),
            lax.conv_general_dilated(m[None, None], m[None, None, :2, :3], (1, 2), "SAME"),
        ),
        V,
        M,
    ),
    "triangles": (
        lambda s: (jnp.linalg.cholesky(s), jax.scipy.linalg.solve_triangular(s, s[0], trans=1)),
        S,
    ),
    "batch": (jax.vmap(lambda row: row / row.sum()), M),
}


def run_by_xla(text, arguments):
    """Compile a module by XLA and run it, as `jax.jit` does with its own."""
    backend = get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    module = text.replace("@diastase_entry", "@main").encode()
    executable = backend.compile_and_load(module, devices, xla_client.CompileOptions())
    return executable.execute([jax.device_put(np.asarray(own)) for own in arguments])


@pytest.mark.parametrize("name", PROGRAMS)
def test_known_sizes_are_stablehlo_that_xla_runs(name):
    program, *arguments = PROGRAMS[name]
    compiled = qjit(program)
    lowered = compiled.lower(*arguments)
    operations = re.findall(r'"(\w+)\.[\w.]+"\(', lowered.as_text(generic=True))
    assert {*operations} <= {"builtin", "func", "stablehlo", "chlo"}
    expected = jax.tree.leaves(compiled(*arguments))
    found = run_by_xla(lowered.as_text(), arguments)
    for own, wanted in zip(found, expected, strict=True):
        assert own.dtype == wanted.dtype
        np.testing.assert_allclose(own, wanted, rtol=1e-13, atol=1e-15)


def test_a_scalar_program_reads_as_in_jaxs_documents():
    """The example of `jax.stages`, and with an argument that is known."""
    text = qjit(lambda x, y: 2 * x + y).lower(3, 4).as_text()
    assert "stablehlo.multiply" in text
    assert "stablehlo.add" in text
    text = qjit(lambda x, y: 2 * x + y, static_argnums=0).lower(7, 4).as_text()
    assert "stablehlo.constant dense<14>" in text
    assert "stablehlo.multiply" not in text
