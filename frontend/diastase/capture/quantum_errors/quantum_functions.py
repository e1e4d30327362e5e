"""Errors about what `adjoint` and `ctrl` are given."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class MeasurementInsideError(DiastaseError, ValueError):
    """A measurement inside of a function that is given to `adjoint` or `ctrl`.

        def f():
            qml.Hadamard(0)
            measure(0)           # cannot be undone

        adjoint(f)()

    A measurement is not unitary: it has no adjoint and no controlled form. Measure before or after
    the function. For operations that depend on an outcome, use `cond` around `adjoint` or `ctrl`.
    """

    title: ClassVar[str] = "A measurement has no {outer}"
    message: ClassVar[str] = "{construct} is called inside of a function given to {outer}"
    label: ClassVar[str] = "measured here"
    help: ClassVar[str] = "measure before or after the function"
    construct: str
    outer: str


class NotInvertibleError(CompileError, NotImplementedError):
    """An operation inside of a function given to `adjoint` that has none.

    What prepares a state, say, forgets the state before it.
    """

    title: ClassVar[str] = "No adjoint"
    message: ClassVar[str] = "{operation} has no adjoint"
    label: ClassVar[str] = "applied here, in a function given to adjoint"
    operation: str


class UnrepeatableError(DiastaseError, NotImplementedError):
    """A QNode called in a loop or branch of a function given to `adjoint`.

    Undoing a loop, its classical values are computed again; a circuit that measures would give
    others. Call the QNode before, and use its result in the loop.
    """

    title: ClassVar[str] = "Not supported yet"
    message: ClassVar[str] = (
        "{construct} is called in a loop or branch of a function given to adjoint"
    )
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "call it before the loop, and use its result inside"
    construct: str


class NotAQuantumFunctionError(DiastaseError, ValueError, TypeError):
    """`adjoint` or `ctrl` of what is neither an operator nor a function that applies operators.

        adjoint([qml.X(0), qml.Y(1)])            # a list

    Give it a function: `adjoint(lambda: [qml.X(0), qml.Y(1)])()`.
    """

    title: ClassVar[str] = "Not an operator or function"
    message: ClassVar[str] = "{construct} takes an operator or a function that applies operators"
    label: ClassVar[str] = "given {found}"
    construct: str
    found: str


class ControlValuesError(DiastaseError, ValueError, TypeError):
    """Control values of `ctrl` that do not fit its control wires.

    One 0 or 1 (or boolean) for each control wire: `ctrl(f, control=[0, 1], control_values=[1, 0])`.
    Values known only when the program runs are for quantum functions: `ctrl(lambda: qml.X(2), …)()`
    in place of `ctrl(qml.X(2), …)`.
    """

    title: ClassVar[str] = "Bad control values"
    message: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "controlled here"
    help: ClassVar[str] = "{hint}"
    reason: str
    hint: str
