"""Errors about wires: unknown ones, unusable ones, and those that are allocated."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class UnknownWireError(DiastaseError, IndexError):
    """An operation on a wire that the device, whose wires have labels, does not have.

    Where the wires are simply numbered, the error is `WireOutOfRangeError`.
    """

    title: ClassVar[str] = "Unknown wire"
    message: ClassVar[str] = "{construct} acts on wire {wire!r}; the device has the wires {wires}"
    label: ClassVar[str] = "there is no wire {wire!r}"
    construct: str
    wire: object
    wires: object


class WireTypeError(DiastaseError, TypeError):
    """A wire that is traced but cannot number one: not an integer, or not a scalar.

    Traced wires are positions, so they also need a device whose wires are 0, 1, 2, ….
    """

    title: ClassVar[str] = "Unusable traced wire"
    message: ClassVar[str] = "{operation}: {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class UnknownWiresError(DiastaseError, ValueError):
    """A device without wires, and a circuit that does not say how many it needs.

        qml.device("lightning.qubit")        # no wires

    The number of qubits must be known when the program is compiled: it is the number of wires
    that the circuit names, unless a wire is traced.
    """

    title: ClassVar[str] = "Unknown number of wires"
    message: ClassVar[str] = "the device of {qnode} has no wires, and {reason}"
    help: ClassVar[str] = "give the device its wires: qml.device(name, wires=4)"
    qnode: str
    reason: str


class AllocationError(DiastaseError, RuntimeError):
    """Wires allocated with `qml.allocate` that there are not, or that are used wrongly.

        with qml.allocate(2, state="zero", restored=True) as wires:
            ...

    Allocated wires are those of the device that nothing else in the circuit names; on a device
    without wires they are new ones.
    """

    title: ClassVar[str] = "Wires cannot be allocated"
    message: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "applied here"
    reason: str
