"""PennyLane's transforms of QNodes, with traced parameters, against the same QNodes uncompiled."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from pennylane import noise, transforms

from diastase import qjit

engine = qml.device("default.qubit", wires=4)
mixed = qml.device("default.mixed", wires=4)


def circuit(x, y):
    qml.RX(x, 0)
    qml.RX(y, 0)
    qml.Hadamard(1)
    qml.Hadamard(1)
    qml.CNOT([0, 1])
    qml.RZ(x, 1)
    qml.RZ(0.3, 1)
    qml.Barrier([0, 1])
    qml.X(0)
    qml.CRX(y, [0, 1])
    qml.GlobalPhase(x)
    qml.GlobalPhase(0.3)
    qml.SWAP([0, 2])
    qml.Rot(x, y, 0.1, 0)
    qml.QubitUnitary(np.array([[0.6, -0.8], [0.8, 0.6]]), 3)
    qml.RY(x, 0)
    qml.CZ([0, 2])
    qml.S(1)
    qml.adjoint(qml.S(1))
    qml.adjoint(qml.RX(x, 1))
    qml.RX(y, 1)
    observables = qml.Z(0), qml.X(0) @ qml.Y(2), x * qml.Z(0) + 2.0 * qml.X(1), qml.Y(3)
    return *map(qml.expval, observables), qml.probs(wires=[1, 0])


GATES = {qml.RX, qml.RY, qml.RZ, qml.CNOT, qml.GlobalPhase}

TRANSFORMS = {
    "split_non_commuting": transforms.split_non_commuting,
    "split_non_commuting, grouped": partial(
        transforms.split_non_commuting, grouping_strategy="wires"
    ),
    "split_to_single_terms": transforms.split_to_single_terms,
    "cancel_inverses": transforms.cancel_inverses,
    "merge_rotations": transforms.merge_rotations,
    "commute_controlled": transforms.commute_controlled,
    "single_qubit_fusion": transforms.single_qubit_fusion,
    "decompose": partial(transforms.decompose, gate_set=GATES),
    "defer_measurements": transforms.defer_measurements,
    "combine_global_phases": transforms.combine_global_phases,
    "undo_swaps": transforms.undo_swaps,
    "remove_barrier": transforms.remove_barrier,
    "compile": transforms.compile,
    "unitary_to_rot": transforms.unitary_to_rot,
    "merge_amplitude_embedding": transforms.merge_amplitude_embedding,
    "broadcast_expand": transforms.broadcast_expand,
    "fold_global": partial(noise.fold_global, scale_factor=3),
    "a stack": lambda qnode: transforms.merge_rotations(
        transforms.cancel_inverses(transforms.split_non_commuting(transforms.undo_swaps(qnode)))
    ),
    "a pipeline": qml.CompilePipeline(
        transforms.cancel_inverses, transforms.merge_rotations, transforms.split_non_commuting
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_on_the_engine(same_uncompiled, name):
    same_uncompiled(TRANSFORMS[name](qml.QNode(circuit, engine)), 0.4, 0.7, tolerance=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["split_non_commuting", "decompose", "a stack"])
def test_on_a_device_in_python(same_uncompiled, name):
    same_uncompiled(TRANSFORMS[name](qml.QNode(circuit, mixed)), 0.4, 0.7, tolerance=1e-9)


def pair(x, y):
    qml.RX(x, 0)
    qml.CRY(y, [0, 1])
    qml.Hadamard(0)
    return qml.expval(qml.Z(0)), qml.expval(qml.Y(1))


MODEL = qml.NoiseModel(
    {
        noise.op_eq(qml.RX): noise.partial_wires(qml.BitFlip, 0.1),
        noise.op_in([qml.Hadamard]): noise.partial_wires(qml.AmplitudeDamping, 0.2),
    }
)
EXTRAPOLATIONS = {
    "richardson": {"extrapolate": noise.richardson_extrapolate},
    "exponential": {"extrapolate": noise.exponential_extrapolate},
    "polynomial": {
        "extrapolate": noise.poly_extrapolate,
        "extrapolate_kwargs": {"order": 2},
    },
}


def test_added_noise(same_uncompiled):
    noisy = partial(noise.add_noise, noise_model=MODEL)
    damped = partial(noise.insert, op=qml.AmplitudeDamping, op_args=0.1, position="all")

    def program(x, y):
        one = transforms.merge_rotations(noisy(qml.QNode(pair, mixed)))
        return one(x, y), damped(qml.QNode(pair, mixed))(x, y)

    same_uncompiled(program, 0.4, 0.9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", EXTRAPOLATIONS)
def test_noise_mitigated(same_uncompiled, name):
    mitigate = partial(
        noise.mitigate_with_zne,
        scale_factors=[1, 2, 3],
        folding=noise.fold_global,
        **EXTRAPOLATIONS[name],
    )
    noisy = noise.add_noise(mitigate(qml.QNode(pair, mixed)), MODEL)
    same_uncompiled(noisy, 0.4, 0.9, tolerance=2e-6)  # what is 0 is extrapolated to -1e-6


def test_transpiled(same_uncompiled):
    def routed(x, y):
        qml.RX(x, 0)
        qml.CNOT([0, 3])
        qml.CRX(y, [3, 1])
        return qml.expval(qml.Z(1))

    chain = [(0, 1), (1, 2), (2, 3)]
    same_uncompiled(transforms.transpile(qml.QNode(routed, engine), chain), 0.4, 0.7)


def test_batches(same_uncompiled):
    def two(x, y):
        qml.AngleEmbedding(x, [0, 1])
        qml.RY(y, 1)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(0) @ qml.X(1)), qml.probs(wires=[0])

    def one(x, y):
        qml.RX(x, 0)
        qml.RY(y, 1)
        return qml.expval(qml.Z(0) @ qml.X(1))

    def program(inputs, parameters):
        batched = qml.batch_input(qml.QNode(two, engine), argnum=0)
        both = qml.batch_params(qml.QNode(one, engine), all_operations=True)
        return batched(inputs, 0.3), both(parameters, 2 * parameters)

    same_uncompiled(program, jnp.arange(6.0).reshape(3, 2), jnp.arange(4.0))


@qml.transform
def mixed_with_flipped(tape, factor):
    """Several tapes, and classical post-processing, with a traced argument."""
    flipped = tape.copy(operations=[*tape.operations, qml.X(0), qml.RZ(factor, 1)])

    def postprocess(results):
        return tuple(factor * one - other for one, other in zip(*results, strict=True))

    return [tape, flipped], postprocess


@qml.transform
def total(tape):
    """Changes the structure of the results."""
    return [tape], lambda results: qml.math.sum(qml.math.stack(results[0]))


@qml.transform
def looking(tape):
    """Decides by a parameter."""
    if tape.operations[0].data[0] > 0.5:
        tape = tape.copy(operations=tape.operations[1:])
    return [tape], lambda results: results[0]


@pytest.mark.parametrize("device", [engine, mixed])
def test_the_users_own(same_uncompiled, device):
    def results(x, y):
        qnode = qml.QNode(pair, device)
        return mixed_with_flipped(qnode, factor=x * y)(x, y), total(qnode)(y, x)

    same_uncompiled(results, 0.4, 0.9)


def test_one_that_decides_by_values_runs_with_the_device(same_uncompiled):
    for angle in (0.4, 0.6):
        same_uncompiled(looking(qml.QNode(pair, mixed)), angle, 0.9)


def test_traced_wires_are_compared_when_they_are_known(same_uncompiled):
    def wired(wire):
        qml.X(wire)
        qml.Hadamard(0)
        qml.X(wire)
        return qml.expval(qml.Z(0)), qml.expval(qml.X(0)), qml.probs(wires=[1])

    qnode = transforms.cancel_inverses(qml.QNode(wired, mixed))
    for wire in (0, 1):
        same_uncompiled(qnode, wire)
        same_uncompiled(transforms.decompose(qml.QNode(wired, engine), gate_set=GATES), wire)


def test_shots():
    def sampled(x):
        qml.RX(x, 0)
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return (
            qml.sample(wires=[0, 1]),
            qml.expval(qml.Z(0)),
            qml.expval(qml.X(0)),
            qml.counts(wires=[0]),
        )

    for device in (engine, mixed):
        qnode = transforms.merge_rotations(
            transforms.split_non_commuting(qml.QNode(sampled, device))
        )
        bits, mean, none, counts = qjit(qml.set_shots(qnode, shots=4000), seed=3)(0.4)
        assert bits.shape == (4000, 2)
        np.testing.assert_array_equal(bits[:, 0], bits[:, 1])
        assert abs(mean - np.cos(0.8)) < 5 / np.sqrt(4000)
        assert abs(none) < 5 / np.sqrt(4000)
        assert sum(counts.values()) == 4000
        assert abs(counts["1"] / 4000 - np.sin(0.4) ** 2) < 5 / np.sqrt(4000)


def test_shot_vectors():
    qnode = transforms.split_non_commuting(qml.QNode(circuit, engine))
    vector = qml.set_shots(qnode, shots=(10, (20, 2)))
    shapes = jax.tree.map(jnp.shape, qjit(vector)(0.1, 0.2))
    assert shapes == jax.tree.map(np.shape, vector(0.1, 0.2))
