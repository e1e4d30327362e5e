"""Errors about error mitigation."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class MitigationOptionError(DiastaseError, ValueError, TypeError):
    """`mitigate_with_zne` is told something that it does not take.

        mitigate_with_zne(circuit, scale_factors=[1, 2])           # 2 is even
        mitigate_with_zne(circuit, scale_factors=[1, 2.5], folding="local-random")   # is right

    A circuit, or an operation, that is undone and done again has three times its length, then five
    times, and so on; only a random choice of operations gives what is between.
    """

    title: ClassVar[str] = "Invalid option"
    message: ClassVar[str] = "mitigate_with_zne: {option} is {value}"
    help: ClassVar[str] = "{allowed}"
    option: str
    value: str
    allowed: str


class MitigatedResultError(DiastaseError, TypeError):
    """A function given to `mitigate_with_zne` returns what cannot be extrapolated.

        mitigate_with_zne(circuit, scale_factors=[1, 3])      # circuit returns qml.probs()

    What is extrapolated are real numbers: expectation values, and what is computed of them, in any
    pytree.
    """

    title: ClassVar[str] = "Nothing to extrapolate"
    label: ClassVar[str] = "returned here"
    message: ClassVar[str] = "{function} returns {type} at {output}, not one real number"
    help: ClassVar[str] = "return expectation values, or real numbers made of them, in any pytree"
    function: str
    output: str
    type: str


class MitigationOutsideError(DiastaseError, RuntimeError):
    """A function made by `mitigate_with_zne`, called by plain Python.

        mitigate_with_zne(circuit, scale_factors=[1, 3])(x)
        qjit(mitigate_with_zne(circuit, scale_factors=[1, 3]))(x)     # is right

    Circuits are folded while they are compiled. PennyLane's `qml.noise.mitigate_with_zne` works
    without a compiler.
    """

    title: ClassVar[str] = "Outside of a compiled program"
    message: ClassVar[str] = "mitigate_with_zne of {function} works in functions that qjit compiles"
    help: ClassVar[str] = "put @qjit above the function, or use qml.noise.mitigate_with_zne"
    function: str


class NestedMitigationError(DiastaseError, RuntimeError):
    """A function made by `mitigate_with_zne`, called by one that is mitigated itself.

        inner = mitigate_with_zne(circuit, scale_factors=[1, 3])
        mitigate_with_zne(lambda x: inner(x) ** 2, scale_factors=[1, 3, 5])

    A circuit has one length at a time. Mitigate the circuit, or the function around it.
    """

    title: ClassVar[str] = "Mitigated twice"
    message: ClassVar[str] = "mitigate_with_zne of {function} is called by a mitigated function"
    help: ClassVar[str] = "leave one of the two out"
    function: str
