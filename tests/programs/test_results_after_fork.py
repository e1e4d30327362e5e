"""Large results of circuits can be read in a forked child.

JAX copies memory that is not aligned as it wants it, on threads that the child does not have: the
child would wait for ever.
"""

import os

import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from forks import forked

WIRES = 15


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_reads_the_results_of_a_circuit():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def circuit():
        for wire in range(WIRES):
            qml.RX(0.3 * wire, wires=wire)
        return qml.probs(wires=range(WIRES)), qml.state()

    expected = [np.asarray(result) for result in circuit()]
    child = forked(lambda: all(map(np.array_equal, map(np.asarray, circuit()), expected)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
