"""Random circuits keep their results under every pass: against PennyLane, and without passes.

They are made so that passes have something to do: few wires, few angles, gates next to their
inverses, qubits that are still in basis states, wires computed at run time that may be equal.
"""

import os

import jax
import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, measure, qjit, while_loop
from sampled import examples

WIRES = 3
PASSES = [
    "cancel_inverses", "merge_rotations", "combine_global_phases", "disentangle_cnot",
    "disentangle_swap",
]  # fmt: skip
EXAMPLES = int(os.environ.get("DIASTASE_RANDOM_CIRCUITS", examples(25)))

PLAIN = {
    1: ["Hadamard", "PauliX", "PauliY", "PauliZ", "S", "T", "SX"],
    2: ["CNOT", "CY", "CZ", "CH", "SWAP", "ISWAP", "SISWAP", "ECR"],
    3: ["Toffoli", "CSWAP"],
}
ROTATIONS = {
    1: ["RX", "RY", "RZ", "PhaseShift", "Rot"],
    2: ["CRX", "CRZ", "CRot", "ControlledPhaseShift", "CPhaseShift10", "IsingXX", "IsingZZ",
        "IsingXY", "PSWAP", "SingleExcitation", "MultiRZ"],
}  # fmt: skip
ANGLES = ["x", "-x", "2x", "0.5", "-0.5"]

numbers = st.integers(0, WIRES - 1)
orders = st.permutations(range(WIRES))
gates = st.one_of(
    *(
        st.tuples(st.sampled_from(names), st.none(), orders.map(lambda o, n=n: tuple(o[:n])))
        for n, names in PLAIN.items()
    ),
    *(
        st.tuples(
            st.sampled_from(names),
            st.tuples(*[st.sampled_from(ANGLES)] * 3),
            orders.map(lambda o, n=n: tuple(o[:n])),
        )
        for n, names in ROTATIONS.items()
    ),
)
one_wire = st.one_of(
    st.tuples(st.sampled_from(PLAIN[1]), st.none()),
    st.tuples(st.sampled_from(ROTATIONS[1]), st.tuples(*[st.sampled_from(ANGLES)] * 3)),
)


def blocks_of(leaves):
    """Gates, and control flow around them."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("loop"), st.integers(0, 3), st.lists(inner, max_size=4)),
            st.tuples(
                st.just("around"),
                gates,
                st.tuples(st.sampled_from(["loop", "while"]), numbers, st.lists(inner, max_size=3)),
            ),
            st.tuples(st.just("while"), st.integers(0, 2), st.lists(inner, max_size=4)),
            st.tuples(
                st.just("branch"),
                st.booleans(),
                st.tuples(st.lists(inner, max_size=3), st.lists(inner, max_size=3)),
            ),
        ),
        max_leaves=14,
    )


leaves = st.one_of(
    st.tuples(st.just("gate"), gates, st.just("plain")),
    st.tuples(st.just("gate"), gates, st.sampled_from(["adjoint", "twice", "undone", "traced"])),
    st.tuples(st.just("controlled"), one_wire, st.tuples(orders, st.booleans(), st.booleans())),
    st.tuples(st.just("anywhere"), one_wire, st.sampled_from(["v", "w", "undone", "both"])),
    st.tuples(st.just("pair"), st.sampled_from(["CNOT", "CZ", "SWAP", "CRX"]), numbers),
    st.tuples(st.just("phase"), st.sampled_from(ANGLES), st.none()),
    st.tuples(st.just("matrix"), numbers, st.booleans()),
)
measured = st.tuples(st.just("measure"), numbers, st.sampled_from(["", "reset", "feed"]))


class Program:
    """A circuit being applied; `x` is the angle at hand, `v` and `w` wires known at run time."""

    def __init__(self, x, v, w):
        self.x, self.v, self.w = x, v, w

    def angle(self, name):
        known = {"x": self.x, "-x": -self.x, "2x": 2 * self.x}
        return known[name] if name in known else float(name)

    def operator(self, name, angles, wires):
        count = 3 if name.endswith("Rot") else 1
        values = [self.angle(angle) for angle in (angles or ())[:count]]
        return getattr(qml, name)(*values, wires=wires)

    def run(self, blocks):
        for kind, first, second in blocks:
            getattr(self, kind)(first, second)

    def gate(self, gate, how):
        name, angles, wires = gate
        if how == "traced":
            wires = [wire + 0 * self.v for wire in wires]
        if how == "adjoint":
            qml.adjoint(self.operator(name, angles, wires))
            return
        self.operator(name, angles, list(wires))
        if how == "twice":
            self.operator(name, angles, list(wires))
        elif how == "undone":
            qml.adjoint(self.operator(name, angles, list(wires)))

    def controlled(self, gate, how):
        order, *values = how
        qml.ctrl(self.operator(*gate, [order[0]]), list(order[1:]), control_values=values)

    def anywhere(self, gate, where):
        self.operator(*gate, [self.w if where == "w" else self.v])
        if where == "both":
            self.operator(*gate, [self.w])
        if where in ("both", "undone"):
            qml.adjoint(self.operator(*gate, [self.v]))

    def pair(self, name, offset):
        wires = [self.v, (self.v + 1 + offset % 2) % WIRES]
        rotates = name in ROTATIONS[2]
        self.operator(name, ("x",) if rotates else (), wires)
        if offset:
            self.operator(name, ("-x",) if rotates else (), wires)

    def phase(self, angle, _):
        qml.GlobalPhase(self.angle(angle))

    def matrix(self, wire, adjoint):
        matrix = qml.matrix(qml.Rot(0.3, 0.2, 0.9, 0))
        qml.QubitUnitary(matrix.conj().T if adjoint else matrix, wire)

    def measure(self, wire, how):
        outcome = measure(wire, reset=how == "reset")
        if how == "feed":

            @cond(outcome)
            def branch():
                qml.X((wire + 1) % WIRES)

            branch()

    def loop(self, count, inner):
        @for_loop(0, count, 1)
        def body(i, x):
            Program(x, (self.v + i) % WIRES, self.w).run(inner)
            return x * 0.5

        body(self.x)

    def _while(self, count, inner):
        @while_loop(lambda n: n < count)
        def body(n):
            Program(self.x, self.v, self.w).run(inner)
            return n + 1

        body(0)

    def around(self, gate, loop):
        """A loop whose body begins and ends with gates that may meet."""
        kind, count, inner = loop
        name, angles, wires = gate
        last = (name, angles, wires[::-1] if count == 1 else wires)
        inside = [("gate", gate, "plain"), *inner, ("gate", last, "adjoint")]
        if angles and count == 2:
            inside[-1] = ("gate", last, "plain")
        self.run([(kind, count, inside)])

    def branch(self, positive, sides):
        @cond((self.x > 0) == positive)
        def yes():
            self.run(sides[0])

        @yes.otherwise
        def no():
            self.run(sides[1])

        yes()


setattr(Program, "while", Program._while)


def compiled_twice(circuit, passes, seed=None):
    qnode = qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))
    pipeline = {name: {} for name in passes}
    return qjit(qnode, seed=seed), qjit(qnode, seed=seed, circuit_transform_pipeline=pipeline)


def assert_same(found, wanted):
    for leaf, expected in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(leaf, expected, atol=1e-10)


random_test = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck)
)
chosen = st.one_of(
    st.just(PASSES), st.permutations(PASSES), st.permutations(PASSES).map(lambda p: p[:1])
)


@pytest.mark.thorough
@random_test
@given(
    blocks=st.lists(blocks_of(leaves), min_size=1, max_size=12),
    x=st.floats(-3, 3), v=numbers, w=numbers, ready=st.booleans(), passes=chosen,
)  # fmt: skip
def test_random_circuit(blocks, x, v, w, ready, passes):
    def circuit(x, v, w):
        if ready:  # else everything starts in |0>, and disentangling has something to find
            for wire in range(WIRES):
                qml.RY(0.4 * wire + 0.3, wire)
        Program(x, v, w).run(blocks)
        return qml.state()

    plain, passed = compiled_twice(circuit, passes)
    found = passed(x, v, w)
    assert_same(found, plain(x, v, w))
    assert_same(found, qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))(x, v, w))


@random_test
@given(
    blocks=st.lists(blocks_of(st.one_of(leaves, measured)), min_size=1, max_size=12),
    x=st.floats(-3, 3), v=numbers, w=numbers, seed=st.integers(0, 10), passes=chosen,
)  # fmt: skip
def test_random_circuit_with_measurements(blocks, x, v, w, seed, passes):
    """With equal seeds both find the same outcomes."""

    def circuit(x, v, w):
        for wire in range(WIRES):
            qml.RX(0.4 * wire, wire)
        Program(x, v, w).run(blocks)
        return qml.state(), qml.probs(wires=[2, 0]), measure(0)

    plain, passed = compiled_twice(circuit, passes, seed)
    assert_same(passed(x, v, w), plain(x, v, w))
