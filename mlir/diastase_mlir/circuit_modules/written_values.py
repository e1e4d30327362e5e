"""Values of a circuit while its module is written: common subexpressions, and registers.

`x[0]` written twice is two slices in a jaxpr. Two equations are equal if their primitive, their
parameters and their operands are, as far as these can be compared, and neither has effects. What an
outer jaxpr has computed is there in the ones inside of it. So it is with opposite values: `x[0]`
and `(-x)[0]` are, as what moves numbers changes none.

A register is one value in a jaxpr, qubits in the `quantum` dialect, as in lowering
(`emit.registers`).
"""

from collections import ChainMap
from collections.abc import Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.emit import registers
from diastase_mlir.emit.operations import create

_IMPURE = frozenset({"rng_uniform"})

MOVING = frozenset({
    "broadcast_in_dim", "convert_element_type", "dynamic_slice", "reshape", "slice", "squeeze",
    "transpose",
})  # fmt: skip
"""Primitives whose result has the opposite sign where their first operand, a float, has."""


@dataclass(frozen=True)
class EqualValues:
    """The results of the first of equal equations."""

    _first: MutableMapping[Hashable, Sequence[ir.Value]] = field(
        default_factory=dict[Hashable, Sequence[ir.Value]]
    )

    _opposite: MutableMapping[ir.Value, ir.Value] = field(default_factory=dict[ir.Value, ir.Value])

    def inside(self) -> "EqualValues":
        """For a region: what it computes is not there outside."""
        return EqualValues(ChainMap({}, self._first), ChainMap({}, self._opposite))

    def note_opposite(self, one: ir.Value, other: ir.Value) -> None:
        """Each is the other with the other sign."""
        self._opposite.setdefault(one, other)
        self._opposite.setdefault(other, one)

    def opposite(self, equation: Any, operands: Sequence[ir.Value]) -> ir.Value | None:
        """What has been computed that is the result of an equation with the other sign."""
        if equation.primitive.name not in MOVING or hasattr(equation.invars[0], "val"):
            return None
        source, result = equation.invars[0].aval, equation.outvars[0].aval
        other = self._opposite.get(operands[0])
        floats = all(np.issubdtype(aval.dtype, np.inexact) for aval in (source, result))
        key = None if other is None or not floats else _key(equation, [other, *operands[1:]])
        found = None if key is None else self._first.get(key)
        return None if found is None else found[0]

    def first(
        self, equation: Any, operands: Sequence[ir.Value], results: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        """The results of the first equation that is equal to this one; these, if it is that."""
        key = _key(equation, operands)
        return results if key is None else self._first.setdefault(key, results)

    def replace(
        self, equation: Any, operands: Sequence[ir.Value], results: Sequence[ir.Value]
    ) -> None:
        """From now on these are the results of equations that are equal to this one."""
        key = _key(equation, operands)
        if key is not None:
            self._first[key] = results


def _key(equation: Any, operands: Sequence[ir.Value]) -> Hashable | None:
    """What equal equations have in common; None where that cannot be said."""
    if equation.effects or equation.primitive.name in _IMPURE:
        return None
    literals = {place: v for place, v in enumerate(equation.invars) if hasattr(v, "val")}
    if any(atom.aval.shape != () for atom in literals.values()):
        return None
    constants = tuple((n, v.aval.dtype, repr(v.val)) for n, v in literals.items())
    params = tuple(sorted(equation.params.items(), key=lambda item: item[0]))
    key = (equation.primitive, params, constants, *operands)
    try:
        hash(key)
    except TypeError:  # an array among the parameters
        return None
    return key


class Register(registers.Register):
    """A register whose wires are scalars."""

    @staticmethod
    def wire(number: int) -> ir.Value:
        """A wire that is known, as a value."""
        kind = ir.IntegerType.get_signless(64)
        attributes = {"value": ir.IntegerAttr.get(kind, number)}
        return create("arith.constant", [kind], [], attributes).result
