"""`qjit(async_qnodes=True)`: QNodes that do not depend on each other run at once.

The reference is the same function without the option; how many QNodes are taken together stands in
the jaxpr.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, debug, for_loop, grad, measure, qjit, vmap
from diastase.errors import CompileError
from diastase.inspection.costs import jaxprs_in
from diastase_runtime.errors import WireOutOfRangeError


def qnode(function, wires=3):
    return qml.qnode(qml.device("lightning.qubit", wires=wires))(function)


@qnode
def average(x):
    qml.RX(x, wires=0)
    qml.CNOT([0, 1])
    qml.RY(0.3, wires=1)
    return qml.expval(qml.Z(0) @ qml.Y(1) + 0.5 * qml.X(2) + qml.Z(1))


@qnode
def everything(x):
    qml.RX(x.sum(), wires=0)
    qml.Rot(0.1, x[0], x[1], wires=2)
    qml.CRY(x[1], wires=[0, 1])
    return qml.state(), qml.probs(wires=[0, 2]), {"z": qml.expval(qml.Z(0))}


@qnode
def on_wire(x, wire):
    qml.RX(x, wires=wire)
    return qml.expval(qml.Z(0))


def groups(compiled) -> list[int]:
    """How many QNodes each equation has that runs several at once, at any depth."""

    def found(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "concurrent_qnodes":
                yield len(equation.params["branch_jaxprs"])
                continue
            for inner in jaxprs_in(equation.params):
                yield from found(inner)

    return list(found(compiled.jaxpr.jaxpr))


def is_unchanged(function, *arguments, together):
    """All bits are those of the program without the option; so many QNodes ran at once."""
    expected, compiled = qjit(function)(*arguments), qjit(function, async_qnodes=True)
    results = compiled(*arguments)
    assert jax.tree.structure(results) == jax.tree.structure(expected)
    for left, right in zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    assert groups(compiled) == together


def test_qnodes_of_all_kinds_run_at_once_with_arithmetic_between():
    def program(x, scale):
        first = everything(x)
        doubled = jnp.tanh(first[1]) * 2
        moved = jnp.sin(x) * scale
        return first, doubled, everything(moved), average(0.5), average(x[0]), moved

    is_unchanged(program, jnp.array([0.3, -1.2]), 2, together=[4])


def test_a_result_that_a_qnode_needs_is_waited_for():
    def program(x):
        a, b = average(x), average(2 * x)
        c, d = average(a + b), average(x)
        return c * d, average(c)

    is_unchanged(program, 0.7, together=[2, 2])


def test_larger_states_and_sizes_known_at_run_time():
    n = 15

    def layers(x):
        for wire in range(n):
            qml.RX(x[wire], wires=wire)
            qml.CNOT([wire, (wire + 1) % n])
        return qml.probs(wires=[0, 7]), qml.expval(qml.X(3))

    circuit = qnode(layers, wires=n)
    is_unchanged(lambda x: (circuit(x), circuit(-x)), jnp.linspace(0, 1, n), together=[2])


def test_arguments_of_any_size_and_circuits_that_define_sizes():
    @qnode
    def of_any_size(x):
        for_loop(0, x.shape[0], 1)(lambda i: qml.RX(x[i], wires=1))()
        return qml.probs()

    @qnode
    def with_a_size():
        qml.X(0)
        number = measure(0).astype(int) + 2
        return number, jnp.arange(number)

    def program(x):
        return of_any_size(x), of_any_size(2 * x), with_a_size(), with_a_size()

    compiled = qjit(program, abstracted_axes={0: "n"}, async_qnodes=True)
    for size in (1, 4):
        results = compiled(jnp.arange(float(size)))
        expected = qjit(program)(jnp.arange(float(size)))
        leaves = map(jax.tree.leaves, (results, expected))
        assert all(map(np.array_equal, *leaves))
    assert str(compiled.jaxpr).count("concurrent_qnodes") == 1


def test_loops_branches_gradients_and_batches():
    def step(_, x):
        return x - 0.1 * average(x) + 0.2 * average(2 * x) - grad(average)(x)

    def program(x):
        looped = for_loop(0, 3, 1)(step)(x)
        chosen = cond(x > 0)(lambda: average(x) + average(-x))
        chosen.otherwise(lambda: average(x))
        batch = vmap(lambda y: average(y) * average(2 * y))(jnp.array([x, 2 * x]))
        return looped, chosen(), batch, grad(lambda y: average(y) * average(3 * y))(x)

    expected, compiled = qjit(program)(0.4), qjit(program, async_qnodes=True)
    assert all(map(np.array_equal, compiled(0.4), expected))
    assert groups(compiled)[:2] == [2, 2]
    around = qjit(lambda x: average(x) * average(3 * x), async_qnodes=True)
    assert np.isclose(jax.grad(around)(0.4), expected[3])
    assert np.allclose(jax.vmap(around)(jnp.array([0.4, 0.8])), [around(0.4), around(0.8)])


def test_the_first_error_in_the_order_of_the_program_is_reported():
    def program(x, wires):
        a = on_wire(x, wires[0])
        b = on_wire(x, wires[1])
        return a + b + on_wire(x, wires[2])

    plain, compiled = qjit(program), qjit(program, async_qnodes=True)
    for wires in ([0, 7, 9], [8, 0, 9], [0, 1, 5], [6, 5, 4]):
        with pytest.raises(WireOutOfRangeError) as expected:
            plain(0.1, jnp.array(wires))
        for _ in range(5):
            with pytest.raises(WireOutOfRangeError) as error:
                compiled(0.1, jnp.array(wires))
            assert str(error.value) == str(expected.value)
    assert groups(compiled) == [3]
    assert compiled(0.1, jnp.array([0, 1, 2])) == plain(0.1, jnp.array([0, 1, 2]))


def test_what_is_printed_keeps_its_order(capfd):
    @qnode
    def printing(x, name):
        debug.print(name + " {}", x)
        qml.RX(x, wires=0)
        return qml.expval(qml.Z(0))

    @qnode
    def calling(x):
        y = jax.pure_callback(lambda x: np.sin(x), jax.ShapeDtypeStruct((), float), x)
        qml.RX(y, wires=0)
        return qml.expval(qml.Z(0))

    def program(x):
        a, b = printing(x, "a"), average(x)
        debug.print("between {}", x)
        c, d = average(-x), printing(2 * x, "b")
        return a, b, c, d, calling(x), average(x), average(a)

    compiled = qjit(program, async_qnodes=True)
    results = compiled(0.5)
    jax.effects_barrier()
    assert capfd.readouterr().out.split("\n")[:-1] == ["a 0.5", "between 0.5", "b 1.0"]
    assert groups(compiled) == [3]
    assert np.array_equal(results, qjit(program)(0.5))


def test_each_qnode_draws_for_itself():
    @qml.set_shots(4000)
    @qnode
    def sampled():
        qml.Hadamard(wires=0)
        return qml.sample(wires=0)

    compiled = qjit(lambda: (sampled(), sampled(), sampled()), async_qnodes=True)
    drawn = np.concatenate([np.stack(compiled())[..., 0], np.stack(compiled())[..., 0]])
    assert groups(compiled) == [3]
    correlations = np.corrcoef(drawn) - np.eye(6)
    assert np.abs(correlations).max() < 0.08
    assert np.abs(drawn.mean(axis=1) - 0.5).max() < 0.05


def test_a_seed_is_refused():
    with pytest.raises(CompileError, match="async_qnodes does not go with seed"):
        qjit(lambda: average(0.1), async_qnodes=True, seed=1)
