"""The operations of a region, in stretches, and what else has to be computed for their parameters.

A *stretch* is operations that follow each other with no control flow between them. What a region
does between is kept as it is; of a stretch there is left

    vectors    parameters that are computed alike, and their numbers in the stretch
    others     parameters and arrays that are values of the region

and one equation on the register, in the place of the last operation, which stands for all of them.
Equations that computed the parameters in vectors, and nothing else, are gone: thousands of gates
written out leave a few equations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register, touches_register
from diastase.tracing.derivatives.lengths import length_of_operation
from diastase.tracing.derivatives.parameter_vectors import Vector, variables_of
from diastase.tracing.derivatives.vectors_of_scalars import vector_of
from diastase.tracing.resizing import dimension_table
from diastase_mlir.jax_internals import rebuilt
from diastase_mlir.lowering.scalar_forms import Forms

Equation = Any
LEAST_ALIKE = 4
"""Parameters of one form from which on they are a vector."""


@dataclass
class Stretch:
    """Operations without control flow between them."""

    count: int = 0
    """How many numbers g has for them."""
    vectors: list[tuple[Vector, np.ndarray]] = field(default_factory=list)
    others: list[tuple[Any, int]] = field(default_factory=list)
    """Scalars and complex arrays (of two numbers for each element), each with its first number."""

    @property
    def needs(self) -> list[Any]:
        """The variables that it is about."""
        vectors = [variable for vector, _ in self.vectors for variable in variables_of(vector)]
        return [*vectors, *(variable for variable, _ in self.others)]


@dataclass(frozen=True)
class Stretches:
    """A region without its operations."""

    jaxpr: ClosedJaxpr
    by_equation: Mapping[int, Stretch]
    """By the identity of the equation that stands for a stretch."""


def stretches_of(closed: ClosedJaxpr) -> Stretches:
    """Take a region apart."""
    equations = closed.jaxpr.eqns
    forms = Forms(equations, closed.jaxpr.outvars)
    kept = dict[int, Equation]()
    by_equation = dict[int, Stretch]()
    inside = set[int]()
    for run in _runs(equations):
        operations = [equations[position] for position in run]
        whole = operations[-1].replace(invars=operations[0].invars[:1])
        by_equation[id(whole)] = _stretch(operations, forms)
        inside.update(run)
        kept[run[-1]] = whole
    live = {atom for atom in closed.jaxpr.outvars if not isinstance(atom, Literal)}
    remaining = list[Equation]()
    for position in reversed(range(len(equations))):
        if position in inside:
            if position not in kept:
                continue
            equation = kept[position]
            live.update(by_equation[id(equation)].needs)
        else:
            equation = equations[position]
            if not _is_needed(equation, live):
                continue
        live.update(atom for atom in equation.invars if not isinstance(atom, Literal))
        remaining.append(equation)
    jaxpr = rebuilt(closed, closed.jaxpr.invars, remaining[::-1], closed.jaxpr.outvars)
    return Stretches(jaxpr, by_equation)


def _runs(equations: Sequence[Equation]) -> Iterator[Sequence[int]]:
    """Positions of the operations of each stretch."""
    run = list[int]()
    for position, equation in enumerate(equations):
        if not touches_register(equation):
            continue
        if has_role(equation, Role.RECORDED):
            run.append(position)
            continue
        if run:
            yield run
        run = []
    if run:
        yield run


def _is_needed(equation: Equation, live: set[Any]) -> bool:
    return bool(equation.effects) or any(
        variable in live or is_register(variable) or dimension_table().defines_symbols(variable)
        for variable in equation.outvars
    )


def _stretch(operations: Iterable[Equation], forms: Forms) -> Stretch:
    stretch = Stretch()
    alike: dict[Any, list[tuple[Any, int]]] = {}
    for equation in operations:
        if has_role(equation, Role.OF_ARRAY):
            if length_of_operation(equation) and not isinstance(equation.invars[1], Literal):
                stretch.others.append((equation.invars[1], stretch.count))
        else:
            parameters = equation.invars[1 : 1 + length_of_operation(equation)]
            for number, atom in enumerate(parameters, stretch.count):
                if not isinstance(atom, Literal):
                    alike.setdefault(forms.of(atom).form, []).append((atom, number))
        stretch.count += length_of_operation(equation)
    for pairs in alike.values():
        atoms, numbers = zip(*pairs, strict=True)
        vector = (
            vector_of([forms.of(atom) for atom in atoms]) if len(pairs) >= LEAST_ALIKE else None
        )
        if vector is None:
            stretch.others += pairs
        else:
            stretch.vectors.append((vector, np.array(numbers)))
    return stretch
