"""Circuits written as QIR, and run from that text."""

import numpy as np
from hypothesis import strategies as st

from diastase import qjit
from diastase.inspection.circuit_texts.errors import NotInQirError
from fuzz import grammar
from fuzz.judging import SEED, Unstable, must_equal, oracle
from fuzz.programs import PLAIN, Style, qnode, random_state
from qir_reader import Module, probabilities


@oracle(gates=st.one_of(grammar.FEEDBACK, grammar.UNITARY), seed=SEED)
def qir(gates, seed):
    """Probabilities of the text, over all outcomes, and of the program as PennyLane runs it.

    pyqir parses and verifies the text, and it is held against the profile that it names. What our
    text refuses counts for nobody.
    """
    state = random_state(seed)
    circuit = qnode(gates, "probabilities", Style())
    try:
        text = qjit(lambda: circuit(state.v, 0)).trace().qir
    except NotInQirError as error:
        raise Unstable from error
    found = probabilities(Module(text).outcomes(), "0_probs")
    plain = qnode(gates, "probabilities", PLAIN)
    must_equal(found, lambda s: np.asarray(plain(s.v, 0)), state, 1e-7, beside=())
