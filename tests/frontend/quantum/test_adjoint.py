"""`adjoint` of operators, classes and quantum functions, against PennyLane, uncompiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from jax.extend.core import Primitive

from diastase import adjoint, cond, ctrl, for_loop, measure, qjit, switch, while_loop
from diastase.api.pennylane_entry import is_tracing
from diastase.capture.quantum_errors import (
    MeasurementInsideError,
    NotAQuantumFunctionError,
    UnrepeatableError,
)
from diastase.primitives import quantum
from diastase.quantum.inversion import ADJOINT_GATES, ADJOINT_RULES
from diastase_mlir import GATES
from diastase_mlir.jax_compat import equations_in
from diastase_runtime.errors import WireOutOfRangeError, ZeroStepError


def device(wires=3):
    return qml.device("default.qubit", wires=wires)


def entangle(x):
    """A state in which every operation leaves a trace."""
    for wire in range(3):
        qml.RX(x + wire, wire)
        qml.RZ(x * wire, wire)
    qml.CNOT([0, 1])
    qml.CRY(x, [1, 2])


def applied(function, *arguments, wires=3):
    """A QNode of a function that is applied to an entangled state."""

    @qml.qnode(device(wires))
    def circuit(x, *values):
        entangle(x)
        function(x, *values)
        return qml.state()

    return circuit, *arguments


def operators(gate, angles, adjoint_of):
    """All ways in which the adjoint of one gate is written."""
    base = gate.removeprefix("Adjoint(").removesuffix(")")
    cls = getattr(qml, base)
    wires = range(3)[: GATES[gate].wires or 3] if GATES[gate].wires < 4 else range(4)

    def function(*values):
        if base == gate:
            cls(*values, wires=wires)
        else:
            adjoint_of(cls)(*values, wires=wires)

    adjoint_of(function)(*angles)
    function(*angles)
    adjoint_of(lambda: adjoint_of(function)(*angles))()


def test_every_gate_has_its_adjoint(same_as_pennylane):
    """All rows of the gate table, with known and with traced parameters."""
    assert ADJOINT_GATES.keys() == GATES.keys()

    def gates(x, adjoint_of):
        for gate in GATES.values():
            for known in (False, True):
                angles = [(0.4 if known else x) * (k + 1) for k in range(gate.parameters)]
                operators(gate.name, angles, adjoint_of)

    @qml.qnode(device(4))
    def compiled_circuit(x):
        entangle(x)
        gates(x, adjoint)
        return qml.state()

    np.testing.assert_allclose(qjit(compiled_circuit)(0.3), compiled_circuit(0.3), atol=1e-10)


def test_every_operation_on_a_register_has_its_adjoint():
    operations = {value.name for value in vars(quantum).values() if isinstance(value, Primitive)}
    others = {"allocate_qubits", "release_qubits", "prepare", "measure", "qnode"}
    assert operations - others <= ADJOINT_RULES.keys()


def test_operators_and_classes(same_as_pennylane):
    def function(x, wire):
        qml.adjoint(qml.RX(x, 0))
        adjoint(qml.Rot(x, 2 * x, 3 * x, wire))
        qml.adjoint(qml.RY(x, wire), lazy=False)
        qml.adjoint(qml.S, lazy=False)(wire)
        adjoint(qml.QFT)(wires=[2, 0])
        qml.adjoint(qml.QFT(wires=[0, 1, 2]))
        qml.adjoint(qml.adjoint(qml.T))(1)
        adjoint(qml.ctrl(qml.SX, 0))(wire)
        qml.adjoint(qml.QubitUnitary)(np.diag([1, 1j]), wires=0)
        qml.adjoint(lambda op: qml.apply(op))(qml.PhaseShift(x, 0))

    same_as_pennylane(*applied(function, 0.3, 2))


def loops_and_branches(y, n, wire):
    """Loops of every kind, with carried values, over branches and loops."""
    qml.RX(y, wire)
    qml.U3(y, 0.3, y * y, 1)

    @for_loop(0, n, 1)
    def loop(i, z):
        qml.RY(z * i, i % 3)
        qml.CRX(z, [i % 3, (i + 1) % 3])

        @qml.for_loop(i, 0, -1)
        def inner(j):
            qml.RZ(j * z, j % 3)
            qml.ctrl(qml.RX, [(j + 1) % 3], [0])(z, j % 3)

        inner()
        return branches(z, z > 0.35) * 1.1

    z = loop(y)

    @qml.while_loop(lambda k, z: k < n)
    def climb(k, z):
        qml.RX(z, k % 3)
        qml.GlobalPhase(z)
        cases(z, k)
        return k + 1, z * 0.9

    climb(0, z)
    qml.adjoint(lambda: [qml.T(0), qml.IsingXY(y, [0, 1])])()


def branches(z, predicate):
    @cond(predicate)
    def branch():
        qml.Hadamard(0)
        return z

    @branch.otherwise
    def branch():
        qml.QubitUnitary(np.array([[0, 1], [1j, 0]]), 2)
        return 2 * z

    return branch()


def cases(z, k):
    @switch(k)
    def chosen():
        qml.RY(z, 0)

    @chosen.branch(1)
    def chosen():
        qml.RZ(z, 1)
        qml.RX(z, 1)

    chosen()


def test_functions_with_control_flow():
    """Once, twice and three times inverted, and inside of other control flow."""
    function = loops_and_branches

    def inverted(x, n):
        adjoint(function)(x, n, 0)
        function(2 * x, n, wire=1)
        qml.adjoint(qml.adjoint(function))(3 * x, n, wire=2)
        qml.adjoint(adjoint(adjoint(function)), lazy=False)(4 * x, n, 2)
        qml.cond(n > 1, adjoint(function))(x, 2, 0)
        for_loop(0, 2, 1)(lambda i: adjoint(function)(x, i, i))()

    circuit = applied(inverted)[0]
    compiled = qjit(circuit)
    for n in (0, 1, 4):
        np.testing.assert_allclose(compiled(0.3, n), circuit(0.3, n), atol=1e-10)


@pytest.mark.parametrize(
    "bounds", [(0, 5, 2), (5, -2, -3), (3, 3, 1), (-2, 2, 1), (np.int8(100), np.int8(127), 9)]
)
def test_loops_of_any_step(bounds, same_as_pennylane):
    def function(x, lower, upper, step):
        @for_loop(lower, upper, step)
        def loop(i, z):
            qml.RX(z * i, i % 3)
            return z + 0.1 * i

        qml.RY(loop(x), 0)

    same_as_pennylane(*applied(lambda x, *bounds: adjoint(function)(x, *bounds), 0.3, *bounds))


@pytest.mark.thorough
def test_arrays_of_any_size(same_as_pennylane):
    """Sizes known at run time, that change on the way through loops, and random keys."""

    def function(x, n):
        angles = jnp.linspace(0.0, x, n)

        @for_loop(0, n, 1)
        def growing(i, values):
            qml.RX(values.sum(), i % 3)
            qml.RY(angles[i], (i + 1) % 3)
            return jnp.concatenate([values, jnp.ones(1) * 0.1 * i])

        values = growing(angles)

        @while_loop(lambda k, values: values.shape[0] > n)
        def shrinking(k, values):
            qml.RZ(jnp.prod(values + 1), k % 3)
            qml.RX(0.3, k % 3)
            return k + 1, values[1:]

        shrinking(0, values)

        @for_loop(0, n, 1)
        def random(i, key):
            key, used = jax.random.split(key)
            qml.RX(jax.random.uniform(used), i % 3)
            return key

        random(jax.random.key(3))

        @cond(n > 2)
        def branch():
            qml.RX(jnp.arange(n).sum() * 0.1, 0)

        branch()

    def inverted(x, n):
        adjoint(function)(x, n)
        qml.adjoint(qml.adjoint(function))(2 * x, n)

    circuit = applied(inverted)[0]
    compiled = qjit(lambda x, n: circuit(x, n))

    def reference(x, n):
        """PennyLane runs our loops as Python's; a length is a number there."""
        return circuit(x, n)

    for n in (3, 1):
        np.testing.assert_allclose(compiled(0.3, n), reference(0.3, n), atol=1e-10)


def test_loops_keep_what_undoing_them_reads_and_nothing_is_computed_again():
    """Rows of arrays and of random keys; none of counters, nor of what no operation reads."""

    def function(x, n):
        @for_loop(0, n, 1)
        def loop(i, angles, count, unread, key):
            key, used = jax.random.split(key)
            qml.RX(angles[0] + jax.random.uniform(used), i % 3)
            qml.RY(angles[1] * count, (i + 1) % 3)
            return angles * 1.1 + x, count + 2, jnp.sin(unread), key

        loop(jnp.array([x, 0.3]), 1, jnp.ones(7), jax.random.key(3))

    @qjit
    @qml.qnode(device())
    def there_and_back(x, n):
        entangle(x)
        function(x, n)
        adjoint(function)(x, n)
        return qml.state()

    expected = applied(lambda _: None)[0](0.4)
    for n in (0, 1, 6):
        np.testing.assert_allclose(there_and_back(0.4, n), expected, atol=1e-12)
    jaxpr = there_and_back.lower(0.4, 6).traced.program.jaxpr
    loops = [equation for equation in equations_in(jaxpr) if equation.primitive.name == "for_loop"]
    inside = {each.primitive.name for loop in loops for each in equations_in(loop.params)}
    assert "for_loop" not in inside
    first, *_, rows, _ = loops  # and one that computes what nobody asks for
    carried = {variable.aval.shape for variable in first.outvars[1:]}
    kept = [v.aval.shape[1:] for v in rows.outvars if v.aval.shape not in carried]
    assert kept == [(2,), (2,)]  # the angles; the numbers of a key


def test_results_and_effects():
    """Classical results come back; what is printed is printed once, in order."""
    seen = []

    @qjit
    @qml.qnode(device())
    def circuit(x, n):
        def function():
            @for_loop(0, n, 1)
            def loop(i, z):
                qml.RX(z, 0)
                jax.debug.callback(lambda i: seen.append(int(i)), i, ordered=False)
                return z + 1.0

            qml.X(1)
            return {"sum": loop(x), "operators": [qml.Z(2)], "known": 3}

        returned = adjoint(function)()
        operator = adjoint(lambda: qml.Z(0))()
        assert returned["operators"] == [None]
        assert operator.wires == qml.wires.Wires(0)
        return returned["sum"], returned["known"], qml.expval(qml.Z(1))

    total, known, value = circuit(0.5, 3)
    assert (float(total), int(known), float(value)) == (3.5, 3, pytest.approx(-1))
    assert sorted(seen) == [0, 1, 2]


def test_gates_before_and_after_in_a_loop(same_as_pennylane):
    """The adjoint of part of a loop's body, and of a function that closes over its index."""

    def function(x, n):
        @for_loop(0, n, 1)
        def loop(i, z):
            qml.RX(z, i)
            qml.adjoint(lambda y: [qml.RY(y, i), qml.S(i), qml.RX(z, (i + 1) % 3)])(2 * z)
            qml.RZ(z, i)
            return z * 1.3

        loop(x)

    same_as_pennylane(*applied(function, 0.3, 3))


def test_outside_of_programs_it_is_pennylanes():
    assert not is_tracing()
    assert adjoint(qml.RX(0.3, 0)) == qml.adjoint(qml.RX(0.3, 0))
    assert adjoint(qml.S(0), lazy=False) == qml.adjoint(qml.S(0), lazy=False)
    assert adjoint(qml.RX)(0.3, 0) == qml.adjoint(qml.RX)(0.3, 0)
    with qml.queuing.AnnotatedQueue() as queue:
        adjoint(lambda: [qml.S(0), qml.T(1)])()
    assert queue.queue == [qml.adjoint(qml.T(1)), qml.adjoint(qml.S(0))]


# --- what is refused -----------------------------------------------------------------------------


def other_circuit(x):
    @qml.qnode(device())
    def circuit():
        qml.RX(x, 0)
        measure(0)
        return qml.expval(qml.Z(0))

    return circuit()


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: adjoint(lambda: measure(0))(), MeasurementInsideError),
        (lambda x: qml.adjoint(lambda: qml.measure(0))(), MeasurementInsideError),
        (
            lambda x: adjoint(lambda: for_loop(0, 2, 1)(lambda i: measure(i) and None)())(),
            MeasurementInsideError,
        ),
        (lambda x: ctrl(adjoint(lambda: qml.measure(0)), 1)(), MeasurementInsideError),
        (lambda x: adjoint([qml.X(0)]), NotAQuantumFunctionError),
        (lambda x: qml.adjoint(None), NotAQuantumFunctionError),
        (lambda x: adjoint(qml.X)(7), WireOutOfRangeError),
        (lambda x: adjoint(lambda: qml.X(7))(), WireOutOfRangeError),
        (
            lambda x: adjoint(for_loop(0, 2, 1)(lambda i, y: (qml.RX(y, 0), other_circuit(y))[1]))(
                x
            ),
            UnrepeatableError,
        ),
    ],
)
def test_refused(function, error):
    @qml.qnode(device())
    def circuit(x):
        function(x)
        return qml.probs()

    with pytest.raises(error):
        qjit(circuit)(0.3)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda n: for_loop(0, 3, n)(lambda i: qml.X(i))(), ZeroStepError),
        (lambda n: for_loop(0, 3, n)(lambda i, z: (qml.X(i), z + i)[1])(n), ZeroStepError),
        (lambda n: for_loop(0, n + 5, 1)(lambda i: qml.X(i))(), WireOutOfRangeError),
    ],
)
def test_errors_of_running_programs(function, error):
    @qjit
    @qml.qnode(device())
    def circuit(n):
        adjoint(function)(n)
        return qml.probs()

    with pytest.raises(error):
        circuit(0)
