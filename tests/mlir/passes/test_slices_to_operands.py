"""`slices_to_operands`: elements are computed where they are read, if they are read in slices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.slices_to_operands import slices_to_operands

jax.config.update("jax_enable_x64", True)

_SINE = "%t = math.sin %x : f64"
_DOUBLE = "%t = arith.addf %x, %x : f64"
_PLACE = """%i = linalg.index 0 : index %j = arith.index_cast %i : index to i64
            %t = arith.sitofp %j : i64 to f64"""


def slices(body: str, *starts: int, size: int = 8, used: str = "") -> str:
    """Slices of `size` elements of nine that are computed, after the pass."""
    part = f"[{size}] [1] : tensor<9xf64> to tensor<{size}xf64>"
    taken = "\n".join(
        f"%s{n} = tensor.extract_slice %1[{start}] {part}" for n, start in enumerate(starts)
    )
    names = [f"%s{n}" for n in range(len(starts))]
    types = [f"tensor<{size}xf64>"] * len(starts)
    if used:
        names, types = [*names, "%1"], [*types, "tensor<9xf64>"]
    text = f"""func.func @f(%0: tensor<9xf64>) -> ({", ".join(types)}) {{
      %e = tensor.empty() : tensor<9xf64>
      %1 = linalg.generic {{
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]
      }} ins(%0 : tensor<9xf64>) outs(%e : tensor<9xf64>) {{
      ^bb0(%x: f64, %o: f64):
        {body}
        linalg.yield %t : f64
      }} -> tensor<9xf64>
      {taken}
      return {", ".join(names)} : {", ".join(types)}
    }}"""
    with session():
        module = parse(text.encode())
        slices_to_operands(module)
        assert module.operation.verify()
        return str(module)


@pytest.mark.parametrize(
    ("body", "starts", "size"),
    [(_SINE, (1,), 8), (_SINE, (0, 4), 4), (_DOUBLE, (0, 1), 8), (_DOUBLE, (0, 0, 1, 1), 8)],
)
def test_slices_are_computed(body: str, starts: tuple[int, ...], size: int) -> None:
    text = slices(body, *starts, size=size)
    assert text.count("linalg.generic") == len(starts)
    assert text.count(f"tensor.extract_slice %arg0[{starts[-1]}] [{size}]") >= 1
    assert f"-> tensor<{size}xf64>" in text
    assert "-> tensor<9xf64>" not in text


@pytest.mark.parametrize(
    ("body", "starts", "used"),
    [(_SINE, (0, 1), ""), (_DOUBLE, (0,), "too"), (_PLACE, (1,), ""), (_DOUBLE, (0, 1) * 5, "")],
)
def test_arrays_that_are_worth_it_are_computed(
    body: str, starts: tuple[int, ...], used: str
) -> None:
    text = slices(body, *starts, used=used)
    assert text.count("linalg.generic") == 1
    assert "-> tensor<9xf64>" in text


def _programs(x, y):
    yield jnp.diff(x, 2)
    yield jnp.diff(x, 3, axis=0)
    yield (x * y[:, None])[1:, ::2] + (x + 1)[:-1, 1::2]
    yield jnp.concatenate([jnp.sin(x)[:1], jnp.diff(x, axis=0), (2 * x)[-1:]], 0)
    yield [part + 1 for part in jnp.split(jnp.exp(x), 2, axis=1)]
    yield jax.lax.dynamic_slice(x * 2 + y[:, None], (y.astype(int)[0], 1), (2, 2))
    yield jax.lax.fori_loop(0, 5, lambda i, a: jnp.concatenate([a[1:] * 2 - a[:-1], a[:1]]), x)
    yield jax.grad(lambda x: jnp.trapezoid(jnp.sin(x), axis=0).sum())(x)


def _listed(x, y):
    return list(_programs(x, y))


def test_as_jax_does() -> None:
    rng = np.random.default_rng(0)
    program = qjit(_listed)
    dynamic = qjit(_listed, abstracted_axes=({0: "n"}, {0: "n"}))
    for size in (4, 5, 50):
        x, y = rng.normal(size=(size, 6)), rng.uniform(0, 3, size)
        expected = jax.tree.leaves(jax.jit(_listed)(x, y))
        for compiled in (program, dynamic):
            for ours, theirs in zip(jax.tree.leaves(compiled(x, y)), expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
