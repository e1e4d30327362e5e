"""Time evolution of a Heisenberg chain in a field, by Trotter steps of first order."""

from programs.gates import Circuit, apply, expval, zz

TIME_STEP, FIELD = 0.13, 0.7


def start(qubits):
    """Every other spin up, and none in an eigenstate."""
    return [("RY", (q,), 0.3 + 2.2 * (q % 2)) for q in range(qubits)]


def step(qubits, time_step):
    """One step: the pairs of neighbours, then the field."""
    pairs = [(q, q + 1) for first in (0, 1) for q in range(first, qubits - 1, 2)]
    names = ("IsingXX", "IsingYY", "IsingZZ")
    made = [(name, pair, 2 * time_step) for pair in pairs for name in names]
    return made + [("RX", (q,), 2 * FIELD * time_step) for q in range(qubits)]


def circuit(qubits, steps):
    gates = start(qubits) + steps * step(qubits, TIME_STEP)
    return Circuit(qubits, gates, zz(0, qubits - 1))


def qnode(device, qubits, steps):
    import pennylane as qml

    @qml.qnode(device(qubits))
    def trotter(time_step):
        apply(qml, start(qubits))
        qml.for_loop(0, steps, 1)(lambda _: apply(qml, step(qubits, time_step)))()
        return expval(qml, zz(0, qubits - 1))

    return trotter, (TIME_STEP,)
