"""Sizes that are assumed to be equal, for the type checker.

Where tracing assumed `m == n`, both are one variable; but what a loop carries has variables of its
own, and where one of them was assumed to equal another size, arrays of both meet.
`ExplicitJaxpr.assumed_equal` lists such groups. `Equalities` picks one of each group, and renames
what the rules for types look at; scoping is checked on what stands in the jaxpr.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from diastase.tracing.explicit.model import ExplicitEquation, ExplicitJaxpr
from diastase.tracing.explicit.regions import Region
from diastase.tracing.explicit.types import (
    Atom,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    Size,
    size_atom,
)


class Equalities:
    """The groups of all jaxprs met so far, each with the size that stands for it."""

    def __init__(self) -> None:
        self._chosen: dict[Size, Size] = {}
        self._renamed: dict[ExplicitVariable, ExplicitVariable] = {}
        self.originals: dict[Any, Any] = {}
        """What a renamed variable stands for."""

    def add(self, jaxpr: ExplicitJaxpr) -> None:
        """Learn the groups of a jaxpr."""
        for group in jaxpr.assumed_equal:
            numbers = [size for size in group if isinstance(size, int)]
            chosen = numbers[0] if numbers else group[0]
            self._chosen.update((size, chosen) for size in group if not isinstance(size, int))

    def equation(self, equation: ExplicitEquation) -> ExplicitEquation:
        """The equation with one size for each group."""
        if not self._chosen:
            return equation
        return replace(
            equation,
            operands=self._atoms(equation.operands),
            results=self._atoms(equation.results),
        )

    def region(self, region: Region) -> Region:
        """The region with one size for each group, outside and inside."""
        if not self._chosen:
            return region
        inner = replace(
            region.jaxpr,
            inputs=self._atoms(region.jaxpr.inputs),
            outputs=self._atoms(region.jaxpr.outputs),
        )
        operands = region.operands and [atom and self._atom(atom) for atom in region.operands]
        results = region.results and self._atoms(region.results)
        return replace(region, jaxpr=inner, operands=operands, results=results)

    def _atoms(self, atoms: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(map(self._atom, atoms))

    def _atom(self, atom: Atom) -> Atom:
        if isinstance(atom, ExplicitLiteral):
            return atom
        if atom in self._chosen:
            return size_atom(self._chosen[atom])
        shape = atom.type.shape or ()
        chosen = tuple(self._chosen.get(size, size) for size in shape)
        if chosen == shape:
            return atom
        if atom not in self._renamed:
            renamed = ExplicitVariable(ExplicitType(atom.type.aval, chosen))
            self._renamed[atom] = renamed
            self.originals[renamed] = atom
        return self._renamed[atom]
