"""Whether rotations about Pauli words are the circuit that they were made of, with numpy alone.

Both are applied to one random state, which tells them apart with certainty but for rounding, global
phase included.
"""

from functools import reduce

import numpy as np

_LETTERS = {
    "X": np.array([[0, 1], [1, 0]], complex),
    "Y": np.array([[0, -1j], [1j, 0]], complex),
    "Z": np.array([[1, 0], [0, -1]], complex),
}
_GATES = {
    "Hadamard": (_LETTERS["X"] + _LETTERS["Z"]) / np.sqrt(2),
    "PauliX": _LETTERS["X"],
    "S": np.diag([1, 1j]),
    "T": np.diag([1, np.exp(0.25j * np.pi)]),
}


def difference(circuit, rotations, phase):
    """The largest of the amplitudes' differences; rotations are `(word, wires, angle)`."""
    random = np.random.default_rng(1)
    shape = (2,) * circuit.wires
    state = random.normal(size=shape) + 1j * random.normal(size=shape)
    state /= np.linalg.norm(state)
    wanted = applied(circuit, state)
    found = reduce(lambda so_far, one: _rotation(so_far, *one), rotations, state)
    return abs(found * np.exp(-1j * phase) - wanted).max()


def applied(circuit, state):
    """The state after a circuit; an array with an axis for each wire."""
    return reduce(lambda so_far, gate: _gate(so_far, *gate), circuit.gates, state)


def _gate(state, name, wires):
    if name == "CNOT":
        control, target = wires
        changed = state.copy()
        at_one = (slice(None),) * control + (1,)
        changed[at_one] = np.flip(state[at_one], target - (target > control))
        return changed
    base = name.removeprefix("Adjoint(").removesuffix(")")
    matrix = _GATES[base]
    return _apply(state, matrix.conj().T if base != name else matrix, *wires)


def _rotation(state, word, wires, angle):
    turned = state
    for letter, wire in zip(word, wires, strict=True):
        turned = _apply(turned, _LETTERS[letter], wire)
    return np.cos(angle / 2) * state - 1j * np.sin(angle / 2) * turned


def _apply(state, matrix, wire):
    return np.moveaxis(np.tensordot(matrix, state, (1, wire)), 0, wire)
