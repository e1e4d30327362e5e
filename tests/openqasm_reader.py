"""OpenQASM 3 run by PennyLane, for comparisons: parsed by `openqasm3`, run by its interpreter.

That is what `qml.from_qasm3` does, in two steps; between them, what PennyLane 0.45 reads unlike the
specification is said as it takes it, and nothing else: the end of a range is part of it; elements
of a register may be measured and reset; `include "stdgates.inc"` is no error.
What PennyLane cannot run, or runs wrongly without an error, `unread` names.
"""

import re
from collections.abc import Callable

import openqasm3
import pennylane as qml
from openqasm3 import ast
from openqasm3.visitor import QASMTransformer
from pennylane.io.qasm_interpreter import QasmInterpreter


class _AsPennyLaneReads(QASMTransformer):
    def visit_QuantumMeasurement(self, node):
        node.qubit = self.as_name(node.qubit)
        return node

    def visit_QuantumReset(self, node):
        node.qubits = self.as_name(node.qubits)
        return node

    def as_name(self, qubit):
        return ast.Identifier(openqasm3.dumps(qubit))

    def visit_ForInLoop(self, node):
        found = node.set_declaration
        downwards = isinstance(found.step, ast.UnaryExpression)
        operator = ast.BinaryOperator["-" if downwards else "+"]
        found.end = ast.BinaryExpression(operator, found.end, ast.IntegerLiteral(1))
        found.end.span = node.span
        node.block = [self.visit(each) for each in node.block]
        return node


class _Outcomes(QASMTransformer):
    """Names of outcomes, and what PennyLane does not do where one decides."""

    def __init__(self):
        self.names = set()
        self.found = None
        self.inside = False

    def visit_ClassicalDeclaration(self, node):
        if isinstance(node.init_expression, ast.QuantumMeasurement):
            self.names.add(node.identifier.name)
            if self.inside:
                self.found = "a measurement where an outcome decides"
        return node

    def visit_ClassicalAssignment(self, node):
        if self.inside:
            self.found = "an assignment where an outcome decides"
        return node

    def visit_QuantumReset(self, node):
        if self.inside:
            self.found = "a reset where an outcome decides"
        return node

    def visit_BranchingStatement(self, node):
        names = set(re.findall(r"\w+", openqasm3.dumps(node.condition)))
        outer = self.inside
        if names & self.names:
            if outer:
                self.found = "a choice by an outcome within another one"
            self.inside = True
        for block in (node.if_block, node.else_block):
            for each in block:
                self.visit(each)
        self.inside = outer
        return node


def unread(text: str) -> str | None:
    """What of a text PennyLane cannot read, or reads wrongly; None where there is nothing."""
    outcomes = _Outcomes()
    outcomes.visit(openqasm3.parse(text))
    if re.search(r"(int|float\[64\])\(m\d", text):
        return "arithmetic of outcomes"
    return outcomes.found


def as_pennylane_reads(text: str) -> ast.Program:
    """The program with what PennyLane reads otherwise said as it does."""
    parsed = openqasm3.parse(text)
    parsed.statements = [s for s in parsed.statements if not isinstance(s, ast.Include)]
    return _AsPennyLaneReads().visit(parsed)


def quantum_function(text: str, **inputs) -> Callable[[], None]:
    """The circuit of a text, without its measurements at the end; wires are `q[0]`, …."""
    lines = [line for line in text.splitlines() if not re.match(r"c\[|bit\[", line)]
    parsed = as_pennylane_reads("\n".join(lines))
    return lambda: QasmInterpreter().interpret(
        parsed, context={"name": "global", "wire_map": None}, **inputs
    )


def matrix_of(text: str, wires: int, **inputs):
    """The matrix of a circuit without measurements."""
    labels = [f"q[{wire}]" for wire in range(wires)]
    return qml.matrix(quantum_function(text, **inputs), wire_order=labels)()
