"""`null.qubit` with `track_resources` writes the file that Catalyst writes (compared with 0.15)."""

import json

import pennylane as qml
import pytest

from diastase import for_loop, qjit

RESOURCES = {
    "num_wires": 3,
    "num_gates": 20,
    "total_allocations": 3,
    "gate_types": {
        "RX": 4, "CNOT": 1, "Adjoint(S)": 1, "CRZ": 1, "Rot": 2, "MultiRZ": 1, "Toffoli": 1,
        "Hadamard": 3, "ControlledPhaseShift": 3, "SWAP": 1, "PhaseShift": 2,
    },
    "gate_sizes": {"1": 12, "2": 7, "3": 1},
    "measurements": {
        "expval(PauliZ)": 1, "var(Prod(num_terms=2))": 1, "probs(all wires)": 1,
        "probs(1 wires)": 1, "expval(Hamiltonian(num_terms=2))": 1,
    },
}  # fmt: skip


def quantum_function(x):
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    for_loop(0, 3, 1)(lambda i: (qml.RX(x, 1), None)[1])()
    qml.adjoint(qml.S)(0)
    qml.ctrl(qml.RZ, 0)(x, 1)
    qml.Rot(x, x, x, 0)
    qml.MultiRZ(x, [0, 1])
    qml.ctrl(qml.X, [0, 1])(2)
    qml.QFT(wires=[0, 1, 2])
    qml.U2(x, x, 0)
    energy = qml.Hamiltonian([0.1, 0.2], [qml.Z(0), qml.X(1)])
    results = qml.expval(qml.Z(0)), qml.var(qml.Z(0) @ qml.X(1)), qml.probs(), qml.probs(wires=0)
    return *results, qml.expval(energy)


@pytest.mark.parametrize("options", [{}, {"resources_filename": "found.json"}])
def test_the_file(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    device = qml.device("null.qubit", wires=3, track_resources=True, **options)
    qjit(qml.QNode(quantum_function, device))(0.3)
    pattern = options.get("resources_filename", "__pennylane_resources_data_*.json")
    (file,) = tmp_path.glob(pattern)
    assert json.loads(file.read_text()) == {**RESOURCES, "depth": None}


def test_the_depth_and_nothing_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = qml.QNode(quantum_function, qml.device("null.qubit", wires=3))
    qjit(plain)(0.3)
    assert not list(tmp_path.iterdir())

    def shallow(x):
        qml.RX(x, 0)
        qml.RX(x, 1)
        qml.CNOT([0, 1])
        return qml.probs()

    device = qml.device("null.qubit", wires=2, track_resources=True, compute_depth=True)
    qjit(qml.QNode(shallow, device))(0.3)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["depth"] == 2
