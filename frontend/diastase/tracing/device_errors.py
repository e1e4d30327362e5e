"""Errors of QNodes on other devices, and of QNodes that PennyLane's transforms change."""

from dataclasses import dataclass
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


@dataclass(eq=False, kw_only=True)
class UnsupportedDeviceError(DiastaseError, NotImplementedError):
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


@dataclass(eq=False, kw_only=True)
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


@dataclass(eq=False, kw_only=True)
class DeviceResultError(DiastaseError, ValueError):
    """A device returned something else than PennyLane says of the measurements of the circuit.

    The program was compiled for results of the types that `MeasurementProcess.shape` and
    `numeric_type` promise. Check the device (or its plugin) with a plain QNode.
    """

    title: ClassVar[str] = "Unexpected result of a device"
    message: ClassVar[str] = "{device} returned {what}"
    device: str
    what: str


@dataclass(eq=False, kw_only=True)
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
