"""PennyLane's other devices and plugins: what they return is what the compiled program returns."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, passes, qjit
from diastase.capture.device_errors import (
    DeviceResultError,
    UnknownOutcomeError,
    UnsupportedDeviceError,
)


class Counting(qml.devices.Device):
    """A plugin: it counts gates, and returns what it is told to."""

    name = "counting.qubit"

    def __init__(self, wires=None, answer=None):
        super().__init__(wires=wires)
        self.answer = answer
        self.circuits: list[qml.tape.QuantumScript] = []

    def execute(self, circuits, execution_config=None):
        self.circuits += circuits
        return tuple(
            self.answer if self.answer is not None else float(len(circuit.operations))
            for circuit in circuits
        )


class Legacy(qml.devices.QubitDevice):
    """A plugin of PennyLane's former interface: a state vector by matrices."""

    name, short_name, pennylane_requires = "A legacy plugin", "legacy.qubit", ">=0"
    version, author = "1", "the tests"
    operations = frozenset({"RX", "RY", "RZ", "Hadamard", "CNOT"})
    observables = frozenset({"PauliX", "PauliY", "PauliZ", "Identity"})

    @classmethod
    def capabilities(cls):
        return {**super().capabilities(), "model": "qubit", "returns_state": True}

    def apply(self, operations, rotations=None, **_):
        self._state = np.eye(2**self.num_wires, dtype=complex)[0]
        for operator in [*operations, *(rotations or [])]:
            self._state = qml.matrix(operator, wire_order=self.wires) @ self._state

    def analytic_probability(self, wires=None):
        return self.marginal_prob(np.abs(self._state) ** 2, wires)

    def reset(self):
        self._state = None


def test_a_plugin_of_the_former_interface(same_uncompiled):
    @qml.qnode(Legacy(wires=2))
    def circuit(x):
        qml.RX(x, 0)
        for_loop(0, 2, 1)(lambda i: [qml.RY(x * i, i), None][1])()
        qml.CRX(x, [0, 1])
        return qml.expval(qml.Z(0)), qml.expval(qml.Y(1)), qml.probs(wires=[1]), qml.var(qml.Z(1))

    same_uncompiled(circuit, 0.3)
    with qml.Tracker(circuit.device) as tracker:
        qjit(circuit)(0.4)
    assert tracker.totals["batches"] == 1


class Doubled(qml.operation.Operation):
    """An operator of the user's, which makes something of its arguments."""

    num_params = 1

    def __init__(self, angle, wire, name):
        super().__init__(2 * angle, wires=[wire])
        self.hyperparameters["axis"] = name

    @staticmethod
    def compute_decomposition(angle, wires, axis):
        return [qml.RX(angle, wires) if axis == "x" else qml.RY(angle, wires)]


def test_operators_of_the_users(same_uncompiled):
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit(x, wire):
        Doubled(x, 0, "x")
        Doubled(x, wire, "y")
        qml.adjoint(Doubled(x * x, wire, "x"))
        return qml.state()

    same_uncompiled(circuit, 0.3, 1)


def test_tensor_networks(same_uncompiled):
    pytest.importorskip("quimb")

    @qml.qnode(qml.device("default.tensor", wires=4))
    def circuit(x):
        qml.RX(x, 0)
        for_loop(0, 3, 1)(lambda i: [qml.CNOT([i, i + 1]), qml.RY(x * i, i + 1), None][2])()
        return qml.expval(qml.Z(0) @ qml.X(3)), qml.state(), qml.var(qml.Z(1))

    same_uncompiled(circuit, 0.3, tolerance=1e-9)


def test_the_reference_device(same_uncompiled):
    @qml.qnode(qml.device("reference.qubit", wires=2))
    def circuit(angle):
        qml.Hadamard(0)
        qml.CRX(jnp.sin(angle), wires=[0, 1])
        return qml.expval(qml.X(0) @ qml.X(1)), qml.probs(wires=[0, 1]), qml.state()

    same_uncompiled(circuit, 0.1)


@pytest.mark.parametrize("shots", [None, 7])
def test_the_null_device(same_uncompiled, shots):
    @qml.set_shots(shots=shots)
    @qml.qnode(qml.device("null.qubit", wires=3))
    def circuit(x):
        qml.RX(x, 0)
        both = [qml.expval(qml.Z(0)), qml.probs(wires=[0, 1]), qml.var(qml.X(0) @ qml.Y(1))]
        if shots is None:
            return [*both, qml.state(), qml.density_matrix([0]), qml.purity([0])]
        return [*both, qml.sample(), qml.sample(qml.Z(0)), qml.sample(wires=[2, 0])]

    same_uncompiled(circuit, 0.5)


def test_passes_change_nothing_where_nothing_is_run():
    @qml.qnode(qml.device("null.qubit", wires=1))
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(-x, 0)
        return qml.expval(qml.Z(0))

    compiled = qjit(passes.merge_rotations(circuit))
    assert compiled(0.5) == circuit(0.5)
    with (
        qml.Tracker(circuit.device),
        pytest.raises(UnsupportedDeviceError, match="passes never see"),
    ):
        compiled(0.5)  # the tracker would count what the passes had merged


def test_a_plugin_runs_what_was_applied():
    device = Counting(wires=4)

    @qml.qnode(device)
    def circuit(x, n):
        @for_loop(0, n, 1)
        def body(i):
            qml.RX(x * i, i)

        body()
        cond(n > 2)(qml.Hadamard)(0)
        return qml.expval(qml.Z(0))

    program = qjit(lambda x, n: circuit(x, n) + 10 * circuit(2 * x, n + 1))
    assert float(program(0.5, 2)) == 2 + 10 * 4
    first, second = device.circuits
    assert first.operations == [qml.RX(0.0, 0), qml.RX(0.5, 1)]
    assert second.operations == [*(qml.RX(1.0 * i, i) for i in range(3)), qml.Hadamard(0)]
    assert [type(operator.data[0]) for operator in first.operations] == [np.float64] * 2
    assert {type(wire) for operator in second.operations for wire in operator.wires} == {int}


def test_errors_of_a_plugin_come_out_of_the_call():
    class Refusing(Counting):
        def execute(self, circuits, execution_config=None):
            raise qml.exceptions.DeviceError(f"no {circuits[0].operations[0].name} today")

    @qjit
    @qml.qnode(Refusing(wires=1))
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    for _ in range(2):
        with pytest.raises(qml.exceptions.DeviceError, match="no RX today"):
            circuit(0.1)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), r"for expval float64\[3\] where float64\[\] is promised"),
        (0.5 + 1j, r"for expval complex128 numbers where float64\[\] is promised"),
        ("much", r"for expval <U4\[\] where float64\[\] is promised"),
    ],
)
def test_results_that_were_not_promised(answer, message):
    circuit = qml.QNode(lambda: qml.expval(qml.Z(0)), Counting(wires=1, answer=answer))
    with pytest.raises(DeviceResultError, match=message):
        qjit(circuit)()


def test_harmless_differences_of_results():
    for answer in (np.float32(0.5), 1, 0.5 + 0j, jnp.asarray(0.5)):
        circuit = qml.QNode(lambda: qml.expval(qml.Z(0)), Counting(wires=1, answer=answer))
        found = qjit(circuit)()
        assert found.dtype == jnp.float64
        assert float(found) == answer


def test_shots():
    @qml.qnode(qml.device("reference.qubit", wires=2, seed=1))
    def circuit(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.sample(wires=[0, 1]), qml.sample(qml.Z(1)), qml.expval(qml.Z(0)), qml.probs([1])

    @qjit
    def program(n, x):
        return qml.set_shots(circuit, shots=n)(x)

    for shots in (10, 4000):  # one program: the number is traced
        bits, signs, mean, probabilities = program(shots, 0.6)
        assert bits.shape == (shots, 2)
        assert bits.dtype == jnp.int64
        np.testing.assert_array_equal(bits[:, 0], bits[:, 1])
        assert signs.shape == (shots,)
        bound = 5 * np.sqrt(1 / shots)
        assert abs(mean - np.cos(0.6)) < bound
        assert abs(probabilities[1] - np.sin(0.3) ** 2) < bound


def test_shot_vectors(same_uncompiled):
    @qml.set_shots(shots=(5, (20, 2)))
    @qml.qnode(qml.device("reference.qubit", wires=1))
    def circuit():
        qml.X(0)
        return {"sample": qml.sample(wires=[0]), "mean": qml.expval(qml.Z(0))}

    same_uncompiled(circuit)


def test_outcomes_of_mid_circuit_measurements(same_uncompiled):
    @qml.qnode(qml.device("default.mixed", wires=5))
    def circuit(x, p):
        qml.RX(x, 0)
        qml.BitFlip(p, 0)
        first = measure(0)
        cond(first)(qml.X)(1)
        qml.cond(first, qml.RZ, qml.PhaseShift)(x, 1)
        second = qml.measure(1, reset=True)
        qml.cond(first & ~second, lambda: [qml.X(1), qml.RX(p, 2)])()
        outcomes = qml.expval(first), qml.var(first + 2 * second), qml.probs(op=[first, second])
        return *outcomes, qml.probs(wires=[0, 1, 2])

    same_uncompiled(circuit, 0.7, 0.2)


@pytest.mark.parametrize(
    "use",
    [
        lambda: jnp.sin(measure(0)),
        lambda: qml.RX(measure(0) * 0.5, 1),
        lambda: for_loop(0, 2, 1)(lambda i: [measure(0), None][1])(),
        lambda: for_loop(0, 2, 1)(lambda i: [measure(i), None][1])(),
    ],
)
def test_outcomes_that_a_device_cannot_give(use):
    @qml.qnode(qml.device("reference.qubit", wires=2))
    def circuit():
        use()
        return qml.expval(qml.Z(0))

    with pytest.raises(UnknownOutcomeError):
        qjit(circuit)()


def test_qutrits_are_refused():
    @qml.qnode(qml.device("default.qutrit", wires=1))
    def circuit(x):
        qml.TRX(x, 0)
        return qml.expval(qml.GellMann(0, 3))

    with pytest.raises(UnsupportedDeviceError, match="three levels"):
        qjit(circuit)(0.1)


def test_passes_of_the_compiler_are_refused():
    @passes.cancel_inverses
    @qml.qnode(qml.device("reference.qubit", wires=1))
    def circuit():
        return qml.expval(qml.Z(0))

    with pytest.raises(UnsupportedDeviceError, match="never see its circuits"):
        qjit(circuit)()


def test_stabilizers():
    @qml.qnode(qml.device("default.clifford", wires=2))
    def circuit(n):
        qml.Hadamard(0)
        for_loop(0, n, 1)(lambda i: [qml.CNOT([0, 1]), qml.S(0), None][2])()
        return qml.state(), qml.expval(qml.Z(0) @ qml.Z(1)), qml.probs(wires=[0, 1])

    for count in (1, 2):
        for leaf, wanted in zip(qjit(circuit)(count), circuit(count), strict=True):
            np.testing.assert_allclose(leaf, wanted)


def test_traced_wires(same_uncompiled):
    @qml.qnode(qml.device("default.mixed", wires=4))
    def circuit(angle, wire):
        qml.RX(angle, wire)
        qml.IsingXY(angle, wires=[wire, 3])
        qml.QFT(wires=[wire + 1, wire, 3])
        qml.ctrl(qml.S(wire), wire + 1)
        qml.BitFlip(0.1, wires=wire)
        return qml.expval(qml.X(wire) @ qml.Z(wire + 1)), qml.probs(wires=[wire, 3])

    same_uncompiled(circuit, 0.3, 1)


def test_in_one_program_with_the_engine(same_uncompiled):
    engine, mixed = qml.device("lightning.qubit", wires=2), qml.device("default.mixed", wires=2)

    @qml.qnode(engine)
    def prepare(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    @qml.qnode(mixed)
    def noisy(x, p):
        qml.RY(x, 0)
        qml.DepolarizingChannel(p, 0)
        return {"z": qml.expval(qml.Z(0)), "p": qml.probs(wires=[1, 0])}

    def program(x, p):
        angle = prepare(x)
        results = noisy(angle, p)
        return prepare(results["z"]), jnp.sum(results["p"] ** 2), jax.tree.map(jnp.sin, results)

    same_uncompiled(program, 0.4, 0.1)


def test_called_many_times_in_a_loop():
    device = Counting(wires=3)

    @qml.qnode(device)
    def circuit(n):
        for_loop(0, n, 1)(lambda i: [qml.X(0), None][1])()
        return qml.expval(qml.Z(0))

    @qjit
    def program(n):
        return for_loop(0, n, 1)(lambda i, total: total + circuit(i))(0.0)

    assert float(program(5)) == 10
    assert len(device.circuits) == 5
    assert float(program(300)) == 300 * 299 / 2
