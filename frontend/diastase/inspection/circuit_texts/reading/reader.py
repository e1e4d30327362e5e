"""From the equations of a circuit's body to statements: regions, gates and wires.

In: equations on one register, `Values` for what they take, and a function for each kind of control
flow and each operation. Out: statements. For a language that `repeats` nothing that is known,
loops are their turns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.inspection.circuit_texts.expressions import (
    Expression,
    NotSayableError,
    Scalar,
    compared,
    expressed,
    first_condition,
    given,
    scaled,
)
from diastase.inspection.circuit_texts.gates import Step
from diastase.inspection.circuit_texts.languages import Language, refusal
from diastase.inspection.circuit_texts.statements import Gate, Statement, choice
from diastase.inspection.circuit_texts.values import Value, Values, scalar_of
from diastase.primitives.quantum import touches_register
from diastase_mlir import at, span_of

MOST_TURNS = 10_000
"""Of all loops whose turns are written one after the other."""

REGISTER = np.zeros(0)
"""Stands for the register, of which there is one at any time."""
_INDICES = "ijkl"


class Reader:
    """Reads one circuit."""

    def __init__(
        self, language: Language, values: Values, taken: set[str],
        operations: Mapping[str, "Operation"], control_flow: Mapping[str, "ControlFlow"],
    ) -> None:  # fmt: skip
        self.language = language
        self.values = values
        self._taken = taken
        self._operations = operations
        self._control_flow = control_flow
        self.statements = list[Statement]()
        self.size = 0
        """Of the register."""
        self.outcomes = 0
        self.at_end: Callable[[Any], None] | None = None
        """What reads measurements at the end of the circuit."""
        self._depth = 0
        self._variables = 0
        self._turns = 0
        self._equation: Any = None
        """What is read now."""

    # --- regions ----------------------------------------------------------------------------------

    def region(self, closed: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        """Read a region; what it gives, the register aside."""
        self.values.enter(closed, operands)
        for equation in closed.jaxpr.eqns:
            with at(span_of(equation.source_info)):
                self._read(equation)
        return [self.values.of(atom) for atom in closed.jaxpr.outvars]

    def _read(self, equation: Any) -> None:
        name = equation.primitive.name
        outer, self._equation = self._equation, equation
        try:
            if name in self._control_flow:
                operands = [self.values.of(atom) for atom in equation.invars]
                results = self._control_flow[name](self, equation, operands)
                self.values.bind(equation.outvars, results)
            elif touches_register(equation):
                for variable in equation.outvars:
                    self.values.let(variable, REGISTER)
                rule = self._operations.get(name)
                if rule is not None:
                    rule(self, equation)
                elif self.at_end is not None:
                    self.at_end(equation)
            else:
                self.values.read(equation)
        except NotSayableError as error:
            raise refusal(self.language, equation, error.reason) from error
        finally:
            self._equation = outer

    # --- statements -------------------------------------------------------------------------------

    def write(self, statement: Statement) -> None:
        """Write a statement."""
        self.statements.append(replace(statement, origin=self._equation))

    def gate(
        self,
        steps: Sequence[Step],
        wires: Sequence[Any],
        angles: Sequence[Any],
        controls: Sequence[Any] = (),
        control_values: Sequence[bool] = (),
    ) -> None:
        """Apply the steps of a gate; a choice of angles or wires is a choice of gates."""
        condition = first_condition([*wires, *angles, *controls])
        if condition is not None:

            def where(holds: bool) -> list[Statement]:
                some, numbers, others = (
                    [given(each, condition, holds) for each in part]
                    for part in (wires, angles, controls)
                )
                return self.captured(
                    lambda: self.gate(steps, some, numbers, others, control_values)
                )

            self.either(condition, where(True), where(False))
            return
        self.check([*wires, *controls])
        computed = next((w for w in (*wires, *controls) if isinstance(w, Expression)), None)
        if computed is not None and not self.language.repeats:
            self._on_each_wire(computed, steps, wires, angles, controls, control_values)
            return
        for step in steps:
            numbers = tuple(angle_of(angle, angles) for angle in step.angles)
            own = [wires[wire] for wire in step.wires]
            decisive = (*control_values, *step.controls)
            self.write(Gate(step.name, numbers, (*controls, *own), decisive))

    def check(self, wires: Sequence[Any]) -> None:
        """Refuse wires that the register does not have, or that are named twice."""
        known = [int(wire) for wire in wires if isinstance(wire, np.generic)]
        for wire in known:
            if not 0 <= wire < self.size:
                raise NotSayableError(f"is on wire {wire} of a device with {self.size} wires")
            if known.count(wire) > 1:
                raise NotSayableError(f"is on wire {wire} twice")

    def _on_each_wire(
        self, computed: Expression, steps: Sequence[Step], wires: Sequence[Any],
        angles: Sequence[Any], controls: Sequence[Any], control_values: Sequence[bool],
    ) -> None:  # fmt: skip
        """Apply a gate where a wire's number is one of those that it can be."""
        taken = {int(wire) for wire in (*wires, *controls) if isinstance(wire, np.generic)}
        for number in set(range(self.size)) - taken:
            wire = np.int64(number)
            some, others = (
                [wire if each == computed else each for each in part] for part in (wires, controls)
            )
            condition = expressed(compared("==")("b", computed, expressed(wire)))

            def on_this(some: Any = some, others: Any = others) -> None:
                self.gate(steps, some, angles, others, control_values)

            self.either(condition, self.captured(on_this), ())

    def wires(self, equation: Any, wires: Sequence[int | None]) -> list[Scalar]:
        """The wires of an equation; traced ones are its last operands."""
        traced = iter(equation.invars[len(equation.invars) - list(wires).count(None) :])
        return [
            scalar_of(self.values.of(next(traced))) if wire is None else np.int64(wire)
            for wire in wires
        ]

    # --- blocks and names -------------------------------------------------------------------------

    def captured(self, write: Callable[[], None]) -> list[Statement]:
        """The statements of a block, which are not written yet."""
        outer, self.statements = self.statements, []
        self._depth += 1
        try:
            write()
            return self.statements
        finally:
            self._depth -= 1
            self.statements = outer

    def either(
        self, condition: Expression, then: Sequence[Statement], other: Sequence[Statement]
    ) -> None:
        """Write a choice; of an empty block the other one is written alone."""
        made = choice(condition, then, other)
        if made is not None:
            self.write(made)

    def new_name(self) -> str:
        """The name of another variable."""
        self._variables += 1
        return f"v{self._variables - 1}"

    def index_name(self) -> str:
        """The name of the index of a loop, here."""
        names = [*_INDICES, *(f"i{number}" for number in range(100))]
        free = [name for name in names if name not in self._taken]
        return free[self._depth]

    def count_turn(self) -> None:
        """Refuse more turns than are written one after the other."""
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise NotSayableError(f"has more than {MOST_TURNS} turns, which are written each")

    def state(self) -> tuple[int, int, int]:
        """How much has been written."""
        return len(self.statements), self.outcomes, self._variables

    def return_to(self, state: tuple[int, int, int]) -> None:
        """Forget what has been written since then."""
        length, self.outcomes, self._variables = state
        del self.statements[length:]


def angle_of(angle: Any, parameters: Sequence[Scalar]) -> Expression:
    """A parameter of a step, for those of its gate."""
    if not isinstance(angle, tuple):
        return expressed(np.float64(angle))
    factor, place = angle
    parameter = parameters[place]
    if isinstance(parameter, np.generic):
        return expressed(np.float64(factor * float(parameter)))
    return scaled(factor, expressed(parameter))


Operation = Callable[[Reader, Any], None]
"""Writes the statements of an equation."""

ControlFlow = Callable[[Reader, Any, Sequence[Value]], list[Value]]
"""The same for control flow with these operands; what it gives."""
