"""Statements as basic blocks of LLVM IR in SSA form.

In: the statements of a circuit, measurements at the end aside. Out: blocks, and what they use.
A variable is the value that it has at a place; where paths meet it is a phi node. Qubits and
results are numbers, each measurement in the text has a result of its own.

The trap: an expression is computed where it is used. What consists of outcomes alone keeps its
value, so it is computed once on a path; what variables are in is computed again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from diastase.inspection.circuit_texts.expressions import (
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    expressed,
)
from diastase.inspection.circuit_texts.qir.instructions import FUNCTIONS, instructions_of
from diastase.inspection.circuit_texts.statements import (
    Assign,
    Gate,
    If,
    Measure,
    Reset,
    Statement,
    While,
    Wire,
    reads,
    walk,
)

TYPES = {"b": "i1", "i": "i64", "f": "double"}
_ZEROS = {"b": "false", "i": "0", "f": "0.0"}
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul"}
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_LOGIC = {"&": "and", "|": "or", "^": "xor"}
_VARIABLE = re.compile(r"\bv\d+\b")
_TYPE = re.compile(r"\w+( writeonly| readonly)?")
MOST_FACTORS = 8
"""Of a power."""


@dataclass
class Block:
    """A basic block: its label, and its instructions."""

    label: str
    lines: list[str] = field(default_factory=list[str])


class Blocks:
    """The blocks of an entry point, as they are written."""

    def __init__(self, size: int, refuse: Callable[[Any, str], NoReturn]) -> None:
        self._size = size
        self._refuse = refuse
        self.qubits = size
        """How many are used, spare ones too."""
        self.results = 0
        self.declarations = dict[str, str]()
        """Of the functions that are called, by their names."""
        self.computed = set[str]()
        """The types of numbers that are computed with."""
        self.loops = False
        """Whether there is one whose end outcomes decide."""
        self._blocks = [Block("entry")]
        self._values = dict[str, str]()
        """What variables, outcomes and expressions of outcomes are here."""
        self._read: AbstractSet[str] = frozenset()
        self._registers = 0

    @property
    def is_irreversible(self) -> bool:
        """Whether anything is measured or reset."""
        return any(" #1" in declaration for declaration in self.declarations.values())

    @property
    def text(self) -> str:
        """The blocks."""
        return "\n\n".join("\n  ".join([f"{b.label}:", *b.lines]) for b in self._blocks)

    # --- instructions -----------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write an instruction."""
        self._blocks[-1].lines.append(text)

    def begin(self, label: str) -> Block:
        """Begin another block."""
        block = Block(label)
        self._blocks.append(block)
        return block

    def follow(self, label: str) -> None:
        """Go on in another block."""
        self.line(f"br label %{label}")
        self.begin(label)

    def call(self, function: str, arguments: Sequence[str], attributes: str = "") -> None:
        """Call a function that gives nothing; each argument is written with its type."""
        self.line(self._called("void", function, arguments, attributes))

    def _called(
        self, gives: str, function: str, arguments: Sequence[str], attributes: str = ""
    ) -> str:
        types = ", ".join(_TYPE.match(each)[0] for each in arguments)  # pyright: ignore
        self.declarations[function] = f"declare {gives} @{function}({types}){attributes}"
        return f"call {gives} @{function}({', '.join(arguments)})"

    def _register(self, instruction: str) -> str:
        name = f"%{self._registers}"
        self._registers += 1
        self.line(f"{name} = {instruction}")
        return name

    def measure(self, wire: Wire) -> int:
        """Measure a wire; the number of the result."""
        result = self.results
        self.results += 1
        arguments = [f"ptr {self._qubit(wire)}", f"ptr writeonly {pointer(result)}"]
        self.call("__quantum__qis__mz__body", arguments, " #1")
        return result

    def _qubit(self, wire: Wire) -> str:
        assert isinstance(wire, np.generic)
        self.qubits = max(self.qubits, int(wire) + 1)
        return pointer(int(wire))

    # --- statements -------------------------------------------------------------------------------

    def write(self, statements: Sequence[Statement], needed: AbstractSet[str]) -> None:
        """Write statements, after which some outcomes and variables are needed."""
        self._read = set(needed).union(*map(reads, walk(statements)))
        self._statements(statements)

    def _statements(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            try:
                self._statement(statement)
            except NotSayableError as error:
                self._refuse(statement.origin, error.reason)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Gate():
                for gate in instructions_of(statement, self._size):
                    angles = [f"double {self.operand(angle, 'f')}" for angle in gate.angles]
                    qubits = [f"ptr {self._qubit(wire)}" for wire in gate.wires]
                    self.call(f"__quantum__qis__{FUNCTIONS[gate.name]}", [*angles, *qubits])
            case Measure():
                result = self.measure(statement.wire)
                if statement.outcome in self._read:
                    arguments = [f"ptr readonly {pointer(result)}"]
                    read = self._called("i1", "__quantum__rt__read_result", arguments)
                    self._values[statement.outcome] = self._register(read)
            case Reset():
                arguments = [f"ptr {self._qubit(statement.wire)}"]
                self.call("__quantum__qis__reset__body", arguments, " #1")
            case Assign():
                value, kind = statement.value, statement.variable.kind
                found = _ZEROS[kind] if value is None else self.operand(value, kind)
                self._values[statement.variable.text] = found
            case If():
                self._if(statement)
            case While():
                self._while(statement)
            case _:
                """A phase of the whole state."""

    def _if(self, statement: If) -> None:
        condition = self.operand(statement.condition, "b")
        number = len(self._blocks)
        labels = [f"then_{number}", f"else_{number}", f"join_{number}"]
        then, other, join = labels if statement.other else [labels[0], labels[2], labels[2]]
        self.line(f"br i1 {condition}, label %{then}, label %{other}")
        before, start = self._values, self._blocks[-1].label
        ends = list[tuple[str, Mapping[str, str]]]()
        for label, block in ((then, statement.then), (other, statement.other)):
            if not block:
                ends.append((start, before))
                continue
            self.begin(label)
            self._values = dict(before)
            self._statements(block)
            ends.append((self._blocks[-1].label, self._values))
            self.line(f"br label %{join}")
        self.begin(join)
        (one_end, one), (other_end, two) = ends
        self._values = before
        for name, kind in self._kinds(statement, before):
            if one[name] != two[name]:
                ways = f"[ {one[name]}, %{one_end} ], [ {two[name]}, %{other_end} ]"
                before[name] = self._phi(kind, ways)
            else:
                before[name] = one[name]

    def _while(self, statement: While) -> None:
        number = len(self._blocks)
        head, body, after = (f"{name}_{number}" for name in ("while", "turn", "after"))
        start, before = self._blocks[-1].label, dict(self._values)
        self.loops = True
        self.follow(head)
        header = self._blocks[-1]
        carried = list(self._kinds(statement, before))
        for name, kind in carried:
            self._values[name] = self._phi(kind, "")
        inside = dict(self._values)
        condition = self.operand(statement.condition, "b")
        self.line(f"br i1 {condition}, label %{body}, label %{after}")
        self.begin(body)
        self._statements(statement.body)
        end = self._blocks[-1].label
        self.line(f"br label %{head}")
        for place, (name, _) in enumerate(carried):
            ways = f"[ {before[name]}, %{start} ], [ {self._values[name]}, %{end} ]"
            header.lines[place] += ways
        self._values = inside
        self.begin(after)

    def _phi(self, kind: str, ways: str) -> str:
        self._computes(kind)
        return self._register(f"phi {TYPES[kind]} {ways}")

    def _kinds(self, statement: Statement, known: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """The variables that blocks of a statement assign and that are there before."""
        found = {
            each.variable.text: each.variable.kind
            for each in walk([statement])
            if isinstance(each, Assign) and each.variable.text in known
        }
        return list(found.items())

    # --- expressions ------------------------------------------------------------------------------

    def scalar(self, scalar: Scalar, kind: str) -> str:
        """The operand that a scalar is."""
        if not isinstance(scalar, Choice):
            return self.operand(expressed(scalar), kind)
        condition = self.operand(scalar.condition, "b")
        cases = [self.scalar(case, kind) for case in (scalar.if_true, scalar.if_false)]
        return self._select(condition, kind, cases)

    def operand(self, expression: Expression, kind: str) -> str:
        """The operand that an expression is, as a number of a kind."""
        if expression.value is not None:
            return literal(expression.value, kind)
        if expression.kind != kind:
            return self._converted(expression, kind)
        found = self._values.get(expression.text)
        if found is None:
            found = self._result(expression)
            if not _VARIABLE.search(expression.text):
                self._values[expression.text] = found
        return found

    def _converted(self, expression: Expression, kind: str) -> str:
        if (expression.kind, kind) != ("b", "i"):
            reason = "makes a floating-point number of an integer that outcomes decide"
            raise NotSayableError(f"{reason}, which QIR cannot do: let the loop carry one")
        self._computes("i")
        return self._register(f"zext i1 {self.operand(expression, 'b')} to i64")

    def _result(self, expression: Expression) -> str:
        operator, operands, kind = expression.operator, expression.operands, expression.kind
        if operator in _LOGIC and kind == "b":
            one, other = (self.operand(each, "b") for each in operands)
            return self._register(f"{_LOGIC[operator]} i1 {one}, {other}")
        if operator == "not":
            return self._register(f"xor i1 {self.operand(operands[0], 'b')}, true")
        if operator == "choice":
            condition = self.operand(operands[0], "b")
            cases = [self.operand(each, kind) for each in (operands[2], operands[1])]
            return self._select(condition, kind, cases)
        if operator in _COMPARISONS:
            return self._compared(operator, operands)
        if operator == "**":
            return self._power(operands)
        return self._number(expression)

    def _select(self, condition: str, kind: str, cases: Sequence[str]) -> str:
        self._computes(kind)
        one, other = (f"{TYPES[kind]} {case}" for case in cases)
        return self._register(f"select i1 {condition}, {one}, {other}")

    def _compared(self, operator: str, operands: Sequence[Expression]) -> str:
        kinds = {each.kind for each in operands}
        kind = next(each for each in "fib" if each in kinds)
        one, other = (self.operand(each, kind) for each in operands)
        self._computes(kind)
        condition = _COMPARISONS[operator]
        if kind == "f":
            prefix, sign = "fcmp", "u" if operator == "!=" else "o"
        else:
            prefix, sign = "icmp", "" if operator in ("==", "!=") else "s" if kind == "i" else "u"
        return self._register(f"{prefix} {sign}{condition} {TYPES[kind]} {one}, {other}")

    def _power(self, operands: Sequence[Expression]) -> str:
        base, exponent = operands
        assert exponent.value is not None
        times = int(exponent.value)
        if not 1 <= times <= MOST_FACTORS:
            raise NotSayableError(f"needs the power {times} of a number that outcomes decide")
        factor = self.operand(base, "f")
        self._computes("f")
        found = factor
        for _ in range(times - 1):
            found = self._register(f"fmul double {found}, {factor}")
        return found

    def _number(self, expression: Expression) -> str:
        operator, kind = expression.operator, expression.kind
        operands = [self.operand(each, kind) for each in expression.operands]
        floats = {name: f"f{instruction}" for name, instruction in _ARITHMETIC.items()}
        table = {**floats, "/": "fdiv"} if kind == "f" else {**_ARITHMETIC, "%": "srem"}
        if operator not in table:
            reason = f"needs {operator} of a number that outcomes decide, for which there is no"
            raise NotSayableError(f"{reason} instruction in QIR")
        if len(operands) == 1:
            operands.insert(0, "-0.0" if kind == "f" else "0")
        self._computes(kind)
        return self._register(f"{table[operator]} {TYPES[kind]} {', '.join(operands)}")

    def _computes(self, kind: str) -> None:
        self.computed.add(TYPES[kind])


def pointer(number: int) -> str:
    """A qubit or a result."""
    return f"inttoptr (i64 {number} to ptr)" if number else "null"


def literal(value: np.generic, kind: str) -> str:
    """A known number, exactly."""
    if kind == "b":
        return "true" if value else "false"
    if kind == "i":
        if int(value) >= 1 << 63:
            raise NotSayableError(f"needs the number {value}, and integers of QIR have a sign")
        return str(int(value))
    number = float(value)
    if not np.isfinite(number):
        raise NotSayableError(f"needs the number {number}, for which there is no literal")
    mantissa, mark, exponent = repr(number).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{mark}{exponent}"
