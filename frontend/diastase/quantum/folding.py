"""Folded circuits: between what they do stands what undoes it and does it again.

    r1 = A r0              r1 = A r0; r2 = B r1
    r2 = B r1       ->     s1 = B* r2; s2 = A* s1; s3 = A s2; s4 = B s3        (globally, scale 3)
    m = expval r2          m = expval s4

In: the jaxpr of a QNode's body as it has been traced (`folded`), or the operators of a running
circuit on a device in Python (`folded_operators`). Loops and branches are operations: undone as
those of `adjoint` are, or, by local folding, with folded bodies.

The trap: the equations that there are stay as they are, since sizes are known by their variables;
what is new is traced apart, as a function of the register and of the values that it reads.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pennylane as qml
from jax.extend.core import ClosedJaxpr, Var
from pennylane import ops

from diastase.capture.context import Folding
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register, touches_register
from diastase.quantum.classical_slice import Equation
from diastase.quantum.inversion import ADJOINT_RULES, undone, variables_read
from diastase_mlir.jax_compat import (
    equations_in,
    evaluate_jaxpr,
    rebuilt,
    trace_to_jaxpr,
    with_jaxprs,
)
from diastase_runtime.errors import CompileError


class NotFoldableError(CompileError, NotImplementedError):
    """An operation in a circuit that is folded, which cannot be undone.

        @qml.qnode(qml.device("default.mixed", wires=1))
        def circuit():
            qml.BitFlip(0.1, wires=0)        # noise belongs to the device
            ...
        mitigate_with_zne(circuit, scale_factors=[1, 3])

    Folding undoes operations and does them again. Noise is added to the device,
    `qml.add_noise(device, model)`; a circuit that measures in its middle can be folded locally.
    """

    title: ClassVar[str] = "Not foldable"
    message: ClassVar[str] = "{operation} cannot be undone, so the circuit cannot be folded"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = (
        "add noise to the device (qml.add_noise); fold circuits that measure by folding='local-all'"
    )
    operation: str


def folded(
    closed: ClosedJaxpr, captured: Sequence[Any], folding: Folding
) -> tuple[ClosedJaxpr, list[Any]]:
    """The folded circuit, and what it closes over, its leading operands."""
    if folding.method == "global":
        return _globally(closed, captured, folding)
    # In loops and branches, too, where each operation counts once.
    count = sum(map(_is_foldable_by_itself, equations_in(closed, touches_register)))
    more = folding.once_more(count) if folding.method == "local-random" else frozenset()
    times = iter([folding.times + (place in more) for place in range(count)])
    closed, constants = _locally(closed, times)
    return closed, [*constants, *captured]


def _globally(
    closed: ClosedJaxpr, captured: Sequence[Any], folding: Folding
) -> tuple[ClosedJaxpr, list[Any]]:
    chain = [e for e in closed.jaxpr.eqns if _advances(e) and not has_role(e, Role.START)]
    if not chain:
        return closed, list(captured)
    circuit = _Circuit()
    for equation in closed.jaxpr.eqns:
        circuit.append(equation)
        if equation is chain[-1]:
            circuit.fold(closed, chain, folding.times)
    return circuit.rebuilt(closed), [*circuit.captured, *captured]


def _locally(closed: ClosedJaxpr, times: Iterator[int]) -> tuple[ClosedJaxpr, list[Any]]:
    """The circuit with each operation folded as often as the next of `times` says."""
    circuit = _Circuit()
    for equation in closed.jaxpr.eqns:
        circuit.append(_with_folded_bodies(equation, times))
        if _is_foldable_by_itself(equation):
            circuit.fold(closed, [equation], next(times))
    return circuit.rebuilt(closed), circuit.captured


def _with_folded_bodies(equation: Equation, times: Iterator[int]) -> Equation:
    def change(body: ClosedJaxpr) -> ClosedJaxpr:
        if not any(map(is_register, body.jaxpr.invars)):
            return body
        folded, captured = _locally(body, times)
        assert not captured, "what undoes a gate closes over nothing"
        return folded

    params = with_jaxprs(equation.params, change)
    return equation if params is equation.params else equation.replace(params=params)


class _Circuit:
    """The equations of a folded circuit, one after another."""

    def __init__(self) -> None:
        self.captured: list[Any] = []
        self._constants: list[Any] = []
        self._equations: list[Equation] = []
        self._registers: dict[Any, Any] = {}
        """What to read in the place of a register that has been folded."""

    def append(self, equation: Equation) -> None:
        """An equation of the circuit as it was."""
        self._equations.append(_reading(equation, self._registers))

    def fold(self, closed: ClosedJaxpr, chain: Sequence[Equation], times: int) -> None:
        """Undo a chain of operations, the last of which has been appended, and do it again."""
        first, last = _register_of(chain[0].invars), _register_of(chain[-1].outvars)
        operands = variables_read(chain)
        again = rebuilt(closed, inputs=[first, *operands], equations=chain, outputs=[last])

        def fold(register: Any, *values: Any) -> list[Any]:
            known = dict(zip(operands, values, strict=True))
            for _ in range(times):
                for equation in reversed(chain):
                    register = undone(equation, known, register, NotFoldableError)
                (register,) = evaluate_jaxpr(again, [register, *values])
            return [register]

        inputs = [last, *operands]
        jaxpr, captured = trace_to_jaxpr(fold, [atom.aval for atom in inputs], "folding")
        constants, arguments = jaxpr.jaxpr.invars[: len(captured)], jaxpr.jaxpr.invars
        given = dict(zip(arguments[len(captured) :], inputs, strict=True))
        (result,) = jaxpr.jaxpr.outvars
        self.captured += captured
        self._constants += constants
        self._equations += [_reading(equation, given) for equation in jaxpr.jaxpr.eqns]
        self._registers[last] = given.get(result, result)

    def rebuilt(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """The circuit; what it closes over comes first."""
        jaxpr = closed.jaxpr
        outputs = [self._registers.get(a, a) if isinstance(a, Var) else a for a in jaxpr.outvars]
        return rebuilt(closed, [*self._constants, *jaxpr.invars], self._equations, outputs)


def _advances(equation: Equation) -> bool:
    """Whether an equation gives the next register."""
    return any(map(is_register, equation.invars)) and any(map(is_register, equation.outvars))


def _is_foldable_by_itself(equation: Equation) -> bool:
    """Whether it is an operation that can be undone, and no control flow with such inside."""
    is_known = equation.primitive.name in ADJOINT_RULES
    return _advances(equation) and is_known and not has_role(equation, Role.CONTROL_FLOW)


def _register_of(atoms: Sequence[Any]) -> Any:
    return next(atom for atom in atoms if is_register(atom))


def _reading(equation: Equation, instead: dict[Any, Any]) -> Equation:
    """An equation that reads other variables in the place of these."""
    atoms = [instead.get(a, a) if isinstance(a, Var) else a for a in equation.invars]
    return equation.replace(invars=atoms)


# --- of a list of operators -----------------------------------------------------------------------


def folded_operators(operators: Sequence[Any], folding: Folding) -> list[Any]:
    """The operators, with those between that undo them and apply them again."""
    start = next((k for k, op in enumerate(operators) if not _prepares(op)), len(operators))
    first, rest = list(operators[:start]), operators[start:]
    for operator in rest:
        if isinstance(operator, qml.operation.Channel):
            raise NotFoldableError(operation=operator.name)
    if folding.method == "global":
        return [*first, *rest, *([*_undone(rest), *rest] * folding.times)]
    foldable = [place for place, operator in enumerate(rest) if _is_foldable(operator)]
    more: set[int] = set()
    if folding.method == "local-random":
        more = {foldable[number] for number in folding.once_more(len(foldable))}
    return [*first, *(op for k, each in enumerate(rest) for op in _again(each, folding, k in more))]


def _again(operator: Any, folding: Folding, more: bool) -> list[Any]:
    if not _is_foldable(operator):
        return [operator]
    return [operator, *([*_undone([operator]), operator] * (folding.times + more))]


def _undone(operators: Sequence[Any]) -> list[Any]:
    for operator in operators:
        if not _is_foldable(operator):
            raise NotFoldableError(operation=operator.name)
    return [qml.adjoint(operator) for operator in reversed(operators)]


def _is_foldable(operator: Any) -> bool:
    """Whether an operator neither measures, nor depends on what was measured, nor prepares."""
    return not (_prepares(operator) or isinstance(operator, ops.MidMeasure | ops.Conditional))


def _prepares(operator: Any) -> bool:
    return isinstance(operator, qml.operation.StatePrepBase)
