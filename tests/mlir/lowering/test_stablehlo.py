"""Classical programs are StableHLO; those of known sizes are run by XLA as they are."""

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


@pytest.mark.sample(4)
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


N = ({0: "n"},)
NM = ({0: "n", 1: "m"},)
LARGE = np.linspace(-1.0, 1.0, 54).reshape(6, 9)

OF_UNKNOWN_SIZES = {
    "arithmetic": (lambda m: (jnp.sin(m) * m, m.sum(0), m.max(), m.argmax(1), m @ m.T), NM),
    "moves": (lambda m: (m.T, m.ravel(), m[::-1], m[1:], m[:, None], jnp.roll(m, 1, 1)), NM),
    "pads": (
        lambda m: (
            jnp.pad(m, 2),
            lax.pad(m, m[0, 0], [(-1, 1, 2), (0, 3, 0)]),
            lax.pad(m, 0.0, [(m.shape[1], 0, 0), (0, 0, m.shape[0])]),
        ),
        NM,
    ),
    "tiles": (lambda m: (jnp.tile(m, (2, 3)), jnp.tile(m[0], 2), jnp.repeat(m, 2, 1)), NM),
    "side by side": (
        lambda m: (jnp.stack([m, m[::-1]]), jnp.stack([m] * 6, 1), jnp.concatenate([m] * 5)),
        NM,
    ),
    "parts": (
        lambda m: (m[1], m[:, -1], *jnp.unstack(jnp.stack([m, 2 * m]), axis=0)),
        NM,
    ),
    "places": (
        lambda m: (
            lax.dynamic_slice(m, (1, 7), (1, m.shape[1])),
            lax.dynamic_update_slice(m, m[:1], (4, 0)),
            lax.fori_loop(0, m.shape[0], lambda i, a: a.at[i].set(a[i] * i), m),
        ),
        NM,
    ),
    "gathers and scatters": (
        lambda m: (m[jnp.argsort(m[:, 0])], m.at[::2].add(1.0), m.at[0, 1].set(9.0)),
        NM,
    ),
    "scan": (
        lambda m: lax.scan(lambda c, x: (jnp.sin(c + x), (c, x.sum())), m[0], m, reverse=True),
        NM,
    ),
    "scan of numbers": (lambda v: lax.scan(lambda c, x: (c * x, c), 1.0, v), N),
    "gradient of a scan": (
        jax.grad(lambda v: lax.scan(lambda c, x: (jnp.sin(c * x), c), 1.0, v)[1].sum()),
        N,
    ),
    "loops": (
        lambda m: lax.while_loop(lambda c: c.sum() < 50, lambda c: jnp.exp(c), m),
        NM,
    ),
    "branches": (lambda m: lax.cond(m.sum() > 9, lambda m: m, lambda m: m[::-1], m), NM),
    "running": (
        lambda m: (
            jnp.cumsum(m, 1),
            jnp.cumprod(m, 0),
            lax.cummax(m, 1, reverse=True),
            lax.cumlogsumexp(m[0]),
        ),
        NM,
    ),
    "windows": (
        lambda m: (
            lax.reduce_window(m, -np.inf, lax.max, (2, 3), (1, 2), "SAME"),
            lax.reduce_window(m, 1.0, lambda a, b: a * b + a, (2, 2), (1, 1), "VALID"),
            lax.reduce_window(m, 0.0, lax.add, (m.shape[0], 2), (1, 1), ((1, 1), (0, 0))),
        ),
        NM,
    ),
    "gradients of windows": (
        jax.grad(
            lambda m: (lax.reduce_window(m, -np.inf, lax.max, (2, 3), (1, 2), "SAME") ** 2).sum()
        ),
        NM,
    ),
    "convolutions": (
        lambda m: (
            jnp.convolve(m[0], m[1]),
            lax.conv_general_dilated(
                m[None, None], m[None, None, :2, :3], (m.shape[0] + 1, 1), "VALID"
            ),
        ),
        NM,
    ),
    "orders": (lambda m: (jnp.sort(m, 1), lax.top_k(m, 2), jnp.median(m)), NM),
    "masks": (lambda m: (jnp.tril(m), jnp.where(m > 0, m, 0), jnp.arange(m.shape[0])), NM),
    "random": (
        lambda m: (
            jax.random.normal(jax.random.PRNGKey(3), m.shape),
            jax.random.bits(jax.random.key(1, impl="rbg"), m.shape),
            jax.random.permutation(jax.random.key(5), m.shape[0]),
        ),
        NM,
    ),
    "bits": (lambda m: lax.population_count((jnp.abs(m) * 9).astype(np.uint8)) << 1, NM),
    "batch": (jax.vmap(lambda row: jnp.cumsum(row) / row.sum()), NM),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", OF_UNKNOWN_SIZES)
def test_unknown_sizes_are_stablehlo_and_operations_of_the_runtime(name):
    program, axes = OF_UNKNOWN_SIZES[name]
    compiled = qjit(program, abstracted_axes=axes)
    arguments = [LARGE[:4, :5], LARGE] if axes is NM else [LARGE[:, 0], LARGE[1]]
    lowered = compiled.lower(arguments[0])
    operations = re.findall(r'"(\w+)\.[\w.]+"\(', lowered.as_text(generic=True))
    assert {*operations} <= {"builtin", "func", "scf", "stablehlo", "chlo", "runtime"}
    for argument in arguments:
        expected = jax.tree.leaves(program(jnp.asarray(argument)))
        for own, wanted in zip(jax.tree.leaves(compiled(argument)), expected, strict=True):
            assert own.dtype == wanted.dtype
            np.testing.assert_allclose(own, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("reverse", [False, True])
def test_what_a_scan_stacks_is_not_filled_first(reverse):
    """Of unknown sizes, too: each turn sets a row."""

    def program(first, m):
        return lax.scan(lambda c, x: (c + x, (c, x)), first, m, reverse=reverse)

    compiled = qjit(program, abstracted_axes=({0: "m"}, *NM))
    text = compiled.lower(LARGE[0], LARGE).as_text("stablehlo-to-linalg")
    assert text.count("scf.for") == 1
    assert "linalg.fill" not in text
    assert text.count("linalg.generic") == 1  # the sum
    assert "arith.minsi" not in text  # no place needs to be moved


def test_a_scalar_program_reads_as_in_jaxs_documents():
    """The example of `jax.stages`, and with an argument that is known."""
    text = qjit(lambda x, y: 2 * x + y).lower(3, 4).as_text()
    assert "stablehlo.multiply" in text
    assert "stablehlo.add" in text
    text = qjit(lambda x, y: 2 * x + y, static_argnums=0).lower(7, 4).as_text()
    assert "stablehlo.constant dense<14>" in text
    assert "stablehlo.multiply" not in text
