"""Random differentiable programs: gradients and derivatives along a direction, beside plain JAX.

A program is a list of statements over four numbers: classical ones, loops and conditionals around
others, circuits with random gates and one measurement. Compiled, loops and conditionals are ours
and QNodes are compiled; the reference is the same program outside of `qjit`, where loops are
Python's, by `jax.grad` and `jax.jvp` through backprop on `default.qubit`.

The number of programs is `DIASTASE_RANDOM_PROGRAMS` (6 unless set), for a long run:

    DIASTASE_RANDOM_PROGRAMS=500 pytest tests/derivatives/test_random_programs.py
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, qjit

PROGRAMS = int(os.environ.get("DIASTASE_RANDOM_PROGRAMS", "6"))
SIZE, WIRES = 4, 2
DEVICE = qml.device("default.qubit", wires=WIRES)
PLACES = st.integers(0, SIZE - 1)

ELEMENTARY = {
    "sine": jnp.sin,
    "wave": lambda a: jnp.cos(2 * a) * a,
    "bounded": lambda a: jnp.tanh(a) + 0.1 * a,
    "bell": lambda a: jnp.exp(-(a**2)),
    "complex": lambda a: jnp.abs(jnp.exp(1j * a) + 0.5j * a) - 0.7,
    "root": lambda a: jnp.sqrt(1.5 + a**2) - 1.0,
}
WHOLE = {
    "sorted": jnp.sort,
    "rolled": lambda v: jnp.roll(v, 1) * 0.9,
    "sums": lambda v: jnp.cumsum(v) / SIZE,
    "solved": lambda v: jnp.linalg.solve(jnp.outer(v, v) + 2 * jnp.eye(SIZE), v + 0.3),
    "moved": lambda v: v.at[1].add(jnp.sin(v[0]) * v[3]),
    "norm": lambda v: v / jnp.sqrt(1 + v @ v),
}
GATES = {
    "RX": (1, 1),
    "RY": (1, 1),
    "RZ": (1, 1),
    "PhaseShift": (1, 1),
    "Rot": (3, 1),
    "CNOT": (0, 2),
    "CRX": (1, 2),
    "IsingYY": (1, 2),
    "SingleExcitation": (1, 2),
    "Hadamard": (0, 1),
}
MEASUREMENTS = {
    "word": lambda v: qml.expval(qml.Z(0) @ qml.X(1)),
    "sum": lambda v: qml.expval(qml.Hamiltonian(jnp.stack([v[0], v[1]]), [qml.Y(0), qml.Z(1)])),
    "var": lambda v: qml.var(qml.X(1)),
    "probs": lambda v: qml.probs([1]),
    "matrix": lambda v: qml.expval(qml.Hermitian(np.array([[1, 2j], [-2j, 0.5]]), 0)),
}

gate = st.sampled_from(sorted(GATES)).flatmap(
    lambda name: st.tuples(
        st.just("gate"),
        st.just(name),
        st.lists(PLACES, min_size=GATES[name][0], max_size=GATES[name][0]),
        st.permutations(range(WIRES)).map(lambda wires: wires[: GATES[name][1]]),
    )
)


def around(statement):
    """Loops and conditionals of statements."""
    body = st.lists(statement, min_size=1, max_size=2)
    return st.one_of(
        st.tuples(st.just("loop"), st.integers(0, 2), st.booleans(), body),
        st.tuples(st.just("choice"), PLACES, st.floats(-0.5, 0.5), body, body),
    )


circuit = st.tuples(
    st.just("circuit"),
    st.lists(st.one_of(gate, gate, around(gate)), min_size=1, max_size=4),
    st.sampled_from(sorted(MEASUREMENTS)),
    PLACES,
)
simple = st.one_of(
    st.tuples(st.just("elementary"), st.sampled_from(sorted(ELEMENTARY)), PLACES, PLACES),
    st.tuples(st.just("whole"), st.sampled_from(sorted(WHOLE))),
    circuit,
)
statement = st.one_of(simple, around(simple))
programs = st.lists(statement, min_size=1, max_size=3)


def run(statements, values, n):
    """Run statements on an array of numbers; `n` is a number known at run time, 1."""
    for kind, *parts in statements:
        values = RUN[kind](values, n, *parts)
    return values


def run_elementary(values, n, name, target, source):
    return values.at[target].add(ELEMENTARY[name](values[source]))


def run_whole(values, n, name):
    return WHOLE[name](values)


def run_loop(values, n, count, is_traced, body):
    @for_loop(0, count * n if is_traced else count, 1)
    def loop(i, values):
        return run(body, values * (1.0 - 0.1 * i), n)

    return loop(values)


def run_choice(values, n, place, border, body, other):
    @cond(values[place] > border)
    def branch(values):
        return run(body, values, n)

    @branch.otherwise
    def branch(values):
        return run(other, values, n)

    return branch(values)


def run_gate(values, n, name, places, wires):
    getattr(qml, name)(*(values[place] for place in places), wires=wires)
    return values


def run_circuit(values, n, gates, measured, target):
    @qml.qnode(DEVICE, diff_method="best" if isinstance(n, jax.core.Tracer) else "backprop")
    def node(values):
        run(gates, values, n)
        return MEASUREMENTS[measured](values)

    return values.at[target].add(jnp.ravel(node(values))[0])


RUN = {
    "elementary": run_elementary,
    "whole": run_whole,
    "loop": run_loop,
    "choice": run_choice,
    "gate": run_gate,
    "circuit": run_circuit,
}


def all_of(statements):
    """Value, gradient, and derivatives along a direction of it and of the gradient."""

    def program(x, n):
        def loss(x):
            return run(statements, x, n) @ jnp.array([1.0, -0.7, 0.4, 0.9])

        direction = jnp.cos(jnp.arange(1.0, SIZE + 1))
        gradient, second = jax.jvp(jax.grad(loss), (x,), (direction,))
        return loss(x), gradient, jax.jvp(loss, (x,), (direction,))[1], second

    return program


@settings(
    max_examples=PROGRAMS,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs, st.lists(st.floats(-1.5, 1.5), min_size=SIZE, max_size=SIZE))
def test_derivatives_of_random_programs(statements, numbers):
    # Not at a border or at equal numbers, where one-sided derivatives differ.
    x = jnp.array(numbers) + jnp.array([0.011, 0.0237, -0.0173, 0.0391])
    found = qjit(all_of(statements))(x, 1)
    expected = all_of(statements)(x, 1)
    for mine, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-8, rtol=1e-8)
