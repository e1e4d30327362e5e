"""`adjoint` and `ctrl`: of operators, of classes of operators, and of quantum functions."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import pennylane as qml

from diastase.capture.pennylane_compat import (
    is_operator,
    is_operator_class,
    native_adjoint,
    native_ctrl,
    withdraw_operators,
)
from diastase.capture.pennylane_compat.operators import recorded
from diastase.capture.quantum_errors import NotAQuantumFunctionError
from diastase.capture.regions import current_scope
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase.quantum.scope.controls import ControlledBy, read_controls, require_known
from diastase_mlir import user_span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.qnode import adjoint_functions as adjoints
else:
    adjoints = LazyModule("diastase.quantum.qnode.adjoint_functions")


def adjoint(f: Any, lazy: bool = True) -> Any:
    """The adjoint of an operator, an operator class or a quantum function.

    Of an operator it is PennyLane's `Adjoint` (with `lazy=False` the operator that `op.adjoint()`
    gives, if there is one). Of a class or a function it is a function of the same arguments: it
    applies the adjoints of the operators, in reverse order. Loops of any kind run backwards,
    branches keep their predicates, `adjoint` and `ctrl` may be nested. A function that measures has
    no adjoint. What a function returns, but for operators, is computed and returned as ever; of one
    that returns nothing, an operator with the `wires` and `decomposition()` of what was applied.

        >>> @qjit
        ... @qml.qnode(device)
        ... def circuit(x: float, n: int):
        ...     def layers():
        ...         for_loop(0, n, 1)(lambda i: qml.RX(x * i, i % 2))()
        ...     layers()
        ...     adjoint(layers)()            # back to |00>
        ...     return qml.probs()

    Classical code inside of a loop runs again while the loop is undone; what is there for its
    effects only (a print) does not.
    """
    if is_operator(f):
        return native_adjoint(f, lazy)
    _require_function(f, "adjoint")

    @functools.wraps(f)
    def undo(*args: Any, **keywords: Any) -> Any:
        scope = _recording_scope()
        if scope is None:
            return native_adjoint(f, lazy)(*args, **keywords)
        withdraw_operators(args, keywords)
        if is_operator_class(f):
            return native_adjoint(f(*args, **keywords), lazy)
        return _or_operator(
            adjoints.trace_adjoint(lambda: f(*args, **keywords), scope),
            "adjoint", lambda: undo(*args, **keywords), lambda: f(*args, **keywords), _undone,
        )  # fmt: skip

    return undo


def ctrl(
    f: Any,
    control: Any,
    control_values: Any = None,
    work_wires: Any = None,
    work_wire_type: Literal["zeroed", "borrowed"] = "borrowed",
) -> Any:
    """An operator, an operator class or a quantum function under controls.

    What `f` applies is applied where every control wire has its control value (1 unless
    `control_values` says otherwise). Wires may be traced; so may values, unless `f` is an operator.
    Loops, branches, `adjoint` and `ctrl` may be inside of a function; a measurement may not.
    `work_wires` are never needed; they are part of an operator's decomposition in PennyLane.

        >>> ctrl(qml.RX, control=[0, 1], control_values=[1, 0])(x, wires=2)
    """
    controls = read_controls(control, control_values)
    if is_operator(f) or (is_operator_class(f) and controls.is_known):
        require_known(controls.values, getattr(f, "name", ""))
        return _controlled_operator(f, controls, work_wires, work_wire_type)
    _require_function(f, "ctrl")

    @functools.wraps(f)
    def controlled(*args: Any, **keywords: Any) -> Any:
        scope = _recording_scope()
        if scope is None:
            native = _native_ctrl(f, controls, work_wires, work_wire_type)
            return native(*args, **keywords)
        withdraw_operators(args, keywords)

        def under_controls(operators: Sequence[Any]) -> list[Any]:
            return [
                _controlled_operator(operator, controls, work_wires, work_wire_type)
                for operator in operators
            ]

        return _or_operator(
            controls.applied_to(lambda: f(*args, **keywords), scope),
            "ctrl", lambda: controlled(*args, **keywords), lambda: f(*args, **keywords),
            under_controls,
        )  # fmt: skip

    return controlled


def _or_operator(returned: Any, construct: str, *makes: Any) -> Any:
    """What a function returned; where that is nothing, an operator for what it has applied."""
    return recorded(construct, *makes) if returned is None else returned


def _undone(operators: Sequence[Any]) -> list[Any]:
    return [qml.adjoint(operator) for operator in reversed(operators)]


def _controlled_operator(
    f: Any, controls: ControlledBy, work_wires: Any, work_wire_type: str
) -> Any:
    """PennyLane's own, of an operator or a class of operators."""
    if is_operator(f):
        return _native_ctrl(f, controls, work_wires, work_wire_type)

    @functools.wraps(f)
    def controlled(*args: Any, **keywords: Any) -> Any:
        withdraw_operators(args, keywords)
        return _native_ctrl(f(*args, **keywords), controls, work_wires, work_wire_type)

    return controlled


def _native_ctrl(f: Any, controls: ControlledBy, work_wires: Any, work_wire_type: str) -> Any:
    return native_ctrl(
        f,
        list(controls.wires),
        control_values=list(controls.values),
        work_wires=work_wires,
        work_wire_type=work_wire_type,
    )


def _recording_scope() -> CircuitScope | None:
    """The region that records what is applied now; None where PennyLane is on its own."""
    scope = current_scope()
    return scope if isinstance(scope, CircuitScope) and scope.is_recording else None


def _require_function(f: Any, construct: str) -> None:
    if not callable(f):
        found = "nothing" if f is None else f"a {type(f).__name__}"
        raise NotAQuantumFunctionError(construct=construct, found=found, span=user_span())
