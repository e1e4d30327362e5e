"""Rotations as measurements with auxiliary qubits: the distribution of the circuit."""

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, passes, qjit
from diastase_mlir import UnsuitableCircuitError

METHODS = [
    {}, {"avoid_y_measure": True}, {"decompose_method": "auto-corrected"},
    {"decompose_method": "auto-corrected", "avoid_y_measure": True},
    {"decompose_method": "clifford-corrected"},
]  # fmt: skip


def clifford_t(measurements):
    def circuit():
        qml.Hadamard(0)
        qml.T(0)
        qml.CNOT([0, 1])
        qml.Hadamard(1)
        qml.adjoint(qml.T(1))
        qml.S(0)
        qml.CNOT([1, 2])
        qml.SX(2)
        qml.T(2)
        return measurements()

    return circuit


def everything():
    return (
        qml.state(), qml.probs(), qml.probs(wires=[2, 0]), qml.expval(qml.X(0) @ qml.Y(1)),
        qml.var(qml.Z(2) + qml.X(1)),
    )  # fmt: skip


def qnode(function, device="lightning.qubit", wires=3):
    return qml.QNode(function, qml.device(device, wires=wires))


@pytest.mark.sample(5)
@pytest.mark.parametrize("options", METHODS, ids=str)
@pytest.mark.parametrize("name", ["ppr_to_ppm", "ppm_compilation"])
def test_results_whatever_is_measured(name, options):
    """The state is the circuit's up to a phase, and its wires alone."""
    circuit = clifford_t(everything)
    chosen = passes.to_ppr(qnode(circuit)) if name == "ppr_to_ppm" else qnode(circuit)
    found = qjit(passes.apply_pass(name, **options)(chosen))
    wanted = qnode(circuit, "default.qubit")()
    for _ in range(10):
        state, *rest = found()
        assert state.shape == (8,)
        np.testing.assert_allclose(abs(np.vdot(state, wanted[0])), 1, atol=1e-9)
        for one, other in zip(rest, wanted[1:], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("angle", [k * np.pi / 4 for k in (-3, -2, -1, 3, 4, 5, 6, 7, 8)])
def test_angles_beyond_a_quarter_turn(angle):
    def circuit():
        for wire in range(3):
            qml.Rot(0.3 + wire, 0.7, 0.2 * wire, wire)
        qml.PauliRot(angle, "XYZ", [0, 1, 2])
        return qml.state()

    found = qjit(passes.ppr_to_ppm(qnode(circuit)))
    wanted = qnode(circuit, "default.qubit")()
    for _ in range(4):
        np.testing.assert_allclose(abs(np.vdot(found(), wanted)), 1, atol=1e-9)


def test_a_clifford_t_circuit_as_measurements_only():
    """`to_ppr`, commuted, merged, measured: outcomes have the distribution of the original."""

    def circuit():
        clifford_t(lambda: None)()
        return qml.sample(wires=[0, 1, 2])

    def probabilities():
        clifford_t(lambda: None)()
        return qml.probs(wires=[0, 1, 2])

    shots = 20_000
    found = qjit(qml.set_shots(passes.ppm_compilation(qnode(circuit)), shots), seed=5)()
    wanted = qnode(probabilities, "default.qubit")()
    counted = np.bincount(np.asarray(found) @ [4, 2, 1], minlength=8) / shots
    np.testing.assert_allclose(counted, wanted, atol=5 / np.sqrt(shots))


def test_clifford_rotations_that_nobody_sees_are_left_out():
    def circuit():
        qml.Hadamard(0)
        qml.T(0)
        qml.CNOT([0, 1])
        return measure(0), measure(1)

    def gates_of(*chosen):
        node = qml.QNode(circuit, qml.device("lightning.qubit", wires=2))
        for name in chosen:
            node = passes.apply_pass(name)(node)
        compiled = qjit(node)
        drawn = np.array([[int(bit) for bit in compiled()] for _ in range(400)])
        assert (drawn[:, 0] == drawn[:, 1]).all()
        assert abs(drawn.mean() - 0.5) < 0.13
        return compiled.mlir.count('quantum.gate "PauliRot'), compiled.mlir.count("quantum.measure")

    assert gates_of("to_ppr") == (7, 2)
    assert gates_of("to_ppr", "merge_ppr_ppm") == (1, 2)


def test_postselected_outcomes_stay_what_they_are():
    def circuit():
        qml.RY(0.4, 0)
        qml.CNOT([0, 1])
        qml.X(1)
        measure(1, postselect=1)
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(1))

    node = passes.merge_ppr_ppm(passes.to_ppr(qnode(circuit, wires=2)))
    np.testing.assert_allclose(qjit(node)(), [1, -1], atol=1e-9)


def test_in_loops_with_traced_bounds_and_angles():
    def circuit(x, n):
        def body(i):
            qml.Hadamard(i % 2)
            qml.T(1)
            qml.CNOT([0, 1])
            qml.RZ(x * i, 1)

        for_loop(0, n, 1)(body)()
        return qml.expval(qml.X(0) @ qml.Z(1)), qml.probs(wires=1)

    wanted = qnode(circuit, "default.qubit", 2)(0.3, 4)
    for names in (["ppm_compilation"], ["to_ppr", "decompose_arbitrary_ppr"]):
        node = qnode(circuit, wires=2)
        for name in names:
            node = passes.apply_pass(name)(node)
        found = qjit(node)
        for _ in range(4):
            for one, other in zip(found(0.3, 4), wanted, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-9)


def test_derivatives_of_what_is_left_to_rotate():
    """Averages over the outcomes have derivatives; a single run has none."""

    def circuit(x):
        qml.RX(x, 0)
        qml.T(0)
        qml.PauliRot(2 * x, "YX", [0, 1])
        return qml.expval(qml.Y(0) @ qml.X(1))

    device = qml.device("lightning.qubit", wires=2)
    node = qml.QNode(circuit, device, mcm_method="tree-traversal")
    found = qjit(jax.grad(passes.decompose_arbitrary_ppr(passes.ppr_to_ppm(passes.to_ppr(node)))))
    reference, step = qnode(circuit, "default.qubit", 2), 1e-5
    wanted = (reference(0.4 + step) - reference(0.4 - step)) / (2 * step)
    np.testing.assert_allclose(found(0.4), wanted, atol=1e-8)


def test_a_number_of_wires_known_at_run_time_is_refused():
    @qjit
    def program(n):
        @passes.ppm_compilation
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            qml.T(0)
            return qml.probs(wires=0)

        return circuit()

    with pytest.raises(UnsuitableCircuitError, match="known only when the program runs"):
        program(2)


def test_counted_and_drawn_with_auxiliary_wires():
    """Corrections are Pauli rotations on condition; magic states are T gates of the auxiliary."""
    compiled = qjit(passes.ppr_to_ppm(passes.to_ppr(qnode(clifford_t(everything)))))
    (specs,) = passes.ppm_specs(compiled).values()
    assert specs["logical_qubits"] == 4
    assert specs["pi2_ppr"] == specs["num_of_ppm"] / 2
    assert "arbitrary_ppr" not in specs
    assert qml.specs(compiled)().resources.gate_types["T"] == 3
    assert "aux0: ─╰┤Y↗m0├" in qml.draw(compiled)()


def test_words_in_gates_of_one_and_two_qubits():
    def circuit(x):
        qml.Hadamard(0)
        qml.PauliRot(x, "XYZ", [0, 1, 2])
        outcome = qml.pauli_measure("ZY", wires=[1, 2], postselect=0)
        return qml.state(), outcome

    compiled = qjit(passes.ppr_to_mbqc(qnode(circuit)))
    for one, other in zip(compiled(0.4), qjit(qnode(circuit))(0.4), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert "PauliRot" not in compiled.mlir
    assert 'word = "Z"' in compiled.mlir
