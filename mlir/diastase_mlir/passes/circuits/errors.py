"""Errors about passes on circuits."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class UnknownPassError(CompileError, ValueError):
    """A pass on circuits that there is not.

        @diastase.passes.apply_pass("cancel_inverse")
        @qml.qnode(device)
        def circuit(): ...

    A pass of your own must be registered (`diastase.passes.register_pass`) before it is asked for.
    """

    title: ClassVar[str] = "Unknown pass"
    message: ClassVar[str] = "there is no pass named {name}"
    help: ClassVar[str] = "did you mean one of: {suggestions}?"
    name: str
    suggestions: str


class PassOptionError(CompileError, TypeError):
    """An option that a pass on circuits does not have, or with a value that none can have."""

    title: ClassVar[str] = "Unknown option of a pass"
    message: ClassVar[str] = "the pass {name} has no option {option}"
    help: ClassVar[str] = "it takes {allowed}"
    name: str
    option: str
    allowed: str


class OptionValueError(CompileError, ValueError):
    """An option of a pass with a value that it cannot have.

        @diastase.passes.split_non_commuting(grouping_strategy="by wire")
        @qml.qnode(device)
        def circuit(): ...

    The message says what the option may be.
    """

    title: ClassVar[str] = "Not a value of this option"
    message: ClassVar[str] = "{name}: {option}={value}"
    help: ClassVar[str] = "{option} is {allowed}"
    name: str
    option: str
    value: str
    allowed: str


class InvalidPassError(DiastaseError, TypeError):
    """Something that is no pass on circuits, or is not asked for as one.

    A pipeline is a dictionary from names to dictionaries of options, in order; a pass of your own
    is a function of a circuit, or a class of patterns, whose options are given by name.
    """

    title: ClassVar[str] = "Not a pass"
    message: ClassVar[str] = "{name}: {reason}"
    name: str
    reason: str


class NotAQNodeError(DiastaseError, TypeError):
    """A pass was asked for of something that is no QNode.

        @diastase.passes.cancel_inverses
        @qml.qnode(device)              # the pass above the QNode, both below qjit
        def circuit(): ...

    Passes belong to one circuit each; for all circuits of a program there is
    `qjit(circuit_transform_pipeline={"cancel_inverses": {}})`.
    """

    title: ClassVar[str] = "A pass needs a QNode"
    message: ClassVar[str] = "{name} was applied to {type}"
    help: ClassVar[str] = "put it above @qml.qnode and below @qjit"
    name: str
    type: str


class UnsuitableCircuitError(CompileError, NotImplementedError):
    """A circuit that a pass cannot take.

        @qjit
        @diastase.passes.to_ppr
        @qml.qnode(device)
        def circuit(matrix):
            qml.QubitUnitary(matrix, wires=0)      # which rotations are that?

    Passes that only simplify take any circuit. Those that write it in other operations must know
    what each of its operations is.
    """

    title: ClassVar[str] = "Circuit not possible for a pass"
    message: ClassVar[str] = "{name} cannot take {construct}: {reason}"
    help: ClassVar[str] = "{instead}"
    name: str
    construct: str
    reason: str
    instead: str
