"""Passes come before derivatives, shots, batches and all that runs a circuit several times.

Values are compared with PennyLane without passes, and the gates of the whole program, derivatives
included, with those of the circuit from which what goes was left out by hand.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import diastase
from diastase import cond, for_loop, grad, measure, passes, qjit, while_loop
from sampled import examples

DEVICE = qml.device("lightning.qubit", wires=3)
REFERENCE = qml.device("default.qubit", wires=3)
BOTH = {"cancel_inverses": {}, "merge_rotations": {}}
GATES = re.compile(r"\bname=(\w+)\s+num_parameters")
X = jnp.array([0.3, -0.7, 1.1])


def gates(compiled, *arguments):
    """The gates of a program's jaxpr, those of circuits in derivatives included."""
    return sorted(GATES.findall(str(compiled.trace(*arguments).jaxpr)))


def test_a_gradient_is_of_what_passes_have_left():
    def pairs(x):
        qml.RX(x, 0)
        for _ in range(50):
            qml.H(0), qml.H(0)
        return qml.expval(qml.Z(0))

    circuit = passes.cancel_inverses(qml.QNode(pairs, DEVICE))
    gradient = qjit(grad(circuit))
    np.testing.assert_allclose(gradient(0.3), -np.sin(0.3), atol=1e-12)
    assert "1 circuit on up to 3 qubits: 1 gates" in str(gradient.report())
    compiled = qjit(circuit)
    np.testing.assert_allclose(jax.grad(compiled)(0.3), -np.sin(0.3), atol=1e-12)
    np.testing.assert_allclose(qml.grad(compiled)(qml.numpy.array(0.3)), -np.sin(0.3), atol=1e-12)


def circuit_of(written):
    """A circuit with control flow; `written`: with the gates that passes take away."""

    def twice(gate, inverse=None):
        if written:
            gate()
            (inverse or gate)()

    def rotation(angle, wire):
        if written:
            qml.RX(0.25 * angle, wire)
            qml.RX(0.75 * angle, wire)
        else:
            qml.RX(0.25 * angle + 0.75 * angle, wire)

    def circuit(x):
        twice(lambda: qml.H(0))
        rotation(x[0], 0)
        qml.CNOT([0, 1])

        @for_loop(0, 2, 1)
        def loop(i, angle):
            twice(lambda: qml.S(2), lambda: qml.adjoint(qml.S(2)))
            qml.RY(angle * x[1], i)
            twice(lambda: qml.CRZ(angle, [0, 2]), lambda: qml.CRZ(-angle, [0, 2]))
            rotation(angle, 2)
            qml.RY(x[2], 2)
            return angle * 0.5

        loop(x[2])

        @cond(x[0] > 0)
        def branch():
            twice(lambda: qml.RZ(x[1], 1), lambda: qml.RZ(-x[1], 1))
            qml.RY(x[0] * x[1], 1)

        @branch.otherwise
        def otherwise():
            qml.PhaseShift(x[0], 1)

        branch()
        twice(lambda: qml.SWAP([1, 2]))
        return qml.expval(qml.Z(0) @ qml.Y(1)), qml.expval(qml.X(2))

    return circuit


def stacked(qnode):
    return lambda x: jnp.stack(qnode(x))


WAYS = {
    "value": stacked,
    "jacrev": lambda f: jax.jacrev(stacked(f)),
    "jacfwd": lambda f: jax.jacfwd(stacked(f)),
    "hessian": lambda f: jax.hessian(lambda x: stacked(f)(x) @ jnp.array([0.4, 1.3])),
    "value and grad": lambda f: jax.value_and_grad(lambda x: jnp.prod(stacked(f)(x))),
    "jvp": lambda f: lambda x: jax.jvp(stacked(f), (x,), (x * x,)),
    "vjp": lambda f: lambda x: jax.vjp(stacked(f), x)[1](jnp.array([0.4, 1.3])),
    "vmap": lambda f: lambda x: jax.vmap(stacked(f))(jnp.stack([x, 2 * x])),
    "vmap of grad": lambda f: lambda x: jax.vmap(jax.grad(lambda y: f(y)[0]))(jnp.stack([x, -x])),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", WAYS)
def test_all_ways_see_the_same_circuit(way):
    passed = passes.pipeline(BOTH)(qml.QNode(circuit_of(True), DEVICE))
    program = qjit(WAYS[way](passed))
    by_hand = qjit(WAYS[way](qml.QNode(circuit_of(False), DEVICE)))
    plain = qml.QNode(circuit_of(True), REFERENCE, diff_method="backprop")
    reference = qjit(WAYS[way](plain)) if "vmap" in way else WAYS[way](plain)
    for found, wanted in zip(
        jax.tree.leaves(program(X)), jax.tree.leaves(reference(X)), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert gates(program, X) == gates(by_hand, X) != []


@pytest.mark.sample(2)
@pytest.mark.parametrize("method", ["adjoint", "backprop", "parameter-shift", "finite-diff"])
def test_methods_of_differentiation(method):
    def gradient(qnode):
        return jax.grad(lambda x: jnp.sum(stacked(qnode)(x)))

    def qnode(written, method=method):
        return qml.QNode(circuit_of(written), REFERENCE, diff_method=method)

    program = qjit(gradient(passes.pipeline(BOTH)(qnode(True))))
    reference = gradient(qnode(True, "backprop"))(X)
    np.testing.assert_allclose(program(X), reference, atol=1e-5 if "finite" in method else 1e-10)
    by_hand = qjit(gradient(qnode(False)))
    assert gates(program, X) == gates(by_hand, X) != []


def test_diastases_own_functions():
    def circuit(x):
        qml.RX(x[0], 0), qml.RX(x[1], 0), qml.CNOT([0, 1]), qml.CNOT([0, 1])
        qml.RY(x[2], 0), qml.RY(-x[2], 0), qml.RY(x[2], 0)
        return qml.expval(qml.Z(0))

    passed = passes.pipeline(BOTH)(qml.QNode(circuit, DEVICE))
    plain = qml.QNode(circuit, REFERENCE, diff_method="backprop")
    wanted = jax.grad(plain)(X)
    np.testing.assert_allclose(qjit(diastase.grad(passed))(X), wanted, atol=1e-10)
    np.testing.assert_allclose(qjit(diastase.jacobian(passed))(X), wanted, atol=1e-10)
    value, gradient = qjit(diastase.value_and_grad(passed))(X)
    np.testing.assert_allclose((value, *gradient), (plain(X), *wanted), atol=1e-10)
    by_differences = qjit(diastase.grad(passed, method="fd"))(X)
    np.testing.assert_allclose(by_differences, wanted, atol=1e-5)
    _, tangent = qjit(lambda x: diastase.jvp(passed, (x,), (jnp.ones(3),)))(X)
    np.testing.assert_allclose(tangent, wanted.sum(), atol=1e-10)


def test_shots():
    def sampled(written, shots=50):
        def circuit(x):
            circuit_of(written)(x)
            return qml.sample(), qml.expval(qml.Z(0))

        return qml.set_shots(qml.QNode(circuit, DEVICE), shots)

    passed = qjit(passes.pipeline(BOTH)(sampled(True)), seed=3)
    by_hand = qjit(sampled(False), seed=3)
    for found, wanted in zip(passed(X), by_hand(X), strict=True):
        np.testing.assert_allclose(found, wanted)
    assert gates(passed, X) == gates(by_hand, X)


def test_shots_with_measurements_run_the_transformed_body():
    """One run a shot: what is run again and again has no gates that passes take away."""

    @passes.pipeline(BOTH)
    @qml.set_shots(2000)
    @qml.qnode(DEVICE, mcm_method="one-shot")
    def circuit(x):
        qml.H(0), qml.H(0)
        qml.RX(x, 0), qml.RX(x, 0)
        outcome = measure(0)
        cond(outcome)(lambda: [qml.Y(1), qml.Y(1), qml.X(1), None][-1])()
        return qml.expval(qml.Z(1))

    compiled = qjit(circuit, seed=1)
    np.testing.assert_allclose(compiled(0.6), np.cos(1.2), atol=0.1)
    assert gates(compiled, 0.6) == ["PauliX", "RX"]


def test_an_angle_that_no_gate_takes_has_no_derivative_to_find():
    """Its equations are gone, and so is what would be shifted or swept for it."""

    @passes.cancel_inverses
    @qml.qnode(DEVICE, diff_method="parameter-shift")
    def circuit(x):
        qml.RX(x[0], 0)
        qml.RY(jnp.tan(x[1]), 0), qml.RY(-jnp.tan(x[1]), 0)

        @for_loop(0, 3, 1)
        def loop(i):
            qml.RZ(jnp.tan(x[1]), 1), qml.RZ(-jnp.tan(x[1]), 1)
            qml.RX(x[0], i)

        loop()
        return qml.expval(qml.Z(0))

    compiled = qjit(grad(circuit))
    np.testing.assert_allclose(compiled(X), [-2 * np.sin(0.6), 0, 0], atol=1e-12)
    assert "tan" not in str(compiled.trace(X).jaxpr)


@pytest.mark.parametrize("size", [1, 4])
def test_sizes_that_are_known_at_run_time_only(size):
    @qjit(abstracted_axes={0: "n"})
    @jax.grad
    @passes.pipeline(BOTH)
    @qml.qnode(DEVICE)
    def gradient(x):
        qml.H(0), qml.H(0)

        @for_loop(0, x.shape[0], 1)
        def loop(i, angles):
            qml.RX(angles[i], i % 3), qml.RX(2 * angles[i], i % 3)
            qml.CNOT([1, 2]), qml.CNOT([1, 2])
            return angles * 1.5

        loop(x)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    def reference(x):
        angles = [3 * 1.5**i * x[i] for i in range(size)]
        turns = [sum(angles[k::3]) for k in range(3)]
        return jnp.cos(turns[0]) * jnp.cos(turns[1])

    x = jnp.linspace(0.1, 0.5, size)
    np.testing.assert_allclose(gradient(x), jax.grad(reference)(x), atol=1e-12)
    assert gates(gradient, x).count("RX") == 1 + gates(gradient, x).count("RX") // 2
    assert "CNOT" not in gates(gradient, x)


def test_known_matrices_in_derivatives():
    matrix = qml.matrix(qml.Rot(0.3, 0.2, 0.9, 0))

    @passes.cancel_inverses
    @qml.qnode(DEVICE)
    def circuit(x):
        qml.RX(x, 0)
        qml.QubitUnitary(matrix, 0), qml.QubitUnitary(matrix.conj().T, 0)
        qml.QubitUnitary(matrix, 0)
        return qml.expval(qml.Z(0))

    compiled = qjit(jax.grad(circuit))
    plain = qml.QNode(circuit.func, REFERENCE, diff_method="backprop")
    np.testing.assert_allclose(compiled(0.4), jax.grad(plain)(0.4), atol=1e-12)
    assert str(compiled.jaxpr).count("unitary[") == 1


def test_a_wire_that_does_not_exist_is_found_in_the_gradient_too():
    @passes.cancel_inverses
    @qml.qnode(DEVICE)
    def circuit(x, wire):
        qml.RX(x, wire), qml.RX(-x, wire)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    compiled = qjit(grad(circuit))
    np.testing.assert_allclose(compiled(0.3, 2), -np.sin(0.3), atol=1e-12)
    with pytest.raises(diastase.DiastaseError, match="RX"):
        compiled(0.3, 7)


def test_passes_of_ones_own_are_differentiated():
    """What a pass computes for a new gate is part of the program: here, twice the sine."""

    @passes.register_pass("twice_the_sine")
    def twice_the_sine(circuit):
        for gate in circuit.gates():
            if gate.name == "RX":
                with circuit.before(gate):
                    sine = passes.values.apply("sin", gate.parameters[0])
                    angle = passes.values.multiply(2.0, sine)
                circuit.replace(gate, [passes.New("RX", [0], [angle])])

    @passes.apply_pass("twice_the_sine")
    @qml.qnode(DEVICE)
    def circuit(x):
        for_loop(0, 2, 1)(lambda i: qml.RX(x, 0) and None)()
        return qml.expval(qml.Z(0))

    compiled = qjit(jax.value_and_grad(circuit))
    wanted = jax.value_and_grad(lambda x: jnp.cos(4 * jnp.sin(x)))(0.3)
    np.testing.assert_allclose(compiled(0.3), wanted, atol=1e-12)


# --- random circuits with control flow ------------------------------------------------------------

ANGLES = ["x", "-x", "y", "x*y", "0.5", "-0.5"]
one = st.tuples(
    st.sampled_from(["RX", "RY", "RZ", "H", "S", "T"]), st.sampled_from(ANGLES), st.integers(0, 2)
)
two = st.tuples(
    st.sampled_from(["CNOT", "CZ", "CRX", "IsingZZ", "SWAP"]),
    st.sampled_from(ANGLES),
    st.permutations(range(3)).map(lambda order: tuple(order[:2])),
)
leaves = st.tuples(st.sampled_from(["plain", "undone", "twice", "phase"]), st.one_of(one, two))
blocks = st.recursive(
    leaves,
    lambda inner: st.tuples(
        st.sampled_from(["loop", "while", "branch"]), st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=10,
)


def run(found, x, y):
    """Apply a random circuit; every angle may be differentiated."""
    angles = {"x": x, "-x": -x, "y": y, "x*y": x * y, "0.5": 0.5, "-0.5": -0.5}

    def gate(name, angle, wires):
        kind = getattr(qml, name)
        return kind(angles[angle], wires) if kind.num_params else kind(wires)

    for kind, inner in found:
        if kind == "loop":
            for_loop(0, 2, 1)(lambda i, a, inner=inner: (run(inner, a, y), a * 0.5)[1])(x)
        elif kind == "while":
            while_loop(lambda n: n < 2)(lambda n, inner=inner: (run(inner, x, y), n + 1)[1])(0)
        elif kind == "branch":
            branch = cond(x > y)(lambda inner=inner: run(inner, y, x))
            branch.otherwise(lambda inner=inner: run(inner[::-1], x, y))
            branch()
        elif kind == "phase":
            qml.GlobalPhase(angles[inner[1]])
        else:
            gate(*inner)
            if kind == "twice":
                gate(*inner)
            elif kind == "undone":
                qml.adjoint(gate(*inner))


@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    found=st.lists(blocks, min_size=1, max_size=6),
    x=st.floats(-2, 2),
    y=st.floats(-2, 2),
    forward=st.booleans(),
)
def test_random_circuits_have_pennylanes_derivatives(found, x, y, forward):
    def circuit(x, y):
        for wire in range(3):
            qml.RY(0.4 * wire + x, wire)
        run(found, x, y)
        return qml.expval(qml.Z(0) @ qml.X(1)), qml.probs([2])

    def jacobian(qnode, differentiate=jax.jacrev):
        vector = lambda x, y: jnp.concatenate([jnp.ravel(value) for value in qnode(x, y)])  # noqa: E731
        return lambda x, y: (vector(x, y), *differentiate(vector, (0, 1))(x, y))

    everything = {name: {} for name in (*BOTH, "combine_global_phases", "disentangle_cnot")}
    passed = passes.pipeline(everything)(qml.QNode(circuit, DEVICE))
    reference = qml.QNode(circuit, REFERENCE, diff_method="backprop")
    compiled = qjit(jacobian(passed, jax.jacfwd if forward else jax.jacrev))
    for result, wanted in zip(compiled(x, y), jacobian(reference)(x, y), strict=True):
        np.testing.assert_allclose(result, wanted, atol=1e-9)
