"""Convolutions of a left side with holes, as several convolutions without any.

Of a left side dilated by `d`, only those taps of the kernel that lie on elements count. Places of
the result that leave the same rest when divided by `period = d / gcd(d, stride)` meet the same
ones, every `d`-th: so each such phase is a convolution with a part of the kernel, and the results
are interleaved. Transposed convolutions, and gradients of those with strides, are of this kind.
"""

from collections.abc import Sequence
from math import gcd
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

LARGEST_PERIOD = 8
"""Phases along an axis."""


def axis_with_holes(params: Any, left: Sequence[Any], result: Sequence[Any]) -> int | None:
    """The first spatial axis along which the left side gets holes, if phases can be told."""
    numbers = params["dimension_numbers"]
    for axis, dilation in enumerate(params["lhs_dilation"]):
        stride, step = params["window_strides"][axis], params["rhs_dilation"][axis]
        sizes = (left[numbers.lhs_spec[2 + axis]], result[numbers.out_spec[2 + axis]])
        known = (*params["padding"][axis], dilation, stride, step, *sizes)
        if not all(isinstance(number, int) for number in known) or dilation == 1:
            continue
        if gcd(dilation, step) == 1 and dilation // gcd(dilation, stride) <= LARGEST_PERIOD:
            return axis if 0 not in sizes else None
    return None


def in_phases(left: jax.Array, right: jax.Array, params: Any, axis: int, size: int) -> jax.Array:
    """The convolution by phases of one axis; its result has `size` places along it."""
    numbers = params["dimension_numbers"]
    dilation, stride = params["lhs_dilation"][axis], params["window_strides"][axis]
    period = dilation // gcd(dilation, stride)
    count = -(-size // period)
    phases = [_phase(left, right, params, axis, number, count) for number in range(period)]
    place = numbers.out_spec[2 + axis]
    if period == 1:
        return phases[0]
    whole = jnp.stack(phases, place + 1)
    shape = [*phases[0].shape]
    shape[place] = count * period
    return lax.slice_in_dim(whole.reshape(shape), 0, size, axis=place)


def _phase(
    left: jax.Array, right: jax.Array, params: Any, axis: int, phase: int, count: int
) -> jax.Array:
    """Places `phase`, `phase + period` and so on of the result, `count` of them."""
    numbers = params["dimension_numbers"]
    dilation, stride = params["lhs_dilation"][axis], params["window_strides"][axis]
    step, (low, _) = params["rhs_dilation"][axis], params["padding"][axis]
    own, taps = left.shape[numbers.lhs_spec[2 + axis]], right.shape[numbers.rhs_spec[2 + axis]]
    first = phase * stride - low
    on_elements = [tap for tap in range(taps) if (first + tap * step) % dilation == 0]
    stride //= gcd(dilation, stride)
    if on_elements:
        start = (first + on_elements[0] * step) // dilation
        place = numbers.rhs_spec[2 + axis]
        right = lax.slice_in_dim(right, on_elements[0], taps, dilation, axis=place)
    else:  # a tap beside everything there is
        start = own
        right = jnp.zeros_like(lax.slice_in_dim(right, 0, 1, axis=numbers.rhs_spec[2 + axis]))
    reach = (len(on_elements or [0]) - 1) * step + 1
    padding = list(params["padding"])
    padding[axis] = (-start, (count - 1) * stride + reach + start - own)
    return lax.conv_general_dilated(
        left,
        right,
        window_strides=_with(params["window_strides"], axis, stride),
        padding=padding,
        lhs_dilation=_with(params["lhs_dilation"], axis, 1),
        rhs_dilation=params["rhs_dilation"],
        dimension_numbers=numbers,
        feature_group_count=params["feature_group_count"],
        batch_group_count=params["batch_group_count"],
        preferred_element_type=params["preferred_element_type"],
    )


def _with(numbers: Sequence[int], place: int, number: int) -> tuple[int, ...]:
    return (*numbers[:place], number, *numbers[place + 1 :])
