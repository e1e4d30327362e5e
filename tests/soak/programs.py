"""Programs that are called under load, one family for each path through the runtime.

A family is made by a function that returns `Call`s. What is right is computed without `qjit`: by
JAX, by PennyLane's own simulators, by a formula.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

import diastase
from diastase import cond, for_loop, measure, qjit


class WrongResult(AssertionError):
    """A call gave something else than what is right."""


@dataclass
class Call:
    """A compiled function, arguments, and the results that it must give."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    right: Any

    def __post_init__(self) -> None:
        leaves, self.tree = jax.tree.flatten(self.right)
        self.leaves = [np.array(leaf) for leaf in leaves]
        self.bits = [leaf.tobytes() for leaf in self.leaves]
        """Of results that were found right: most are these again, and need not be compared."""

    def check(self) -> Any:
        """Call it and compare; return the results."""
        results = self.function(*self.arguments)
        leaves, tree = jax.tree.flatten(results)
        if tree != self.tree or not all(map(self._is_right, range(len(leaves)), leaves)):
            raise WrongResult(f"{results!r} in place of {self.right!r}")
        return results

    def _is_right(self, number: int, found: Any) -> bool:
        found, right = np.asarray(found), self.leaves[number]
        if found.shape != right.shape or found.dtype != right.dtype:
            return False
        bits = found.tobytes()
        if bits != self.bits[number]:
            if not np.allclose(found, right, rtol=1e-9, atol=1e-9):
                return False
            self.bits[number] = bits
        return True


def calls_of(function: Callable, plain: Callable, arguments: Sequence[tuple]) -> list[Call]:
    """Calls of one function; `plain` says what is right."""
    return [Call(function, given, plain(*given)) for given in arguments]


# --- classical ------------------------------------------------------------------------------------


def classical() -> list[Call]:
    """Arrays of JAX's and NumPy's and numbers in, a pytree out: scalars, copies, memory we own."""

    def small(x, scale):
        return {"sine": jnp.sin(x) * scale, "sum": (x * scale).sum()}

    def large(x):
        return x * 2, (x > 0).sum()

    numbers = np.linspace(-1, 1, 8)
    arguments = [(jnp.asarray(numbers), 0.5), (numbers, 1.5), (jnp.asarray(numbers), numbers[0])]
    long = [(jnp.linspace(-1, 1, 6000),), (np.linspace(-2, 1, 12_000)[::2],)]
    calls = calls_of(qjit(small), jax.jit(small), arguments) * 4
    return calls + calls_of(qjit(large), jax.jit(large), long)


def many_arrays() -> list[Call]:
    """As many arrays as XLA's dispatch is used for, after a time."""

    def mixed(a, b, c):
        return a + b, b * c, (c - a).sum(), {"a": jnp.cos(a)}

    arrays = [jnp.linspace(k, k + 1, 5) for k in range(3)]
    return calls_of(qjit(mixed), jax.jit(mixed), [tuple(arrays), tuple(arrays[::-1])])


def sizes() -> list[Call]:
    """Sizes that are arguments, of arguments, and of data; more of them than a function notes."""
    ramp = qjit(lambda n: (jnp.arange(n) * 2.0)[::-1])
    total = qjit(lambda x: (x * x).sum(), dynamic_dims="auto")
    positive = qjit(lambda x: x[x > 0] * 2)
    calls = []
    for n in np.random.default_rng(5).permutation(2500).tolist():
        x = np.sin(np.arange(n, n + 50, dtype=float)) - 1 + n % 3
        calls.append(Call(ramp, (n,), np.arange(n)[::-1] * 2.0))
        calls.append(Call(total, (np.full(n, 0.5),), np.float64(n * 0.25)))
        calls.append(Call(positive, (x,), x[x > 0] * 2))
    return calls


# --- circuits -------------------------------------------------------------------------------------


def device(wires: int) -> qml.devices.Device:
    return qml.device("default.qubit", wires=wires)


@qml.qnode(device(3))
def rotations(angle):
    qml.RX(angle, 0)
    qml.CNOT([0, 1])
    qml.RY(2 * angle, 1)
    qml.CRZ(angle, [1, 2])
    return qml.expval(qml.Z(1)), qml.probs(wires=[0, 2])


def circuits() -> list[Call]:
    """A QNode, and one with a loop, a measurement and a branch."""

    @qjit
    @qml.qnode(device(3))
    def fed_forward(angle, n):
        @for_loop(0, n, 1)
        def turn(_):
            qml.RX(angle, 0)

        turn()
        outcome = measure(0, reset=True)
        cond(outcome)(lambda: qml.X(1))()
        qml.X(2)
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(2))

    angles = [(k * 0.1,) for k in range(8)]
    reset = [Call(fed_forward, (0.3, n), (np.float64(1), np.float64(-1))) for n in range(2)]
    return calls_of(qjit(rotations), by_pennylane(rotations), angles) + reset


def by_pennylane(function: Callable) -> Callable:
    """The same without `qjit`, with results of the same types."""
    return lambda *args: jax.tree.map(np.asarray, function(*map(np.asarray, args)))


def gradients() -> list[Call]:
    """Adjoint differentiation, and of classical code; whole gradients and values besides."""

    @qml.qnode(device(2))
    def energy(angles):
        qml.RX(angles[0], 0)
        qml.RY(angles[1], 1)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    def formula(angles):
        return jnp.cos(angles[0]) * jnp.cos(angles[1])

    def loss(x):
        return (jnp.sin(x) * x).sum()

    arguments = [(jnp.array([0.3 * k, 0.7 - 0.1 * k]),) for k in range(6)]
    of_circuit = calls_of(qjit(diastase.grad(energy)), jax.jit(jax.grad(formula)), arguments)
    both = qjit(diastase.value_and_grad(loss))
    return of_circuit + calls_of(both, jax.jit(jax.value_and_grad(loss)), arguments)


def shots() -> list[Call]:
    """Samples and counts with a seed, which gives the same each time."""

    def sampled(kind):
        def circuit(angle):
            qml.RX(angle, 0)
            qml.CNOT([0, 1])
            return kind()

        return qjit(qml.set_shots(qml.QNode(circuit, device(2)), 10), seed=7)

    functions = [sampled(qml.sample), sampled(qml.counts), sampled(lambda: qml.expval(qml.Z(1)))]
    calls = [Call(f, (angle,), f(angle)) for f in functions for angle in (0.4, 2.0)]
    (of_all,) = {Call(f, (0.0,), f(0.0)).leaves[0].sum() for f in functions[:1]}
    assert of_all == 0  # nothing is turned, so all samples are zeros
    return calls


# --- Python and JAX around and inside -------------------------------------------------------------


def callbacks() -> list[Call]:
    """Python called by compiled code: for values, and for nothing."""
    seen: list[int] = []

    def program(x):
        shape = jax.ShapeDtypeStruct((4,), float)
        diastase.debug.callback(lambda v: seen.append(len(seen) % 2) or seen.clear())(x)
        return jax.pure_callback(lambda v: np.asarray(v) * 2, shape, x) + 1

    @diastase.pure_callback
    def halved(x) -> float:
        return x / 2

    arguments = [(jnp.arange(4.0),), (np.ones(4),)]
    calls = calls_of(qjit(program), lambda x: np.asarray(x) * 2 + 1, arguments)
    return calls + calls_of(
        qjit(lambda x: halved(x) * x), lambda x: np.float64(x * x / 2), [(3.0,)]
    )


def transformed() -> list[Call]:
    """A batch in one program, and programs that XLA calls, in `jax.jit` and in its gradient."""

    def expectation(angle):
        return rotations(angle)[0]

    angles = jnp.linspace(0.0, 1.0, 5)
    reference = by_pennylane(expectation)
    values = np.array([reference(angle) for angle in np.asarray(angles)])
    batch = Call(qjit(diastase.vmap(expectation)), (angles,), values)
    circuit = qjit(expectation)
    inside = jax.jit(lambda x: circuit(x) * 2)
    pair = calls_of(inside, lambda x: 2 * reference(x), [(0.2,), (jnp.asarray(0.7),)])

    square = qjit(lambda x: (x * x).sum())
    slope = Call(jax.jit(jax.grad(square)), (jnp.arange(3.0),), np.arange(3.0) * 2)
    return [batch, *pair, slope]


FAMILIES: dict[str, Callable[[], Sequence[Call]]] = {
    make.__name__: cache(make)
    for make in (
        classical, many_arrays, sizes, circuits, gradients, shots, callbacks, transformed,
    )
}  # fmt: skip


def everything() -> list[Call]:
    """Some calls of each family, compiled once."""
    return [call for make in FAMILIES.values() for call in make()[:40]]
