"""From the equations of a circuit's body to statements.

In: equations on one register, and `Values` for what they take. Out: statements. A loop is a `For`
or `While`, a choice an `If`; what they carry or give beside the register is a variable, as far as
anything needs it. For a language that `repeats` nothing that is known, loops are their turns.

The trap: a loop's body is read again where what it carries turns out to have no expression.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.inspection.circuit_texts.errors import NotInOpenqasmError, NotInQirError
from diastase.inspection.circuit_texts.expressions import (
    SUM,
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    compared,
    expressed,
    first_condition,
    given,
    infix,
    names_in,
    scaled,
)
from diastase.inspection.circuit_texts.gates import Step
from diastase.inspection.circuit_texts.statements import (
    Assign,
    For,
    Gate,
    Statement,
    While,
    choice,
)
from diastase.inspection.circuit_texts.values import (
    WIDE,
    Elements,
    Unsayable,
    Value,
    Values,
    choose,
    collapsed,
    scalar_of,
    scalar_value,
    scalars_of,
    too_narrow,
)
from diastase.jaxprs.control_flow import LoopOperands
from diastase.primitives.quantum import is_register, touches_register
from diastase_mlir import at, span_of

MOST_VARIABLES = 64
"""For what a loop carries, or branches give."""

MOST_TURNS = 10_000
"""Of all loops whose turns are written one after the other."""

_INDICES = "ijkl"
_REGISTER = np.zeros(0)
"""Stands for the register, of which there is one at any time."""
_KINDS = "fiub"


@dataclass(frozen=True)
class Language:
    """What the reader must know of the language that is written."""

    name: str
    refusal: type[NotInOpenqasmError] | type[NotInQirError]
    hint: str
    """What to do about numbers that have no expression."""
    repeats: bool = True
    """Whether it has loops over ranges, and wires with computed numbers."""


class Reader:
    """Reads one circuit."""

    def __init__(
        self, language: Language, values: Values, taken: set[str],
        operations: Mapping[str, "Operation"],
    ) -> None:  # fmt: skip
        self.language = language
        self.values = values
        self._taken = taken
        self._operations = operations
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
            if name in _CONTROL_FLOW:
                operands = [self.values.of(atom) for atom in equation.invars]
                results = _CONTROL_FLOW[name](self, equation, operands)
                self.values.bind(equation.outvars, results)
            elif touches_register(equation):
                for variable in equation.outvars:
                    self.values.let(variable, _REGISTER)
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
                return self._captured(
                    lambda: self.gate(steps, some, numbers, others, control_values)
                )

            self._if(condition, where(True), where(False))
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

            self._if(condition, self._captured(on_this), ())

    def wires(self, equation: Any, wires: Sequence[int | None]) -> list[Scalar]:
        """The wires of an equation; traced ones are its last operands."""
        traced = iter(equation.invars[len(equation.invars) - list(wires).count(None) :])
        return [
            scalar_of(self.values.of(next(traced))) if wire is None else np.int64(wire)
            for wire in wires
        ]

    # --- variables --------------------------------------------------------------------------------

    def _variables_for(self, aval: Any) -> Value:
        """A new variable for each element of a type."""
        shape = aval.shape
        is_known = all(isinstance(size, int) for size in shape)
        if not is_known or math.prod(shape) > MOST_VARIABLES:
            return Unsayable(
                f"depends on an array that changes, of more than {MOST_VARIABLES} elements"
            )
        if aval.dtype.kind not in _KINDS:
            return Unsayable("depends on numbers that change, and are complex")
        if str(aval.dtype) not in WIDE:
            return Unsayable(too_narrow(aval.dtype))
        kind = aval.dtype.kind
        made = [
            Expression(self._name(), kind=kind, is_outcome=True) for _ in range(math.prod(shape))
        ]
        return collapsed(made, aval)

    def _name(self) -> str:
        self._variables += 1
        return f"v{self._variables - 1}"

    def _declare(self, variables: Value, value: Value | None = None) -> None:
        """Declare variables, with values if there are some."""
        for place, variable in enumerate(scalars_of(variables)):
            scalar: Scalar | None = None if value is None else scalars_of(value)[place]
            one = None if scalar is None or isinstance(scalar, Choice) else expressed(scalar)
            self.write(Assign(variable, one, True))
            if isinstance(scalar, Choice):
                self._assign(variable, scalar)

    def _assign_all(self, variables: Value, value: Value) -> None:
        for variable, scalar in zip(scalars_of(variables), scalars_of(value), strict=True):
            self._assign(variable, scalar)

    def _assign(self, variable: Any, scalar: Scalar) -> None:
        if isinstance(scalar, Choice):
            cases = scalar.if_true, scalar.if_false
            blocks = [self._captured(lambda c=case: self._assign(variable, c)) for case in cases]
            self._if(scalar.condition, *blocks)
        elif (value := expressed(scalar)).text != variable.text:
            self.write(Assign(variable, value))

    # --- loops ------------------------------------------------------------------------------------

    def for_loop(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """A loop over a range."""
        parts = LoopOperands.read(operands, equation.params)
        bounds = [scalar_of(bound) for bound in parts.bounds]
        backwards = equation.params["apply_reverse_transform"]
        if not self.language.repeats:
            return self._turns_of(equation, parts, bounds)
        found = _range(bounds, backwards)
        if found is None:
            return list(parts.carry)
        first, stride, last, is_natural = found
        index = Expression(self._index(), kind="i", is_natural=is_natural)
        body: ClosedJaxpr = equation.params["body_jaxpr"]
        given_values = [*parts.constants, scalar_value(index, np.dtype(np.int64))]

        def turn(carry: Sequence[Value]) -> list[Value]:
            return self.region(body, [*given_values, *carry])

        def loop(body: Sequence[Statement]) -> Statement:
            return For(index, first, stride, last, tuple(body))

        return self._loop(loop, turn, body, parts)

    def _turns_of(
        self, equation: Any, parts: LoopOperands, bounds: Sequence[Scalar]
    ) -> list[Value]:
        """The turns of a loop over a range, one after the other."""
        condition = first_condition(bounds)
        if condition is not None:
            cases = [
                [given(bound, condition, holds) for bound in bounds] for holds in (False, True)
            ]
            runs = [lambda case=case: self._turns_of(equation, parts, case) for case in cases]
            which = Choice(condition, np.int64(0), np.int64(1))
            return self._one_of(which, runs, equation.outvars)
        if not all(isinstance(bound, np.generic) for bound in bounds):
            raise NotSayableError("has bounds that another loop changes")
        lower, upper, step = (int(bound) for bound in bounds if isinstance(bound, np.generic))
        turns = range(lower, upper, step) if step else range(0)
        body, carry = equation.params["body_jaxpr"], list(parts.carry)
        for index in turns[::-1] if equation.params["apply_reverse_transform"] else turns:
            self._count_turn()
            carry = self.region(body, [*parts.constants, np.asarray(index), *carry])
        return carry

    def _count_turn(self) -> None:
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise NotSayableError(f"has more than {MOST_TURNS} turns, which are written each")

    def _index(self) -> str:
        names = [*_INDICES, *(f"i{number}" for number in range(100))]
        free = [name for name in names if name not in self._taken]
        return free[self._depth]

    def while_loop(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """A loop as long as a condition of what it carries holds."""
        parts = LoopOperands.read(operands, equation.params)
        condition, body = equation.params["cond_jaxpr"], equation.params["body_jaxpr"]
        if any(map(touches_register, condition.jaxpr.eqns)):
            raise NotSayableError("measures in its condition")
        carried = list[Value]()

        def goes_on(carry: Sequence[Value]) -> Scalar:
            (found,) = self.region(condition, [*parts.tested, *carry])
            return scalar_of(found)

        def turn(carry: Sequence[Value]) -> list[Value]:
            carried[:] = carry
            return self.region(body, [*parts.constants, *carry])

        def loop(body: Sequence[Statement]) -> Statement:
            return While(expressed(goes_on(carried)), tuple(body))

        if not self.language.repeats:
            before = self._state()
            carry: list[Value] = list(parts.carry)
            while isinstance(found := goes_on(carry), np.generic):
                if not found:
                    return carry
                self._count_turn()
                carry = turn(carry)
            self._return_to(before)
        return self._loop(loop, turn, body, parts)

    def _state(self) -> tuple[int, int, int]:
        return len(self.statements), self.outcomes, self._variables

    def _return_to(self, state: tuple[int, int, int]) -> None:
        """Forget what has been written since then."""
        length, self.outcomes, self._variables = state
        del self.statements[length:]

    def _loop(
        self,
        loop: Callable[[Sequence[Statement]], Statement],
        turn: Callable[[Sequence[Value]], list[Value]],
        body: ClosedJaxpr,
        parts: LoopOperands,
    ) -> list[Value]:
        """Write a loop, whose carried values are variables where it changes them."""
        start = len(body.jaxpr.invars) - len(parts.carry)
        pairs = list(zip(body.jaxpr.invars[start:], body.jaxpr.outvars, strict=True))
        changed = [
            place
            for place, (inside, outside) in enumerate(pairs)
            if inside is not outside and not is_register(inside)
        ]
        carry = list(parts.carry)
        before = self._state()
        while True:
            variables = self._carried(carry, changed, body)
            inside = [variables[p] if p in variables else carry[p] for p in range(len(carry))]
            block, results = self._turn(turn, inside, variables)
            lost = [place for place in variables if isinstance(results[place], Unsayable)]
            if not lost:
                self.write(loop(block))
                return inside
            for place in lost:
                carry[place] = results[place]
            self._return_to(before)

    def _turn(
        self,
        turn: Callable[[Sequence[Value]], list[Value]],
        inside: Sequence[Value],
        variables: Mapping[int, Value],
    ) -> tuple[list[Statement], list[Value]]:
        """The statements of a loop's body, and what it gives to the next turn."""
        results = list[Value]()

        def write() -> None:
            results[:] = turn(inside)
            if not any(isinstance(results[place], Unsayable) for place in variables):
                self._update(variables, results)

        return self._captured(write), results

    def _carried(
        self, carry: list[Value], changed: Sequence[int], body: ClosedJaxpr
    ) -> dict[int, Value]:
        """Declare the variables of a loop; what can have none has no expression."""
        variables = dict[int, Value]()
        for place in changed:
            if isinstance(carry[place], Unsayable):
                continue
            made = self._variables_for(body.jaxpr.outvars[place].aval)
            if isinstance(made, Unsayable):
                carry[place] = made
            else:
                self._declare(made, carry[place])
                variables[place] = made
        return variables

    def _update(self, variables: Mapping[int, Value], results: Sequence[Value]) -> None:
        """Assign what the next turn takes, all at once."""
        everything = [
            (variable, scalar)
            for place, made in variables.items()
            for variable, scalar in zip(scalars_of(made), scalars_of(results[place]), strict=True)
        ]
        texts = {variable.text for variable, _ in everything}
        for number, (variable, scalar) in enumerate(everything):
            later = texts - {variable.text}
            if later & names_in(scalar):
                kept = Expression(self._name(), kind=variable.kind, is_outcome=True)
                one = np.empty((), object)
                one[()] = kept
                self._declare(Elements(one, None), scalar_value(scalar, _DTYPES[variable.kind]))
                everything[number] = variable, kept
        for variable, scalar in everything:
            self._assign(variable, scalar)

    # --- choices ----------------------------------------------------------------------------------

    def switch(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Branches: an `if` for each condition that the number of the branch depends on."""
        index, given_values = scalar_of(operands[0]), operands[1:]
        params = equation.params
        branches = params["branches" if "branches" in params else "branch_jaxprs"]
        if isinstance(index, np.generic):
            return self.region(branches[int(index)], given_values)
        runs = [lambda body=body: self.region(body, given_values) for body in branches]
        return self._one_of(index, runs, equation.outvars)

    def _one_of(self, index: Scalar, runs: Sequence["Run"], outvars: Sequence[Any]) -> list[Value]:
        """What one of several blocks does and gives; the index that picks it is not known."""
        start, before = len(self.statements), self.outcomes
        results = dict[int, list[Value]]()
        self._branches(index, runs, results)
        results_of = [results.get(n, results[min(results)]) for n in range(len(runs))]
        variables = dict[int, Value]()
        found = list[Value]()
        for place, variable in enumerate(outvars):
            values = [result[place] for result in results_of]
            found.append(self._given_by(place, variable, index, values, variables))
        if variables:
            del self.statements[start:]
            self.outcomes = before
            for made in variables.values():
                self._declare(made)
            self._branches(index, runs, {}, variables)
        return found

    def _given_by(
        self, place: int, variable: Any, index: Scalar, values: Sequence[Value],
        variables: dict[int, Value],
    ) -> Value:  # fmt: skip
        """What branches give: the same, one of two that are known, or a variable."""
        if is_register(variable):
            return _REGISTER
        unsayable = [value for value in values if isinstance(value, Unsayable)]
        if unsayable:
            return unsayable[0]
        if all(isinstance(value, np.ndarray) for value in values):
            try:
                return choose(index, values)
            except NotSayableError:
                pass
        made = self._variables_for(variable.aval)
        if not isinstance(made, Unsayable):
            variables[place] = made
        return made

    def _branches(
        self, index: Scalar, runs: Sequence["Run"], results: dict[int, list[Value]],
        variables: Mapping[int, Value] | None = None,
    ) -> None:  # fmt: skip
        def within(inner: Scalar) -> list[Statement]:
            return self._captured(lambda: self._branches(inner, runs, results, variables))

        if isinstance(index, Choice):
            self._if(index.condition, within(index.if_true), within(index.if_false))
        elif isinstance(index, Expression):
            *first, last = range(len(runs))
            blocks = [within(np.int64(number)) for number in (*first, last)]
            other = blocks[-1]
            for number in reversed(first):
                condition = expressed(compared("==")("b", index, expressed(np.int64(number))))
                other = self._captured(
                    lambda c=condition, b=blocks[number], o=other: self._if(c, b, o)
                )
            self.statements += other
        else:
            found = runs[int(index)]()
            results[int(index)] = found
            for place, variable in (variables or {}).items():
                self._assign_all(variable, found[place])

    def _captured(self, write: Callable[[], None]) -> list[Statement]:
        """The statements of a block, which are not written yet."""
        outer, self.statements = self.statements, []
        self._depth += 1
        try:
            write()
            return self.statements
        finally:
            self._depth -= 1
            self.statements = outer

    def _if(
        self, condition: Expression, then: Sequence[Statement], other: Sequence[Statement]
    ) -> None:
        """Write a choice; of an empty block the other one is written alone."""
        made = choice(condition, then, other)
        if made is not None:
            self.write(made)


_DTYPES = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


def angle_of(angle: Any, parameters: Sequence[Scalar]) -> Expression:
    """A parameter of a step, for those of its gate."""
    if not isinstance(angle, tuple):
        return expressed(np.float64(angle))
    factor, place = angle
    parameter = parameters[place]
    if isinstance(parameter, np.generic):
        return expressed(np.float64(factor * float(parameter)))
    return scaled(factor, expressed(parameter))


def _range(
    bounds: Sequence[Scalar], backwards: bool
) -> tuple[Expression, int, Expression, bool] | None:
    """First, stride, last; whether no number is negative. None where the range is empty."""
    lower, upper, step = bounds
    if not isinstance(step, np.generic):
        raise NotSayableError("has a step that is computed")
    if isinstance(lower, np.generic) and isinstance(upper, np.generic):
        turns = range(int(lower), int(upper), int(step)) if step else range(0)
        if not turns:
            return None
        turns = turns[::-1] if backwards else turns
        first, last = expressed(np.int64(turns[0])), expressed(np.int64(turns[-1]))
        return first, turns.step, last, min(turns) >= 0
    if step == 0:
        return None
    if backwards and abs(int(step)) != 1:
        raise NotSayableError("goes backwards over a computed range in steps")
    low, high = expressed(lower), expressed(upper)
    sign = 1 if int(step) > 0 else -1
    last = infix("-" if sign > 0 else "+", SUM)("i", high, expressed(np.int64(1)))
    first, last = (last, low) if backwards else (low, last)
    natural = low.is_natural if sign > 0 else high.is_natural
    return first, -int(step) if backwards else int(step), last, natural


def refusal(
    language: Language, equation: Any, reason: str, hint: str = ""
) -> NotInOpenqasmError | NotInQirError:
    """The error about an equation; a hint, if there is none for its primitive."""
    hint = _HINTS.get(equation.primitive.name) or hint or language.hint
    return language.refusal(construct=construct_of(equation), reason=reason, hint=hint)


def construct_of(equation: Any) -> str:
    """What the user calls it."""
    name = equation.primitive.name
    return str(equation.params.get("name") or _CONSTRUCTS.get(name, name))


_CONSTRUCTS = {
    "diagonal": "DiagonalQubitUnitary", "for_loop": "the for loop", "prepare": "StatePrep",
    "switch": "the branch", "unitary": "QubitUnitary", "while_loop": "the while loop",
    "global_phase": "GlobalPhase", "expval_pauli": "expval", "var_pauli": "var",
    "sample": "a measurement with shots", "record": "a derivative", "kraus": "a channel",
    "pauli_channel": "a channel", "superoperator": "a channel",
}  # fmt: skip
_SHOTS = "return measurements that the same shots give, and the others by a QNode of their own"
_HINTS = {
    **dict.fromkeys(
        ("kraus", "pauli_channel", "superoperator"),
        "leave it out: devices have noise of their own",
    ),
    **dict.fromkeys(("expval_pauli", "var_pauli", "probs", "sample"), _SHOTS),
    "unitary": "apply it as gates: qml.ops.two_qubit_decomposition, qml.ctrl_decomp_zyz, …",
    "prepare": "prepare the state by gates: qml.MottonenStatePreparation",
    "allocate_qubits": "give the device a number of wires that is known",
    "measure": "leave out postselect: there is no statement for it",
}


Run = Callable[[], list[Value]]
"""Reads a block; what it gives."""

Operation = Callable[[Reader, Any], None]
"""Writes the statements of an equation."""

_CONTROL_FLOW: Mapping[str, Callable[[Reader, Any, Sequence[Value]], list[Value]]] = {
    "cond": Reader.switch,
    "for_loop": Reader.for_loop,
    "switch": Reader.switch,
    "while_loop": Reader.while_loop,
}
