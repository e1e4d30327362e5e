"""The OpenQASM text of a traced program that runs one circuit: what `f.qasm` gives.

In: the program's jaxpr and the names of its arguments, which are inputs of the text.

The traps: an expression is written where it is used, so whatever it names must not have been
assigned in between; variables are assigned in two places only, what a loop carries at the end of
its body, what a branch gives at the end of each branch. Names of arguments may be names of gates,
`x` say; they get an underscore then.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.inspection.circuit_texts.circuits import circuit_of
from diastase.inspection.circuit_texts.errors import NotInOpenqasmError
from diastase.inspection.circuit_texts.expressions import expressed, type_name
from diastase.inspection.circuit_texts.languages import Language
from diastase.inspection.circuit_texts.statements import (
    Assign,
    For,
    Gate,
    If,
    Measure,
    Phase,
    Read,
    Reset,
    Statement,
    While,
    Wire,
    pruned,
)
from diastase.inspection.circuit_texts.values import of_input

OPENQASM = Language(
    "OpenQASM",
    NotInOpenqasmError,
    "compute such numbers before, and give them as arguments; or make them static arguments; "
    "numbers that outcomes decide must be int64 or float64",
)
_GATES = (
    "p x y z h s sdg t tdg sx rx ry rz cx cy cz cp crx cry crz ch swap ccx cswap cu CX phase "
    "cphase id u1 u2 u3 U gphase"
)
_WORDS = (
    "OPENQASM include defcalgrammar def cal defcal gate extern box let break continue if else end "
    "return for while in switch case default nop pragma input output const readonly mutable qreg "
    "qubit creg bool bit int uint float angle complex array void duration stretch inv pow ctrl "
    "negctrl dim durationof delay reset measure barrier true false im pi tau euler sin cos tan "
    "exp log sqrt arcsin arccos arctan ceiling floor mod popcount rotl rotr real imag sizeof e"
)
_RESERVED = frozenset(f"{_GATES} {_WORDS} q c".split())
_OURS = re.compile(r"[mv]\d+")
_KINDS = {"f": "float[64]", "i": "int", "b": "bool"}
"""Of variables."""
_SHORT = {
    ("x", 1): "cx", ("y", 1): "cy", ("z", 1): "cz", ("h", 1): "ch", ("rx", 1): "crx",
    ("ry", 1): "cry", ("rz", 1): "crz", ("p", 1): "cp", ("x", 2): "ccx", ("swap", 1): "cswap",
}  # fmt: skip
"""Controlled gates that have a name, by the gate and how many controls it has."""


def openqasm_of(closed: ClosedJaxpr, names: Sequence[str], function: str) -> str:
    """The text of the one circuit that a program runs.

    `NoOneCircuitError`, a `ValueError`, where there is not one; `NotInOpenqasmError`, a
    `NotImplementedError`, where OpenQASM has no words for it.
    """
    identifiers = _identifiers(names)
    invars = closed.jaxpr.invars[len(closed.jaxpr.invars) - len(identifiers) :]
    arguments = [of_input(name, v.aval) for name, v in zip(identifiers, invars, strict=True)]
    circuit = circuit_of(closed, arguments, set(identifiers), function, OPENQASM)
    lines = list(_lines(pruned(circuit.statements), ""))
    body = "\n".join(lines)
    declared = [
        _declaration(name, variable.aval)
        for name, variable in zip(identifiers, invars, strict=True)
        if re.search(rf"\b{name}\b", body)
    ]
    is_read = any(isinstance(statement, Read) for statement in circuit.statements)
    bits = [f"bit[{circuit.size}] c;"] if is_read else []
    comments = [
        f"// {output.what} of {output.words or ', '.join(f'c[{wire}]' for wire in output.wires)}"
        for output in circuit.outputs.values()
        if output.what != "value"
    ]
    head = ["OPENQASM 3.0;", 'include "stdgates.inc";', *declared, f"qubit[{circuit.size}] q;"]
    return "\n".join([*head, *bits, *lines, *comments, ""])


def _identifiers(names: Sequence[str]) -> list[str]:
    """Names of arguments, as OpenQASM can have them; all different."""
    found = list[str]()
    for name in names:
        made = re.sub(r"\W+", "_", name).strip("_") or "argument"
        made = f"_{made}" if made[0].isdigit() else made
        while made in _RESERVED or _OURS.fullmatch(made) or made in found:
            made += "_"
        found.append(made)
    return found


def _declaration(name: str, aval: Any) -> str:
    kind = type_name(aval.dtype)
    if not aval.shape:
        return f"input {kind} {name};"
    return f"input array[{kind}, {', '.join(map(str, aval.shape))}] {name};"


# --- statements -----------------------------------------------------------------------------------


def _lines(statements: Sequence[Statement], indent: str) -> Iterator[str]:
    for statement in statements:
        match statement:
            case If():
                yield from _choice(statement, indent)
            case For():
                middle = "" if statement.stride == 1 else f"{statement.stride}:"
                turns = f"{statement.first.text}:{middle}{statement.last.text}"
                head = f"for int {statement.index.text} in [{turns}]"
                yield from _block(head, statement.body, indent)
            case While():
                yield from _block(f"while ({statement.condition.text})", statement.body, indent)
            case _:
                yield f"{indent}{_line(statement)}"


def _choice(statement: If, indent: str) -> Iterator[str]:
    yield from _block(f"if ({statement.condition.text})", statement.then, indent)
    match statement.other:
        case []:
            return
        case [If() as chained]:
            first, *rest = _choice(chained, indent)
            yield f"{indent}else {first.lstrip()}"
            yield from rest
        case other:
            yield from _block("else", other, indent)


def _block(head: str, body: Sequence[Statement], indent: str) -> Iterator[str]:
    yield f"{indent}{head} {{"
    yield from _lines(body, f"{indent}  ")
    yield f"{indent}}}"


def _line(statement: Statement) -> str:
    match statement:
        case Gate():
            return _gate(statement)
        case Phase():
            return f"gphase({statement.angle.text});"
        case Measure():
            return f"bit {statement.outcome} = measure {_qubit(statement.wire)};"
        case Reset():
            return f"reset {_qubit(statement.wire)};"
        case Read():
            return f"c[{statement.wire}] = measure q[{statement.wire}];"
        case Assign():
            kind = f"{_KINDS[statement.variable.kind]} " if statement.is_declaration else ""
            value = "" if statement.value is None else f" = {statement.value.text}"
            return f"{kind}{statement.variable.text}{value};"
        case _:
            raise AssertionError(statement)


def _gate(gate: Gate) -> str:
    short = _SHORT.get((gate.name, len(gate.controls))) if all(gate.controls) else None
    modifiers = "".join("ctrl @ " if value else "negctrl @ " for value in gate.controls)
    written = short or f"{modifiers}{gate.name}"
    arguments = f"({', '.join(angle.text for angle in gate.angles)})" if gate.angles else ""
    return f"{written}{arguments} {', '.join(map(_qubit, gate.wires))};"


def _qubit(wire: Wire) -> str:
    """A wire as an element of the register."""
    return f"q[{expressed(wire).text}]"
