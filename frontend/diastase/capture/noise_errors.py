"""Errors of noise: channels that are none, and channels where there can be none."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class ChannelError(DiastaseError, ValueError):
    """A channel whose parameters do not make one.

        qml.BitFlip(1.3, wires=0)                     # no probability
        qml.QubitChannel([np.eye(4)], wires=0)        # matrices of another number of wires

    Probabilities are from 0 to 1; Kraus matrices K fit the wires, and the sum of K.conj().T @ K
    is the identity. What is traced is checked when the program runs (`InvalidValueError`,
    `NotTracePreservingError`).
    """

    title: ClassVar[str] = "Not a channel"
    message: ClassVar[str] = "{operation}: {reason}"
    label: ClassVar[str] = "applied here"
    operation: str
    reason: str


class NoiseOnPureStateError(CompileError, NotImplementedError):
    """A channel in a circuit that is simulated by a state vector, which cannot hold noise.

        @qml.qnode(qml.device("lightning.qubit", wires=1))
        def circuit():
            qml.BitFlip(0.1, wires=0)

    A density matrix can, and so can many state vectors, for which the noise is drawn at random.
    """

    title: ClassVar[str] = "Noise on a pure state"
    message: ClassVar[str] = "{operation} {what}, which a state vector cannot hold"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = (
        'use the device "default.mixed", or qjit(method="density") or (method="trajectories")'
    )
    operation: str
    what: str


class NotUnitaryError(CompileError, NotImplementedError):
    """A channel, or a density matrix, that is to be undone or controlled.

        qml.adjoint(qml.BitFlip)(0.1, wires=0)

    Noise has no inverse, and a controlled channel is not defined by its Kraus matrices.
    """

    title: ClassVar[str] = "Neither undone nor controlled"
    message: ClassVar[str] = "{operation} is not unitary: it has no {construct}"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = "apply it before or after, outside of the {construct}"
    operation: str
    construct: str
