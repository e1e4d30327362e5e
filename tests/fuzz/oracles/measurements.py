"""Outcomes: measurements in the middle, samples, and noise, in every way that there is."""

from dataclasses import replace

import numpy as np
import pennylane as qml
from hypothesis import strategies as st

import diastase
from diastase import qjit
from fuzz import grammar
from fuzz.gates import MEASUREMENTS
from fuzz.judging import SEED, Wrong, difference, must_equal, must_estimate, oracle
from fuzz.programs import PLAIN, WIRES, Style, qnode, random_state

DEFERRED = {"mcm_method": "deferred"}


def z_of_each():
    return [qml.expval(qml.Z(wire)) for wire in range(WIRES)]


def _exact(gates, seed, **style):
    style = Style(**{"options": DEFERRED, **style})
    circuit = qnode(gates, "", style, measure=z_of_each)
    return np.asarray(qjit(circuit)(random_state(seed).v, 0))


def _means(gates, seed, expected, **style):
    """Means of shots that are near what they estimate."""
    numbers = random_state(seed).v
    circuit = qnode(gates, "", Style(**style), measure=z_of_each)

    def estimate(shots, number):
        compiled = qjit(qml.set_shots(circuit, shots), seed=seed + number)
        return np.asarray(compiled(numbers, 0))

    must_estimate(estimate, expected, 1 - expected**2)


@oracle(gates=grammar.UNITARY, seed=SEED)
def shots(gates, seed):
    _means(gates, seed, _exact(gates, seed, options={}))


@oracle(gates=grammar.FEEDBACK, seed=SEED)
def one_shot_and_deferred(gates, seed):
    _means(gates, seed, _exact(gates, seed), options={"mcm_method": "one-shot"})


@oracle(gates=grammar.FEEDBACK, seed=SEED)
def deferred_and_tree_traversal(gates, seed):
    tree = _exact(gates, seed, options={"mcm_method": "tree-traversal"})
    mixed = _exact(gates, seed, device="default.mixed")
    expected = _exact(gates, seed)
    if max(difference(tree, expected), difference(mixed, expected)) > 1e-7:
        raise Wrong(f"deferred: {expected}\ntree: {tree}\ndefault.mixed: {mixed}")


@oracle(
    gates=grammar.FEEDBACK, measured=st.sampled_from(["word", "sum", "probabilities"]), seed=SEED
)
def feedback_on_default_qubit(gates, measured, seed):
    style = Style(options=DEFERRED)
    plain = replace(PLAIN, options=DEFERRED)
    state = random_state(seed)
    found = qjit(qnode(gates, measured, style))(state.v, 0)
    must_equal(found, lambda s: np.asarray(qnode(gates, measured, plain)(s.v, 0)), state, 1e-7)


@oracle(gates=grammar.UNITARY, seed=SEED)
def samples(gates, seed):
    """Frequencies of outcomes, and of equal neighbours: no shot tells of the next."""
    numbers = random_state(seed).v
    chances = np.asarray(qjit(qnode(gates, "", Style(), measure=qml.probs))(numbers, 0))
    circuit = qnode(gates, "", Style(), measure=qml.sample)

    def estimate(shots, number):
        found = qjit(qml.set_shots(circuit, shots), seed=seed + number)(numbers, 0)
        outcomes = np.asarray(found) @ (2 ** np.arange(WIRES)[::-1])
        counted = np.bincount(outcomes, minlength=2**WIRES)[: 2**WIRES]
        equal = np.mean(outcomes[::2] == outcomes[1::2])
        return np.append(counted / shots, equal)

    equal = np.sum(chances**2)
    variance = np.append(chances * (1 - chances), 2 * equal * (1 - equal))
    must_estimate(estimate, np.append(chances, equal), variance)


# Noise.


@oracle(gates=grammar.NOISY, measured=st.sampled_from(sorted(MEASUREMENTS)), seed=SEED)
def noise_on_default_mixed(gates, measured, seed):
    state = random_state(seed)
    found = qjit(qnode(gates, measured, Style(device="default.mixed")))(state.v, 0)
    plain = replace(PLAIN, device="default.mixed")
    must_equal(found, lambda s: np.asarray(qnode(gates, measured, plain)(s.v, 0)), state, 1e-7)


@oracle(gates=grammar.NOISY, seed=SEED)
def trajectories(gates, seed):
    expected = _exact(gates, seed, device="default.mixed", options={})
    _means(
        gates, seed, expected, device="default.mixed", transform=diastase.set_method("trajectories")
    )


@oracle(gates=grammar.CLIFFORD, seed=SEED)
def clifford(gates, seed):
    """A stabiliser simulator beside amplitudes."""

    def by(method):
        begin = lambda wires: None  # noqa: E731
        return _exact(gates, seed, transform=diastase.set_method(method), begin=begin)

    found, expected = by("clifford"), by("statevector")
    if difference(found, expected) > 1e-9:
        raise Wrong(f"clifford: {found}\nstatevector: {expected}")
