"""A memory experiment: rounds of checks of a repetition code or a rotated surface code, with noise.

The result are the outcomes of all rounds and then of the data, for each shot; compared are their
means. `checks` has a circuit as steps `(name, wires)`, of which both ours and stim's are made.
"""

STRENGTH = 0.003
NAMES = {
    "CNOT": "CX", "Hadamard": "H", "DepolarizingChannel": "DEPOLARIZE1", "BitFlip": "X_ERROR",
    "Measure": "MR",
}  # fmt: skip
"""Of steps, and in stim."""


def repetition(distance):
    """Data and checks in turn: numbers of data wires and of all, and the steps of a round."""
    wires = 2 * distance - 1
    data, checks = range(0, wires, 2), range(1, wires, 2)
    steps = [("DepolarizingChannel", data)]
    for side in (-1, 1):
        steps.append(("CNOT", [wire for check in checks for wire in (check + side, check)]))
        steps.append(("DepolarizingChannel", range(wires)))
    return data, wires, [*steps, ("BitFlip", checks), ("Measure", checks)]


def plaquettes(distance):
    """Letters of the checks of a rotated surface code, and the data of each of their four steps."""
    found = []
    for row in range(distance + 1):
        for column in range(distance + 1):
            kind = "XZ"[(row + column) % 2]
            inner = 0 < row < distance and 0 < column < distance
            top = row in (0, distance) and 0 < column < distance and kind == "X"
            side = column in (0, distance) and 0 < row < distance and kind == "Z"
            if inner or top or side:
                corners = [
                    (row - 1, column - 1),
                    (row - 1, column),
                    (row, column - 1),
                    (row, column),
                ]
                order = (0, 1, 2, 3) if kind == "X" else (0, 2, 1, 3)
                data = [
                    r * distance + c if 0 <= r < distance and 0 <= c < distance else None
                    for r, c in (corners[k] for k in order)
                ]
                found.append((kind, data))
    return found


def surface(distance):
    """Data first, then checks."""
    checks = plaquettes(distance)
    data = range(distance**2)
    wires = distance**2 + len(checks)
    ancillas = range(distance**2, wires)
    of_x = [a for a, (kind, _) in zip(ancillas, checks, strict=True) if kind == "X"]
    turned = [("Hadamard", of_x), ("DepolarizingChannel", of_x)]
    steps = [("DepolarizingChannel", data), *turned]
    for k in range(4):
        pairs = []
        for ancilla, (kind, on) in zip(ancillas, checks, strict=True):
            if on[k] is not None:
                pairs += (ancilla, on[k]) if kind == "X" else (on[k], ancilla)
        steps += [("CNOT", pairs), ("DepolarizingChannel", pairs)]
    return data, wires, [*steps, *turned, ("BitFlip", ancillas), ("Measure", ancillas)]


def qnode(device, code, distance, rounds, shots):
    import jax.numpy as jnp
    import pennylane as qml

    data, wires, steps = globals()[code](distance)

    def apply(name, on, strength):
        if name == "CNOT":
            for k in range(0, len(on), 2):
                qml.CNOT(on[k : k + 2])
        elif name == "Measure":
            return [qml.measure(wire, reset=True) for wire in on]
        else:
            parameters = () if name == "Hadamard" else (strength,)
            for wire in on:
                getattr(qml, name)(*parameters, wires=wire)
        return []

    @qml.set_shots(shots)
    @qml.qnode(device(wires))
    def memory(strength):
        found = jnp.zeros((rounds, len(steps[-1][1])), bool)

        @qml.for_loop(0, rounds, 1)
        def once(number, found):
            outcomes = [outcome for step in steps for outcome in apply(*step, strength)]
            return found.at[number].set(jnp.stack(outcomes))

        found = once(found)
        apply("BitFlip", data, strength)
        return jnp.concatenate([found.reshape(-1), jnp.stack(apply("Measure", data, strength))])

    return memory, (STRENGTH,)


def stim_circuit(code, distance, rounds):
    import stim

    data, _, steps = globals()[code](distance)
    once = stim.Circuit()
    for name, wires in steps:
        noise = (STRENGTH,) if name in ("DepolarizingChannel", "BitFlip") else ()
        once.append(NAMES[name], wires, *noise)
    circuit = once * rounds
    circuit.append("X_ERROR", data, STRENGTH)
    circuit.append("MR", data)
    return circuit


def value(outcomes):
    return outcomes.mean(axis=0)
