"""Outcomes: measurements in the middle, samples, and noise, in every way that there is."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import strategies as st

import diastase
from diastase import qjit
from fuzz import grammar
from fuzz.gates import MEASUREMENTS
from fuzz.judging import SEED, Wrong, difference, must_equal, must_estimate, oracle
from fuzz.programs import PLAIN, WIRES, Style, apply, measure, plainly, qnode, random_state

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
    must_equal(found, plainly(gates, measured, plain), state, 1e-7)


@oracle(gates=grammar.BRANCH, measured=st.sampled_from(["word", "sum", "probabilities"]), seed=SEED)
def single_branch(gates, measured, seed):
    """One run, and the same outcomes by postselection on default.qubit."""
    numbers = random_state(seed).v

    @qjit(seed=seed)
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def circuit(numbers, zero):
        outcomes = []
        for block in gates:
            if block[0] == "measure":
                outcomes.append(measure(numbers, zero, Style(), (), *block[1:]))
            else:
                apply([block], numbers, zero, Style())
        return outcomes, MEASUREMENTS[measured](*range(3))

    outcomes, found = circuit(numbers, 0)
    known = map(int, outcomes)
    selected = []
    for block in gates:
        if block[0] == "measure":
            kind, wire, reset, body = block
            outcome = next(known)
            selected += [[kind, wire, reset, [], outcome], *(body if outcome else [])]
        else:
            selected.append(block)
    plain = replace(PLAIN, options=DEFERRED)
    must_equal(found, plainly(selected, measured, plain), random_state(seed), 1e-7)


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
    must_equal(found, plainly(gates, measured, plain), state, 1e-7)


@oracle(gates=grammar.NOISY, seed=SEED)
def trajectories(gates, seed):
    expected = _exact(gates, seed, device="default.mixed", options={})
    _means(
        gates, seed, expected, device="default.mixed", transform=diastase.set_method("trajectories")
    )


@oracle(gates=grammar.NOISY, seed=SEED)
def trajectories_apart(gates, seed):
    """Means of many trajectories vary as those of so many that know nothing of each other."""
    numbers = random_state(seed).v

    def variances(number):
        def means(trajectories, repetitions):
            method = diastase.set_method("trajectories", trajectories=trajectories)
            style = Style(device="default.mixed", transform=method)
            circuit = qnode(gates, "", style, measure=z_of_each)

            def turn(i, found):
                return found.at[i].set(jnp.stack(circuit(numbers, 0)))

            start = jnp.zeros((repetitions, WIRES))
            run = qjit(
                lambda: diastase.for_loop(0, repetitions, 1)(turn)(start), seed=seed + number
            )
            return np.asarray(run())

        return MEMBERS * means(MEMBERS, MEANS).var(0), means(1, MEMBERS * MEANS).var(0)

    for number in range(2):
        of_many, of_one = variances(number)
        if (of_many <= MOST_APART * of_one + BY_CHANCE).all():
            return
    raise Wrong(f"variances of means, by their number: {of_many}\nof single ones: {of_one}")


MEMBERS, MEANS = 32, 64
"""Trajectories of a mean, and means; their variance is then known within a fifth."""

MOST_APART = 2.5
"""How many times as large a variance may be that is as large."""

BY_CHANCE = 8 * 4 / (MEMBERS * MEANS)
"""The variance of eight trajectories that end in the other eigenvalue: of events so rare, one side
may have met none. Trajectories that know of each other have a variance up to `MEMBERS` times."""


@oracle(gates=grammar.CLIFFORD, seed=SEED)
def clifford(gates, seed):
    """A stabiliser simulator beside amplitudes."""

    def by(method):
        return _exact(gates, seed, transform=diastase.set_method(method))

    found, expected = by("clifford"), by("statevector")
    if difference(found, expected) > 1e-9:
        raise Wrong(f"clifford: {found}\nstatevector: {expected}")
