"""Other simulators and compilers, where they are installed: straight circuits, exchanged as gates.

The names of gates and their numbers come from PennyLane's tape of the circuit, decomposed into a
few gates that all of them have. Each peer is a process in an environment of its own, which is named
as for the benchmarks: `DIASTASE_BENCH_CATALYST_PYTHON`, `DIASTASE_BENCH_QISKIT_AER_PYTHON`.
"""

import os
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import strategies as st

from diastase import qjit
from fuzz import grammar
from fuzz.children import Child, Refused
from fuzz.judging import SEED, Unstable, must_equal, oracle
from fuzz.programs import PLAIN, Style, qnode, random_state

FOLDER = Path(__file__).parents[1] / "peers"
INSTALLED = {
    name: python
    for name in ("catalyst", "qiskit_aer")
    if (python := os.environ.get(f"DIASTASE_BENCH_{name.upper()}_PYTHON"))
}
PEERS = {
    name: Child([str(FOLDER / f"{name}_peer.py")], python, PYTHONPATH=str(FOLDER.parent))
    for name, python in INSTALLED.items()
}
GATES = {"Hadamard", "RX", "RY", "RZ", "PhaseShift", "CNOT", "PauliX", "PauliZ", "S", "T"}


def straight(gates: list, numbers) -> list:
    """What a circuit consists of for these numbers: names, parameters and wires."""
    circuit = qnode(gates, "", PLAIN, measure=qml.state)
    tape = qml.workflow.construct_tape(circuit, level="user")(numbers, 0)
    (plain,), _ = qml.transforms.decompose(tape, gate_set=GATES | {"GlobalPhase"})
    return [
        [op.name, [float(number) for number in op.parameters], list(op.wires)]
        for op in plain.operations
        if op.name != "GlobalPhase"
    ]


if PEERS:

    @oracle(gates=grammar.UNITARY, seed=SEED, peer=st.sampled_from(sorted(PEERS)))
    def peers(gates, seed, peer):
        """The probabilities, and so no phase of the whole state."""
        found = qjit(qnode(gates, "", Style(), measure=qml.probs))(random_state(seed).v, 0)

        def reference(state):
            try:
                return jnp.asarray(PEERS[peer].ask(straight(gates, np.asarray(state.v))))
            except Refused as refusal:
                raise Unstable from refusal

        must_equal(found, reference, random_state(seed), 1e-8)
