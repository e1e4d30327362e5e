"""Operators that users define: by a decomposition, a matrix, a generator, a rule of the graph."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from pennylane.operation import Operation, Operator

from diastase import adjoint, for_loop, measure, qjit
from diastase.capture.quantum_errors import ForeignRegionError, UnsupportedOperationError
from frontend.quantum.operators.examples import unitary


class Decomposed(Operation):
    num_params = 1
    num_wires = 2

    @staticmethod
    def compute_decomposition(x, wires):
        return [qml.RX(x, wires=wires[0]), qml.CNOT(wires=wires), Matrix(x, wires=wires[1])]


class Matrix(Operation):
    num_params = 1
    num_wires = 1

    @staticmethod
    def compute_matrix(x):
        c, s = qml.math.cos(x), qml.math.sin(x)
        return qml.math.stack([qml.math.stack([c, -s]), qml.math.stack([s, c])])


class InstanceDecomposition(Operator):
    num_wires = 2

    def __init__(self, angles, wires, reverse=False):
        self._hyperparameters = {"reverse": reverse}
        super().__init__(angles, wires=wires)

    def decomposition(self):
        angles = self.data[0]
        wires = self.wires[::-1] if self.hyperparameters["reverse"] else self.wires
        return [qml.RX(angle, wire) for angle, wire in zip(angles, wires, strict=True)]


class ByRule(Operation):
    num_params = 1
    num_wires = 2
    resource_keys = frozenset()

    @property
    def resource_params(self):
        return {}


@qml.register_resources({qml.RY: 1, qml.CZ: 1})
def _by_rule(x, wires, **_):
    qml.RY(x, wires=wires[0])
    qml.CZ(wires=wires)


qml.add_decomps(ByRule, _by_rule)


class WithAdjoint(Operation):
    num_params = 1
    num_wires = 1

    @staticmethod
    def compute_decomposition(x, wires):
        return [qml.RX(x, wires=wires), qml.RZ(2 * x, wires=wires)]

    def adjoint(self):
        return qml.prod(qml.RX(-self.data[0], self.wires), qml.RZ(-2 * self.data[0], self.wires))


class GeneratorOnly(Operation):
    num_params = 1
    num_wires = 2

    def generator(self):
        return qml.Hamiltonian([0.5, 0.25], [qml.X(self.wires[0]), qml.Z(self.wires[1])])


class GateName(Operation):
    """Has the name of a gate of the engine and is another one."""

    num_params = 1
    num_wires = 1
    name = "RX"

    @staticmethod
    def compute_decomposition(x, wires):
        return [qml.RY(x, wires=wires)]


OPERATORS = {
    "decomposed": lambda x, w: Decomposed(x, wires=[2, w]),
    "matrix": lambda x, w: Matrix(x, wires=w),
    "instance": lambda x, w: InstanceDecomposition(jnp.stack([x, 2 * x]), wires=[w, 0]),
    "reversed": lambda x, w: InstanceDecomposition(jnp.stack([x, 2 * x]), [w, 0], reverse=True),
    "adjoint of its own": lambda x, w: WithAdjoint(x, wires=w),
    "name of a gate": lambda x, w: GateName(x, wires=w),
    "controlled": lambda x, w: qml.ctrl(Decomposed(x, wires=[2, w]), 0, control_values=[0]),
}


def _program(x, wire):
    def state(build):
        @qml.qnode(qml.device("default.qubit", wires=3))
        def circuit():
            for k in range(3):
                qml.RY(0.3 + k, k)
            build(x, wire)
            qml.adjoint(build(2 * x, wire))
            return qml.state()

        return circuit()

    return {name: state(build) for name, build in OPERATORS.items()}


def test_operators_of_users():
    found, expected = qjit(_program)(0.7, 1), _program(0.7, 1)
    for name, state in expected.items():
        np.testing.assert_allclose(found[name], state, atol=1e-12, err_msg=name)


def _state_after(build, *arguments):
    @qml.qnode(qml.device("default.qubit", wires=4))
    def circuit(*traced):
        qml.RY(0.3, 0)
        build(*traced)
        return qml.state()

    return qjit(circuit)(*arguments), circuit


def test_rules_of_the_graph():
    found, _ = _state_after(lambda x, w: ByRule(x, wires=[w, 0]), 0.4, 1)
    _, expected = _state_after(lambda x, w: (qml.RY(x, w), qml.CZ([w, 0])), 0.4, 1)
    np.testing.assert_allclose(found, expected(0.4, 1), atol=1e-12)


def test_a_template_that_has_rules_only():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=7))
    def circuit(coefficients):
        qml.SumOfSlatersPrep(coefficients, wires=[0, 1, 2], indices=(0, 3, 5))
        return qml.state()

    coefficients = np.sqrt([0.2, 0.3, 0.5])
    expected = np.zeros((8, 16))
    expected[[0, 3, 5], 0] = coefficients
    np.testing.assert_allclose(circuit(coefficients), expected.reshape(-1), atol=1e-12)


def test_a_generator_is_evolved():
    found, _ = _state_after(lambda x, w: GeneratorOnly(x, wires=[w, 2]), 0.4, 1)
    _, expected = _state_after(lambda x, w: (qml.RX(-x, w), qml.RZ(-x / 2, 2)), 0.4, 1)
    np.testing.assert_allclose(found, expected(0.4, 1), atol=1e-12)


class Looping(Operation):
    """Its decomposition has control flow of ours."""

    num_params = 1
    num_wires = 3

    @staticmethod
    def compute_decomposition(x, wires):
        qml.Hadamard(wires[0])

        @for_loop(0, 2, 1)
        def rotate(k):
            qml.RX(x * (k + 1), wires=wires[1])
            qml.cond(x > 0.5, qml.CNOT, qml.CZ)(wires=wires[1:])

        rotate()
        qml.Hadamard(wires[2])
        return []


@pytest.mark.parametrize("x", [0.3, 0.7])
def test_decompositions_with_control_flow(x):
    found, _ = _state_after(lambda x: Looping(x, wires=[0, 1, 2]), x)

    def plainly(x):
        qml.Hadamard(0)
        for k in range(2):
            qml.RX(x * (k + 1), 1)
            (qml.CNOT if x > 0.5 else qml.CZ)([1, 2])
        qml.Hadamard(2)

    expected = _state_after(lambda: plainly(x))[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)


class Measuring(Operation):
    """Its decomposition measures, and returns what it applies as well as applying it."""

    num_params = 0
    num_wires = 2

    @staticmethod
    def compute_decomposition(wires):
        first = qml.X(wires[0])
        outcome = measure(wires[0])
        return [first, *_on(outcome, wires)]


def _on(outcome, wires):
    qml.cond(outcome, qml.X)(wires=wires[1])
    return []


def test_decompositions_with_measurements():
    found, _ = _state_after(lambda: (qml.RY(-0.3, 0), Measuring(wires=[0, 1])))
    np.testing.assert_allclose(np.abs(found), np.eye(16)[12], atol=1e-12)


def test_a_decomposition_with_control_flow_under_a_control():
    found, _ = _state_after(
        lambda x: (qml.Hadamard(3), qml.ctrl(Looping(x, wires=[0, 1, 2]), 3)), 0.3
    )

    def plainly(x):
        qml.Hadamard(3)
        qml.CH([3, 0])
        for k in range(2):
            qml.CRX(x * (k + 1), [3, 1])
            qml.CCZ([3, 1, 2])
        qml.CH([3, 2])

    expected, _ = _state_after(lambda: plainly(0.3))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_quantum_functions_with_diagonals_and_checks_run_backwards():
    def body(x, w):
        qml.DiagonalQubitUnitary(jnp.exp(1j * jnp.stack([x, 2 * x, -x, 0 * x])), wires=[w, 2])
        qml.Barrier([w, 0])
        qml.QFT([w, 0, 2])
        for_loop(0, 2, 1)(lambda k: body_of_loop(x, k, w))()

    def body_of_loop(x, k, w):
        qml.DiagonalQubitUnitary(jnp.exp(1j * jnp.stack([x * k, -x])), wires=w)

    found, _ = _state_after(lambda x, w: (body(x, w), adjoint(body)(x, w)), 0.4, 1)
    np.testing.assert_allclose(found, _state_after(lambda: None)[0], atol=1e-12)


def test_control_flow_in_an_operator_that_is_inverted_is_refused():
    with pytest.raises(ForeignRegionError) as raised:
        _state_after(lambda x: qml.adjoint(Looping(x, wires=[0, 1, 2])), 0.3)
    assert raised.value.span.file == __file__


class Nothing(Operation):
    num_wires = 1


class LooksAtValues(Operation):
    num_wires = 1
    num_params = 1

    @staticmethod
    def compute_decomposition(x, wires):
        return [qml.X(wires)] if x > 0 else [qml.Z(wires)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: Nothing(wires=0), "neither a decomposition nor a matrix"),
        (lambda x: LooksAtValues(x, wires=0), "depends on a traced value"),
        (lambda x: qml.adjoint(LooksAtValues(x, wires=0)), "depends on a traced value"),
        (lambda x: qml.ctrl(LooksAtValues(x, wires=0), 1), "depends on a traced value"),
    ],
)
def test_what_cannot_be_compiled_is_named(build, message):
    with pytest.raises(UnsupportedOperationError, match=message) as raised:
        _state_after(build, 0.3)
    assert raised.value.span.file == __file__


def test_a_class_that_looks_at_known_values_compiles():
    found, _ = _state_after(lambda: LooksAtValues(0.3, wires=0))
    expected, _ = _state_after(lambda: qml.X(0))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@qml.templates.Subroutine
def rotations(x, wires):
    """A subroutine of PennyLane's."""
    qml.RX(x, wires[0])
    qml.CNOT(wires)


def test_subroutines():
    found, _ = _state_after(
        lambda x, w: (rotations(x, [0, w]), rotations(2 * x, wires=[w, 2])), 0.4, 1
    )
    expected, _ = _state_after(
        lambda x: (qml.RX(x, 0), qml.CNOT([0, 1]), qml.RX(2 * x, 1), qml.CNOT([1, 2])), 0.4
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_matrix_that_jax_makes():
    found, circuit = _state_after(
        lambda x: qml.QubitUnitary(jax.scipy.linalg.expm(1j * x * (_HERMITIAN)), [2, 0]), 0.3
    )
    np.testing.assert_allclose(found, circuit(0.3), atol=1e-10)


_HERMITIAN = unitary(3, 2) + unitary(3, 2).conj().T
