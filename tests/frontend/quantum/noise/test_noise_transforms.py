"""Noise models, inserted noise, folding and extrapolation on default.mixed, in loops too."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from pennylane import noise

from diastase import for_loop, mitigate_with_zne, qjit

mixed = qml.device("default.mixed", wires=3)
MODEL = qml.NoiseModel(
    {
        noise.op_eq("RX"): noise.partial_wires(qml.BitFlip, 0.1),
        noise.op_in([qml.CNOT, qml.CZ]): noise.partial_wires(qml.PhaseFlip, 0.2),
    }
)
DEVICES = {
    "everywhere": noise.insert(mixed, qml.DepolarizingChannel, 0.02, position="all"),
    "before": noise.insert(mixed, qml.PhaseDamping, 0.1, position=[qml.RX, qml.T], before=True),
    "model": noise.add_noise(mixed, MODEL),
    "both": noise.insert(noise.add_noise(mixed, MODEL), qml.AmplitudeDamping, 0.05),
}


def loops(x):
    @for_loop(0, 3, 1)
    def entangle(i):
        qml.RX(x, i)
        qml.CNOT([i, (i + 1) % 3])
        qml.cond(i == 1, lambda: qml.CZ([0, 2]), lambda: qml.T(0))()

    entangle()
    qml.adjoint(lambda: (qml.RY(x, 1), qml.CNOT([1, 0])))()
    return qml.state(), qml.expval(qml.Z(1))


def unrolled(x):
    for i in range(3):
        qml.RX(x, i)
        qml.CNOT([i, (i + 1) % 3])
        if i == 1:
            qml.CZ([0, 2])
        else:
            qml.T(0)
    qml.adjoint(qml.CNOT([1, 0]))
    qml.adjoint(qml.RY(x, 1))
    return qml.state(), qml.expval(qml.Z(1))


@pytest.mark.parametrize("name", DEVICES)
def test_devices_with_noise(same_uncompiled, name):
    device = DEVICES[name]
    same_uncompiled(
        qml.QNode(loops, device), 0.3, wanted=qml.QNode(unrolled, device), tolerance=1e-9
    )


def many(x):
    qml.BasisState(np.array([1, 0]), wires=[0, 2])
    qml.H(0)
    qml.IsingXX(x, [1, 2])
    qml.Identity(2)
    qml.adjoint(qml.S(0))
    qml.PauliRot(x, "XZ", wires=[0, 2])
    qml.ctrl(qml.RZ, 0)(x, 1)
    qml.QFT([0, 1])
    qml.MultiControlledX([0, 1, 2], [1, 0])
    qml.SISWAP([0, 1])
    qml.Rot(x, 0.1, 0.2, 1)
    qml.QubitUnitary(np.array([[0, 1], [1, 0]]), 1)
    qml.BitFlip(0.1, 0)
    return qml.state(), qml.probs(wires=[2])


@pytest.mark.parametrize("name", DEVICES)
def test_gates_are_those_of_the_device(same_uncompiled, name):
    """What the device has no gate for is decomposed first, and what has one is not."""
    same_uncompiled(qml.QNode(many, DEVICES[name]), 0.4, tolerance=1e-9)


@pytest.mark.parametrize("position", ["start", "end"])
def test_noise_at_the_ends(same_uncompiled, position):
    device = noise.insert(mixed, qml.AmplitudeDamping, 0.3, position=position)

    @qml.qnode(device)
    def circuit(x):
        qml.StatePrep(np.array([0.6, 0.8]), wires=1)
        qml.RX(x, 1)
        qml.CNOT([1, 0])
        return qml.probs(wires=[0, 1]), qml.expval(qml.X(1))

    same_uncompiled(circuit, 0.4, tolerance=1e-9)


def test_traced_strengths_in_loops():
    """What noise closes over goes into loops and branches."""

    @qjit
    def program(p, x):
        model = qml.NoiseModel({noise.op_eq("RX"): noise.partial_wires(qml.BitFlip, p)})
        return noise.add_noise(qml.QNode(loops, mixed), model)(x)

    model = qml.NoiseModel({noise.op_eq("RX"): noise.partial_wires(qml.BitFlip, 0.15)})
    wanted = noise.add_noise(qml.QNode(unrolled, mixed), model)(0.3)
    for one, other in zip(program(0.15, 0.3), wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_models_of_measurements_run_in_python(same_uncompiled):
    flips = {noise.meas_eq(qml.expval): noise.partial_wires(qml.BitFlip, 0.2)}
    device = noise.add_noise(mixed, qml.NoiseModel({}, meas_map=flips))
    same_uncompiled(qml.QNode(unrolled_z, device), 0.3)


def unrolled_z(x):
    qml.RX(x, 0)
    return qml.expval(qml.Z(0))


def mitigated_by_pennylane(device):
    return noise.mitigate_with_zne(
        qml.QNode(flat, device), [1, 3, 5], noise.fold_global, noise.richardson_extrapolate
    )


def flat(x):
    qml.H(0)
    qml.RX(x, 0)
    qml.CNOT([0, 1])
    qml.RY(x, 1)
    return qml.expval(qml.Z(0) @ qml.X(1))


@pytest.mark.parametrize("name", DEVICES)
def test_folded_circuits_have_noise_on_every_gate(name):
    device = DEVICES[name]
    ours = mitigate_with_zne(
        qml.QNode(flat, device),
        scale_factors=[1, 3, 5],
        extrapolate=noise.richardson_extrapolate,
    )
    wanted = mitigated_by_pennylane(device)(0.4)
    assert qjit(ours)(0.4) == pytest.approx(float(wanted), abs=1e-9)


def test_folded_loops():
    """Folded as a loop, and unrolled: the same number of noisy gates."""

    def looped(x):
        @for_loop(0, 4, 1)
        def turn(i, angle):
            qml.RX(angle, 0)
            qml.CNOT([0, 1])
            return angle + 0.1

        turn(x)
        return qml.expval(qml.Z(1))

    def written(x):
        for i in range(4):
            qml.RX(x + 0.1 * i, 0)
            qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))

    device = DEVICES["everywhere"]
    one, other = (
        qjit(mitigate_with_zne(qml.QNode(f, device), scale_factors=[1, 3]))(jnp.float64(0.2))
        for f in (looped, written)
    )
    assert one == pytest.approx(float(other), abs=1e-10)
    exact = qjit(qml.QNode(written, mixed))(0.2)
    noisy = qjit(qml.QNode(written, device))(0.2)
    assert abs(one - exact) < abs(noisy - exact)


def test_local_folding_leaves_channels():
    @qml.qnode(mixed)
    def circuit(x):
        qml.RX(x, 0)
        qml.BitFlip(0.1, 0)
        qml.RY(x, 0)
        return qml.expval(qml.Z(0))

    mitigated = mitigate_with_zne(circuit, scale_factors=[1, 3], folding="local-all")
    assert qjit(mitigated)(0.4) == pytest.approx(float(circuit(0.4)))


def test_called_by_a_statement():
    """Operators that noise is made of are nobody's statements."""

    @qml.qnode(DEVICES["everywhere"])
    def circuit(x, n):
        @for_loop(0, n, 1)
        def turn(_):
            qml.RX(x, 0)

        turn()
        return qml.expval(qml.Z(0))

    found: list[float] = []
    print(found.append(float(qjit(mitigate_with_zne(circuit, scale_factors=[1, 3]))(0.2, 3))))
    assert 0 < found[0] < 1
