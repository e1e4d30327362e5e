"""Blocks of gates: adjoint, controlled, templates, equal ones, and those that passes look at."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import adjoint, ctrl, for_loop, passes
from families import family
from families.circuits import WIRES, expval, qnode


def block(x):
    qml.RX(x, wires=1)
    qml.CNOT(wires=[1, 2])
    qml.RZ(2 * x, wires=2)


@family(100)
def adjoint_blocks(k):
    def program(x):
        for i in range(k):
            block(x)
            adjoint(block)(x * i)
        return expval()

    return qnode(program), 0.3


@family(500)
def gates_in_one_adjoint(k):
    def many(x):
        for i in range(k):
            qml.RX(x * i, wires=i % WIRES)
            qml.CNOT(wires=[i % WIRES, (i + 1) % WIRES])

    def program(x):
        adjoint(many)(x)
        return expval()

    return qnode(program), 0.3


@family(100)
def controlled_blocks(k):
    def program(x):
        for i in range(k):
            ctrl(block, control=0)(x * i)
        return expval()

    return qnode(program), 0.3


@family(300)
def gates_in_one_controlled_block(k):
    def many(x):
        for i in range(k):
            qml.RX(x * i, wires=1 + i % 3)
            qml.CNOT(wires=[1 + i % 3, 1 + (i + 1) % 3])

    def program(x):
        ctrl(many, control=0)(x)
        return expval()

    return qnode(program), 0.3


@family(3)
def adjoint_of_controlled_nested(k):
    def nested(x, depth):
        if depth == 0:
            return block(x)
        return adjoint(ctrl(lambda: nested(x, depth - 1), control=2 + depth))()

    def program(x):
        nested(x, k)
        return expval()

    return qnode(program, wires=3 + k), 0.3


def hamiltonian(coefficients):
    words = ("XXII", "IZZI", "YYII", "IIXX", "ZIIZ", "IXXI", "IIYY", "ZIII")
    operators = [qml.pauli.string_to_pauli_word(word) for word in words]
    return qml.dot(coefficients, operators)


COEFFICIENTS = jnp.linspace(0.1, 0.9, 8)


@family(16)
def trotter_steps(k):
    def program(coefficients):
        qml.TrotterProduct(hamiltonian(coefficients), 0.7, n=k, order=2)
        return expval()

    return qnode(program), COEFFICIENTS


@family(16)
def controlled_trotter_steps(k):
    def program(coefficients):
        qml.Hadamard(WIRES)
        qml.ctrl(qml.TrotterProduct(hamiltonian(coefficients), 0.7, n=k, order=2), control=WIRES)
        return qml.expval(qml.X(WIRES))

    return qnode(program, WIRES + 1), COEFFICIENTS


@family(16)
def controlled_trotter_products(k):
    """As in a phase estimation that is written out: k products of one step each."""

    def program(coefficients):
        for i in range(k):
            step = qml.TrotterProduct(hamiltonian(coefficients), 0.1 * (i + 1), n=1, order=2)
            qml.ctrl(step, control=WIRES)
        return qml.expval(qml.X(WIRES))

    return qnode(program, WIRES + 1), COEFFICIENTS


@family(8)
def phase_estimation(k):
    """Of 2 k - 1 controlled steps, where k is a power of 2: each wire doubles their number."""
    wires = k.bit_length()

    def program(coefficients):
        step = qml.TrotterProduct(hamiltonian(coefficients), 0.7, n=1, order=2)
        qml.QuantumPhaseEstimation(step, estimation_wires=range(WIRES, WIRES + wires))
        return qml.probs(wires=range(WIRES, WIRES + wires))

    return qnode(program, WIRES + wires), COEFFICIENTS


@family(5)
def unitaries_of_exponentials(k):
    def program(x):
        for i in range(k):
            matrix = jnp.array([[x[i], 1.0 + i], [1.0 + i, -x[i]]])
            qml.QubitUnitary(jax.scipy.linalg.expm(1j * matrix), wires=i % WIRES)
        return expval()

    return qnode(program), jnp.linspace(0.1, 0.9, k)


@family(50)
def equal_layers_written_out(k):
    def program(x):
        for layer in range(k):
            for wire in range(WIRES):
                qml.RY(x[layer, wire], wires=wire)
            for wire in range(WIRES):
                qml.CNOT(wires=[wire, (wire + 1) % WIRES])
        return expval()

    return qnode(program), jnp.linspace(0.0, 1.0, k * WIRES).reshape(k, WIRES)


@family(50)
def layers_of_a_template(k):
    def program(x):
        qml.StronglyEntanglingLayers(x, wires=range(WIRES))
        return expval()

    return qnode(program), jnp.linspace(0.0, 1.0, k * WIRES * 3).reshape(k, WIRES, 3)


@family(100)
def loops_of_gates_in_sequence(k):
    def program(x):
        for i in range(k):

            @for_loop(0, WIRES, 1)
            def layer(wire, i=i):
                qml.RX(x * (1 + i), wires=wire)

            layer()
        return expval()

    return qnode(program), 0.3


@family(200)
def inverses_to_cancel(k):
    def program(x):
        for i in range(k):
            qml.RX(x * i, wires=i % WIRES)
            qml.Hadamard(wires=(i + 1) % WIRES)
            qml.Hadamard(wires=(i + 1) % WIRES)
        return expval()

    return passes.cancel_inverses(qnode(program)), 0.3


@family(200)
def rotations_to_merge(k):
    def program(x):
        for i in range(k):
            qml.RX(x * i, wires=i % 2)
            qml.RX(x + i, wires=i % 2)
        return expval()

    return passes.merge_rotations(qnode(program)), 0.3


def clifford_t(k, *names):
    """A random circuit of k gates, with passes."""
    random = np.random.default_rng(k)
    drawn = [(int(gate), int(wire)) for gate, wire in random.integers((4, WIRES), size=(k, 2))]

    def program():
        for gate, wire in drawn:
            if gate == 3:
                qml.CNOT(wires=[wire, (wire + 1) % WIRES])
            else:
                (qml.Hadamard, qml.S, qml.T)[gate](wire)
        return expval()

    compiled = qnode(program)
    for name in names:
        compiled = passes.apply_pass(name)(compiled)
    return (compiled,)


@family(500)
def clifford_t_without_passes(k):
    return clifford_t(k)


@family(500)
def clifford_t_as_pauli_rotations(k):
    return clifford_t(k, "to_ppr", "commute_ppr", "merge_ppr_ppm")


@family(500)
def clifford_t_with_fewer_t_gates(k):
    return clifford_t(k, "to_ppr", "reduce_t_depth")


@family(500)
def clifford_t_with_fewer_cnots(k):
    return clifford_t(k, "parity_synth")
