"""Errors of QNodes on other devices, and of QNodes that PennyLane's transforms change."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class UnsupportedDeviceError(CompileError, NotImplementedError):
    """A QNode on a device that compiled programs cannot use.

    `lightning.qubit` and `default.qubit` are the state-vector engine of diastase; other devices
    run in Python, called by the compiled program. Devices whose wires are no qubits
    (`default.qutrit`, `default.gaussian`) cannot be called: the sizes of their results are not
    what PennyLane says of measurements. Run such a QNode outside of `qjit`.
    """

    title: ClassVar[str] = "Unsupported device"
    message: ClassVar[str] = "the QNode {qnode} runs on {device}, {reason}"
    help: ClassVar[str] = "{hint}"
    qnode: str
    device: str
    reason: str
    hint: str


class UnsupportedMethodError(CompileError, NotImplementedError):
    """A QNode is to be simulated by a method that there is not for its device.

        @qjit(method="clifford")
        @qml.qnode(qml.device("lightning.qubit", wires=2))
        def circuit(): ...

    `f.report()` says by which method each QNode is simulated, and why.
    """

    title: ClassVar[str] = "Unsupported method"
    message: ClassVar[str] = "the QNode {qnode} on {device} cannot be simulated by {method} ({why})"
    help: ClassVar[str] = "leave the method out, or choose another one"
    qnode: str
    method: str
    why: str
    device: str


class NotCliffordError(CompileError, NotImplementedError):
    """A circuit that is to be simulated by stabilizers, and is none that they can hold.

        @qjit(method="clifford")
        @qml.qnode(qml.device("default.qubit", wires=1))
        def circuit():
            qml.T(0)                # no Clifford gate
            return qml.expval(qml.X(0))

    Stabilizers take Clifford gates of known angles on known wires, channels that are mixtures of
    Pauli operators (`BitFlip`, `PhaseFlip`, `DepolarizingChannel`, `PauliError`, `PhaseDamping`,
    `QubitChannel` of known matrices), measurements in the middle, and Pauli gates that depend on
    parities of their outcomes. Without shots they give expectation values and variances of Pauli
    words, and probabilities. With `method="automatic"` another method is taken for other circuits.
    """

    title: ClassVar[str] = "No Clifford circuit"
    message: ClassVar[str] = "{construct} {reason}"
    help: ClassVar[str] = '{hint}, or choose method="automatic"'
    construct: str
    reason: str
    hint: str = "leave it out"


class StimMissingError(NotCliffordError):
    """`method="clifford"` needs stim, which is not installed.

    It is an extra of diastase: `pip install diastase[clifford]`. Without it, `method="automatic"`
    takes another method.
    """

    title: ClassVar[str] = "Library not installed"
    message: ClassVar[str] = 'method="clifford" needs stim, which {reason}'
    construct: str = "stim"
    reason: str = "is not installed"
    hint: str = "pip install diastase[clifford]"


class NoExactMethodError(CompileError, NotImplementedError):
    """`method="automatic"` finds no method that gives what was asked for, exactly.

        @qjit(method="automatic")
        @qml.qnode(qml.device("default.mixed", wires=20))
        def circuit(angle):
            qml.RX(angle, 0)
            qml.DepolarizingChannel(0.1, wires=0)
            return qml.expval(qml.Z(0))

    The circuit has noise, or needs a density matrix for another reason; it has too many wires for
    one, and is no Clifford circuit. With shots, trajectories are as exact, and taken. Without, they
    estimate results, so they are taken only if they are asked for: `method="trajectories"`; so is a
    density matrix of this size: `"density"`.
    """

    title: ClassVar[str] = "No exact method"
    message: ClassVar[str] = (
        "{qnode} has {wires} wires, too many for a density matrix, and is no Clifford circuit, "
        "as {reason}"
    )
    help: ClassVar[str] = (
        'method="trajectories" estimates results by random runs; with shots (qml.set_shots) it is '
        "taken where it can be"
    )
    qnode: str
    wires: int
    reason: str


class MethodChoiceError(DiastaseError, ValueError, TypeError):
    """`set_method` is told something that it does not take.

        diastase.set_method(circuit, "tensor network")

    It takes a QNode and the name of a method, or is a decorator, `@diastase.set_method("density")`,
    above `@qml.qnode(device)`.
    """

    title: ClassVar[str] = "Invalid choice of a method"
    message: ClassVar[str] = "set_method is given {given}"
    help: ClassVar[str] = "{allowed}"
    given: str
    allowed: str


class UnknownResultError(DiastaseError, NotImplementedError):
    """A measurement on a device that runs in Python, whose result has no size known beforehand.

    The compiled program makes room for results before it calls the device.
    """

    title: ClassVar[str] = "Result of unknown size"
    message: ClassVar[str] = "{measurement} {reason}"
    help: ClassVar[str] = "{hint}"
    measurement: str
    reason: str
    hint: str


class DeviceResultError(DiastaseError, ValueError):
    """A device returned something else than PennyLane says of the measurements of the circuit.

    The program was compiled for results of the types that `MeasurementProcess.shape` and
    `numeric_type` promise. Check the device (or its plugin) with a plain QNode.
    """

    title: ClassVar[str] = "Unexpected result of a device"
    message: ClassVar[str] = "{device} returned {what}"
    device: str
    what: str


class UnknownOutcomeError(DiastaseError, NotImplementedError):
    """The outcome of a mid-circuit measurement, used as a number where nobody knows it yet.

        outcome = measure(0)
        jnp.sin(outcome)             # not on default.mixed

    A circuit for a device that runs in Python, or one that PennyLane's transforms change, is
    recorded as a whole before it is run. There, an outcome may decide about operators
    (`cond(outcome)(qml.X)(1)`) and be measured (`qml.expval(outcome)`), as in plain PennyLane, and
    wires are measured outside of loops and branches. For anything else use `lightning.qubit` or
    `default.qubit`, without transforms.
    """

    title: ClassVar[str] = "Outcome not known yet"
    message: ClassVar[str] = "{what} in a circuit that is recorded before it is run"
    label: ClassVar[str] = "here"
    help: ClassVar[str] = (
        "on other devices than lightning.qubit and default.qubit, and in QNodes with transforms, "
        "an outcome may only decide about operators with cond, and be measured"
    )
    what: str


class TapeRecordingError(DiastaseError, NotImplementedError):
    """A QNode with PennyLane's transforms, whose circuit is not known while it is traced.

        @qml.transforms.commute_controlled
        @qml.qnode(device)
        def circuit(n):
            for_loop(0, n, 1)(...)()      # n is traced: how many operators are there?

    Transforms work on a flat list of operators. So there are no loops and branches around
    operators that depend on traced values; the operators' parameters may. Loops over known
    numbers are unrolled. Where the transform is one of the compiler's own passes
    (`qjit(circuit_transform_pipeline=...)`), use that instead.
    """

    title: ClassVar[str] = "Transformed circuit not known"
    message: ClassVar[str] = (
        "{what}, in a circuit that is recorded as a list of operators, for PennyLane's transforms"
    )
    label: ClassVar[str] = "here"
    help: ClassVar[str] = (
        "let loops and branches around operators depend on known numbers only, or remove the "
        "transforms from the QNode"
    )
    what: str
    always: ClassVar[bool] = False
    """Whether it would be refused with concrete values, too."""


class UnmeasuredError(DiastaseError, ValueError):
    """A QNode with transforms does not return each of its measurements.

    Transforms of PennyLane's see all measurements of a circuit, and results of all of them.
    """

    title: ClassVar[str] = "Measurements not returned"
    message: ClassVar[str] = (
        "{qnode} has transforms, and does not return each of its measurements, or has none"
    )
    help: ClassVar[str] = "return all measurement processes that the quantum function makes"
    qnode: str


class UnsupportedTransformError(DiastaseError, NotImplementedError):
    """A transform of PennyLane's that cannot be applied to a circuit of traced values.

        @qjit
        @qml.transforms.commute_controlled
        @qml.qnode(device)
        def circuit(wire):
            qml.X(wire)
            qml.H(0)            # is 0 the same wire?
            qml.X(wire)

    A transform runs while the program is traced. It may change operators and compute with their
    parameters, but not decide by them; nor may it compare wires that are traced.
    """

    title: ClassVar[str] = "Transform not possible"
    message: ClassVar[str] = "the transform {transform} of {qnode} {reason}"
    help: ClassVar[str] = "{instead}"
    qnode: str
    transform: str
    reason: str
    always: bool = False
    """Whether it would be refused with concrete values, too."""
    instead: str = (
        "make these values static arguments of qjit, or apply the transform outside of qjit"
    )
