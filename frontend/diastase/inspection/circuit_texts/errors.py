"""Errors of programs that OpenQASM or QIR cannot say."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class NotInOpenqasmError(DiastaseError, NotImplementedError):
    """`f.qasm` of a circuit that does something for which OpenQASM 3 has no words.

        qml.RX(jnp.tanh(x), wires=0)     # OpenQASM has no tanh

    Compute such numbers outside of the compiled function and give them as arguments, or make them
    known: static arguments are numbers in the text.
    """

    title: ClassVar[str] = "Not in OpenQASM"
    message: ClassVar[str] = "{construct} {reason}"
    help: ClassVar[str] = "{hint}"
    construct: str
    reason: str
    hint: str


class NotInQirError(DiastaseError, NotImplementedError):
    """`f.qir` of a circuit that does something for which QIR's profiles have no instruction.

        qjit(circuit).trace(0.3).qir     # the entry point of QIR takes no arguments

    Give the arguments that the circuit depends on their values: `qjit(lambda: circuit(0.3)).qir`,
    or make them static.
    """

    title: ClassVar[str] = "Not in QIR"
    message: ClassVar[str] = "{construct} {reason}"
    help: ClassVar[str] = "{hint}"
    construct: str
    reason: str
    hint: str


class NoOneCircuitError(DiastaseError, ValueError):
    """`f.qasm`, `f.qir` of a function that calls no QNode, or several, or is a derivative of one.

        qjit(lambda x: circuit(x) + circuit(2 * x)).qasm

    A text is of one circuit: compile the QNode by itself.
    """

    title: ClassVar[str] = "No one circuit"
    message: ClassVar[str] = "a text is of one circuit, and {function} runs {what}"
    help: ClassVar[str] = "compile the QNode by itself: qjit(circuit)"
    function: str
    what: str
