"""Random Clifford circuits with Pauli noise, outcomes and feedback, by stabilizers, against numpy.

A circuit is a list of statements. `apply` runs it in a compiled program; `Branches` keep, for each
string of outcomes, the density matrix without its norm, so every probability is exact.
"""

import itertools

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, measure, qjit
from sampled import examples

WIRES = 3
SHOTS = 4000
GATES = {
    1: ("Hadamard", "PauliX", "PauliY", "PauliZ", "S", "SX"),
    2: ("CNOT", "CZ", "CY", "SWAP", "ISWAP", "ECR"),
}
TURNS = {1: ("RX", "RY", "RZ", "PhaseShift"), 2: ("IsingXX", "IsingZZ", "IsingXY")}
LETTERS = {"I": np.eye(2), "X": qml.X(0).matrix(), "Y": qml.Y(0).matrix(), "Z": qml.Z(0).matrix()}


def wires(count):
    return st.permutations(range(WIRES)).map(lambda order: tuple(order[:count]))


def one_of_gates(count):
    named = st.tuples(st.just("gate"), st.sampled_from(GATES[count]), st.just(()), wires(count))
    quarters = st.integers(-3, 4).map(lambda k: (k * np.pi / 2,))
    halves = st.integers(-1, 2).map(lambda k: (k * np.pi,))
    turned = st.tuples(st.just("gate"), st.sampled_from(TURNS[count]), quarters, wires(count))
    xy = st.tuples(st.just("gate"), st.just("IsingXY"), halves, wires(2))
    return (named | turned | xy).filter(lambda one: one[1] != "IsingXY" or one[2][0] % np.pi == 0)


noise = st.tuples(
    st.just("noise"),
    st.sampled_from(["BitFlip", "PhaseFlip", "DepolarizingChannel", "PhaseDamping", "XY", "Z"]),
    st.floats(0, 1),
    st.booleans(),
    wires(2),
)
measured = st.tuples(st.just("measure"), st.booleans(), wires(1))
feedback = st.tuples(
    st.just("feedback"),
    st.sampled_from(["X", "Y", "Z"]),
    st.sets(st.integers(0, 3), min_size=1, max_size=2),
    st.booleans(),
    wires(1),
)
corrected = st.tuples(
    st.just("corrected"), st.sampled_from("XYZ"), st.booleans(), st.booleans(), wires(2)
)
simple = one_of_gates(1) | one_of_gates(2) | noise | corrected
nested = st.recursive(
    simple,
    lambda inner: st.tuples(st.just("loop"), st.integers(0, 3), st.lists(inner, max_size=3)),
    max_leaves=6,
)
statements = st.lists(nested | measured | feedback, min_size=2, max_size=14)


# --- in a program --------------------------------------------------------------------------------


def channel(name, strength, on):
    if name in ("XY", "Z"):
        return qml.PauliError(name, strength, wires=on[: len(name)])
    return getattr(qml, name)(strength, wires=on[0])


def apply(circuit, strength):
    """Apply the statements; `strength` is 1, traced. The outcomes."""
    outcomes = []
    for kind, *statement in circuit:
        match kind, statement:
            case "gate", (name, angles, on):
                getattr(qml, name)(*angles, wires=on)
            case "noise", (name, p, is_traced, on):
                channel(name, p * strength if is_traced else p, on)
            case "corrected", correction:
                correct(*correction)
            case "loop", (count, body):
                for_loop(0, count, 1)(lambda _, body=body: apply(body, strength) and None)()
            case _:
                follow(kind, statement, outcomes)
    return outcomes


def correct(letter, inverted, reset, on):
    """Apply a Pauli operator where an outcome is 1, or where it is 0."""
    outcome = measure(on[0], reset=reset)

    @cond(~outcome if inverted else outcome)
    def corrected():
        getattr(qml, letter)(on[1])

    corrected()


def follow(kind, statement, outcomes):
    """Measure; or apply a Pauli operator where an outcome, or the parity of two, is 1."""
    match kind, statement:
        case "measure", (reset, (wire,)) if len(outcomes) < 4:
            outcomes.append(measure(wire, reset=reset))
        case "feedback", (letter, of, inverted, (wire,)):
            chosen = [outcomes[k] for k in of if k < len(outcomes)]
            if chosen:
                flag = chosen[0] if len(chosen) == 1 else chosen[0] ^ chosen[1]
                qml.cond(~flag if inverted else flag, getattr(qml, letter))(wire)


# --- in numpy ------------------------------------------------------------------------------------


def embedded(matrix, on):
    return qml.math.expand_matrix(matrix, on, wire_order=range(WIRES))


class Branches:
    """By the strings of outcomes, density matrices whose traces are their probabilities."""

    def __init__(self, circuit):
        start = np.zeros((2**WIRES,) * 2, complex)
        start[0, 0] = 1
        self.states = {(): start}
        self.run(circuit)

    def run(self, circuit):
        for kind, *statement in circuit:
            getattr(self, kind)(*statement)

    def each(self, function):
        self.states = {bits: function(bits, rho) for bits, rho in self.states.items()}

    def gate(self, name, angles, on):
        matrix = embedded(getattr(qml, name)(*angles, wires=on).matrix(), on)
        self.each(lambda _, rho: matrix @ rho @ matrix.conj().T)

    def noise(self, name, p, _, on):
        if name in ("XY", "Z"):  # PennyLane's own matrix of Y is real, and zero
            word = LETTERS["Z"] if name == "Z" else np.kron(LETTERS["X"], LETTERS["Y"])
            matrices = [np.sqrt(1 - p) * np.eye(len(word)), np.sqrt(p) * word]
        else:
            matrices = channel(name, p, on).kraus_matrices()
        on = on[: len(matrices[0]) // 2]
        kraus = [embedded(matrix, on) for matrix in matrices]
        self.each(lambda _, rho: sum(one @ rho @ one.conj().T for one in kraus))

    def measure(self, reset, on):
        if any(len(bits) == 4 for bits in self.states):
            return
        found = {}
        for (bits, rho), bit in itertools.product(self.states.items(), (0, 1)):
            projector = np.diag([1 - bit, bit]).astype(complex)
            if reset and bit:
                projector = LETTERS["X"] @ projector
            matrix = embedded(projector, on)
            found[(*bits, bit)] = matrix @ rho @ matrix.conj().T
        self.states = found

    def feedback(self, letter, of, inverted, on):
        matrix = embedded(LETTERS[letter], on)

        def conditional(bits, rho):
            chosen = [bits[k] for k in of if k < len(bits)]
            applies = bool(chosen) and bool(sum(chosen) % 2) != inverted
            return matrix @ rho @ matrix.conj().T if applies else rho

        self.each(conditional)

    def corrected(self, letter, inverted, reset, on):
        flip = embedded(LETTERS["X"], on[:1])

        def mixed(_, rho):
            found = 0
            for bit in (0, 1):
                matrix = embedded(np.diag([1 - bit, bit]).astype(complex), on[:1])
                matrix = flip @ matrix if reset and bit else matrix
                if bit != inverted:
                    matrix = embedded(LETTERS[letter], on[1:]) @ matrix
                found = found + matrix @ rho @ matrix.conj().T
            return found

        self.each(mixed)

    def loop(self, count, body):
        for _ in range(count):
            self.run(body)

    @property
    def mixture(self):
        return sum(self.states.values())


# --- the tests -----------------------------------------------------------------------------------


circuits = settings(
    max_examples=examples(160), deadline=None, suppress_health_check=list(HealthCheck)
)


@circuits
@given(statements)
def test_shots(circuit):
    @qml.set_shots(SHOTS)
    @qml.qnode(qml.device("default.mixed", wires=WIRES))
    def sampled(strength):
        outcomes = apply(circuit, strength)
        return qml.sample(wires=range(WIRES)), jnp.array(outcomes, bool)

    bits, outcomes = qjit(sampled, method="clifford", seed=5)(1.0)
    branches = Branches(circuit)
    (count, *_) = {len(string) for string in branches.states}
    shape = (SHOTS, count) if count else (0,)
    assert outcomes.shape == shape
    outcomes = np.asarray(outcomes).reshape(SHOTS, count)
    digits = np.concatenate([outcomes, bits], axis=1).astype(int)
    index = digits @ (1 << np.arange(digits.shape[1])[::-1])
    found = np.bincount(index, minlength=2 ** digits.shape[1]) / SHOTS
    strings = itertools.product((0, 1), repeat=count)
    wanted = np.concatenate([np.diag(branches.states[string]).real for string in strings])
    wanted = np.clip(wanted, 0, 1)
    bound = 5 * np.sqrt(wanted * (1 - wanted) / SHOTS) + 5 / SHOTS
    assert (np.abs(found - wanted) <= bound).all()
    assert not found[wanted < 1e-12].any()


@circuits
@given(statements, st.lists(st.text("IXYZ", min_size=WIRES, max_size=WIRES), max_size=3))
def test_averages(circuit, words):
    words = [*words, "ZZI"]
    measures = []

    @qml.qnode(qml.device("default.mixed", wires=WIRES))
    def exact(strength):
        outcomes = apply(circuit, strength)
        measures[:] = outcomes
        means = [qml.expval(qml.pauli.string_to_pauli_word(word)) for word in words]
        ours = [qml.expval(m) for m in outcomes]
        joint = [qml.probs(op=outcomes)] if outcomes else []
        return means, qml.probs(wires=[2, 0]), ours, joint

    means, probabilities, ours, joint = qjit(exact, method="clifford")(1.0)
    branches = Branches(circuit)
    rho = branches.mixture
    for mean, word in zip(means, words, strict=True):
        matrix = np.eye(1)
        for letter in word:
            matrix = np.kron(matrix, LETTERS[letter])
        assert mean == np.float64(mean)
        np.testing.assert_allclose(mean, np.trace(rho @ matrix).real, atol=1e-10)
    wanted = np.diag(rho).real.reshape(2, 2, 2).sum(axis=1).T.reshape(4)
    np.testing.assert_allclose(probabilities, wanted, atol=1e-10)
    weights = {string: np.trace(state).real for string, state in branches.states.items()}
    for place, mean in enumerate(ours):
        chosen = sum(weight for string, weight in weights.items() if string[place])
        np.testing.assert_allclose(mean, chosen, atol=1e-10)
    if joint:
        np.testing.assert_allclose(joint[0], [weights[k] for k in sorted(weights)], atol=1e-10)
