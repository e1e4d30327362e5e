"""A gate that passes take away has checked its wires; so does what they leave behind."""

import pennylane as qml
import pytest

from diastase import DiastaseError, qjit

CIRCUITS = {
    "out of range": lambda v, w: (qml.RX(0.1, v), qml.RX(-0.1, v)),
    "overlap": lambda v, w: (qml.CNOT([v, w]), qml.CNOT([v, w])),
    "merged away": lambda v, w: (qml.CRX(0.5, [v, w]), qml.CRX(-0.5, [v, w])),
    "disentangled": lambda v, w: qml.CNOT([v, w]),
    "merged": lambda v, w: (qml.CRX(0.5, [v, w]), qml.CRX(0.5, [v, w])),
    "loops": lambda v, w: (qml.SWAP([v, w]), qml.SWAP([w, v])),
}
ALL = ["cancel_inverses", "merge_rotations", "disentangle_cnot", "disentangle_swap"]


@pytest.mark.parametrize("case", CIRCUITS)
def test_the_same_error(case):
    def circuit(v, w):
        CIRCUITS[case](v, w)
        return qml.probs()

    qnode = qml.QNode(circuit, qml.device("lightning.qubit", wires=2))
    plain, passed = qjit(qnode), qjit(qnode, circuit_transform_pipeline={key: {} for key in ALL})
    wires = (5, 1) if case == "out of range" else (1, 1)
    with pytest.raises(DiastaseError) as expected:
        plain(*wires)
    with pytest.raises(DiastaseError) as found:
        passed(*wires)
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)
    assert passed(0, 1).shape == (4,)
