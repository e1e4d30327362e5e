"""From the equations of a circuit's body to statements of OpenQASM.

In: equations on one register, and `Values` for what they take. Out: lines, with their indentation.
A loop is a `for` or `while`, a choice an `if`; what they carry or give beside the register is a
variable, as far as anything needs it.

The trap: a loop's body is read again where what it carries turns out to have no expression.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
    negated,
)
from diastase.inspection.openqasm.gates import (
    MOST_DIAGONAL_WIRES,
    Step,
    diagonal_steps,
    steps_of,
    unitary_steps,
)
from diastase.inspection.openqasm.values import (
    Unsayable,
    Value,
    Values,
    choose,
    scalar_of,
    scalar_value,
)
from diastase.jaxprs.control_flow import LoopOperands
from diastase.primitives.quantum import is_register, touches_register
from diastase_mlir import at, span_of
from diastase_runtime.gate_table import into_z

_INDICES = "ijkl"
_REGISTER = np.zeros(0)
"""Stands for the register, of which there is one at any time."""
_KINDS = {"f": "float[64]", "i": "int", "u": "int", "b": "bool"}
_SHORT = {
    ("x", 1): "cx", ("y", 1): "cy", ("z", 1): "cz", ("h", 1): "ch", ("rx", 1): "crx",
    ("ry", 1): "cry", ("rz", 1): "crz", ("p", 1): "cp", ("x", 2): "ccx", ("swap", 1): "cswap",
}  # fmt: skip
"""Controlled gates that have a name, by the gate and how many controls it has."""


@dataclass(frozen=True)
class Line:
    """A line, and the variable that it declares or assigns, which may turn out to be unread."""

    text: str
    depth: int
    assigns: str = ""


class Reader:
    """Reads one circuit."""

    def __init__(self, values: Values, taken: set[str]) -> None:
        self.values = values
        self.taken = taken
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
                rule = _RULES.get(name)
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

    @contextmanager
    def _block(self, head: str) -> Generator[None]:
        self.line(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def gate(self, steps: Sequence[Step], wires: Sequence[Any], angles: Sequence[Any],
             controls: Sequence[Any] = (), control_values: Sequence[bool] = ()) -> None:
        """Apply the steps of a gate; a choice of angles or wires is a choice of gates."""
        condition = first_condition([*wires, *angles, *controls])
        if condition is not None:

            def where(holds: bool) -> list[Line]:
                parts = (
                    [given(each, condition, holds) for each in part]
                    for part in (wires, angles, controls)
                )
                return self._captured(lambda: self.gate(steps, *parts, control_values))

            self._if(condition, where(True), where(False))
            return
        for step in steps:
            numbers = [_angle(angle, angles) for angle in step.angles]
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

    def _variable(self, dtype: Any, is_outcome: bool) -> Expression:
        name = f"v{self._variables}"
        while name in self.taken:
            self._variables += 1
            name = f"v{self._variables}"
        self._variables += 1
        kind = "i" if dtype.kind in "iu" else dtype.kind
        return Expression(name, kind=kind, is_outcome=is_outcome)

    def _declare(self, variable: Expression, scalar: Scalar | None) -> None:
        kind = _KINDS[variable.kind]
        if scalar is None or isinstance(scalar, Choice):
            self.line(f"{kind} {variable.text};", variable.text)
            if scalar is not None:
                self._assign(variable, scalar)
        else:
            text = expressed(scalar).text
            self.line(f"{kind} {variable.text} = {text};", variable.text)

    def _assign(self, variable: Expression, scalar: Scalar) -> None:
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
        free = [name for name in names if name not in self.taken]
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
        pairs = zip(body.jaxpr.invars[start:], body.jaxpr.outvars, strict=True)
        changed = [inside is not outside for inside, outside in pairs]
        carry = list(parts.carry)
        for place, variable in enumerate(body.jaxpr.outvars):
            if not changed[place] or is_register(variable):
                changed[place] = False
            elif variable.aval.shape:
                carry[place] = Unsayable("depends on an array that a loop changes")
        saved = len(self.lines), self.outcomes, self._variables
        while True:
            variables = self._carried(carry, changed, body)
            with self._block("loop"):
                opened, before = len(self.lines) - 1, head
                results = turn(self._inside(carry, variables))
                lost = [p for p in variables if isinstance(results[p], Unsayable)]
                if not lost:
                    self._update(variables, results)
            if not lost:
                break
            for place in lost:
                carry[place] = results[place]
            del self.lines[saved[0] :]
            _, self.outcomes, self._variables = saved
        text = before()
        line = self.lines[opened]
        self.lines[opened] = Line(f"{text} {{", line.depth)
        return self._inside(carry, variables)

    def _carried(
        self, carry: Sequence[Value], changed: Sequence[bool], body: ClosedJaxpr
    ) -> dict[int, Expression]:
        """Declare the variables of a loop."""
        variables = dict[int, Expression]()
        for place, value in enumerate(carry):
            if changed[place] and not isinstance(value, Unsayable):
                dtype = body.jaxpr.outvars[place].aval.dtype
                variable = self._variable(dtype, is_outcome=True)
                self._declare(variable, scalar_of(value))
                variables[place] = variable
        return variables

    def _inside(
        self, carry: Sequence[Value], variables: Mapping[int, Expression]
    ) -> list[Value]:
        return [
            scalar_value(variables[place], _DTYPES[variables[place].kind])
            if place in variables
            else value
            for place, value in enumerate(carry)
        ]

    def _update(self, variables: Mapping[int, Expression], results: Sequence[Value]) -> None:
        """Assign what the next turn takes, all at once."""
        scalars = {place: scalar_of(results[place]) for place in variables}
        if len(variables) > 1:
            for place, variable in variables.items():
                kept = self._variable(_DTYPES[variable.kind], variable.is_outcome)
                self._declare(kept, scalars[place])
                scalars[place] = kept
        for place, variable in variables.items():
            self._assign(variable, scalars[place])

    # --- choices ----------------------------------------------------------------------------------

    def switch(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Branches: an `if` for each condition that the number of the branch depends on."""
        index, given_values = scalar_of(operands[0]), operands[1:]
        branches = equation.params["branch_jaxprs"]
        if isinstance(index, np.generic):
            return self.region(branches[int(index)], given_values)
        start, before = len(self.lines), self.outcomes
        results = dict[int, list[Value]]()
        self._branches(index, branches, given_values, results)
        results_of = [results.get(n, results[min(results)]) for n in range(len(branches))]
        variables = dict[int, Expression]()
        found = list[Value]()
        for place, variable in enumerate(equation.outvars):
            values = [result[place] for result in results_of]
            found.append(self._given_by(place, variable, index, values, variables))
        if variables:
            del self.lines[start:]
            self.outcomes = before
            for expression in variables.values():
                self._declare(expression, None)
            self._branches(index, branches, given_values, {}, variables)
        return found

    def _given_by(
        self, place: int, variable: Any, index: Scalar, values: Sequence[Value],
        variables: dict[int, Expression],
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
        if variable.aval.shape:
            return Unsayable("depends on an array that branches give")
        made = self._variable(variable.aval.dtype, is_outcome=True)
        variables[place] = made
        return scalar_value(made, variable.aval.dtype)

    def _branches(
        self, index: Scalar, branches: Sequence[ClosedJaxpr], operands: Sequence[Value],
        results: dict[int, list[Value]], variables: Mapping[int, Expression] | None = None,
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
                self._assign(variable, scalar_of(found[place]))

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


def pruned(lines: Sequence[Line]) -> list[Line]:
    """The lines without variables that nothing reads."""
    while True:
        read = {
            name
            for line in lines
            for name in _NAME.findall(line.text)
            if not line.assigns or name != line.assigns
        }
        kept = _without_empty([l for l in lines if not l.assigns or l.assigns in read])
        if len(kept) == len(lines):
            return list(lines)
        lines = kept


def _without_empty(lines: Sequence[Line]) -> list[Line]:
    """The lines without loops and choices in which nothing is left."""
    kept = list[Line]()
    for place, line in enumerate(lines):
        after = lines[place + 1].text if place + 1 < len(lines) else ""
        is_last = not after.startswith("else")
        if line.text == "}" and kept and kept[-1].text.endswith("{") and is_last:
            kept.pop()
        else:
            kept.append(line)
    return kept


_NAME = re.compile(r"\bv\d+\b")
_DTYPES = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


def qubit(wire: Scalar) -> str:
    """A wire as an element of the register."""
    return f"q[{expressed(wire).text}]"


def _angle(angle: Any, parameters: Sequence[Scalar]) -> str:
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
    """The text of a range, inclusive; whether it has no negative numbers; None where it is empty."""
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
    sign = 1 if step > 0 else -1
    last = f"{high.within(SUM)} {'-' if sign > 0 else '+'} 1"
    ends = (last, low.text) if backwards else (low.text, last)
    stride = -int(step) if backwards else int(step)
    middle = "" if stride == 1 else f"{stride}:"
    natural = low.is_natural if sign > 0 else high.is_natural
    return f"{ends[0]}:{middle}{ends[1]}", natural


def refusal(equation: Any, reason: str) -> NotInOpenqasmError:
    """The error about an equation."""
    params = equation.params
    name = params.get("name") or _CONSTRUCTS.get(equation.primitive.name, equation.primitive.name)
    hint = _HINTS.get(equation.primitive.name, _HINT)
    return NotInOpenqasmError(construct=str(name), reason=reason, hint=hint)


_CONSTRUCTS = {
    "diagonal": "DiagonalQubitUnitary", "for_loop": "the for loop", "prepare": "StatePrep",
    "switch": "the branch", "unitary": "QubitUnitary", "while_loop": "the while loop",
    "global_phase": "GlobalPhase", "expval_pauli": "expval", "var_pauli": "var",
    "sample": "a measurement with shots",
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


# --- rules of operations --------------------------------------------------------------------------


def _allocate(reader: Reader, equation: Any) -> None:
    if equation.params["num_wires"] is None or equation.params.get("mixed"):
        is_mixed = equation.params.get("mixed")
        reason = "is a density matrix" if is_mixed else "has a traced number of wires"
        raise NotSayableError(reason)
    reader.size = equation.params["num_wires"]


def _gate(reader: Reader, equation: Any) -> None:
    params = equation.params
    count, values = params["num_parameters"], params["control_values"]
    wires = reader.wires(equation, params["wires"])
    targets = len(wires) - len(values)
    angles = [scalar_of(reader.values.of(atom)) for atom in equation.invars[1 : 1 + count]]
    steps = steps_of(params["name"], targets)
    reader.gate(steps, wires[:targets], angles, wires[targets:], values)


def _array(reader: Reader, equation: Any) -> None:
    value = reader.values.of(equation.invars[1])
    if not isinstance(value, np.ndarray):
        raise NotSayableError("is an array that is not known")
    values, wires = equation.params["control_values"], equation.params["wires"]
    found = reader.wires(equation, wires)
    targets = len(found) - len(values)
    if value.ndim == 1 and targets <= MOST_DIAGONAL_WIRES:
        steps = diagonal_steps(value)
    elif targets == 1:
        steps = unitary_steps(value)
    else:
        raise NotSayableError(f"is an array on {targets} wires, which is no gate of OpenQASM")
    reader.gate(steps, found[:targets], (), found[targets:], values)


def _phase(reader: Reader, equation: Any) -> None:
    """PennyLane's sign is the other one; where it depends on an outcome, nobody sees it."""
    phi = scalar_of(reader.values.of(equation.invars[1]))
    if not isinstance(phi, Choice):
        reader.line(f"gphase({_angle((-1.0, 0), [phi])});")


def _measure(reader: Reader, equation: Any) -> None:
    params = equation.params
    if params["postselect"] is not None:
        raise NotSayableError("keeps what has one outcome")
    wires = reader.wires(equation, params["wires"])
    if first_condition(wires) is not None:
        raise NotSayableError("measures a wire that an outcome chooses")
    forth, back = into_z(params["word"], range(len(wires)), params["reset"])
    for name, places in forth:
        reader.gate(steps_of(name, len(places)), [wires[place] for place in places], ())
    name = f"m{reader.outcomes}"
    reader.outcomes += 1
    reader.line(f"bit {name} = measure {qubit(wires[-1])};")
    if params["reset"]:
        reader.line(f"reset {qubit(wires[-1])};")
    for name_back, places in back:
        reader.gate(steps_of(name_back, len(places)), [wires[place] for place in places], ())
    outcome = Expression(name, kind="b", is_natural=True, is_outcome=True)
    reader.values.let(equation.outvars[1], scalar_value(outcome, np.dtype(np.bool_)))


def _nothing(reader: Reader, equation: Any) -> None:
    pass


_RULES: Mapping[str, Callable[[Reader, Any], None]] = {
    "allocate_qubits": _allocate,
    "check_wires": _nothing,
    "diagonal": _array,
    "follow_script": _nothing,
    "gate": _gate,
    "global_phase": _phase,
    "measure": _measure,
    "release_qubits": _nothing,
    "unitary": _array,
}
_CONTROL_FLOW: Mapping[str, Callable[[Reader, Any, Sequence[Value]], list[Value]]] = {
    "for_loop": Reader.for_loop,
    "switch": Reader.switch,
    "while_loop": Reader.while_loop,
}
