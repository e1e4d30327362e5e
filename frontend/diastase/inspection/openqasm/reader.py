"""From the equations of a circuit's body to statements of OpenQASM.

In: equations on one register, and `Values` for what they take. Out: lines, with their indentation.
A loop is a `for` or `while`, a choice an `if`; what they carry or give beside the register is a
variable, as far as anything needs it.

The trap: a loop's body is read again where what it carries turns out to have no expression.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.inspection.openqasm.errors import NotInOpenqasmError
from diastase.inspection.openqasm.expressions import (
    ATOM,
    SUM,
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    expressed,
    first_condition,
    given,
    minus,
    names_in,
    negated,
)
from diastase.inspection.openqasm.gates import Step
from diastase.inspection.openqasm.lines import Line
from diastase.inspection.openqasm.values import (
    Elements,
    Unsayable,
    Value,
    Values,
    choose,
    collapsed,
    scalar_of,
    scalar_value,
    scalars_of,
)
from diastase.jaxprs.control_flow import LoopOperands
from diastase.primitives.quantum import is_register, touches_register
from diastase_mlir import at, span_of

MOST_VARIABLES = 64
"""For what a loop carries, or branches give."""

_INDICES = "ijkl"
_REGISTER = np.zeros(0)
"""Stands for the register, of which there is one at any time."""
_KINDS = {"f": "float[64]", "i": "int", "u": "int", "b": "bool"}
_SHORT = {
    ("x", 1): "cx", ("y", 1): "cy", ("z", 1): "cz", ("h", 1): "ch", ("rx", 1): "crx",
    ("ry", 1): "cry", ("rz", 1): "crz", ("p", 1): "cp", ("x", 2): "ccx", ("swap", 1): "cswap",
}  # fmt: skip
"""Controlled gates that have a name, by the gate and how many controls it has."""


class Reader:
    """Reads one circuit."""

    def __init__(
        self, values: Values, taken: set[str], operations: Mapping[str, "Operation"]
    ) -> None:
        self.values = values
        self._taken = taken
        self._operations = operations
        self.lines = list[Line]()
        self.size = 0
        """Of the register."""
        self.outcomes = 0
        self.at_end: Callable[[Any], None] | None = None
        """What reads measurements at the end of the circuit."""
        self._depth = 0
        self._variables = 0

    # --- regions ----------------------------------------------------------------------------------

    def region(self, closed: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        """Read a region; what it gives, the register aside."""
        self.values.enter(closed, operands)
        for equation in closed.jaxpr.eqns:
            with at(span_of(equation.source_info)):
                self._equation(equation)
        return [self.values.of(atom) for atom in closed.jaxpr.outvars]

    def _equation(self, equation: Any) -> None:
        name = equation.primitive.name
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
            raise refusal(equation, error.reason) from error

    # --- statements -------------------------------------------------------------------------------

    def line(self, text: str, assigns: str = "") -> None:
        """Write a line."""
        self.lines.append(Line(text, self._depth, assigns))

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

            def where(holds: bool) -> list[Line]:
                some, numbers, others = (
                    [given(each, condition, holds) for each in part]
                    for part in (wires, angles, controls)
                )
                return self._captured(
                    lambda: self.gate(steps, some, numbers, others, control_values)
                )

            self._if(condition, where(True), where(False))
            return
        for step in steps:
            numbers = [angle_text(angle, angles) for angle in step.angles]
            own = [wires[wire] for wire in step.wires]
            self._step(step.name, numbers, [*controls, *own], [*control_values, *step.controls])

    def _step(
        self, name: str, angles: Sequence[str], wires: Sequence[Any], controls: Sequence[bool]
    ) -> None:
        short = _SHORT.get((name, len(controls))) if all(controls) else None
        modifiers = "".join("ctrl @ " if value else "negctrl @ " for value in controls)
        written = short or f"{modifiers}{name}"
        arguments = f"({', '.join(angles)})" if angles else ""
        self.line(f"{written}{arguments} {', '.join(map(qubit, wires))};")

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
        kind = "i" if aval.dtype.kind in "iu" else aval.dtype.kind
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
            kind, scalar = _KINDS[variable.kind], None
            if value is not None:
                scalar = scalars_of(value)[place]
            if scalar is None or isinstance(scalar, Choice):
                self.line(f"{kind} {variable.text};", variable.text)
            else:
                self.line(f"{kind} {variable.text} = {expressed(scalar).text};", variable.text)
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
        elif (text := expressed(scalar).text) != variable.text:
            self.line(f"{variable.text} = {text};", variable.text)

    # --- loops ------------------------------------------------------------------------------------

    def for_loop(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """A loop over a range."""
        parts = LoopOperands.read(operands, equation.params)
        bounds = [scalar_of(bound) for bound in parts.bounds]
        backwards = equation.params["apply_reverse_transform"]
        found = _range(bounds, backwards)
        if found is None:
            return list(parts.carry)
        text, is_natural = found
        index = Expression(self._index(), kind="i", is_natural=is_natural)
        body: ClosedJaxpr = equation.params["body_jaxpr"]
        first = [*parts.constants, scalar_value(index, np.dtype(np.int64))]

        def head() -> str:
            return f"for int {index.text} in [{text}]"

        return self._loop(head, lambda carry: self.region(body, [*first, *carry]), body, parts)

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

        def head() -> str:
            (goes_on,) = self.region(condition, [*parts.tested, *carried])
            return f"while ({expressed(scalar_of(goes_on)).text})"

        def turn(carry: Sequence[Value]) -> list[Value]:
            carried[:] = carry
            return self.region(body, [*parts.constants, *carry])

        return self._loop(head, turn, body, parts)

    def _loop(
        self,
        head: Callable[[], str],
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
        before = len(self.lines), self.outcomes, self._variables
        while True:
            variables = self._carried(carry, changed, body)
            inside = [variables[p] if p in variables else carry[p] for p in range(len(carry))]
            lines, results = self._turn(turn, inside, variables)
            lost = [place for place in variables if isinstance(results[place], Unsayable)]
            if not lost:
                self.lines += [Line(f"{head()} {{", self._depth), *lines, Line("}", self._depth)]
                return inside
            for place in lost:
                carry[place] = results[place]
            del self.lines[before[0] :]
            _, self.outcomes, self._variables = before

    def _turn(
        self,
        turn: Callable[[Sequence[Value]], list[Value]],
        inside: Sequence[Value],
        variables: Mapping[int, Value],
    ) -> tuple[list[Line], list[Value]]:
        """The lines of a loop's body, and what it gives to the next turn."""
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
        start, before = len(self.lines), self.outcomes
        results = dict[int, list[Value]]()
        self._branches(index, branches, given_values, results)
        results_of = [results.get(n, results[min(results)]) for n in range(len(branches))]
        variables = dict[int, Value]()
        found = list[Value]()
        for place, variable in enumerate(equation.outvars):
            values = [result[place] for result in results_of]
            found.append(self._given_by(place, variable, index, values, variables))
        if variables:
            del self.lines[start:]
            self.outcomes = before
            for made in variables.values():
                self._declare(made)
            self._branches(index, branches, given_values, {}, variables)
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
        self, index: Scalar, branches: Sequence[ClosedJaxpr], operands: Sequence[Value],
        results: dict[int, list[Value]], variables: Mapping[int, Value] | None = None,
    ) -> None:  # fmt: skip
        def within(inner: Scalar) -> list[Line]:
            return self._captured(
                lambda: self._branches(inner, branches, operands, results, variables)
            )

        if isinstance(index, Choice):
            self._if(index.condition, within(index.if_true), within(index.if_false))
        elif isinstance(index, Expression):
            last = len(branches) - 1
            for number in range(last):
                head = "else if" if number else "if"
                self.lines.append(Line(f"{head} ({index.within(SUM)} == {number}) {{", self._depth))
                self.lines += [*within(np.int64(number)), Line("}", self._depth)]
            self.lines += [Line("else {", self._depth), *within(np.int64(last))]
            self.line("}")
        else:
            found = self.region(branches[int(index)], operands)
            results[int(index)] = found
            for place, variable in (variables or {}).items():
                self._assign_all(variable, found[place])

    def _captured(self, write: Callable[[], None]) -> list[Line]:
        """The lines of a block, which are not written yet."""
        outer, self.lines = self.lines, []
        self._depth += 1
        try:
            write()
            return self.lines
        finally:
            self._depth -= 1
            self.lines = outer

    def _if(self, condition: Expression, then: Sequence[Line], other: Sequence[Line]) -> None:
        """Write a choice; of an empty block the other one is written alone."""
        if not then:
            condition, then, other = negated(condition), other, ()
        if then:
            self.lines += [Line(f"if ({condition.text}) {{", self._depth), *then]
            self.line("}")
        if other:
            self.lines += [Line("else {", self._depth), *other]
            self.line("}")


_DTYPES = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


def qubit(wire: Scalar) -> str:
    """A wire as an element of the register."""
    return f"q[{expressed(wire).text}]"


def angle_text(angle: Any, parameters: Sequence[Scalar]) -> str:
    """A parameter of a step, for those of its gate."""
    if not isinstance(angle, tuple):
        return expressed(np.float64(angle)).text
    factor, place = angle
    parameter = parameters[place]
    if isinstance(parameter, np.generic):
        return expressed(np.float64(factor * float(parameter))).text
    found = expressed(parameter)
    if factor == 1:
        return found.text
    if factor == -1:
        return minus("f", found).text
    return f"{factor!r} * {found.within(ATOM)}"


def _range(bounds: Sequence[Scalar], backwards: bool) -> tuple[str, bool] | None:
    """The text of a range, its end included; whether all is natural; None where it is empty."""
    lower, upper, step = bounds
    if not isinstance(step, np.generic):
        raise NotSayableError("has a step that is computed")
    if isinstance(lower, np.generic) and isinstance(upper, np.generic):
        turns = range(int(lower), int(upper), int(step)) if step else range(0)
        if not turns:
            return None
        turns = turns[::-1] if backwards else turns
        middle = "" if turns.step == 1 else f"{turns.step}:"
        return f"{turns[0]}:{middle}{turns[-1]}", min(turns) >= 0
    if step == 0:
        return None
    if backwards and abs(int(step)) != 1:
        raise NotSayableError("goes backwards over a computed range in steps")
    low, high = expressed(lower), expressed(upper)
    sign = 1 if int(step) > 0 else -1
    last = f"{high.within(SUM)} {'-' if sign > 0 else '+'} 1"
    ends = (last, low.text) if backwards else (low.text, last)
    stride = -int(step) if backwards else int(step)
    middle = "" if stride == 1 else f"{stride}:"
    natural = low.is_natural if sign > 0 else high.is_natural
    return f"{ends[0]}:{middle}{ends[1]}", natural


def refusal(equation: Any, reason: str) -> NotInOpenqasmError:
    """The error about an equation."""
    hint = _HINTS.get(equation.primitive.name, _HINT)
    return NotInOpenqasmError(construct=construct_of(equation), reason=reason, hint=hint)


def construct_of(equation: Any) -> str:
    """What the user calls it."""
    name = equation.primitive.name
    return str(equation.params.get("name") or _CONSTRUCTS.get(name, name))


_CONSTRUCTS = {
    "diagonal": "DiagonalQubitUnitary", "for_loop": "the for loop", "prepare": "StatePrep",
    "switch": "the branch", "unitary": "QubitUnitary", "while_loop": "the while loop",
    "global_phase": "GlobalPhase", "expval_pauli": "expval", "var_pauli": "var",
    "sample": "a measurement with shots", "record": "a derivative", "kraus": "a channel",
    "pauli_channel": "a channel",
}  # fmt: skip
_HINT = "compute such numbers before, and give them as arguments; or make them static arguments"
_SHOTS = "return measurements that the same shots give, and the others by a QNode of their own"
_HINTS = {
    **dict.fromkeys(("expval_pauli", "var_pauli", "probs", "sample"), _SHOTS),
    "unitary": "apply it as gates: qml.ops.two_qubit_decomposition, qml.ctrl_decomp_zyz, …",
    "prepare": "prepare the state by gates: qml.MottonenStatePreparation",
    "allocate_qubits": "give the device a number of wires that is known",
    "measure": "leave out postselect: OpenQASM has none",
}


Operation = Callable[[Reader, Any], None]
"""Writes the statements of an equation."""

_CONTROL_FLOW: Mapping[str, Callable[[Reader, Any, Sequence[Value]], list[Value]]] = {
    "cond": Reader.switch,
    "for_loop": Reader.for_loop,
    "switch": Reader.switch,
    "while_loop": Reader.while_loop,
}
