"""QNodes that a program calls several times: lowered once where equal, and what they are apart.

The reference is PennyLane's simulator, or the same program with nothing shared.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, passes, qjit, while_loop
from diastase_mlir.lowering.core.functions import SharedBodies
from diastase_runtime.errors import WireOutOfRangeError

DEVICE = qml.device("default.qubit", wires=3)


def functions(compiled):
    """How many functions the module defines beside its entry."""
    return compiled.mlir.count("func.func private @diastase_function_")


def circuits(compiled):
    return compiled.mlir.count("quantum.alloc")


@pytest.fixture
def unshared(monkeypatch):
    """Compile a function with every circuit in place, without the cache."""

    def compiled(function, *arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(SharedBodies, "key_of", lambda shared, params: None)
            return qjit(function, **options).trace(*arguments).lower().compile()

    return compiled


def ansatz(x, weights):
    qml.RX(x, 0)
    for wire in range(3):
        qml.Rot(*weights[wire], wires=wire)
    qml.CNOT([0, 1])
    qml.CRY(x * weights[0, 1], [1, 2])


@qml.qnode(DEVICE)
def energy(x, weights):
    ansatz(x, weights)
    return qml.expval(0.3 * qml.Z(0) @ qml.X(1) - 1.2 * qml.Y(2)), qml.probs(wires=[0, 2])


WEIGHTS = np.linspace(0.1, 1.7, 9).reshape(3, 3)


def test_equal_calls_are_one_function():
    def program(x, weights):
        return [energy(x + 0.1 * k, weights) for k in range(6)]

    compiled = qjit(program)
    for found, expected in zip(compiled(0.4, WEIGHTS), program(0.4, WEIGHTS), strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
    assert (functions(compiled), circuits(compiled)) == (1, 1)
    assert compiled.mlir.count("call @diastase_function_0") == 6


def test_one_call_is_lowered_in_place():
    compiled = qjit(lambda x: energy(x, WEIGHTS)[0])
    compiled(0.2)
    assert (functions(compiled), circuits(compiled)) == (0, 1)


def test_what_a_closure_holds_may_change_between_calls():
    scale = 1.0

    @qml.qnode(DEVICE)
    def circuit(x):
        qml.RX(scale * x, 0)
        return qml.expval(qml.Z(0))

    @qjit
    def program(x):
        nonlocal scale
        results = []
        for number in (1.0, 2.0, 1.0, 3.0, 2.0):
            scale = number
            results.append(circuit(x))
        return jnp.stack(results)

    np.testing.assert_allclose(program(0.3), np.cos(0.3 * np.array([1, 2, 1, 3, 2])), atol=1e-12)
    assert (functions(program), circuits(program)) == (2, 3)  # 3.0 occurs once


def test_equal_bodies_with_other_constants_and_on_other_lines():
    def made(observable, offset):
        @qml.qnode(DEVICE)
        def circuit(x):
            qml.RY(x + offset, 0)
            qml.CNOT([0, 1])
            return qml.expval(observable)

        return circuit

    first, second = made(qml.Z(1), 0.5), made(qml.Z(1), 0.25)
    third, again = made(qml.X(0) @ qml.X(1), 0.5), made(qml.Z(1), 0.5)

    def program(x):
        results = [circuit(x) for circuit in (first, second, third, again)]
        return jnp.stack([*results, first(2 * x)])

    compiled = qjit(program)
    np.testing.assert_allclose(compiled(0.7), program(0.7), atol=1e-12)
    assert (functions(compiled), circuits(compiled)) == (1, 4)


def test_arrays_of_every_kind_cross_the_border(unshared):
    """Views of arguments, computed arrays, those that are changed afterwards, and all dtypes."""

    @qml.qnode(DEVICE)
    def circuit(angles, flags, matrix, word):
        qml.RX(angles[0], 0)
        for wire in range(3):
            qml.RY(angles[wire] * flags[wire], wire)
        qml.QubitUnitary(matrix, wires=1)
        qml.RZ(word.astype(float), wires=1)
        return qml.expval(qml.X(1)), qml.state(), angles, flags, word

    def program(table, angles, matrix, word):
        results = []
        for row in range(2):
            column, flags = table[:, row], table[row] > 0.5
            results.append(circuit(column, flags, matrix, word + row))
            table = table.at[:, row].set(-1.0)
            results.append(circuit(column, flags, matrix, word + row))
            results.append(circuit(table[:, row] + column, flags, matrix, word))
        for scale in (1.0, 2.0):  # an argument of the program, which comes back as a result
            changed = circuit(angles, table[0] > scale, matrix, word)
            results += [changed, changed[2].at[0].set(scale), angles]
        return results, table

    matrix = np.array([[1, 1j], [1j, 1]]) / np.sqrt(2)
    arguments = (WEIGHTS, WEIGHTS[1] / 3, matrix, np.uint8(250))
    compiled = qjit(program)
    found = jax.tree.leaves(compiled(*arguments))
    expected = jax.tree.leaves(unshared(program, *arguments)(*arguments))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert circuits(compiled) == functions(compiled) < 8


def test_every_call_draws_its_own_shots(unshared):
    @qml.set_shots(50)
    @qml.qnode(DEVICE)
    def sampled(x):
        qml.RX(x, 0)
        qml.H(1)
        return qml.sample(wires=[0, 1]), qml.counts(wires=1)

    def program(x):
        return [sampled(x) for _ in range(4)]

    compiled = qjit(program, seed=7)
    first = [samples for samples, _ in compiled(1.1)]
    assert functions(compiled) == 1
    for k in range(4):
        assert all((first[k] != first[other]).any() for other in range(k))
    again = qjit(lambda x: [sampled(x) for _ in range(4)], seed=7)(1.1)
    in_place = unshared(program, 1.1, seed=7)(1.1)
    for k in range(4):
        np.testing.assert_array_equal(first[k], again[k][0])
        np.testing.assert_array_equal(first[k], in_place[k][0])


def test_every_call_measures_anew(unshared):
    @qml.qnode(DEVICE)
    def corrected(x):
        qml.RY(x, 0)
        outcome = measure(0)

        @cond(outcome)
        def flip():
            qml.X(1)

        flip()
        return outcome, qml.expval(qml.Z(1))

    def program(x):
        return [corrected(x) for _ in range(40)]

    compiled = qjit(program, seed=3)
    outcomes = []
    for outcome, value in compiled(np.pi / 2):
        assert value == pytest.approx(-1 if outcome else 1)
        outcomes.append(bool(outcome))
    assert 5 < sum(outcomes) < 35
    assert functions(compiled) == 1
    in_place = unshared(program, np.pi / 2, seed=3)(np.pi / 2)
    assert outcomes == [bool(outcome) for outcome, _ in in_place]


def _floats(circuit):
    return lambda x: np.asarray(circuit(x))


def test_inside_of_control_flow_and_vmap():  # noqa: C901 a check for each
    @qml.qnode(DEVICE)
    def circuit(x):
        qml.RX(x, 0)
        qml.adjoint(qml.S)(0)
        return qml.expval(qml.Y(0))

    @qjit
    def program(x, n):
        @for_loop(0, n, 1)
        def looped(_, total):
            return circuit(total) + circuit(2 * total)

        @while_loop(lambda total: circuit(total) > 0.1)
        def halved(total):
            return total / 2

        @cond(x > 0)
        def chosen():
            return circuit(x) + circuit(3 * x)

        @chosen.otherwise
        def chosen_else():
            return circuit(-x)

        batch = jnp.array([x, 0.1, -0.4])
        return (
            looped(x),
            halved(x),
            chosen(),
            jax.vmap(circuit)(batch) + jax.vmap(circuit)(2 * batch),
        )

    value = _floats(circuit)
    for x, n in ((0.6, 3), (-0.9, 2), (0.2, 0)):
        total = halved = x
        for _ in range(n):
            total = value(total) + value(2 * total)
        while value(halved) > 0.1:
            halved /= 2
        chosen = value(x) + value(3 * x) if x > 0 else value(-x)
        batch = np.array([x, 0.1, -0.4])
        found = program(x, n)
        for one, other in zip(found, (total, halved, chosen), strict=False):
            np.testing.assert_allclose(one, other, atol=1e-12)
        np.testing.assert_allclose(found[3], value(batch) + value(2 * batch), atol=1e-12)
    assert functions(program) > 0


def test_sizes_known_only_at_run_time():
    @qml.qnode(DEVICE)
    def circuit(angles):
        @for_loop(0, angles.shape[0], 1)
        def rotate(k):
            qml.RX(angles[k], 0)

        rotate()
        return qml.expval(qml.Z(0))

    @qml.qnode(DEVICE)
    def small(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    @qjit(abstracted_axes=({0: "n"},))
    def program(angles):
        more = jnp.concatenate([angles, angles])
        return (
            circuit(angles) + circuit(2 * angles),
            circuit(more),
            small(angles.sum()),
            small(1.0 * more.shape[0]),
        )

    for n in (0, 1, 2, 5):
        angles = np.linspace(0.1, 0.9, n)
        found = program(angles)
        expected = np.cos(angles.sum()) + np.cos(2 * angles.sum()), np.cos(2 * angles.sum())
        np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-12)
        np.testing.assert_allclose(found[2:], [np.cos(angles.sum()), np.cos(2.0 * n)], atol=1e-12)


def test_an_error_names_the_line_and_the_first_call_that_fails():
    @qml.qnode(DEVICE)
    def circuit(wire, x):
        qml.RX(x, wire)
        return qml.expval(qml.Z(0))

    @qjit
    def program(wires):
        return jnp.stack([circuit(wires[k], 0.1 * k) for k in range(3)])

    np.testing.assert_allclose(program(jnp.array([1, 0, 0])), [1, np.cos(0.1), np.cos(0.2)])
    assert circuits(program) == 3  # the angles are numbers
    line = circuit.func.__code__.co_firstlineno + 2

    @qjit
    def shared(wires, x):
        return jnp.stack([circuit(wires[k], x) for k in range(3)])

    np.testing.assert_allclose(shared(jnp.array([1, 0, 0]), 0.3), [1, np.cos(0.3), np.cos(0.3)])
    assert (functions(shared), circuits(shared)) == (1, 1)
    for compiled in (lambda wires: program(wires), lambda wires: shared(wires, 0.3)):
        with pytest.raises(WireOutOfRangeError) as caught:
            compiled(jnp.array([0, 7, 9]))
        assert caught.value.span.line == line
        assert "7" in str(caught.value)


def test_a_loop_stops_where_a_function_fails():
    @qml.qnode(DEVICE)
    def circuit(wire):
        qml.X(wire)
        return qml.expval(qml.Z(0))

    @qjit
    def program(wire):
        @while_loop(lambda total: circuit(wire) + circuit(wire + 1) > -5)
        def forever(total):
            return total + 1

        return forever(0)

    with pytest.raises(WireOutOfRangeError):
        program(2)


def test_passes_are_applied_to_the_function():
    def made(*marks):
        @qml.qnode(DEVICE)
        def circuit(x):
            qml.RX(x, 0)
            qml.RX(x, 0)
            qml.H(1)
            qml.H(1)
            return qml.expval(qml.Z(0))

        for mark in marks:
            circuit = mark(circuit)
        return circuit

    plain, merged = made(), made(passes.merge_rotations, passes.cancel_inverses)

    @qjit
    def program(x):
        return jnp.stack([circuit(x * k) for k in (1, 2) for circuit in (plain, merged)])

    np.testing.assert_allclose(program(0.2), np.cos([0.4, 0.4, 0.8, 0.8]), atol=1e-12)
    assert functions(program) == 2
    assert program.mlir.count("quantum.gate") == 5


def test_a_report_counts_every_call():
    def program(x):
        return sum(energy(x + k, WEIGHTS)[0] for k in range(3)) * 2.0

    once = qjit(lambda x: energy(x, WEIGHTS)[0])
    compiled = qjit(program)
    once(0.1), compiled(0.1)
    alone, report = once.report(), compiled.report()
    # a sum of a number for each call, two sums of results (and one with 0), a product
    assert report.equations == 3 * alone.equations + 7
    assert report.circuits.circuits == 3 * alone.circuits.circuits
    assert report.circuits.gates == 3 * alone.circuits.gates


def test_python_functions_keep_bodies_in_place():
    seen = []

    def note(x):
        seen.append(float(x))
        return np.float64(x + 1)

    @qml.qnode(DEVICE)
    def circuit(x):
        y = jax.pure_callback(note, jax.ShapeDtypeStruct((), jnp.float64), x)
        qml.RX(y, 0)
        return qml.expval(qml.Z(0))

    @qjit
    def program(x):
        return circuit(x) + circuit(2 * x)

    np.testing.assert_allclose(program(0.3), np.cos(1.3) + np.cos(1.6), atol=1e-12)
    assert sorted(seen) == [0.3, 0.6]
