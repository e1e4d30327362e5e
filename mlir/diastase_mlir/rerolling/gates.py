"""What is rewritten for lowering: many gates in a row, to be tables of gates, `quantum.run`.

A run is a chain of `gate` equations on known wires, each taking the register of the one before.
Equations that compute parameters may stand between them: they touch no register and have no
effects, so all gates of a run can be applied where the last of them stands. Many numbers that are
put together beside circuits, say coefficients, are vectors, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from diastase_mlir.gate_runs import LEAST, MOST
from diastase_mlir.rerolling.joins import join_positions
from diastase_mlir.rerolling.operations import (
    Equation,
    Run,
    is_on_register,
    register_operations,
    rerolled,
)


def equations_to_lower(jaxpr: Any, is_kept: Callable[[Any], bool]) -> Sequence[Equation]:
    """The equations of a jaxpr, or those instead: long runs of gates are one each.

    `is_kept`: whether a variable is defined whoever reads it. A jaxpr without a register stays as
    it is: in a loop, numbers in processor registers may be faster than vectors in memory, which is
    nothing beside a circuit.
    """
    equations = jaxpr.eqns
    if not any(map(is_on_register, equations)):
        return equations
    runs = list(_worthwhile(register_operations(equations, _is_on_known_wires)))
    joins = join_positions(equations, LEAST)
    if not runs and not joins:
        return equations

    def keeps(equation: Equation) -> bool:
        outputs = equation.outvars
        return bool(equation.effects) or not outputs or any(map(is_kept, outputs))

    return rerolled(
        equations, jaxpr.outvars, runs, parameters_of_gate, keeps, apart=True, joins=joins
    )


def parameters_of_gate(equation: Equation) -> Sequence[Any]:
    """What is between a gate's register and its wires."""
    return equation.invars[1 : 1 + equation.params["num_parameters"]]


def _is_on_known_wires(equation: Equation) -> bool:
    return equation.primitive.name == "gate" and None not in equation.params["wires"]


def _worthwhile(runs: Iterable[Run]) -> Iterator[Run]:
    for run in runs:
        parts = (run[start : start + MOST] for start in range(0, len(run), MOST))
        yield from (part for part in parts if len(part) >= LEAST)
