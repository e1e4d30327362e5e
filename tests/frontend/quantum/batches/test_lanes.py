"""Elements of a batch in lanes: each is what it is alone, whatever it draws and wherever it goes.

Circuits are run in lanes, and with elements apart (`apart`), which other tests compare with
PennyLane's devices; outcomes must be the same ones, as an element's random numbers are its own.
"""

from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, measure, qjit, while_loop
from diastase.autodiff.lanes import elements
from diastase_runtime.errors import NotANumberError, WireOutOfRangeError

RANDOM = np.random.default_rng(11)
X = jnp.array(RANDOM.normal(size=(19, 3)))


@contextmanager
def apart(monkeypatch):
    """No batch is made one of lanes."""
    with monkeypatch.context() as patches:
        patches.setattr(elements, "_register_of", lambda _: None)
        yield


def same(monkeypatch, function, *arguments, seed=5):
    """The results in lanes, after they were found to be those of elements apart."""
    program = qjit(function, seed=seed)
    found = jax.tree.leaves(program(*arguments))
    assert uses_lanes(program)
    with apart(monkeypatch):
        other = qjit(function, seed=seed)
        expected = jax.tree.leaves(other(*arguments))
        assert not uses_lanes(other)
    for own, reference in zip(found, expected, strict=True):
        assert np.shape(own) == np.shape(reference)
        np.testing.assert_allclose(own, reference, atol=1e-12)
    return found


def uses_lanes(program):
    return "lane_register" in program.mlir


def where(flag, gate, other=lambda: None):
    """Apply a gate, or another one."""

    def apply():
        gate()

    def apply_other():
        other()

    branches = cond(flag)(apply)
    branches.otherwise(apply_other)
    branches()


# --- control flow of lanes' own -------------------------------------------------------------------


def corrected(x):
    """Outcomes, corrections, and what is done until an outcome is right."""
    m = measure(0)
    where(m, lambda: qml.X(1), lambda: qml.RX(x[0], 1))
    qml.RY(x[1], 0)
    qml.CNOT([0, 1])

    @while_loop(lambda found, tries: ~found & (tries < 9))
    def again(found, tries):
        qml.RY(x[2] + 0.3 * tries, 2)
        return measure(2, reset=True), tries + 1

    found, tries = again(False, 0)
    where(tries > 2, lambda: qml.Z(1))

    @for_loop(0, tries, 1)
    def some(k):
        qml.RX(x[0] * k, 0)
        where(m & found, lambda: qml.CRY(x[1], [0, 2]))

    some()
    return m, tries


def averages(x):
    m, tries = corrected(x)
    return qml.expval(qml.X(0) @ qml.Z(1)), qml.probs([2, 0]), m, tries


def states(x):
    corrected(x)
    return qml.state()


def one_sample(x):
    corrected(x)
    return qml.sample(wires=[1, 2]), qml.counts(wires=0, all_outcomes=True)


@pytest.mark.parametrize("size", [19, 8, 4])
def test_branches_and_loops(monkeypatch, size):
    device = qml.device("lightning.qubit", wires=3)
    for body in (averages, states):
        circuit = qml.QNode(body, device, mcm_method="single-branch-statistics")
        found = same(monkeypatch, jax.vmap(circuit), X[:size])
    norms = np.linalg.norm(found[0], axis=1)
    np.testing.assert_allclose(norms, 1, atol=1e-12)


@pytest.mark.parametrize("shots", [3000, 37])
def test_shots(monkeypatch, shots):
    device = qml.device("lightning.qubit", wires=3)
    circuit = qml.set_shots(qml.QNode(one_sample, device, mcm_method="one-shot"), shots)
    same(monkeypatch, circuit, X[0])
    same(monkeypatch, jax.vmap(circuit), X[:3])


def test_keys_of_elements(monkeypatch):
    """A type of JAX's that is no number, in operands, branches and loops."""

    @qml.qnode(qml.device("lightning.qubit", wires=2), mcm_method="single-branch-statistics")
    def circuit(key):
        qml.Hadamard(0)
        m = measure(0)
        other = cond(m)(lambda: (qml.X(1), jax.random.split(key)[0])[1])
        other.otherwise(lambda: jax.random.fold_in(key, 3))
        key = for_loop(0, jnp.asarray(m, int), 1)(lambda _, key: jax.random.split(key)[1])(other())
        qml.RX(jax.random.normal(key), 0)
        return qml.expval(qml.Z(0)), jax.random.key_data(key)

    same(monkeypatch, jax.vmap(circuit), jax.random.split(jax.random.key(3), 9))


def test_numbers_of_elements_known_when_the_program_runs(monkeypatch):
    device = qml.device("lightning.qubit", wires=3)
    circuit = qml.QNode(averages, device, mcm_method="single-branch-statistics")
    program = qjit(jax.vmap(circuit), abstracted_axes={0: "n"}, seed=3)
    with apart(monkeypatch):
        other = qjit(jax.vmap(circuit), abstracted_axes={0: "n"}, seed=3)
        expected = [jax.tree.leaves(other(X[:size])) for size in (0, 1, 19)]
    for size, leaves in zip((0, 1, 19), expected, strict=True):
        for own, reference in zip(jax.tree.leaves(program(X[:size])), leaves, strict=True):
            np.testing.assert_allclose(own, reference, atol=1e-12)
    assert uses_lanes(program)

    def of_shots(n):
        return qml.set_shots(qml.QNode(one_sample, device, mcm_method="one-shot"), n)(X[0])

    program = qjit(of_shots, seed=4)
    with apart(monkeypatch):
        other = qjit(of_shots, seed=4)
        expected = [jax.tree.leaves(other(n)) for n in (1, 130)]
    for n, leaves in zip((1, 130), expected, strict=True):
        for own, reference in zip(jax.tree.leaves(program(n)), leaves, strict=True):
            np.testing.assert_array_equal(own, reference)


def test_a_loop_of_elements_that_are_not_active_ends():
    """What an element computes in a branch that it does not take has no meaning, but ends."""
    device = qml.device("lightning.qubit", wires=1)

    @qml.qnode(device)
    def circuit(k):
        @cond(k > 0)
        def positive():
            @while_loop(lambda n: n != 1)  # which never ends for other numbers
            def halves(n):
                return n // 2

            @while_loop(lambda n: n != 0)
            def turns(n):
                qml.RX(0.2, 0)
                return n - 1

            qml.RX(0.1 * halves(k), 0)
            turns(k)

        positive()
        return qml.expval(qml.Z(0))

    numbers = jnp.arange(7) - 2
    found = qjit(jax.vmap(circuit))(numbers)
    turns = np.where(numbers > 0, 0.1 + 0.2 * numbers, 0)
    np.testing.assert_allclose(found, np.cos(turns), atol=1e-12)


def halved(n):
    """What never ends for numbers below one."""
    return while_loop(lambda n: n != 1)(lambda n: n // 2)(n)


def halved_by_jax(n):
    return jax.lax.while_loop(lambda n: n != 1, lambda n: n // 2, n)


def halved_in_steps(n):
    return jax.lax.scan(lambda total, _: (total + halved(n), None), 0, None, 2)[0]


@pytest.mark.parametrize(
    ("number", "lanes"),
    [
        (lambda x, k: taken(x > 0, lambda: halved(k)), True),
        (lambda x, k: taken(x > 100, lambda: for_loop(0, k + 10**15, 1)(lambda _, n: n)(0)), True),
        (lambda x, k: taken(x > 0, lambda: halved_by_jax(x)), False),
        (lambda x, k: halved_by_jax(x + 2), False),  # not for lanes without an element, either
        (lambda x, k: jax.lax.cond(x > 0, lambda: halved(x), lambda: 0), False),
        (lambda x, k: taken(x > 0, lambda: halved_in_steps(x)), False),
    ],
)
def test_loops_that_no_element_comes_to_are_not_begun(monkeypatch, number, lanes):
    """Loops that are the same for all elements, and loops of JAX's."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x, k):
        qml.RX(0.1 * number(x, k), 0)
        return qml.expval(qml.Z(0))

    program = qjit(jax.vmap(circuit, (0, None)))
    numbers = -jnp.arange(5) if lanes else jnp.arange(5) - 1
    found = program(numbers, 0)
    assert uses_lanes(program) == lanes
    with apart(monkeypatch):
        expected = qjit(jax.vmap(circuit, (0, None)))(numbers, 0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def taken(flag, function):
    branches = cond(flag)(function)
    branches.otherwise(lambda: 0)
    return branches()


# --- operations -----------------------------------------------------------------------------------

GATES = [
    lambda a, w: qml.RX(a[0], w[0]),
    lambda a, w: qml.RY(a[1], w[1]),
    lambda a, w: qml.RZ(a[2], w[0]),
    lambda a, w: qml.Rot(a[0], a[1], a[2], w[1]),
    lambda a, w: qml.PhaseShift(0.3, w[0]),
    lambda a, w: qml.Hadamard(w[1]),
    lambda a, w: qml.CNOT(w[:2]),
    lambda a, w: qml.CRot(a[0], 0.2, a[1], w[:2]),
    lambda a, w: qml.Toffoli(w[:3]),
    lambda a, w: qml.SWAP(w[:2]),
    lambda a, w: qml.IsingXY(a[2], w[:2]),
    lambda a, w: qml.SingleExcitation(a[0], w[:2]),
    lambda a, w: qml.ISWAP(w[:2]),
    lambda a, w: qml.ctrl(qml.U3(a[0], a[1], a[2], w[0]), w[1:3], [0, 1]),
    lambda a, w: qml.ctrl(qml.IsingXX(a[1], w[:2]), w[2]),
    lambda a, w: qml.GlobalPhase(a[0]),
    lambda a, w: qml.QubitUnitary(MATRICES[1], w[:2]),
    lambda a, w: qml.QubitUnitary(qml.RX.compute_matrix(a[1]), w[2]),
    lambda a, w: qml.DiagonalQubitUnitary(jnp.exp(1j * a[0] * jnp.arange(4)), w[:2]),
    lambda a, w: qml.ctrl(qml.QubitUnitary(MATRICES[0], w[0]), w[1]),
]
MATRICES = [
    np.linalg.qr(RANDOM.normal(size=(size, size)) + 1j * RANDOM.normal(size=(size, size)))[0]
    for size in (2, 4)
]
STEPS = st.tuples(
    st.integers(0, len(GATES) - 1), st.permutations(range(4)), st.integers(0, 3), st.booleans()
)


@settings(max_examples=8, deadline=None)
@given(steps=st.lists(STEPS, min_size=1, max_size=12), wires=st.integers(4, 8))
@pytest.mark.sample(2)
def test_random_circuits(steps, wires):
    """Gates, some where an outcome is 1, beside PennyLane's device (no outcomes) and elements."""
    device = qml.device("default.qubit", wires=wires)

    def gates(x):
        qml.BasisState(np.array([1, 0]), [0, 1])
        qml.RX(x[0], 0)
        for number, on, _, _ in steps:
            GATES[number](x, on)
        return qml.expval(qml.X(0) @ qml.Y(3) + 0.4 * qml.Z(1)), qml.probs([2, 1]), qml.state()

    circuit = qml.QNode(gates, device)
    program = qjit(jax.vmap(circuit))
    found = program(X[:9])
    assert uses_lanes(program)
    expected = [circuit(x) for x in X[:9]]
    for own, *references in zip(found, *expected, strict=True):
        np.testing.assert_allclose(own, np.stack(references), atol=1e-10)

    def with_outcomes(x):
        qml.RX(x[0], 0)
        for number, on, wire, resets in steps:
            m = measure(wire, reset=resets)
            where(m, lambda: GATES[number](x, on), lambda: qml.RY(x[1], on[3]))  # noqa: B023
        return qml.var(qml.Z(1)), qml.expval(qml.Y(0)), qml.state()

    circuit = qml.QNode(with_outcomes, device, mcm_method="single-branch-statistics")
    with pytest.MonkeyPatch.context() as patches:
        same(patches, jax.vmap(circuit), X[:9])


# --- gates written out ----------------------------------------------------------------------------


def of_arrays(x, size):
    """Elements of arrays, arithmetic on them, constants, numbers used again, controls."""
    for k in range(size):
        wire, other, third = k % 4, (k + 1) % 4, (k + 3) % 4
        match k % 7:
            case 0:
                qml.RX(x[k % 3], wire)
            case 1:
                qml.Rot(2 * x[0] + 0.1 * k, -x[1], x[2] * x[0] - k, wire)
            case 2:
                qml.CNOT([wire, other])
            case 3:
                qml.ctrl(qml.RY(jnp.sin(x[1]) + k, wire), [other, third], [0, 1])
            case 4:
                qml.PhaseShift(0.3 * k, wire)
            case 5:
                qml.IsingXY(x[2], [other, wire])
            case _:
                qml.CRot(0.5, x[0], x[k % 3], [other, wire])


def in_control_flow(x, size):
    """The same in a loop, and in branches by outcomes."""
    qml.RX(x[0], 0)

    @for_loop(0, 2, 1)
    def rounds(k):
        of_arrays(x * k, size // 5)
        where(
            measure(1),
            lambda: of_arrays(x + 0.5 * k, size // 5),
            lambda: of_arrays(x[::-1], size // 3),
        )

    rounds()


def of_scalars(x, size):
    """Angles that are computed each in its own way."""
    angle = x[0]
    for k in range(min(size, 30)):
        angle = jnp.tanh(angle + x[1]) if k % 2 else jnp.exp(-angle)
        qml.RX(angle, k % 4)


@pytest.mark.sample(5)
@pytest.mark.parametrize("size", [5, 20, 100, 500])
@pytest.mark.parametrize("body", [of_arrays, in_control_flow, of_scalars])
def test_gates_written_out(monkeypatch, body, size):
    def circuit(x):
        body(x, size)
        return qml.expval(qml.X(0) @ qml.Z(3)), qml.state()

    device = qml.device("lightning.qubit", wires=4)
    circuit = qml.QNode(circuit, device, mcm_method="single-branch-statistics")
    same(monkeypatch, jax.vmap(circuit), X)
    if body is not in_control_flow:
        expected = [qml.QNode(circuit.func, qml.device("default.qubit"))(x) for x in X[:2]]
        found = qjit(jax.vmap(circuit))(X)
        for own, *references in zip(found, *expected, strict=True):
            np.testing.assert_allclose(own[:2], np.stack(references), atol=1e-10)


def test_gates_in_a_row_are_one_operation():
    def circuit(x):
        of_arrays(x, 500)
        return qml.expval(qml.Z(0))

    program = qjit(jax.vmap(qml.QNode(circuit, qml.device("lightning.qubit", wires=4))))
    program(X)
    lanes = program.mlir[program.mlir.index("lanes_alloc") :]
    assert lanes.count("quantum.lanes_run") == 1
    assert "quantum.lanes_gate" not in lanes


@pytest.mark.parametrize(
    "gate",
    [
        lambda x: qml.MultiRZ(x, [0, 1, 2]),
        lambda x: qml.DoubleExcitation(x, range(4)),
        lambda x: qml.PauliRot(x, "XYZ", [0, 1, 2]),
    ],
)
def test_gates_on_many_wires_keep_elements_apart(gate):
    def circuit(x):
        of_arrays(x, 10)
        gate(x[0])
        of_arrays(x, 10)
        return qml.expval(qml.Z(0))

    circuit = qml.QNode(circuit, qml.device("lightning.qubit", wires=4))
    program = qjit(jax.vmap(circuit))
    found = program(X)
    assert not uses_lanes(program)
    np.testing.assert_allclose(found[:2], [circuit(x) for x in X[:2]], atol=1e-10)


def test_many_arrays_of_angles_keep_elements_apart():
    """Each has loops of its own to compile."""

    def circuit(x):
        angle = x[0]
        for k in range(200):
            angle = jnp.tanh(angle + x[1]) if k % 2 else jnp.exp(-angle)
            qml.RX(angle, 0)
        return qml.expval(qml.Z(0))

    program = qjit(jax.vmap(qml.QNode(circuit, qml.device("lightning.qubit", wires=1))))
    program(X)
    assert not uses_lanes(program)


# --- what stays apart, and errors -----------------------------------------------------------------


def test_what_stays_apart():
    devices = {
        (wires, kind): qml.device("lightning.qubit", wires=wires, c_dtype=kind)
        for wires, kind in ((2, np.complex128), (10, np.complex128), (2, np.complex64))
    }

    def circuit(x, wire):
        qml.RX(x, wire)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))

    small, large, single = (qml.QNode(circuit, device) for device in devices.values())
    angles = jnp.arange(9.0)
    zeros = jnp.zeros(9, int)
    programs = [
        (lambda x, _: jax.vmap(lambda x: large(x, 0))(x), zeros),
        (lambda x, _: jax.vmap(lambda x: single(x, 0))(x), zeros),
        (lambda x, _: jnp.tile(jax.vmap(lambda x: small(x, 0))(x[:3]), 3), zeros),
        (jax.vmap(small), jnp.arange(9) % 2),
        (lambda x, _: -jax.vmap(jax.grad(lambda x: small(x, 0)))(x + jnp.pi / 2), zeros),
    ]
    for number, (function, wires) in enumerate(programs):
        program = qjit(function)
        found = program(angles, wires)
        assert not uses_lanes(program), number
        expected = np.cos(np.tile(angles[:3], 3) if number == 2 else angles)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_errors_are_those_of_an_element():
    device = qml.device("lightning.qubit", wires=2)

    @qml.qnode(device, mcm_method="single-branch-statistics")
    def circuit(x, wire):
        qml.RX(x, 0)
        qml.RY(0.3, wire)
        return measure(0)

    program = qjit(jax.vmap(circuit, (0, None)))
    assert program(X[:, 0], 1).shape == (19,)
    assert uses_lanes(program)
    with pytest.raises(WireOutOfRangeError):
        program(X[:, 0], 2)
    with pytest.raises(NotANumberError):
        program(X[:, 0].at[4].set(jnp.nan), 1)
    assert program(X[:, 0], 1).shape == (19,)


def test_a_number_that_is_none_stays_in_its_lane():
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1)), qml.probs()

    program = qjit(jax.vmap(circuit))
    values, probabilities = program(jnp.where(jnp.arange(9) == 4, jnp.nan, 0.3))
    others = np.arange(9) != 4
    assert np.isnan(values[4])
    assert np.isnan(probabilities[4]).all()
    np.testing.assert_allclose(values[others], np.cos(0.3), atol=1e-12)
