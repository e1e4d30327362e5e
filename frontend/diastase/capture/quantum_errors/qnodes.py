"""Errors about QNodes as a whole: where they are needed, their settings, what they return."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class OutsideQNodeError(CompileError, RuntimeError):
    """A quantum operation outside of any QNode, in a function being compiled.

        @qjit
        def f():
            qml.X(0)             # on which device?

    Make the function that applies it a QNode, with `@qml.qnode(device)`, and call that.
    """

    title: ClassVar[str] = "Quantum operation outside of a QNode"
    message: ClassVar[str] = "{operation} is applied on no device"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = "decorate the function that applies it with @qml.qnode(device)"
    operation: str


class OutsideProgramError(CompileError, RuntimeError):
    """`measure` called by plain Python; it works in QNodes compiled by `qjit` only.

    In uncompiled PennyLane use `qml.measure`.
    """

    title: ClassVar[str] = "Outside of a compiled program"
    message: ClassVar[str] = "{construct} works only inside a QNode that qjit compiles"
    help: ClassVar[str] = "put @qjit above @qml.qnode, or use PennyLane's own qml.measure"
    construct: str


class InvalidSettingError(DiastaseError, ValueError):
    """A setting of a QNode with a value that it cannot have.

        @qml.qnode(device, mcm_method="one-shot")        # and no shots
        def circuit(): ...

    `shots` is a positive integer, a sequence of them, or a traced integer; `mcm_method` is one of
    `one-shot` (with shots only), `single-branch-statistics`, `deferred` and `tree-traversal`;
    `postselect_mode` is `hw-like` or `fill-shots`.
    """

    title: ClassVar[str] = "Invalid setting of a QNode"
    message: ClassVar[str] = "the QNode {qnode} has {setting}: {reason}"
    qnode: str
    setting: str
    reason: str


class UnsupportedReturnError(DiastaseError, TypeError):
    """A QNode, a loop or a branch that returns what it cannot."""

    title: ClassVar[str] = "Unsupported return value"
    message: ClassVar[str] = "{function} returned {value}"
    help: ClassVar[str] = "{hint}"
    function: str
    value: str
    hint: str


class CollectiveInQNodeError(DiastaseError, NotImplementedError):
    """A collective operation of JAX over the axis of a `vmap`, inside of a QNode.

        @qml.qnode(device)
        def circuit(x):
            qml.RX(jax.lax.psum(x, "batch"), 0)

        jax.vmap(circuit, axis_name="batch")

    A batch is many runs of a QNode, none of which knows of the others. Compute what they are to
    have in common before the QNode is called, and hand it over as an argument.
    """

    title: ClassVar[str] = "A collective operation inside of a QNode"
    message: ClassVar[str] = (
        "a QNode does not know the axis {axis!r} of the batch that it is run for"
    )
    label: ClassVar[str] = "used here"
    help: ClassVar[str] = "compute it before the QNode is called, and hand it over as an argument"
    axis: str
