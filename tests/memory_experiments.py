"""Memory experiments of quantum codes, as users write them, and for stim by hand.

Each program gives the outcomes of all rounds, then of the data wires; noise of strength `p` follows
every operation, by channels on single wires.
"""

import jax.numpy as jnp
import pennylane as qml
import stim

from diastase import for_loop, measure

# --- repetition code ------------------------------------------------------------------------------


def repetition_code(distance, rounds):
    """Data on wires 0, 2, 4, ..., ancillas between them."""
    wires = 2 * distance - 1

    @qml.qnode(qml.device("default.qubit", wires=wires))
    def memory(p):
        data, ancillas = range(0, wires, 2), range(1, wires, 2)
        syndromes = jnp.zeros((rounds, distance - 1), bool)

        @for_loop(0, rounds, 1)
        def every_round(r, syndromes):
            for wire in data:
                qml.DepolarizingChannel(p, wires=wire)
            for step in (-1, 1):
                for ancilla in ancillas:
                    qml.CNOT([ancilla + step, ancilla])
                for wire in range(wires):
                    qml.DepolarizingChannel(p, wires=wire)
            outcomes = []
            for ancilla in ancillas:
                qml.BitFlip(p, wires=ancilla)
                outcomes.append(measure(ancilla, reset=True))
            return syndromes.at[r].set(jnp.stack(outcomes))

        syndromes = every_round(syndromes)
        for wire in data:
            qml.BitFlip(p, wires=wire)
        final = jnp.stack([measure(wire) for wire in data])
        return jnp.concatenate([syndromes.reshape(-1), final])

    return memory


def repetition_by_hand(distance, rounds, p):
    wires = 2 * distance - 1
    data, ancillas = list(range(0, wires, 2)), list(range(1, wires, 2))
    once = stim.Circuit()
    once.append("DEPOLARIZE1", data, p)
    for step in (-1, 1):
        once.append("CX", [w for a in ancillas for w in (a + step, a)])
        once.append("DEPOLARIZE1", range(wires), p)
    once.append("X_ERROR", ancillas, p)
    once.append("MR", ancillas)
    circuit = once * rounds
    circuit.append("X_ERROR", data, p)
    circuit.append("M", data)
    return circuit


# --- rotated surface code -------------------------------------------------------------------------


def plaquettes(d):
    """Stabilizers of the rotated code on d x d data wires: a letter, the data of four steps."""
    found = []
    for row in range(d + 1):
        for column in range(d + 1):
            kind = "XZ"[(row + column) % 2]
            inner = 0 < row < d and 0 < column < d
            top, side = row in (0, d) and 0 < column < d, column in (0, d) and 0 < row < d
            if not (inner or (top and kind == "X") or (side and kind == "Z")):
                continue
            corners = [(row - 1, column - 1), (row - 1, column), (row, column - 1), (row, column)]
            order = (0, 1, 2, 3) if kind == "X" else (0, 2, 1, 3)
            steps = [corners[k] for k in order]
            data = [r * d + c if 0 <= r < d and 0 <= c < d else None for r, c in steps]
            found.append((kind, data))
    return found


def pairs(d, step):
    """The controls and targets of one of the four steps."""
    return [
        (ancilla, data[step]) if kind == "X" else (data[step], ancilla)
        for ancilla, (kind, data) in enumerate(plaquettes(d), d * d)
        if data[step] is not None
    ]


def surface_code(d, rounds):
    """A memory of the logical Z."""
    checks = plaquettes(d)
    wires = d * d + len(checks)
    ancillas = range(d * d, wires)
    of_x = [a for a, (kind, _) in zip(ancillas, checks, strict=True) if kind == "X"]

    @qml.qnode(qml.device("default.qubit", wires=wires))
    def memory(p):
        syndromes = jnp.zeros((rounds, len(checks)), bool)

        @for_loop(0, rounds, 1)
        def every_round(r, syndromes):
            for wire in range(d * d):
                qml.DepolarizingChannel(p, wires=wire)
            for ancilla in of_x:
                qml.Hadamard(ancilla)
                qml.DepolarizingChannel(p, wires=ancilla)
            for pair in [pair for step in range(4) for pair in pairs(d, step)]:
                qml.CNOT(pair)
                qml.DepolarizingChannel(p, wires=pair[0])
                qml.DepolarizingChannel(p, wires=pair[1])
            for ancilla in of_x:
                qml.Hadamard(ancilla)
                qml.DepolarizingChannel(p, wires=ancilla)
            outcomes = []
            for ancilla in ancillas:
                qml.BitFlip(p, wires=ancilla)
                outcomes.append(measure(ancilla, reset=True))
            return syndromes.at[r].set(jnp.stack(outcomes))

        syndromes = every_round(syndromes)
        for wire in range(d * d):
            qml.BitFlip(p, wires=wire)
        final = jnp.stack([measure(wire) for wire in range(d * d)])
        return jnp.concatenate([syndromes.reshape(-1), final])

    return memory


def surface_by_hand(d, rounds, p):
    checks = plaquettes(d)
    wires = d * d + len(checks)
    ancillas = list(range(d * d, wires))
    of_x = [a for a, (kind, _) in zip(ancillas, checks, strict=True) if kind == "X"]
    once = stim.Circuit()
    once.append("DEPOLARIZE1", range(d * d), p)
    once.append("H", of_x)
    once.append("DEPOLARIZE1", of_x, p)
    for step in range(4):
        wires_of_pairs = [wire for pair in pairs(d, step) for wire in pair]
        once.append("CX", wires_of_pairs)
        once.append("DEPOLARIZE1", wires_of_pairs, p)
    once.append("H", of_x)
    once.append("DEPOLARIZE1", of_x, p)
    once.append("X_ERROR", ancillas, p)
    once.append("MR", ancillas)
    circuit = once * rounds
    circuit.append("X_ERROR", range(d * d), p)
    circuit.append("M", range(d * d))
    return circuit


EXPERIMENTS = {
    "repetition code, d=3": (repetition_code, repetition_by_hand, 3, 3),
    "repetition code, d=5": (repetition_code, repetition_by_hand, 5, 5),
    "surface code, d=3": (surface_code, surface_by_hand, 3, 3),
    "surface code, d=5": (surface_code, surface_by_hand, 5, 5),
}
