"""Errors about single operations: what cannot be applied, or not with these parameters."""

from typing import Any, ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class UnsupportedOperationError(CompileError, NotImplementedError):
    """A quantum operation that cannot be compiled.

    Gates are compiled by name, by their PennyLane decomposition, or by their matrix, where it is
    known at compile time. What has none of these, or a decomposition that looks at traced
    values, is refused.
    """

    title: ClassVar[str] = "Unsupported operation"
    message: ClassVar[str] = "{operation} {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class BatchSizeError(DiastaseError, ValueError):
    """Operators of one circuit whose parameters have batches of different sizes.

        qml.RX(jnp.zeros(3), wires=0)
        qml.RY(jnp.zeros(2), wires=0)

    A QNode is run once for each element of the batch, so there can be one size only.
    """

    title: ClassVar[str] = "Batch sizes differ"
    message: ClassVar[str] = (
        "{operation} has a batch of {size} parameters, another operator {others}"
    )
    label: ClassVar[str] = "applied here"
    operation: str
    size: Any
    others: Any


class ParameterTypeError(DiastaseError, TypeError):
    """A gate parameter that is no real number, or a matrix of the wrong shape."""

    title: ClassVar[str] = "Bad parameter"
    message: ClassVar[str] = "{operation}: {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class AlreadyAppliedError(DiastaseError, RuntimeError):
    """An operator that was applied already is used as part of another.

        op = qml.RX(x, 0)

        @for_loop(0, 3, 1)
        def body(i):
            qml.adjoint(op)      # takes op back, outside of the loop

    PennyLane un-applies an operator that becomes part of another one; a loop or branch cannot do
    that to what is outside of it. Make a new operator there. To apply one object several times,
    use `qml.apply`, which copies it.
    """

    title: ClassVar[str] = "Operator already applied"
    message: ClassVar[str] = (
        "{operation} was applied before, and can neither be applied again nor become part of "
        "another operator or of an observable here"
    )
    label: ClassVar[str] = "used again here"
    help: ClassVar[str] = "build a new operator here, or apply a copy with qml.apply"
    operation: str
