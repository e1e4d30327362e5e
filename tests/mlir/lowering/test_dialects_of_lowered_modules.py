"""What lowering makes is StableHLO and our dialects, with loops of registers around them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop
from diastase_mlir.bindings import session
from diastase_mlir.bindings.pass_pipeline import Stage, StageFailure, check_legality
from diastase_mlir.dialects import parse
from diastase_mlir.driver.pipeline import DIALECTS

STAGE = Stage("lowered", "what lowering made", (), remain=DIALECTS)
V = np.linspace(0.1, 1.0, 6)
DEVICE = qml.device("lightning.qubit", wires=3)


def qnode(function: Callable, **options: Any) -> Any:
    return qml.qnode(DEVICE, **options)(function)


def layers(x: Any) -> Any:
    for wire in range(3):
        qml.RX(x[wire], wire)
    qml.CNOT([0, 1])
    return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1])


def loops(x: Any) -> Any:
    for_loop(0, 3, 1)(lambda i: qml.RX(x[i], i))()
    return qml.expval(qml.Hamiltonian([x[0], 0.3], [qml.Z(0), qml.X(1) @ qml.Y(2)]))


def until(x: Any) -> Any:
    @while_loop(lambda k: k < x[0] * 9)
    def more(k: Any) -> Any:
        qml.RY(x[1], k % 3)
        return k + 1

    more(0)
    return qml.expval(qml.Z(0))


def measured(x: Any) -> Any:
    qml.RX(x[0], 0)
    measure(0, postselect=1)

    @cond(measure(1))
    def turn():
        qml.RX(x[1], 2)

    turn()
    return qml.expval(qml.Z(1))


def sampled(x: Any) -> Any:
    qml.RX(x[0], 0)
    outcome = measure(0)
    return qml.expval(outcome), qml.counts(), qml.sample()


def of_two(x: Any, y: Any) -> Any:
    qml.RX(x[0] * y, 0)
    return qml.expval(qml.Z(0))


def on_any_wire(x: Any) -> Any:
    qml.CNOT([jnp.argmax(x) % 3, (jnp.argmax(x) + 1) % 3])
    qml.StatePrep(x[:2] / jnp.linalg.norm(x[:2]), [2])
    return qml.state(), qml.var(qml.Hermitian(np.eye(2), 0))


def shadow(x: Any) -> Any:
    qml.RX(x[0], 0)
    return qml.classical_shadow([0, 1])


def twice(x: Any) -> Any:
    circuit = qnode(loops)
    return circuit(x) + circuit(x * 2) + circuit(jnp.asarray(V))


PROGRAMS: dict[str, Callable] = {
    "gates": qnode(layers),
    "loops": qnode(loops),
    "while": qnode(until),
    "any wire": qnode(on_any_wire),
    "measured": qnode(measured),
    "tree": qnode(measured, mcm_method="tree-traversal"),
    "shots": qml.set_shots(qnode(sampled), 10),
    "one-shot": qml.set_shots(qnode(sampled, mcm_method="one-shot"), 10),
    "shadow": qml.set_shots(qnode(shadow), 10),
    "gradient": jax.grad(lambda x: qnode(layers)(x)[0]),
    "gradient of loops": jax.grad(qnode(loops)),
    "parameter-shift": jax.grad(lambda x: qnode(layers, diff_method="parameter-shift")(x)[0]),
    "equal circuits": twice,
    "equal circuits' gradient": jax.grad(twice),
    "a batch": lambda x: jax.vmap(qnode(layers))(x * jnp.ones((4, 1))),
    "batches of batches": lambda x: jax.vmap(jax.vmap(qnode(of_two), (None, 0)), (0, None))(
        x * jnp.ones((4, 1)), x
    ),
    "gradient of a batch": jax.grad(lambda x: jax.vmap(qnode(loops))(jnp.stack([x, x])).sum()),
    "an empty batch": lambda x: jax.vmap(qnode(layers))(jnp.ones((0, 3))),
    "keys": lambda x: jax.random.normal(jax.random.PRNGKey(jnp.argmax(x)), (3,)),
    "callback": lambda x: jax.pure_callback(lambda a: a, x, x),
    "checked": lambda x: cond(x[0] > 0.5)(lambda: jnp.linalg.inv(jnp.diag(x))).otherwise(
        lambda: jnp.eye(6)
    )(),
}


def assert_lowered(program: Callable, *arguments: Any, **options: Any) -> None:
    lowered = qjit(program, **options).lower(*arguments)
    with session():
        check_legality(STAGE, parse(lowered.module.bytecode))


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", PROGRAMS)
def test_lowering_makes_nothing_else(name: str):
    assert_lowered(PROGRAMS[name], V)


def test_qnodes_at_once():
    circuit = qnode(layers)
    assert_lowered(lambda x: (circuit(x), circuit(x * 2)), V, async_qnodes=True)


def test_a_batch_of_any_size():
    program = jax.vmap(qnode(of_two), (0, None))
    assert_lowered(program, np.ones((4, 3)), 0.1, abstracted_axes=({0: "n"}, {}))


def test_anything_else_is_named():
    text = 'func.func @f() { %0 = arith.constant 1 : i64 loc("/u/f.py":3:1)\n return }'
    with session(), pytest.raises(StageFailure) as caught:
        check_legality(STAGE, parse(text))
    assert "arith.constant" in caught.value.reason
    assert caught.value.span is not None
    assert caught.value.span.line == 3
