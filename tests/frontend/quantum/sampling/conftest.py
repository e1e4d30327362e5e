"""A state of four wires, its exact distributions, and statistics of shots against them."""

from collections.abc import Callable

import numpy as np
import pennylane as qml
import pytest

from frontend.quantum.sampling.distributions import Exact, check_frequencies

WIRES = 4


def prepare() -> None:
    """A state of four wires without symmetries."""
    for wire in range(WIRES):
        qml.RY(0.3 + 0.4 * wire, wire)
        qml.RX(0.9 - 0.3 * wire, wire)
    for wire in range(WIRES - 1):
        qml.CNOT([wire, wire + 1])
        qml.IsingXY(0.6 + wire, [wire, wire + 1])


@pytest.fixture(scope="session")
def prepared() -> Callable[[], None]:
    return prepare


@pytest.fixture(scope="session")
def final_state() -> np.ndarray:
    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit():
        prepare()
        return qml.state()

    return np.asarray(circuit())


@pytest.fixture(scope="session")
def exact(final_state: np.ndarray) -> Callable[[qml.operation.Operator], Exact]:
    """The distribution of an observable in the prepared state."""

    def distribution(observable: qml.operation.Operator) -> Exact:
        matrix = qml.matrix(observable, wire_order=range(WIRES))
        values, vectors = np.linalg.eigh(matrix)
        return Exact(values, abs(vectors.conj().T @ final_state) ** 2)

    return distribution


@pytest.fixture(scope="session")
def exact_bits(final_state: np.ndarray) -> Callable[..., np.ndarray]:
    """Probabilities of the outcomes on wires, in their order."""

    def distribution(*wires: int) -> np.ndarray:
        joint = (abs(final_state) ** 2).reshape((2,) * WIRES)
        others = tuple(wire for wire in range(WIRES) if wire not in wires)
        marginal = joint.sum(axis=others)
        return np.transpose(marginal, np.argsort(np.argsort(wires))).reshape(-1)

    return distribution


@pytest.fixture(scope="session")
def frequencies() -> Callable[[np.ndarray, np.ndarray], None]:
    return check_frequencies


@pytest.fixture(scope="session")
def distribution() -> type[Exact]:
    return Exact
