"""Circuits written as OpenQASM, and run by PennyLane from that text."""

import numpy as np
import pennylane as qml
from hypothesis import strategies as st

from diastase import qjit
from diastase.inspection.circuit_texts.errors import NotInOpenqasmError
from fuzz import grammar
from fuzz.judging import SEED, Unstable, must_equal, oracle
from fuzz.programs import PLAIN, Style, plainly, qnode, random_state
from openqasm_reader import quantum_function, unread


@oracle(gates=st.one_of(grammar.FEEDBACK, grammar.UNITARY), seed=SEED)
def qasm(gates, seed):
    """Probabilities on default.qubit, of the text and of the program as PennyLane runs it.

    What our text refuses, and what PennyLane's reader does not read, counts for nobody.
    """
    state = random_state(seed)
    circuit = qnode(gates, "probabilities", Style())

    def compiled(numbers, zero):
        return circuit(numbers, zero)

    try:
        text = qjit(compiled).trace(state.v, 0).qasm
    except NotInOpenqasmError as error:
        raise Unstable from error
    if unread(text) is not None:
        raise Unstable
    inputs = {"numbers": np.asarray(state.v), "zero": 0}
    given = {name: value for name, value in inputs.items() if f" {name};" in text}
    run = quantum_function(text, **given)

    @qml.qnode(qml.device("default.qubit"))
    def read():
        run()
        return qml.probs(wires=["q[2]", "q[0]", "q[1]"])

    plain = plainly(gates, "probabilities", PLAIN)
    must_equal(np.asarray(read()), plain, state, 1e-7, beside=())
