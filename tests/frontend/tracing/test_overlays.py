"""The table of overlays: complete, no function replaced by two topics; how overlays are called."""

import functools
import importlib
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit
from diastase.capture.jax_overlays import _TOPICS, OVERLAYS, _own_names
from diastase_mlir.jax_compat import OVERLAID


def test_every_entry_of_the_table_has_one_overlay():
    assert set(OVERLAYS) == set(OVERLAID)
    assert len(OVERLAYS) == sum(len(topic.OVERLAYS) for topic in _TOPICS)


@pytest.mark.parametrize("point", OVERLAID)
def test_an_overlay_takes_what_jax_takes(point):
    """All parameters by position, then each that may be by name, under the name that JAX has."""
    overlay = inspect.signature(OVERLAYS[point])
    for place in OVERLAID[point].places:
        module, _, path = place.rstrip("?*").partition(":")
        try:
            replaced = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        except AttributeError:
            assert place.endswith("?")
            continue
        original = inspect.unwrap(getattr(replaced, "fun", replaced))
        if original in (min, max):  # which have no signature
            continue
        parameters = inspect.signature(original).parameters.values()
        named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        unnamed = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        own = _own_names(OVERLAYS[point], original)
        overlay.bind("table", "original", *unnamed, *positional, **dict.fromkeys(named))
        named = [own.get(name, name) for name in positional + named]
        overlay.bind("table", "original", *unnamed, **dict.fromkeys(named))


X = np.arange(6.0).reshape(2, 3)
NAMED = {
    "pad": lambda x: lax.pad(x, 0.0, padding_config=((1, 0, 0), (0, 1, 0))),
    "tile": lambda x: lax.tile(operand=x, reps=(2, 1)),
    "broadcast": lambda x: lax.broadcast(x, sizes=(2,)),
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(
        x, shape=(4, 2, 3), broadcast_dimensions=(1, 2)
    ),
    "all named": lambda x: lax.broadcast_in_dim(
        operand=x, shape=(1, 2, 3), broadcast_dimensions=(1, 2)
    ),
    "split": lambda x: lax.split(x, axis=1, sizes=(1, 2)),
    "slice": lambda x: lax.slice(operand=x, start_indices=(0, 1), limit_indices=(2, 3)),
    "mapped tile": jax.vmap(lambda row: jnp.tile(row, 2)),
    "mapped convolution": jax.vmap(
        lambda row: lax.conv_general_dilated(row[None, None], X[:1][None], (1,), "SAME")
    ),
}


def test_parameters_go_by_the_names_that_jax_gives_them():
    """By JAX's users, and by its own rules for batches."""
    compiled = qjit(lambda x: {name: function(x) for name, function in NAMED.items()})(X)
    for name, function in NAMED.items():
        jax.tree.map(np.testing.assert_array_equal, compiled[name], function(X))


def test_a_traced_size_by_name():
    compiled = qjit(lambda n: lax.broadcast_in_dim(1.0, shape=(n, 2), broadcast_dimensions=()))
    assert compiled(3).shape == (3, 2)


CUBE = np.arange(24.0).reshape(2, 3, 4)
POSITIONS = {
    "all axes": lambda x: x[1, 2, 3],
    "from the end": lambda x: x[-1, -3, -4],
    "one axis": lambda x: x[1],
    "one axis, as a tuple": lambda x: x[(1,)],
    "two axes, then one": lambda x: x[0, 1][-2],
    "axes of size one": lambda x: x[:1, :1, 1:2][0, -1, 0],
    "an axis of size one": lambda x: x[:1][0],
    "outside": lambda x: x[1, 3, 0] + x[-3, 0, 0] + x[7, 0, 0],
    "no axis": lambda x: x[()],
    "numpy's numbers": lambda x: x[np.int32(1), np.int64(-1)],
    "flags": lambda x: x[True],
    "an ellipsis": lambda x: x[0, ..., 1],
    "a new axis": lambda x: x[0, None, 1],
    "a slice": lambda x: x[0, 1:],
    "an array": lambda x: x[0, jnp.array([2, 0])],
    "lists of traced numbers": lambda x: x[[jnp.argmin(x[0, 0]), 1], [[jnp.argmin(x[0])], [2]]],
    "weak numbers": lambda x: (x * 0 + jnp.full((2,), 3.0)[1])[0, 0],
    "by name": lambda x: x.at[1, 2, 0].get(mode="fill"),
    "mapped": jax.vmap(lambda row: row[1, -1]),
    "derived": jax.grad(lambda x: x[1, 2, 3] * x[0, 0, 0] ** 2),
    "derived twice": jax.hessian(lambda x: x[1, 2, 3] * x[0, 0, 0] ** 2),
    "whole numbers": lambda x: x.astype("int8")[1, 1, 1],
    "keys": lambda x: jax.random.split(jax.random.key(3), 4)[2],
}


@pytest.mark.parametrize("read", POSITIONS.values(), ids=POSITIONS)
def test_positions_known_now_give_the_equations_that_jax_makes(read):
    try:
        expected = jax.make_jaxpr(read)(CUBE)
    except IndexError as error:
        with pytest.raises(type(error)):
            qjit(read)(CUBE)
        return
    traced = qjit(read).lower(CUBE).traced.program.jaxpr
    if not any(name in str(expected) for name in ("jit", "key<", "clamp")):
        assert str(traced) == str(expected)
    assert [aval.dtype for aval in traced.out_avals] == [aval.dtype for aval in expected.out_avals]
    assert [a.weak_type for a in traced.out_avals] == [a.weak_type for a in expected.out_avals]


@pytest.mark.sample(6)
@pytest.mark.parametrize("read", [r for name, r in POSITIONS.items() if name != "keys"])
def test_positions_known_now_give_the_values_that_jax_gives(read):
    try:
        expected = jax.jit(read)(CUBE)
    except IndexError:
        return
    np.testing.assert_array_equal(qjit(read)(CUBE), expected)
