"""The table of overlays: complete, no function replaced by two topics; how overlays are called."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase import qjit
from diastase.tracing.hooks import _TOPICS, OVERLAYS
from diastase_mlir.jax_internals import HOOK_POINTS


def test_every_hook_point_has_one_overlay():
    assert set(OVERLAYS) == set(HOOK_POINTS)
    assert len(OVERLAYS) == sum(len(topic.OVERLAYS) for topic in _TOPICS)


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
