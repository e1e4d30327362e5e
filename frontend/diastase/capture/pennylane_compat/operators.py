"""Operators of PennyLane's: in messages, taken apart and put together, and as PennyLane makes them.

`native_adjoint`, `native_ctrl`, `native_measure` and so on are what the public functions give where
no compiler is active; these come back to the active one, which is ours.

`AppliedFunction` is what a loop, a branch, `adjoint` or `ctrl` has applied, as one operator.
PennyLane's users hold on to such things: `loop.operation` in a decomposition, a tape's operations,
the `wires` of `adjoint(f)(x)`. Ours are recorded when they are called, not when they are queued; so
the operator is there to be looked at, and to be applied where a tape has put it off.

The trap: what has been recorded can neither be applied again nor become part of another operator;
`recorded` says so to the circuit.
"""

import copy
import uuid
from collections.abc import Callable, Sequence
from operator import is_ as is_same
from typing import Any

import jax
import pennylane as qml
from pennylane.measurements import MeasurementProcess
from pennylane.ops import Conditional, MidMeasure
from pennylane.ops.mid_measure import MeasurementValue
from pennylane.queuing import AnnotatedQueue, QueuingManager
from pennylane.tape import QuantumTape
from pennylane.wires import Wires

from diastase.capture.context import is_tracing
from diastase.capture.pennylane_compat.private import (
    OPERATORS_AS_DATA,
    PENNYLANE,
    patch_while_tracing,
)
from diastase.capture.pennylane_compat.wires import is_traced_wire
from diastase.capture.regions import current_scope

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


def refuse_outcomes_as_numbers(refuse: Callable[[], Any]) -> None:
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


def withdraw_operators(*arguments: Any) -> None:
    """Operators given to a quantum function are data: it applies them if it wants to.

    PennyLane has applied them when they were made.
    """
    for leaf in jax.tree_util.tree_leaves(arguments, is_leaf=is_quantum_object):
        if is_operator(leaf):
            QueuingManager.remove(leaf)


def without_operators(returned: Any) -> Any:
    """What a quantum function returned, without the operators that it applied.

    `lambda: qml.X(0)` returns nothing that a program could compute with.
    """
    leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
    kept = [None if is_operator(leaf) else leaf for leaf in leaves]
    if leaves and all(leaf is None for leaf in kept):
        return None
    return jax.tree_util.tree_unflatten(tree, kept)


_module = PENNYLANE.module("pennylane.ops.mid_measure.pauli_measure")


def native_pauli_measure(wires: Any, pauli_word: str, postselect: int | None) -> Any:
    """What `qml.pauli_measure` gives where no compiler is active."""
    return _module._pauli_measure_impl(wires, pauli_word, postselect)


def patch_pauli_measure(handler: Callable[..., Any]) -> None:
    """Send each call made while this thread is tracing to `handler`; called once."""

    def measure(
        _: Callable[..., Any], wires: Any, pauli_word: str, postselect: int | None = None
    ) -> Any:
        return handler(pauli_word, wires, postselect)

    patch_while_tracing("pauli_measure", measure)


Factors = Callable[[Sequence[Any]], list[Any]]
"""From the operators that a function applies to those that take their place."""


class AppliedFunction(qml.operation.Operator):
    """What a construct applies; `run` does it."""

    num_wires = None

    def __init__(
        self,
        construct: str,
        run: Callable[[], Any],
        function: Callable[[], Any] | None = None,
        factors: Factors = list,
    ) -> None:
        self.run = run
        self._function, self._factors = function, factors
        super().__init__(wires=Wires([]))
        self.name = construct

    @property
    def has_decomposition(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the operators are known: not those of loops and branches."""
        return self._function is not None

    @property
    def wires(self) -> Wires:
        """The wires of all operators; those of loops and branches are not known."""
        return Wires.all_wires([operator.wires for operator in self.decomposition()])

    def decomposition(self) -> list[Any]:
        """The operators, if there are no loops and branches among them."""
        if self._function is None:
            return []
        with AnnotatedQueue() as queue:
            self._function()
        with QueuingManager.stop_recording():
            return self._factors([o for o in queue.queue if isinstance(o, qml.operation.Operator)])

    def __repr__(self) -> str:
        return f"<what a {self.name} applies>"


def recorded(*args: Any, **kwargs: Any) -> AppliedFunction:
    """The operator for what has just been recorded: to be looked at only."""
    with QueuingManager.stop_recording():
        operator = AppliedFunction(*args, **kwargs)
    scope = current_scope()
    if scope is not None:
        scope.note_recorded(operator)
    return operator


def puts_off() -> bool:
    """Whether operators go into a tape that the user has opened, to be applied later or never."""
    return isinstance(QueuingManager.active_context(), QuantumTape)
