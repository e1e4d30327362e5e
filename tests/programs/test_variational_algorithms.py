"""Trained circuits, whole optimisations in one compiled program: against PennyLane."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import for_loop, qjit


def parameter_shift(energy, parameters):
    """Derivatives of an expectation by each angle of a rotation, two evaluations for each."""

    @for_loop(0, parameters.size, 1)
    def each(k, gradient):
        shift = jnp.zeros(parameters.size).at[k].set(np.pi / 2).reshape(parameters.shape)
        slope = (energy(parameters + shift) - energy(parameters - shift)) / 2
        return gradient.at[k].set(slope)

    return each(jnp.zeros(parameters.size)).reshape(parameters.shape)


def test_ground_state_of_an_ising_chain():
    coefficients = [-1.0, -1.0, -0.5, -0.5, -0.5]
    words = [
        qml.Z(0) @ qml.Z(1), qml.Z(1) @ qml.Z(2), qml.X(0), qml.X(1), qml.X(2),
    ]  # fmt: skip
    chain = qml.Hamiltonian(coefficients, words)

    @qml.qnode(qml.device("default.qubit", wires=3))
    def energy(parameters):
        for layer in range(2):
            for wire in range(3):
                qml.RY(parameters[layer, wire], wire)
            qml.CNOT([0, 1])
            qml.CNOT([1, 2])
        for wire in range(3):
            qml.RY(parameters[2, wire], wire)
        return qml.expval(chain)

    @qjit
    def minimise(parameters, steps):
        @for_loop(0, steps, 1)
        def descend(_, parameters):
            return parameters - 0.2 * parameter_shift(energy, parameters)

        parameters = descend(parameters)
        return parameters, energy(parameters)

    start = jnp.linspace(0.1, 0.9, 9).reshape(3, 3)
    parameters, reached = minimise(start, 3)
    expected = start
    for _ in range(3):
        shifts = jnp.eye(9).reshape(9, 3, 3) * np.pi / 2
        slopes = [(energy(expected + s) - energy(expected - s)) / 2 for s in shifts]
        expected = expected - 0.2 * jnp.stack(slopes).reshape(3, 3)
    np.testing.assert_allclose(parameters, expected, atol=1e-10)
    np.testing.assert_allclose(reached, energy(expected), atol=1e-10)
    exact = np.linalg.eigvalsh(qml.matrix(chain, wire_order=range(3)))[0]
    assert exact - 1e-9 <= float(minimise(start, 150)[1]) < exact + 0.02


def test_qaoa_cuts_a_ring():
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    cost = qml.Hamiltonian([0.5] * 4, [qml.Z(a) @ qml.Z(b) for a, b in edges])

    @qml.qnode(qml.device("default.qubit", wires=4))
    def cut(angles):
        for wire in range(4):
            qml.Hadamard(wire)

        @qml.for_loop(0, angles.shape[0], 1)
        def layer(k):
            for a, b in edges:
                qml.IsingZZ(angles[k, 0], wires=[a, b])
            for wire in range(4):
                qml.RX(2 * angles[k, 1], wires=wire)

        layer()
        return qml.expval(cost), qml.probs()

    compiled = qjit(cut)
    for depth in (1, 2):
        angles = jnp.linspace(0.3, 0.8, 2 * depth).reshape(depth, 2)
        for ours, theirs in zip(compiled(angles), cut(angles), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)

    grid = jnp.linspace(0, np.pi, 24)
    scan = qjit(
        lambda grid: jax.lax.map(
            lambda gamma: jax.lax.map(lambda b: cut(jnp.array([[gamma, b]]))[0], grid), grid
        )
    )
    # One layer reaches 3 of 4 edges on a ring: energy -1 of -2.
    np.testing.assert_allclose(jnp.min(scan(grid)), -1.0, atol=0.02)


def test_qaoa_layers_of_the_library():
    ring = qml.Hamiltonian([1.0, 1.0, 1.0], [qml.Z(0) @ qml.Z(1), qml.Z(1) @ qml.Z(2), qml.Z(0)])
    mixer = qml.Hamiltonian([1.0] * 3, [qml.X(k) for k in range(3)])

    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(gammas, betas):
        for wire in range(3):
            qml.Hadamard(wire)
        for k in range(2):
            qml.qaoa.cost_layer(gammas[k], ring)
            qml.qaoa.mixer_layer(betas[k], mixer)
        return qml.expval(ring), qml.var(ring)

    arguments = jnp.array([0.3, -0.7]), jnp.array([0.4, 1.1])
    for ours, theirs in zip(qjit(circuit)(*arguments), circuit(*arguments), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_data_reuploading_learns_a_step():
    @qml.qnode(qml.device("default.qubit", wires=1))
    def model(x, weights):
        @qml.for_loop(0, weights.shape[0], 1)
        def layer(k):
            qml.RX(x, wires=0)
            qml.RY(weights[k, 0], wires=0)
            qml.RZ(weights[k, 1], wires=0)

        layer()
        return qml.expval(qml.Z(0))

    inputs = jnp.linspace(-1, 1, 7)
    labels = jnp.sign(inputs)

    def loss(weights):
        predictions = jax.lax.map(lambda x: model(x, weights), inputs)
        return jnp.mean((predictions - labels) ** 2)

    @qjit
    def train(weights, steps):
        @for_loop(0, steps, 1)
        def step(_, weights):
            @for_loop(0, weights.size, 1)
            def slope(k, gradient):
                nudge = jnp.zeros(weights.size).at[k].set(1e-5).reshape(weights.shape)
                return gradient.at[k].set((loss(weights + nudge) - loss(weights - nudge)) / 2e-5)

            return weights - 0.3 * slope(jnp.zeros(weights.size)).reshape(weights.shape)

        weights = step(weights)
        return weights, loss(weights)

    start = jnp.linspace(-0.5, 0.7, 6).reshape(3, 2)
    weights, reached = train(start, 40)
    predictions = jnp.array([model(x, weights) for x in inputs])
    np.testing.assert_allclose(reached, jnp.mean((predictions - labels) ** 2), atol=1e-10)
    assert float(reached) < 0.5 * float(train(start, 0)[1])


def test_kernel_matrix_of_an_embedding():
    """Overlaps of embedded points, and the classification by kernel ridge regression with them."""

    @qml.qnode(qml.device("default.qubit", wires=2))
    def overlap(x, y):
        qml.AngleEmbedding(x, wires=range(2))
        qml.IsingZZ(x[0] * x[1], wires=[0, 1])
        qml.IsingZZ(-y[0] * y[1], wires=[0, 1])
        qml.adjoint(qml.AngleEmbedding)(y, wires=range(2))
        return qml.probs(wires=range(2))

    @qjit
    def fit(points, labels):
        @for_loop(0, points.shape[0], 1)
        def rows(i, kernel):
            @for_loop(0, points.shape[0], 1)
            def columns(j, kernel):
                return kernel.at[i, j].set(overlap(points[i], points[j])[0])

            return columns(kernel)

        number = points.shape[0]
        kernel = rows(jnp.zeros((number, number)))
        return kernel, jnp.linalg.solve(kernel + 0.01 * jnp.eye(number), labels)

    points = jnp.array([[0.1, 0.2], [0.4, -0.3], [1.2, 0.9], [1.0, 1.4]])
    labels = jnp.array([1.0, 1.0, -1.0, -1.0])
    kernel, weights = fit(points, labels)
    expected = np.array([[overlap(x, y)[0] for y in points] for x in points])
    np.testing.assert_allclose(kernel, expected, atol=1e-10)
    np.testing.assert_array_equal(np.sign(expected @ weights), labels)


def test_entangling_layers_with_a_traced_shape():
    """One compilation for every number of layers."""

    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(weights):
        @qml.for_loop(0, weights.shape[0], 1)
        def layer(k):
            for wire in range(3):
                qml.Rot(weights[k, wire, 0], weights[k, wire, 1], weights[k, wire, 2], wires=wire)
            for wire in range(3):
                qml.CNOT([wire, (wire + 1) % 3])

        layer()
        return qml.expval(qml.Z(0) @ qml.X(2)), qml.probs(wires=[1, 2])

    compiled = qjit(circuit, abstracted_axes=({0: "layers"},))
    random = np.random.default_rng(5)
    for layers in (0, 1, 2, 5):
        weights = jnp.asarray(random.uniform(-3, 3, (layers, 3, 3)))
        for ours, theirs in zip(compiled(weights), circuit(weights), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)
