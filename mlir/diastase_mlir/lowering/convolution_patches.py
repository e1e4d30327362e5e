"""Convolutions of which strides or dilations are known only when the program runs.

StableHLO has these as attributes. So each place of the result gathers its patch, the elements under
the taps of the kernel, and the patches are multiplied by the kernel as matrices are. The left side
is padded before, and has holes between its elements then.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation


def convolve_patches(
    context: LoweringContext, equation: Equation, operands: Sequence[ir.Value], avals: Sequence[Any]
) -> list[ir.Value]:
    """The convolution of the operands, both of the result's element type, without padding."""
    params, (result,) = equation.params, equation.avals_out
    numbers = params["dimension_numbers"]

    def convolve(left: jax.Array, right: jax.Array) -> tuple[jax.Array]:
        left, right = left.transpose(numbers.lhs_spec), right.transpose(numbers.rhs_spec)
        places = [result.shape[axis] for axis in numbers.out_spec[2:]]
        taps = right.shape[2:]
        for axis, (place, tap) in enumerate(zip(places, taps, strict=True)):
            stride, dilation = params["window_strides"][axis], params["rhs_dilation"][axis]
            starts, steps = jnp.arange(place) * stride, jnp.arange(tap) * dilation
            # Behind the axes of batch and features, each earlier one is two by now.
            left = _taken(left, starts[:, None] + steps[None, :], 2 + 2 * axis)
        found = _multiplied(left, right, params)
        order = np.argsort(numbers.out_spec)
        return (found.transpose([int(axis) for axis in order]),)

    return context.lower_function(convolve, avals, operands)


def _taken(array: jax.Array, places: jax.Array, axis: int) -> jax.Array:
    """Elements at places along an axis, all of which lie inside."""
    return jnp.take(array, places, axis, mode="clip")


def _multiplied(patches: jax.Array, right: jax.Array, params: Any) -> jax.Array:
    """Patches (batch, features, place and tap of each axis) times the kernel."""
    rank = right.ndim - 2
    features, batches = params["feature_group_count"], params["batch_group_count"]
    groups, split = features * batches, 1 if features > 1 else 0
    shape = list(patches.shape)
    shape[split : split + 1] = [groups, shape[split] // groups]
    patches = jnp.moveaxis(patches.reshape(shape), split, 0)
    right = right.reshape((groups, right.shape[0] // groups, *right.shape[1:]))
    taps = range(4, 3 + 2 * rank, 2)
    contracted = ((2, *taps), (2, *range(3, 3 + rank)))
    products = lax.dot_general(patches, right, (contracted, ((0,), (0,))))
    # Groups, batch, places, features of a group: groups and these are one axis of the result.
    products = jnp.moveaxis(products, (0, -1), (1, 2))
    return products.reshape((products.shape[0], -1, *products.shape[3:]))
