"""A circuit as data, and the shapes of circuits that several programs share.

A gate is `(name, wires, angle)`, with PennyLane's names and signs; the angle is None where there is
none. `terms` is the observable: pairs of a coefficient and a Pauli word such as `{0: "Z"}`.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Circuit:
    qubits: int
    gates: list
    terms: list
    shots: int | None = None
    """Where given: the result is how often each qubit was found to be 1, as a fraction."""


def apply(qml, gates):
    """Apply a circuit that is given as data, as operators of PennyLane."""
    for name, wires, angle in gates:
        operator = getattr(qml, name)
        operator(wires=wires) if angle is None else operator(angle, wires=wires)


def expval(qml, terms):
    """The measurement of an observable that is given as data."""
    words = [qml.prod(*(getattr(qml, p)(q) for q, p in word.items())) for _, word in terms]
    if len(words) == 1 and terms[0][0] == 1:
        return qml.expval(words[0])
    return qml.expval(qml.Hamiltonian([factor for factor, _ in terms], words))


def zz(one, other):
    """<Z Z> of two qubits."""
    return [(1.0, {one: "Z", other: "Z"})]


def spread(*shape):
    """Angles, all different and the same in every environment."""
    count = int(np.prod(shape))
    return (0.1 + 2.9 * ((np.arange(count) * 0.6180339887) % 1)).reshape(shape)
