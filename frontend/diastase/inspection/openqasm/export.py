"""The OpenQASM text of a traced program that runs one circuit.

In: the program's jaxpr and the names of its arguments. What is computed before the circuit becomes
expressions in its text; of a QNode with shots it is one shot.

The trap: names of arguments may be names of gates, `x` say; they get an underscore then.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.inspection.openqasm.errors import NoOneCircuitError
from diastase.inspection.openqasm.lines import pruned
from diastase.inspection.openqasm.operations import OPERATIONS
from diastase.inspection.openqasm.reader import Reader
from diastase.inspection.openqasm.results import Results
from diastase.inspection.openqasm.values import Unsayable, Value, Values, of_input
from diastase_mlir import at, span_of
from diastase_mlir.jax_compat import jaxprs_in

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


def openqasm_of(closed: ClosedJaxpr, names: Sequence[str], function: str) -> str:
    """The text of the one circuit that a program runs.

    `NoOneCircuitError`, a `ValueError`, where there is not one; `NotInOpenqasmError`, a
    `NotImplementedError`, where OpenQASM has no words for it.
    """
    identifiers = _identifiers(names)
    values = Values()
    jaxpr = closed.jaxpr
    symbols = len(jaxpr.invars) - len(identifiers)
    inputs: list[Value] = [_OF_UNKNOWN_SIZE] * symbols
    for name, variable in zip(identifiers, jaxpr.invars[symbols:], strict=True):
        inputs.append(of_input(name, variable.aval))
    values.enter(closed, inputs)
    circuits = list(_circuits(values, jaxpr))
    if len(circuits) != 1:
        raise NoOneCircuitError(function=function, what=_numbered(circuits))
    ((equation, operands),) = circuits
    reader = Reader(values, set(identifiers), OPERATIONS)
    results = Results(reader)
    reader.at_end = results.read
    with at(span_of(equation.source_info)):
        reader.region(equation.params["jaxpr"], operands)
    results.write()
    lines = [f"{'  ' * line.depth}{line.text}" for line in pruned(reader.lines)]
    body = "\n".join(lines)
    declared = [
        _declaration(name, variable.aval)
        for name, variable in zip(identifiers, jaxpr.invars[symbols:], strict=True)
        if re.search(rf"\b{name}\b", body)
    ]
    bits = [f"bit[{reader.size}] c;"] if results.bits else []
    comments = [f"// {comment}" for comment in results.comments]
    head = ["OPENQASM 3.0;", 'include "stdgates.inc";', *declared, f"qubit[{reader.size}] q;"]
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
    kind = {"f": "float[64]", "i": "int", "u": "int", "b": "bool"}[aval.dtype.kind]
    if not aval.shape:
        return f"input {kind} {name};"
    return f"input array[{kind}, {', '.join(map(str, aval.shape))}] {name};"


def _circuits(values: Values, jaxpr: Any) -> Iterable[tuple[Any, list[Value]]]:
    """The circuits that a program runs, each with its operands."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "qnode":
            yield equation, _unmapped(equation, [values.of(atom) for atom in equation.invars])
        elif not _runs_circuit(equation):
            values.read(equation)
            continue
        else:
            operands = _unmapped(equation, [values.of(atom) for atom in equation.invars])
            for inner in jaxprs_in(equation.params):
                values.bind(inner.constvars, [_UNKNOWN] * len(inner.constvars))
                is_alike = len(inner.invars) == len(operands)
                given = operands if is_alike else [_UNKNOWN] * len(inner.invars)
                values.bind(inner.invars, given)
                yield from _circuits(values, inner)
        values.bind(equation.outvars, [_UNKNOWN] * len(equation.outvars))


def _unmapped(equation: Any, operands: Sequence[Value]) -> list[Value]:
    """Operands, of which those that differ between elements of a batch are not known."""
    mapped = equation.params.get("mapped") or [()] * len(operands)
    return [
        _IN_BATCH if any(flags) else operand
        for operand, flags in zip(operands, mapped, strict=True)
    ]


def _runs_circuit(equation: Any) -> bool:
    return any(
        inner.primitive.name == "qnode" or _runs_circuit(inner)
        for jaxpr in jaxprs_in(equation.params)
        for inner in jaxpr.eqns
    )


def _numbered(circuits: Sequence[tuple[Any, Any]]) -> str:
    names = [equation.params["name"] for equation, _ in circuits]
    return f"{len(names)}: {', '.join(names)}" if names else "none that is compiled"


_UNKNOWN = Unsayable("depends on results of circuits, or on what a loop around the circuit changes")
_OF_UNKNOWN_SIZE = Unsayable("depends on a size that is known only at run time")
_IN_BATCH = Unsayable("differs between the elements of a batch")
