"""Catalyst: probabilities of a circuit, in its own environment."""

import catalyst
import numpy as np
import pennylane as qml
from children import serve

WIRES = 3


def answer(gates: list) -> list:
    @catalyst.qjit
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def circuit():
        for name, parameters, wires in gates:
            getattr(qml, name)(*parameters, wires=wires)
        return qml.probs(wires=range(WIRES))

    return np.asarray(circuit()).tolist()


if __name__ == "__main__":
    serve(answer)
