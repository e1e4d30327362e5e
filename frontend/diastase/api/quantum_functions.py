"""`adjoint` and `ctrl`: of operators, of classes of operators, and of quantum functions.

Of an operator or a class they are PennyLane's own. A function is called while its circuit is
traced: under `adjoint` as a region, whose equations are then recorded backwards (`inversion`);
under `ctrl` as it is, with controls added to all that it records.

The trap: a control value may be known only when the program runs. Such a control activates on 1,
and its wire is flipped before and after, by a matrix that is either X or the identity.
"""

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.control_flow.pytrees import Leaves, flatten
from diastase.capture.pennylane_compat import (
    is_operator,
    is_operator_class,
    native_adjoint,
    native_ctrl,
    withdraw_operators,
    without_operators,
)
from diastase.capture.pennylane_compat.operators import recorded
from diastase.capture.quantum_errors import ControlValuesError, NotAQuantumFunctionError
from diastase.capture.regions import current_scope, trace_region
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.wires import as_list
from diastase_mlir import at, user_span
from diastase_mlir.jax_compat.x64 import runs_in_64_bits
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum import inversion
    from diastase.quantum.host_devices import capture
else:
    capture = LazyModule("diastase.quantum.host_devices.capture")
    inversion = LazyModule("diastase.quantum.inversion")

_ONE_FOR_EACH = "give one 0 or 1 for each control wire"


@dataclass(frozen=True)
class ControlledBy:
    """Control wires and their values."""

    wires: tuple[Any, ...]
    values: tuple[Any, ...]
    """Booleans, or traced ones."""

    @property
    def is_known(self) -> bool:
        """Whether no value is traced."""
        return not any(isinstance(value, Tracer) for value in self.values)

    def applied_to(self, function: Callable[[], Any], scope: CircuitScope) -> Any:
        """What a function returns, all that it applies being recorded under these controls."""
        if not scope.records_here:  # in a function that JAX traces: what is applied is refused
            return function()
        scope.flush()
        with at(user_span()):
            scope.circuit.check_wires(self.wires, "ctrl")
            self._flip(scope)
        with self._under(scope):
            returned = function()
        with at(user_span()):
            self._flip(scope)
        return returned

    def _under(self, scope: CircuitScope) -> AbstractContextManager[None]:
        values = (True if isinstance(value, Tracer) else value for value in self.values)
        return scope.unitary("ctrl", tuple(zip(self.wires, values, strict=True)))

    @runs_in_64_bits
    def _flip(self, scope: CircuitScope) -> None:
        for wire, value in zip(self.wires, self.values, strict=True):
            if isinstance(value, Tracer):
                on = value.astype(jnp.complex128)
                matrix: Any = jnp.stack([jnp.stack([on, 1 - on]), jnp.stack([1 - on, on])])
                with qml.QueuingManager.stop_recording():
                    flip = qml.QubitUnitary(matrix, wires=wire)
                scope.circuit.record(flip, scope)


def read_controls(control: Any, control_values: Any) -> ControlledBy:
    """Check the arguments of `ctrl`."""
    wires = tuple(as_list(control))
    values = (True,) * len(wires) if control_values is None else as_list(control_values)
    if len(values) != len(wires):
        reason = f"{len(wires)} control wires, {len(values)} control values"
        raise ControlValuesError(reason=reason, hint=_ONE_FOR_EACH, span=user_span())
    return ControlledBy(wires, tuple(map(_as_boolean, values)))


def _as_boolean(value: Any) -> Any:
    is_number = isinstance(value, bool | int | np.generic | np.ndarray | jax.Array)
    kind = getattr(value, "dtype", np.dtype(int))
    if not is_number or np.ndim(value) != 0 or kind.kind not in "bui":
        reason = f"a control value is 0 or 1, not {value!r}"
        raise ControlValuesError(reason=reason, hint=_ONE_FOR_EACH, span=user_span())
    if isinstance(value, Tracer):
        return value if value.dtype == bool else value != 0
    if value not in (0, 1):
        reason = f"a control value is 0 or 1, not {value!r}"
        raise ControlValuesError(reason=reason, hint=_ONE_FOR_EACH, span=user_span())
    return bool(value)


def require_known(controls: Sequence[Any], operator: str) -> None:
    """Refuse traced control values of an operator, which is one object for all of them."""
    if any(isinstance(value, Tracer) for value in controls):
        reason = f"a control value of {operator} is known only when the program runs"
        hint = "control a function: ctrl(lambda: …, control, control_values)()"
        raise ControlValuesError(reason=reason, hint=hint, span=user_span())


def _trace_adjoint(function: Callable[[], Any], scope: CircuitScope) -> Any:
    """Record what undoes a function; its classical results, computed as it says."""
    if not scope.records_here:  # in a function that JAX traces: what this one applies is refused
        return without_operators(function())
    scope.flush()
    if isinstance(scope.circuit, capture.DeviceCircuit):
        return _on_device(function, scope)
    returned: list[Leaves] = []

    def flat_function() -> Sequence[Any]:
        returned.append(flatten(without_operators(function()), "adjoint", "result"))
        return returned[-1].values

    with scope.unitary("adjoint"):
        region = trace_region(flat_function, [], "adjoint").threaded()
    scope.register, results = inversion.apply_backwards(
        region.jaxpr, region.captured, scope.register, repeated=False
    )
    return jax.tree.unflatten(returned[-1].tree, results)


def _on_device(function: Callable[[], Any], scope: CircuitScope) -> Any:
    """The list of operators that the program fills is reversed when it runs."""
    end = capture.record_adjoint(scope)
    with scope.unitary("adjoint"):
        returned = without_operators(function())
    end()
    return returned


def adjoint(f: Any, lazy: bool = True) -> Any:
    """The adjoint of an operator, an operator class or a quantum function.

    The adjoint of a function applies those of its operators, in reverse order: loops of any kind
    run backwards, branches keep their predicates, `adjoint` and `ctrl` may be nested. Classical
    code inside of a loop runs again while the loop is undone; what is there for its effects only (a
    print) does not. A function that measures has no adjoint.

    Args:
        f: an operator, a class of them, or a function that applies some.
        lazy: of an operator: False gives the operator that `op.adjoint()` is, if there is one.

    Returns:
        Of an operator, PennyLane's `Adjoint`. Of a class or a function, a function of the same
        arguments, which returns what `f` returns, but for operators; where that is nothing, an
        operator with the `wires` and `decomposition()` of what was applied.

    Raises:
        NotAQuantumFunctionError: a `TypeError`, for what is neither an operator nor a function.
        MeasurementInsideError: a `ValueError`, for a function that measures.
        NotInvertibleError: a `NotImplementedError`, for an operation without an adjoint.

    Example:
        >>> import pennylane as qml
        >>> from diastase import adjoint, for_loop, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit(x: float, n: int):
        ...     def layers():
        ...         for_loop(0, n, 1)(lambda i: qml.RX(x * i, i % 2))()
        ...     layers()
        ...     adjoint(layers)()            # back to |00>
        ...     return qml.probs()
        >>> circuit(0.3, 5).round(6)
        Array([1., 0., 0., 0.], dtype=float64)

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
            _trace_adjoint(lambda: f(*args, **keywords), scope),
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

    What `f` applies is applied where every control wire has its control value. Loops, branches,
    `adjoint` and `ctrl` may be inside of a function; a measurement may not.

    Args:
        f: an operator, a class of them, or a function that applies some.
        control: one wire or several, traced or not.
        control_values: a boolean, or 0 or 1, for each control wire; all 1 by default. They may be
            traced, unless `f` is an operator.
        work_wires: never needed here: they are part of an operator's decomposition in PennyLane.
        work_wire_type: the state that work wires are in, as for `qml.ctrl`.

    Returns:
        Of an operator, PennyLane's controlled one. Of a class or a function, a function of the same
        arguments, which returns what `f` returns, or else an operator for what was applied.

    Raises:
        ControlValuesError: a `ValueError`, for another number of values, or other ones.
        NotAQuantumFunctionError: a `TypeError`, for what is neither an operator nor a function.
        MeasurementInsideError: a `ValueError`, for a function that measures.

    Example:
        >>> import pennylane as qml
        >>> from diastase import ctrl, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit(x: float):
        ...     ctrl(qml.RX, control=0, control_values=[0])(x, wires=1)
        ...     return qml.expval(qml.Z(1))
        >>> float(circuit(0.0))
        1.0

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
