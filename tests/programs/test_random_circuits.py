"""Random circuits with control flow: compiled, and run by PennyLane's default.qubit."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, qjit

WIRES = 4
ONE_WIRE = ["Hadamard", "PauliX", "S", "SX", "RX", "RY", "RZ", "PhaseShift", "T"]
TWO_WIRES = ["CNOT", "CZ", "SWAP", "CRX", "IsingXX", "SingleExcitation", "ISWAP", "PSWAP"]
WITH_ANGLE = {"RX", "RY", "RZ", "PhaseShift", "CRX", "IsingXX", "SingleExcitation", "PSWAP"}

wires = st.integers(0, WIRES - 1)
gates = st.one_of(
    st.tuples(st.sampled_from(ONE_WIRE), st.tuples(wires)),
    st.tuples(
        st.sampled_from(TWO_WIRES), st.permutations(range(WIRES)).map(lambda order: order[:2])
    ),
)
blocks = st.recursive(
    st.tuples(st.just("gate"), gates, st.booleans()),
    lambda inner: st.one_of(
        st.tuples(st.just("loop"), st.integers(0, 3), st.lists(inner, max_size=3)),
        st.tuples(st.just("branch"), st.booleans(), st.lists(inner, max_size=3)),
        st.tuples(st.just("control"), wires, gates),
    ),
    max_leaves=8,
)


def run(block, angle, shift):
    """Apply one block; `shift` (0) makes wires traced."""
    kind, first, second = block
    if kind == "gate":
        name, labels = first
        labels = [wire + shift for wire in labels] if second else list(labels)
        getattr(qml, name)(*([angle] if name in WITH_ANGLE else []), wires=labels)
    elif kind == "control":
        name, labels = second
        if first not in labels:
            gate = getattr(qml, name)
            angles = [angle] if name in WITH_ANGLE else []
            qml.ctrl(gate(*angles, wires=list(labels)), control=first + shift)
    elif kind == "loop":

        @for_loop(0, first, 1)
        def body(_, inner_angle):
            for inner in second:
                run(inner, inner_angle, shift)
            return inner_angle * 0.7

        body(angle)
    else:

        @cond((angle > 0) == first)
        def branch():
            for inner in second:
                run(inner, angle + 1, shift)

        @branch.otherwise
        def branch_otherwise():
            qml.X(shift)

        branch()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(circuit=st.lists(blocks, min_size=1, max_size=5), angle=st.floats(-3, 3))
def test_random_circuit(circuit, angle):
    def body(angle, shift):
        for wire in range(WIRES):
            qml.RY(0.4 * wire + 0.3, wire)
        for block in circuit:
            run(block, angle, shift)
        return qml.state(), qml.expval(qml.X(0) @ qml.Z(2)), qml.probs(wires=[3, 1])

    device = qml.device("default.qubit", wires=WIRES)
    compiled = qjit(qml.QNode(body, device))(jnp.asarray(angle), 0)
    expected = qml.QNode(body, device)(angle, 0)
    for found, wanted in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)
