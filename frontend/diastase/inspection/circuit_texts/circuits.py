"""The one circuit that a traced program runs, as statements.

In: the program's jaxpr and its arguments as values. What is computed before the circuit becomes
expressions in its statements; of a QNode with shots it is one shot.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.inspection.circuit_texts.errors import NoOneCircuitError
from diastase.inspection.circuit_texts.languages import Language
from diastase.inspection.circuit_texts.reading.choices import switch
from diastase.inspection.circuit_texts.reading.loops import for_loop, while_loop
from diastase.inspection.circuit_texts.reading.operations import OPERATIONS
from diastase.inspection.circuit_texts.reading.reader import ControlFlow, Reader
from diastase.inspection.circuit_texts.reading.results import Output, Results
from diastase.inspection.circuit_texts.statements import Statement
from diastase.inspection.circuit_texts.values import INLINED, Unsayable, Value, Values
from diastase.jaxprs.control_flow import LoopOperands
from diastase_mlir import at, span_of
from diastase_mlir.jax_compat import jaxprs_in, scan_counts


@dataclass(frozen=True)
class Circuit:
    """What a circuit does, how many wires it has, and what it gives, by place in its results."""

    statements: Sequence[Statement]
    size: int
    outputs: Mapping[int, Output]
    equation: Any
    """The one that runs it."""

    @property
    def name(self) -> str:
        """The name of the QNode's function."""
        return str(self.equation.params["name"])


def circuit_of(
    closed: ClosedJaxpr, arguments: Sequence[Value], taken: set[str], function: str,
    language: Language,
) -> Circuit:  # fmt: skip
    """Read the one circuit that a program runs; names of arguments are taken.

    `NoOneCircuitError`, a `ValueError`, where there is not one; the language's refusal, a
    `NotImplementedError`, where it has no words for it.
    """
    values = Values()
    jaxpr = closed.jaxpr
    symbols = len(jaxpr.invars) - len(arguments)
    values.enter(closed, [*[_OF_UNKNOWN_SIZE] * symbols, *arguments])
    circuits = list(_circuits(values, jaxpr))
    if len(circuits) != 1:
        raise NoOneCircuitError(function=function, what=_numbered(circuits))
    ((equation, operands),) = circuits
    reader = Reader(language, values, taken, OPERATIONS, _CONTROL_FLOW)
    results = Results(reader)
    reader.at_end = results.read
    with at(span_of(equation.source_info)):
        body: ClosedJaxpr = equation.params["jaxpr"]
        found = reader.region(body, operands)
        results.write()
    outputs = results.outputs(body.jaxpr.outvars, found)
    return Circuit(reader.statements, reader.size, outputs, equation)


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
                values.bind(inner.invars, _passed(equation, operands, inner))
                yield from _circuits(values, inner)
        values.bind(equation.outvars, [_UNKNOWN] * len(equation.outvars))


def _passed(equation: Any, operands: Sequence[Value], inner: Any) -> Sequence[Value]:
    """What a region takes: of calls and maps their operands, of a loop what no turn changes."""
    name, params, count = equation.primitive.name, equation.params, len(inner.invars)
    if (name in INLINED or "mapped" in params) and len(operands) == count:
        return operands
    constants: Sequence[Value] = ()
    if name == "scan":
        constants = operands[: scan_counts(params)[0]]
    elif "body_nconsts" in params and inner is params["body_jaxpr"].jaxpr:
        constants = LoopOperands.read(operands, params).constants
    return [*constants, *[_UNKNOWN] * (count - len(constants))]


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

_CONTROL_FLOW: Mapping[str, ControlFlow] = {
    "cond": switch,
    "for_loop": for_loop,
    "switch": switch,
    "while_loop": while_loop,
}
