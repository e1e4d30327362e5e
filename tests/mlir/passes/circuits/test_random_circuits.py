"""Random circuits keep their results under every pass: against PennyLane, and without passes."""

import os

import jax
import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import qjit
from diastase.testing import PassCheck, Program, gates, programs
from sampled import examples

WIRES = 3
PASSES = [
    "cancel_inverses", "merge_rotations", "combine_global_phases", "disentangle_cnot",
    "disentangle_swap", "loop_boundary", "parity_synth",
]  # fmt: skip
"""Those that take any circuit, and leave what it measures as it is."""
EXAMPLES = int(os.environ.get("DIASTASE_RANDOM_CIRCUITS", examples(25)))

RPR = {"to_ppr": {}}
GATE_SET = {"graph_decomposition": {"gate_set": {"RX", "RY", "RZ", "CNOT"}}}
LOOPS = {"loop", "while", "around"}
OF_WORDS = {
    "to_ppr": PassCheck(RPR, "outcomes", idempotent=True),
    "commute_ppr": PassCheck(RPR | {"commute_ppr": {}}, "outcomes", idempotent=True),
    "short words": PassCheck(RPR | {"commute_ppr": {"max_pauli_size": 2}}, "outcomes"),
    "merge_ppr_ppm": PassCheck(RPR | {"merge_ppr_ppm": {}}, "averages"),
    "reduce_t_depth": PassCheck(RPR | {"reduce_t_depth": {}}, "outcomes"),
    "ppr_to_mbqc": PassCheck(RPR | {"ppr_to_mbqc": {}}, "outcomes"),
    "decompose_arbitrary_ppr": PassCheck(RPR | {"decompose_arbitrary_ppr": {}}, "state"),
    "ppm_compilation": PassCheck("ppm_compilation", "state"),
    "auto-corrected": PassCheck(
        {"ppm_compilation": {"decompose_method": "auto-corrected", "max_pauli_size": 3}}, "state"
    ),
    "clifford-corrected": PassCheck(
        {"ppm_compilation": {"decompose_method": "clifford-corrected", "avoid_y_measure": True}},
        "state",
    ),
}
OF_GATE_SETS = {
    "graph_decomposition": PassCheck(GATE_SET, "outcomes"),
    "ions_decomposition": PassCheck("ions_decomposition", "outcomes"),
}
OTHERS = {
    "disentangle_cnot": PassCheck("disentangle_cnot", "outcomes"),
    "disentangle_swap": PassCheck("disentangle_swap", "outcomes"),
    "cancel_inverses": PassCheck("cancel_inverses", "outcomes", never_more=gates),
    "merge_rotations": PassCheck("merge_rotations", "outcomes"),
    "parity_synth": PassCheck("parity_synth", "outcomes"),
    "loop_boundary": PassCheck("loop_boundary", "outcomes"),
    "combine_global_phases": PassCheck("combine_global_phases", "outcomes", idempotent=True),
}

numbers = st.integers(0, WIRES - 1)
random_test = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck)
)
chosen = st.one_of(
    st.just(PASSES), st.permutations(PASSES), st.permutations(PASSES).map(lambda p: p[:1])
)


@pytest.mark.thorough
@random_test
@given(programs(), st.floats(-3, 3), numbers, numbers, st.booleans(), chosen)
def test_random_circuit(blocks, x, v, w, ready, passes):
    def circuit(x, v, w):
        if ready:  # else everything starts in |0>, and disentangling has something to find
            for wire in range(WIRES):
                qml.RY(0.4 * wire + 0.3, wire)
        Program(x, v, w).run(blocks)
        return qml.state()

    qnode = qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))
    passed = qjit(qnode, circuit_transform_pipeline={name: {} for name in passes})
    found = passed(x, v, w)
    for wanted in (qjit(qnode)(x, v, w), qnode(x, v, w)):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


@random_test
@given(programs(measuring=True), st.floats(-3, 3), numbers, numbers, st.integers(0, 10), chosen)
def test_random_circuit_with_measurements(blocks, x, v, w, seed, passes):
    """With equal seeds both find the same outcomes."""

    def circuit(x, v, w):
        for wire in range(WIRES):
            qml.RX(0.4 * wire, wire)
        Program(x, v, w).run(blocks)
        return qml.state(), qml.probs(wires=[2, 0])

    qnode = qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))
    pipeline = {name: {} for name in passes}
    found = qjit(qnode, seed=seed, circuit_transform_pipeline=pipeline)(x, v, w)
    for leaf, wanted in zip(found, jax.tree.leaves(qjit(qnode, seed=seed)(x, v, w)), strict=True):
        np.testing.assert_allclose(leaf, wanted, atol=1e-10)


@settings(random_test, max_examples=EXAMPLES)
@given(st.sampled_from([*OTHERS, *OF_WORDS, *OF_GATE_SETS]), st.data())
def test_as_a_whole_matrix(name, data):
    """Each pass by itself, and what it claims, on wires that are entangled with others."""
    check = (OTHERS | OF_WORDS | OF_GATE_SETS)[name]
    without = set() if name in OTHERS else {"matrix"}
    if check.same == "averages":  # of as many runs as there are outcomes
        without |= LOOPS
    measuring = check.same in ("outcomes", "averages")
    blocks = data.draw(programs(WIRES, measuring=measuring, without=without, size=8))
    check(blocks, data.draw(st.floats(-3, 3)), data.draw(numbers), data.draw(numbers))
