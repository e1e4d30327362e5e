"""Operations on a register that follow each other, as one equation on vectors of their parameters.

    b = slice[0:1] x   c = squeeze b   r1 = gate[RX] r0 c         v = slice[0:3] x
    d = slice[1:2] x   e = squeeze d   r2 = gate[RY] r1 e   ->    r3 = operations r0 v
    f = slice[2:3] x   g = squeeze f   r3 = gate[RX] r2 g

`register_operations` finds such runs, `rerolled` puts one equation in the place of each, where its
last operation stands. Parameters that are computed alike (`scalar_forms`) are elements of one
vector among its operands, each other value is an operand of its own; numbers are none. Which
parameter is which element of which operand is said by its parameter `places`; the operations
themselves are in its parameter `operations`. Equations of which nothing is read any more are gone.
Nobody records `operations`: who asks for it says what it means, lowering by a rule, derivatives by
what they do instead, a batch by a rule for what it becomes.

For lowering (`equations_to_lower`) a run is a chain of `gate` equations on known wires. Equations
that compute parameters may stand between them: they touch no register and have no effects. Many
numbers that are stacked, say coefficients of a Hamiltonian, become a vector, too (`joined`):

    b = sin (x[0])   c = sin (x[1])   ...   z = stack b c ...        z = sin x
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import lax
from jax.extend.core import Primitive

from diastase_mlir.gate_runs import LEAST, MOST, RunGate
from diastase_mlir.jax_compat import copy_equation, needed_equations, new_equation
from diastase_mlir.rerolling.scalar_forms import Forms, Scalar
from diastase_mlir.rerolling.vectors import (
    LEAST_ALIKE,
    Equation,
    Values,
    is_variable,
    picked,
    recorded,
    vector_of,
)
from diastase_mlir.rewritings import Equations, Rewriting, tell

Run = Sequence[int]
"""Positions of the operations of a run, in order."""

operations_p = Primitive("operations")
operations_p.multiple_results = True


@dataclass(frozen=True)
class Places:
    """Where the numbers of a run's parameters are: in which of its operands, and at which place.

    Complex arrays among these have the real and the imaginary part of each element.
    """

    operands: np.ndarray
    """From 0; -1 for a number known now."""
    elements: np.ndarray


def register_operations(
    equations: Sequence[Equation], is_member: Callable[[Equation], bool]
) -> Iterator[Run]:
    """The runs of such operations: no other on a register, nor any effect, stands in between."""
    run = list[int]()
    for position, equation in enumerate(equations):
        belongs = is_member(equation)
        follows = belongs and run and equation.invars[0] is equations[run[-1]].outvars[0]
        if run and not follows and (belongs or equation.effects or is_on_register(equation)):
            yield run
            run = []
        if belongs:
            run.append(position)
    if run:
        yield run


def rerolled(
    equations: Sequence[Equation],
    results: Sequence[Any],
    runs: Sequence[Run],
    parameters: Callable[[Equation], Sequence[Any]],
    keeps: Callable[[Equation], bool],
    *,
    apart: bool = False,
    joins: Sequence[int] = (),
) -> list[Equation]:
    """The equations of a jaxpr with one in the place of each run.

    `parameters` of an operation are scalars, and arrays; `keeps` is as for
    `needed_equations`, and what is on a register stays; `apart`: each run has vectors of its own;
    `joins`: positions of what `joined` may rewrite.
    """
    forms = Forms(equations, results, joins)
    instead: dict[int, Sequence[Equation]] = {
        position: joined(equations[position], forms) for position in joins
    }
    for some in [[run] for run in runs] if apart else [runs]:
        atoms = [
            [atom for position in run for atom in parameters(equations[position])] for run in some
        ]
        vectors = _Vectors(forms, [atom for own in atoms for atom in own])
        for run, own in zip(some, atoms, strict=True):
            operations = [equations[position] for position in run]
            instead |= dict.fromkeys(run, ())
            instead[run[-1]] = list(vectors.with_operands(operations, own))
    renewed = list[Equation]()
    for position, equation in enumerate(equations):
        renewed += instead.get(position, (equation,))
    left = needed_equations(
        renewed, results, lambda equation: is_on_register(equation) or keeps(equation)
    )[0]
    tell(Rewriting("re-rolling", Equations(equations, results), Equations(left, results)))
    return left


class _Vectors:
    """The parameters of some runs: elements of vectors, or operands of their own."""

    def __init__(self, forms: Forms, atoms: Sequence[Any]):
        alike: dict[Any, dict[Any, list[Any]]] = {}
        for atom in dict.fromkeys(atom for atom in atoms if _may_be_element(atom)):
            scalar = forms.of(atom)
            alike.setdefault(scalar.form, {}).setdefault(scalar.row, []).append(atom)
        self._elements: dict[Any, tuple[Any, int]] = {}
        """Of which form a parameter is, and its place in the vector."""
        self._scalars: dict[Any, list[Scalar]] = {}
        self._vectors: dict[Any, Any] = {}
        """By form; where they have been computed."""
        for form, rows in alike.items():
            if sum(map(len, rows.values())) >= LEAST_ALIKE:
                self._scalars[form] = [forms.of(atom) for atom, *_ in rows.values()]
                for place, equal in enumerate(rows.values()):
                    self._elements |= dict.fromkeys(equal, (form, place))

    def with_operands(
        self, operations: Sequence[Equation], atoms: Sequence[Any]
    ) -> Iterator[Equation]:
        """The equation for a run with these parameters, after those of vectors that are new."""
        operands, numbers, elements = dict[Any, int](), list[int](), list[int]()
        source = operations[-1].source_info
        for atom in atoms:
            operand, element = atom, 0
            if is_variable(atom) and atom in self._elements:
                form, element = self._elements[atom]
                if form not in self._vectors:
                    made, self._vectors[form] = _computed(self._scalars[form], source)
                    yield from made
                operand = self._vectors[form]
            size = numbers_of(atom.aval)
            known = not is_variable(operand)
            numbers += [-1 if known else operands.setdefault(operand, len(operands))] * size
            elements += range(element, element + size)
        places = Places(np.array(numbers, int), np.array(elements, int))
        register, last = operations[0].invars[0], operations[-1].outvars[0]
        params = {"operations": tuple(operations), "places": places}
        yield new_equation(operations_p, [register, *operands], [last], params, source)


def _computed(scalars: Sequence[Scalar], source: Any) -> tuple[list[Equation], Any]:
    return recorded(lambda values: vector_of(scalars, values), scalars[0].needs, source)


def numbers_of(aval: Any) -> int:
    """How many real numbers a parameter has."""
    return aval.size * (2 if np.issubdtype(aval.dtype, np.complexfloating) else 1)


def _may_be_element(atom: Any) -> bool:
    return is_variable(atom) and not atom.aval.shape and atom.aval.dtype == np.float64


def is_on_register(equation: Equation) -> bool:
    """Whether an equation takes or gives a register."""
    return any(hasattr(atom.aval, "mlir_type") for atom in (*equation.invars, *equation.outvars))


def equations_to_lower(jaxpr: Any, is_kept: Callable[[Any], bool]) -> Sequence[Equation]:
    """The equations of a jaxpr that somebody needs, or others instead: long runs of gates are one.

    What nobody needs is not refused, nor does it call Python. `is_kept`: whether a variable is
    defined whoever reads it. There are no runs without a register: in a loop, numbers in processor
    registers may be faster than vectors in memory, which is nothing beside a circuit.
    """

    def keeps(equation: Equation) -> bool:
        outputs = equation.outvars
        return bool(equation.effects) or not outputs or any(map(is_kept, outputs))

    equations = with_runs_of_gates(jaxpr, keeps, LEAST)
    if equations is not jaxpr.eqns:
        return equations
    needed, _ = needed_equations(equations, jaxpr.outvars, keeps)
    return equations if len(needed) == len(equations) else needed


def with_runs_of_gates(
    jaxpr: Any, keeps: Callable[[Equation], bool], least: int
) -> Sequence[Equation]:
    """The equations of a jaxpr, with one in the place of each run of so many gates at least."""
    equations = jaxpr.eqns
    if not any(map(is_on_register, equations)):
        return equations
    runs = list(_worthwhile(register_operations(equations, _is_on_known_wires), least))
    joins = join_positions(equations, LEAST)
    if not runs and not joins:
        return equations
    return rerolled(
        equations, jaxpr.outvars, runs, parameters_of_gate, keeps, apart=True, joins=joins
    )


def lines_of_run(
    operations: Sequence[Equation], places: Places, sizes: Sequence[int]
) -> list[RunGate]:
    """The gates of a run whose operands have so many elements; these are numbered together."""
    firsts = np.concatenate([np.cumsum([0, *sizes])[:-1], [0]]).astype(int)
    numbers = firsts[places.operands] + places.elements
    names = iter(
        None if operand < 0 else f"%{number}"
        for operand, number in zip(places.operands.tolist(), numbers.tolist(), strict=True)
    )
    return [_gate(gate, names) for gate in operations]


def _gate(equation: Equation, names: Iterator[str | None]) -> RunGate:
    """A gate as a line: the last of its wires are the controls."""
    parameters = tuple(
        float(atom.val) if name is None else name
        for atom, name in zip(parameters_of_gate(equation), names, strict=False)
    )
    params = equation.params
    wires, values = params["wires"], params["control_values"]
    targets = len(wires) - len(values)
    controls = tuple(zip(wires[targets:], values, strict=True))
    return RunGate(params["name"], wires[:targets], controls, parameters)


def parameters_of_gate(equation: Equation) -> Sequence[Any]:
    """What is between a gate's register and its wires."""
    return equation.invars[1 : 1 + equation.params["num_parameters"]]


def _is_on_known_wires(equation: Equation) -> bool:
    return equation.primitive.name == "gate" and None not in equation.params["wires"]


def _worthwhile(runs: Iterable[Run], least: int) -> Iterator[Run]:
    for run in runs:
        parts = (run[start : start + MOST] for start in range(0, len(run), MOST))
        yield from (part for part in parts if len(part) >= least)


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


_FEWER = 4
"""Numbers for each vector and each number by itself, from which on a vector is worth it."""


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
