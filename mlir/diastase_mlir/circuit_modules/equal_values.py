"""Equations of a circuit that are equal, so that what they give is one value.

`x[0]` written twice is two slices in a jaxpr. Two equations are equal if their primitive, their
parameters and their operands are, as far as these can be compared, and neither has effects. What an
outer jaxpr has computed is there in the ones inside of it.
"""

from collections import ChainMap
from collections.abc import Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir

_IMPURE = frozenset({"rng_uniform"})


@dataclass(frozen=True)
class EqualValues:
    """The results of the first of equal equations."""

    _first: MutableMapping[Hashable, Sequence[ir.Value]] = field(
        default_factory=dict[Hashable, Sequence[ir.Value]]
    )

    def inside(self) -> "EqualValues":
        """For a region: what it computes is not there outside."""
        return EqualValues(ChainMap({}, self._first))

    def first(
        self, equation: Any, operands: Sequence[ir.Value], results: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        """The results of the first equation that is equal to this one; these, if it is that."""
        if equation.effects or equation.primitive.name in _IMPURE:
            return results
        literals = {place: v for place, v in enumerate(equation.invars) if hasattr(v, "val")}
        if any(atom.aval.shape != () for atom in literals.values()):
            return results
        constants = tuple((n, str(v.aval), repr(v.val)) for n, v in literals.items())
        params = tuple(sorted(equation.params.items(), key=lambda item: item[0]))
        key = (equation.primitive, params, constants, *operands)
        try:
            return self._first.setdefault(key, results)
        except TypeError:  # an array among the parameters
            return results
