"""Operators: as messages call them, and what PennyLane itself makes of `adjoint` and `ctrl`."""

import copy
import uuid
from collections.abc import Callable, Sequence
from operator import is_ as is_same
from typing import Any

import pennylane as qml
from pennylane.measurements import MeasurementProcess
from pennylane.ops import Conditional, MidMeasure
from pennylane.ops.mid_measure import MeasurementValue
from pennylane.queuing import AnnotatedQueue, QueuingManager
from pennylane.wires import Wires

from diastase.capture.pennylane_compat.private import OPERATORS_AS_DATA, PENNYLANE
from diastase.capture.pennylane_compat.wires import is_traced_wire

_adjoint = PENNYLANE.module("pennylane.ops.op_math.adjoint")
_controlled = PENNYLANE.module("pennylane.ops.op_math.controlled")


def describe(operator: Any) -> str:
    """An operator in a message: its name and its wires."""
    wires = getattr(operator, "wires", ())
    labels = ["<traced>" if hasattr(wire, "aval") else repr(wire) for wire in wires]
    name = getattr(operator, "name", type(operator).__name__)
    return f"{name}(wires=[{', '.join(labels)}])" if labels else str(name)


def is_quantum_object(value: Any) -> bool:
    """Whether a value is PennyLane's own; PennyLane makes pytrees of them, so ask before JAX."""
    return isinstance(value, MeasurementProcess | qml.operation.Operator)


def is_no_pytree(value: Any) -> bool:
    """Whether a value cannot be returned in parts, as an operator of known wires can."""
    if isinstance(value, qml.operation.Operator):
        return any(is_traced_wire(label) for label in value.wires)
    return isinstance(value, MeasurementProcess)


def is_operator(value: Any) -> bool:
    """Whether a value is an operator of PennyLane."""
    return isinstance(value, qml.operation.Operator)


def is_operator_class(value: Any) -> bool:
    """Whether a value is a class of operators, which is called to apply one."""
    return isinstance(value, type) and issubclass(value, qml.operation.Operator)


def native_adjoint(operator: Any, lazy: bool) -> Any:
    """What `qml.adjoint` gives where no compiler is active."""
    return _adjoint.create_adjoint_op(operator, lazy)


def native_ctrl(operator: Any, control: Any, **options: Any) -> Any:
    """What `qml.ctrl` gives where no compiler is active."""
    return _controlled.create_controlled_op(operator, control, **options)


def flatten_object(obj: Any) -> tuple[Sequence[Any], Any]:
    """An operator or measurement in PennyLane's own parts: leaves and metadata."""
    PENNYLANE.require(OPERATORS_AS_DATA)
    if isinstance(obj, Conditional):  # what PennyLane gives here, it cannot make one of again
        return (obj.base,), obj.meas_val
    return obj._flatten()  # pyright: ignore[reportPrivateUsage]


def unflatten_object(like: Any, leaves: Sequence[Any], metadata: Any) -> Any:
    """An operator or measurement like another one, of such parts.

    The class of a user's operator is not called: what it makes of its arguments is in the parts.
    Nor are the few classes of PennyLane's that take other arguments than their parts, or (`TTN`,
    `MERA`) forget some of them.
    """
    kind: Any = type(like)
    if kind is Conditional:
        return Conditional(metadata, *leaves)
    inherits = getattr(kind, "_flatten", None) is qml.operation.Operator._flatten  # pyright: ignore[reportPrivateUsage]
    forgets = issubclass(kind, qml.TTN | qml.MERA)
    if not inherits or (kind.__module__.startswith("pennylane.") and not forgets):
        try:
            return kind._unflatten(leaves, metadata)
        except (TypeError, IndexError):
            if not inherits:
                raise
    made = copy.copy(like)
    made.data, (made._wires, hyperparameters) = tuple(leaves), metadata
    made._hyperparameters = dict(hyperparameters)
    return made


def with_parameters(
    operator: Any,
    change: Callable[[Any, int], Any],
    applies: Callable[[Any], bool] = lambda operator: True,
) -> Any:
    """The operator with other parameters; `change` is given each, and its rank without a batch.

    Operators inside of it to which it does not apply stay as they are. Taken apart and put together
    as a pytree: PennyLane's `bind_new_parameters` loses the control values of matrices, turns
    products round (`ChangeOpBasis`) and fails for some operators (0.45).
    """
    if not applies(operator):
        return operator
    leaves, metadata = flatten_object(operator)
    data = operator.data
    if len(leaves) == len(data) and all(map(is_same, leaves, data)):
        found: list[Any] = list(map(change, data, operator.ndim_params)) if data else []
    else:
        found = [_part(leaf, change, applies) for leaf in leaves]
    return unflatten_object(operator, found, metadata)


def _part(leaf: Any, change: Callable[[Any, int], Any], applies: Callable[[Any], bool]) -> Any:
    """Operators inside of an operator, or a number beside them."""
    if is_operator(leaf):
        return with_parameters(leaf, change, applies)
    if isinstance(leaf, list | tuple):
        return type(leaf)(_part(part, change, applies) for part in leaf)
    return change(leaf, 0)


def is_native_outcome(value: Any) -> bool:
    """Whether a value is what PennyLane's own `measure` gives: an outcome that nobody knows yet."""
    return isinstance(value, MeasurementValue)


def refuse_outcomes_as_numbers(is_tracing: Callable[[], bool], refuse: Callable[[], Any]) -> None:
    """While this thread is tracing, an outcome that JAX is to compute with is refused as ours."""

    def array(self: Any) -> Any:
        if is_tracing():
            return refuse()
        raise TypeError(f"{self!r} is no number")

    MeasurementValue.__jax_array__ = array  # pyright: ignore[reportAttributeAccessIssue]


def native_measure(wire: Any, reset: bool, postselect: int | None) -> Any:
    """What `qml.measure` gives where no compiler is active."""
    identity = str(uuid.uuid4())
    measured = MidMeasure(Wires([wire]), reset=reset, postselect=postselect, meas_uid=identity)
    return MeasurementValue([measured])


def native_cond(branches: Sequence[tuple[Any, Any]], default: Any) -> Any:
    """What `qml.cond` gives where no compiler is active; operators are applied as they come out."""
    (predicate, function), *others = branches

    def conditional(*args: Any, **kwargs: Any) -> Any:
        with AnnotatedQueue() as queue:
            qml.cond(predicate, function, default, others)(*args, **kwargs)
        for operator in queue.queue:
            QueuingManager.append(operator)

    return conditional
