"""Convolutions of a left side with holes, as several convolutions without any.

Of a left side dilated by `d`, only those taps of the kernel that lie on elements count. Places of
the result that leave the same rest when divided by `period = d / gcd(d, stride)` meet the same
ones, every `d`-th: so each such phase is a convolution of a part of the left side with a part of
the kernel, and the results are interleaved. Transposed convolutions, and gradients of those with
strides, are of this kind. The left side is padded once, for all phases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

LARGEST_PERIOD = 8
"""Phases along an axis."""


@dataclass(frozen=True)
class _Axis:
    """How a spatial axis is convolved."""

    size: int
    taps: int
    result: int
    stride: int
    low: int
    dilation: int
    step: int

    @property
    def period(self) -> int:
        """Places of the result so far apart meet the same taps."""
        return self.dilation // gcd(self.dilation, self.stride)

    @property
    def count(self) -> int:
        """Places of the result in each phase; the last one may be too many."""
        return -(-self.result // self.period)

    def phase(self, number: int) -> "_Phase":
        """Places `number`, `number + period` and so on of the result."""
        first = number * self.stride - self.low
        taps = [tap for tap in range(self.taps) if (first + tap * self.step) % self.dilation == 0]
        stride = self.stride // gcd(self.dilation, self.stride)
        reach = (max(len(taps), 1) - 1) * self.step + (self.count - 1) * stride + 1
        if not taps:
            return _Phase(None, 0, reach, stride)
        return _Phase(taps[0], (first + taps[0] * self.step) // self.dilation, reach, stride)


@dataclass(frozen=True)
class _Phase:
    """Of one axis: the first tap, and which part of the left side is convolved."""

    tap: int | None
    """None: no tap lies on an element."""
    start: int
    length: int
    stride: int


def has_holes(
    params: Any, left: Sequence[Any], right: Sequence[Any], result: Sequence[Any]
) -> bool:
    """Whether the left side gets holes, and all is known of its phases."""
    if all(dilation == 1 for dilation in params["lhs_dilation"]):
        return False
    columns = _columns(params, left, right, result)
    if not all(isinstance(number, int) for numbers in columns for number in numbers):
        return False
    axes = [_Axis(*numbers) for numbers in columns]
    return all(
        axis.period <= LARGEST_PERIOD
        and gcd(axis.dilation, axis.step) == 1
        and 0 not in (axis.size, axis.taps, axis.result)
        for axis in axes
    )


def _columns(params: Any, left: Any, right: Any, result: Any) -> list[tuple[Any, ...]]:
    numbers = params["dimension_numbers"]
    return [
        (
            left[numbers.lhs_spec[2 + axis]],
            right[numbers.rhs_spec[2 + axis]],
            result[numbers.out_spec[2 + axis]],
            params["window_strides"][axis],
            params["padding"][axis][0],
            params["lhs_dilation"][axis],
            params["rhs_dilation"][axis],
        )
        for axis in range(len(numbers.lhs_spec) - 2)
    ]


def in_phases(left: jax.Array, right: jax.Array, params: Any, result: Sequence[int]) -> jax.Array:
    """The convolution, whose result has these sizes."""
    numbers = params["dimension_numbers"]
    axes = [_Axis(*own) for own in _columns(params, left.shape, right.shape, result)]
    phases = [[axis.phase(number) for number in range(axis.period)] for axis in axes]
    before = [max(0, *(-phase.start for phase in own)) for own in phases]
    pads = [(0, 0, 0)] * left.ndim
    for place, own, axis, low in zip(numbers.lhs_spec[2:], phases, axes, before, strict=True):
        end = max(phase.start + phase.length for phase in own)
        pads[place] = (low, max(0, end - axis.size), 0)
    left = lax.pad(left, jnp.zeros((), left.dtype), pads)

    def of(chosen: Sequence[_Phase]) -> jax.Array:
        part, kernel = left, right
        for number, (phase, low) in enumerate(zip(chosen, before, strict=True)):
            start, place = phase.start + low, numbers.lhs_spec[2 + number]
            part = lax.slice_in_dim(part, start, start + phase.length, axis=place)
            place, step = numbers.rhs_spec[2 + number], axes[number].dilation
            kernel = lax.slice_in_dim(kernel, phase.tap or 0, None, step, axis=place)
            if phase.tap is None:  # a product of zeros, of the right sizes
                kernel = jnp.zeros_like(lax.slice_in_dim(kernel, 0, 1, axis=place))
        return _convolved(part, kernel, params, [phase.stride for phase in chosen])

    shape = list(result)
    for axis, place in zip(axes, numbers.out_spec[2:], strict=True):
        shape[place] = axis.count * axis.period
    whole = _interleaved([of(chosen) for chosen in product(*phases)], axes, numbers.out_spec[2:])
    return lax.slice(whole.reshape(shape), [0] * len(shape), result)


def _interleaved(found: list[jax.Array], axes: Sequence[_Axis], places: Sequence[int]) -> jax.Array:
    """Arrays of all phases, the last axis' first, with an axis for the phase behind each axis."""
    for number in reversed(range(len(axes))):
        period = axes[number].period
        if period == 1:
            continue
        groups = [found[start : start + period] for start in range(0, len(found), period)]
        later = [at for at, axis in enumerate(axes) if at > number and axis.period > 1]
        place = places[number] + sum(places[at] < places[number] for at in later)
        found = [jnp.stack(group, place + 1) for group in groups]
    return found[0]


def _convolved(left: Any, right: Any, params: Any, strides: Sequence[int]) -> jax.Array:
    return lax.conv_general_dilated(
        left,
        right,
        window_strides=strides,
        padding=[(0, 0)] * len(strides),
        rhs_dilation=params["rhs_dilation"],
        dimension_numbers=params["dimension_numbers"],
        feature_group_count=params["feature_group_count"],
        batch_group_count=params["batch_group_count"],
        preferred_element_type=params["preferred_element_type"],
    )
