"""Values that depend on outcomes: bits, and arrays of them.

A *parity* is the sum, modulo 2, of some measured bits, and of 1 or not; an integer stands for it,
whose lowest bit is that 1, and whose bit `k + 1` says whether bit `k` of the circuit is in the sum.
`Bits` are an array whose elements are parities, as zeros and ones of its type. What a primitive
does to them is known where it moves elements only, or is linear (`moved`, `linear`):

    scatter (a, b) [1] c        -> (a, c)
    xor (a, b) (1, a)           -> (a^1, a^b)

Moves are done by JAX itself, on the numbers that elements have in a table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from diastase_mlir.jax_compat import computed_now, evaluate_equation

ZERO, ONE = 0, 1


@dataclass(frozen=True, eq=False)
class Bits:
    """An array of parities."""

    parities: np.ndarray
    """Python's integers, of any size."""
    dtype: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.parities.shape


def bit(parity: int, dtype: Any = np.bool_) -> Bits:
    """One parity, as an array of rank 0."""
    array = np.empty((), object)
    array[()] = parity
    return Bits(array, np.dtype(dtype))


def known_bits(value: Any) -> np.ndarray | None:
    """Zeros and ones that are known, as parities; None where there are other numbers."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not ((array == 0) | (array == 1)).all():
        return None
    return array.astype(np.int64).astype(object)


def is_known(value: Any) -> bool:
    """Whether a value is a number, or an array, that is known now."""
    if isinstance(value, Tracer):
        return False
    return isinstance(value, np.ndarray | np.generic | bool | int | float | complex | jax.Array)


def constant_of(value: Bits) -> np.ndarray | None:
    """The array, where no element depends on an outcome."""
    if any(parity > ONE for parity in value.parities.flat):
        return None
    return value.parities.astype(np.int64).astype(value.dtype)


# --- what moves elements -------------------------------------------------------------------------


_ALL = None
_DATA: Mapping[str, tuple[int, ...] | None] = {
    "broadcast_in_dim": (0,),
    "concatenate": _ALL,
    "copy": (0,),
    "copy_p": (0,),
    "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1),
    "expand_dims": (0,),
    "gather": (0,),
    "pad": (0, 1),
    "reshape": (0,),
    "rev": (0,),
    "scatter": (0, 2),
    "slice": (0,),
    "split": (0,),
    "squeeze": (0,),
    "stack": _ALL,
    "transpose": (0,),
}
"""Which operands the elements come from; the others say where they go, and are known."""


def moved(equation: Any, operands: Sequence[Any]) -> list[Any] | None:
    """What an equation gives that moves elements; None for others."""
    name = equation.primitive.name
    others = (equation.params.get(given) for given in ("update_jaxpr", "fill_value"))
    if name not in _DATA or any(given is not None for given in others):
        return None
    data = _DATA[name]
    places = range(len(operands)) if data is None else data
    table: dict[int, int] = {}
    numbers: list[Any] = []
    for place, operand in enumerate(operands):
        if place not in places:
            if isinstance(operand, Bits):
                return None
            numbers.append(operand)
            continue
        parities = operand.parities if isinstance(operand, Bits) else known_bits(operand)
        if parities is None:
            return None
        indices = [table.setdefault(parity, len(table)) for parity in parities.flat]
        numbers.append(np.array(indices, np.int64).reshape(parities.shape))
    with computed_now():
        results = [np.asarray(result) for result in evaluate_equation(equation, numbers)]
    if any((result < 0).any() or (result >= len(table)).any() for result in results):
        return None  # filled in from outside
    lookup = np.empty(len(table), object)
    lookup[:] = list(table)
    return [
        Bits(np.asarray(lookup[result], object), variable.aval.dtype)
        for result, variable in zip(results, equation.outvars, strict=True)
    ]


# --- what is linear ------------------------------------------------------------------------------


def linear(equation: Any, operands: Sequence[Any]) -> list[Any] | None:
    """What an equation gives that adds bits modulo 2; None for others."""
    rule = _LINEAR.get(equation.primitive.name)
    if rule is None:
        return None
    parities = [one.parities if isinstance(one, Bits) else known_bits(one) for one in operands]
    if any(one is None for one in parities):
        return None
    dtype = equation.outvars[0].aval.dtype
    if dtype.kind not in "biuf":
        return None
    found = rule(*parities, dtype=dtype, types=[_dtype(one) for one in operands])
    return None if found is None else [Bits(found, dtype)]


def _dtype(value: Any) -> Any:
    return value.dtype if isinstance(value, Bits) else np.asarray(value).dtype


def _elementwise(function: Callable[..., Any]) -> Callable[..., np.ndarray | None]:
    def apply(*parities: np.ndarray, **_: Any) -> np.ndarray | None:
        arrays = np.broadcast_arrays(*parities)
        found = [function(*elements) for elements in zip(*(a.flat for a in arrays), strict=True)]
        if any(element is None for element in found):
            return None
        array = np.empty(len(found), object)
        array[:] = found
        return array.reshape(arrays[0].shape)

    return apply


def _sum(a: int, b: int) -> int:
    return a ^ b


def _product(a: int, b: int) -> int | None:
    if a == b or ONE in (a, b):
        return b if a == ONE else a
    return ZERO if ZERO in (a, b) else None


def chosen(which: int, if_zero: int, if_one: int, *more: int) -> int | None:
    """One of two parities."""
    if more:
        return None
    if which <= ONE:
        return if_one if which else if_zero
    if if_zero ^ if_one > ONE:
        return None
    return if_zero ^ (which if if_zero ^ if_one else 0)


def _either(a: int, b: int) -> int | None:
    both = _product(a, b)
    return None if both is None else a ^ b ^ both


def _of_booleans(rule: Any) -> Any:
    def apply(*parities: np.ndarray, dtype: Any, types: Sequence[Any]) -> Any:
        return rule(*parities) if dtype == np.bool_ else None

    return apply


def _complement(a: np.ndarray, b: np.ndarray, *, dtype: Any, types: Sequence[Any]) -> Any:
    """1 - b."""
    return _elementwise(_sum)(a, b) if all(parity == ONE for parity in a.flat) else None


_same = _elementwise(lambda a: a)
_LINEAR: Mapping[str, Callable[..., np.ndarray | None]] = {
    "and": _elementwise(_product),
    "convert_element_type": _same,
    "eq": _elementwise(lambda a, b: a ^ b ^ ONE),
    "mul": _elementwise(_product),
    "ne": _elementwise(_sum),
    "not": _of_booleans(_elementwise(lambda a: a ^ ONE)),
    "or": _elementwise(_either),
    "select_n": _elementwise(chosen),
    "sub": _complement,
    "xor": _elementwise(_sum),
}
