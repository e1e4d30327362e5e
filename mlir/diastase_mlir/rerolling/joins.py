"""Numbers that are put together: those that are computed alike are made as one vector.

    b = sin (x[0])   c = sin (x[1])   ...   z = stack b c ...        z = sin x

Coefficients of a Hamiltonian are such: thousands of numbers, each by a few equations.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax

from diastase_mlir.jax_compat import copy_equation
from diastase_mlir.rerolling.places import picked
from diastase_mlir.rerolling.recording import Equation, Values, is_variable, recorded
from diastase_mlir.rerolling.scalar_forms import Forms, Scalar
from diastase_mlir.rerolling.vectors import LEAST_ALIKE, vector_of

_FEWER = 4
"""Numbers for each vector and each number by itself, from which on a vector is worth it."""


def join_positions(equations: Sequence[Equation], least: int) -> list[int]:
    """Where at least so many numbers become a vector."""
    return [
        position
        for position, equation in enumerate(equations)
        if equation.primitive.name in ("stack", "concatenate")
        and len(equation.invars) >= least
        and len(equation.outvars[0].aval.shape) == 1
        and all(_is_one(atom.aval.shape) for atom in equation.invars)
    ]


def _is_one(shape: Sequence[Any]) -> bool:
    return all(isinstance(size, int) and size == 1 for size in shape)


def joined(equation: Equation, forms: Forms) -> Sequence[Equation]:
    """Equations that compute the same vector of fewer vectors; or this one."""
    alike: dict[Any, list[tuple[int, Scalar]]] = {}
    for place in range(len(equation.invars)):
        scalar = forms.of_joined(equation, place)
        alike.setdefault(scalar.form, []).append((place, scalar))
    groups = [group for group in alike.values() if len(group) >= LEAST_ALIKE]
    alone = [place for group in alike.values() if len(group) < LEAST_ALIKE for place, _ in group]
    if (len(groups) + len(alone)) * _FEWER > len(equation.invars):
        return [equation]

    def vector(values: Values) -> Any:
        parts, places, size = list[Any](), np.zeros(len(equation.invars), int), 0
        for group in groups:
            rows = {scalar.row: scalar for _, scalar in group}
            numbers = {row: size + number for number, row in enumerate(rows)}
            places[[place for place, _ in group]] = [numbers[own.row] for _, own in group]
            parts.append(vector_of(list(rows.values()), values))
            size += len(rows)
        for place in alone:
            places[place] = size
            parts.append(lax.reshape(values(equation.invars[place]), (1,)))
            size += 1
        return picked(lax.concatenate(parts, 0), places)

    needs = [variable for group in groups for variable in group[0][1].needs]
    needs += [equation.invars[place] for place in alone if is_variable(equation.invars[place])]
    made, result = recorded(vector, needs, equation.source_info)
    return [*made, copy_equation(equation.outvars[0], result)]
