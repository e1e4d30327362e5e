"""Arguments of the matrix's programs, by parameter name: each a function of the size.

The values come from integer arithmetic and divisions by powers of two, so that NumPy and compiled
code make the same bits of them. Neighbours differ, and values repeat from size 33 on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np

Arrays = ModuleType
"""`numpy` or `jax.numpy`."""


@dataclass(frozen=True)
class Input:
    """One argument: which of its axes have the size, and its values."""

    shape: tuple[str | int, ...]
    values: Callable[[Arrays, Any], Any]
    """From the arrays' module and the position of each element, counted through."""

    @property
    def axes(self) -> dict[int, str]:
        """What `abstracted_axes` says of this argument."""
        return {axis: size for axis, size in enumerate(self.shape) if isinstance(size, str)}

    def build(self, arrays: Arrays, n: Any) -> Any:
        """The argument at size `n`."""
        shape = tuple(n if isinstance(size, str) else size for size in self.shape)
        count = 1
        for size in shape:
            count = count * size
        positions = arrays.arange(count, dtype=np.int64)
        return self.values(arrays, positions).reshape(shape)


def _mixed(positions: Any, factor: int, start: int) -> Any:
    """Integers from 0 to 31, in an order that is neither sorted nor regular to the eye."""
    return (positions * factor + start) & 31


def _signed(arrays: Arrays, positions: Any) -> Any:
    return (_mixed(positions, 37, 11).astype(np.float64) - 15.5) / 8


def _positive(arrays: Arrays, positions: Any) -> Any:
    return (_mixed(positions, 11, 5).astype(np.float64) + 1.0) / 16


def _fraction(arrays: Arrays, positions: Any) -> Any:
    return (_mixed(positions, 13, 9).astype(np.float64) + 0.5) / 32


def _integer(arrays: Arrays, positions: Any) -> Any:
    return _mixed(positions, 37, 11) - 16


def _as(dtype: Any, values: Callable[[Arrays, Any], Any]) -> Callable[[Arrays, Any], Any]:
    return lambda arrays, positions: values(arrays, positions).astype(dtype)


def _complex(arrays: Arrays, positions: Any) -> Any:
    return _signed(arrays, positions).astype(np.complex128) + 1j * _positive(arrays, positions)


def _boolean(arrays: Arrays, positions: Any) -> Any:
    return _mixed(positions, 37, 11) > 14


VECTORS = {
    "x": _signed,
    "y": _positive,
    "p": _fraction,
    "i": _integer,
    "k": _as(np.int32, _integer),
    "c": _as(np.int64, lambda arrays, positions: _mixed(positions, 37, 11) >> 2),
    "u": _as(np.uint8, lambda arrays, positions: _mixed(positions, 37, 11) * 8),
    "b": _boolean,
    "z": _complex,
    "h": _as(np.float32, _signed),
    "e": _as(jnp.bfloat16, _signed),
    "g": _as(np.float16, _signed),
    "f": _as(np.complex64, _complex),
}
"""Of one axis: floats signed, positive, in (0, 1); integers signed and in 0..7; other dtypes."""

INPUTS = {
    **{name: Input(("n",), values) for name, values in VECTORS.items()},
    "a": Input(("n", 3), _signed),
    "t": Input((3, "n"), _positive),
    "v": Input((2, "n", 3), _signed),
    "s": Input(("n", "n"), _signed),
}


def sequence_of(names: Sequence[str]) -> list[Input]:
    """The inputs of a program with these parameters."""
    return [INPUTS[name] for name in names]
