"""Random differentiable programs: gradients and derivatives along a direction, beside plain JAX.

A program is a list of statements over four numbers: classical ones (elementary functions, complex
numbers, linear algebra, arrays of a size known at run time); loops of either kind, conditionals and
switches around others; circuits with random gates, some of them in loops and branches and on wires
known at run time, and one measurement, by any `diff_method` that has its derivative. Compiled,
loops and branches are ours and QNodes are compiled; the reference is the same program outside of
`qjit`, where loops are Python's, by `jax.grad` and `jax.jvp` through backprop on `default.qubit`.

The number of programs is `DIASTASE_RANDOM_PROGRAMS` (6 unless set), for a long run:

    DIASTASE_RANDOM_PROGRAMS=500 pytest tests/frontend/autodiff/test_random_programs.py
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diastase import cond, for_loop, qjit, switch, while_loop
from sampled import examples

PROGRAMS = int(os.environ.get("DIASTASE_RANDOM_PROGRAMS", examples(6)))
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
    "complex product": lambda v: jnp.real((v + 1j * jnp.roll(v, 1)) ** 2 * (0.3 - 0.2j)),
    "filtered": lambda v: jnp.real(jnp.fft.ifft(jnp.fft.fft(v) * (1 + 0.2j * jnp.arange(SIZE)))),
    "factored": lambda v: jnp.linalg.cholesky(jnp.outer(v, v) + 2 * jnp.eye(SIZE)) @ v / 3,
    "spectrum": lambda v: v - jnp.linalg.eigvalsh(jnp.outer(v, v) / 9 + jnp.diag(jnp.arange(4.0))),
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
SHIFTED = ("best", "adjoint", "parameter-shift")
METHODS = {"word": (*SHIFTED, "hadamard"), "probs": (*SHIFTED, "hadamard")}
"""Those that have derivatives of a measurement; `SHIFTED` of the others."""

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
        st.booleans(),
    )
)
matrix_gate = st.tuples(st.just("matrix"), PLACES, PLACES, st.integers(0, WIRES - 1))


def around(statement):
    """Loops and conditionals of statements."""
    body = st.lists(statement, min_size=1, max_size=2)
    return st.one_of(
        st.tuples(st.just("loop"), st.integers(0, 2), st.booleans(), body),
        st.tuples(st.just("repetition"), PLACES, st.floats(0.1, 1.2), body),
        st.tuples(st.just("choice"), PLACES, st.floats(-0.5, 0.5), body, body),
        st.tuples(st.just("selection"), PLACES, st.lists(body, min_size=2, max_size=3)),
    )


def circuits(gates, methods_of):
    """Circuits with these gates, by these methods for each measurement."""
    return st.sampled_from(sorted(MEASUREMENTS)).flatmap(
        lambda measured: st.tuples(
            st.just("circuit"),
            st.lists(st.one_of(gates, gates, around(gates)), min_size=1, max_size=4),
            st.just(measured),
            st.sampled_from(methods_of(measured)),
            PLACES,
        )
    )


circuit = st.one_of(
    circuits(gate, lambda measured: METHODS.get(measured, SHIFTED)),
    circuits(st.one_of(gate, matrix_gate), lambda _: ("best", "adjoint")),
)
simple = st.one_of(
    st.tuples(st.just("elementary"), st.sampled_from(sorted(ELEMENTARY)), PLACES, PLACES),
    st.tuples(st.just("whole"), st.sampled_from(sorted(WHOLE))),
    st.tuples(st.just("sized"), st.integers(0, 3), PLACES, PLACES),
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


def run_repetition(values, n, place, border, body):
    """A loop whose end depends on the values, and that hands on what ends it."""

    @while_loop(lambda level, values: level < border)
    def loop(level, values):
        return level + 0.3 + 0.2 * values[place] ** 2, run(body, values * 0.9, n)

    level, values = loop(0.1 * values[place] ** 2, values)
    return values.at[place].add(0.2 * level)


def run_selection(values, n, place, bodies):
    """A branch by an integer made of the values."""
    number = jnp.floor(jnp.abs(values[place]) * 3).astype(int) % len(bodies)
    branches = switch(number)(lambda values: run(bodies[0], values, n))
    for k, body in enumerate(bodies[1:], 1):
        branches.branch(k)(lambda values, body=body: run(body, values, n))
    return branches(values)


def run_sized(values, n, more, target, source):
    """Sums over arrays as long as a number known at run time says."""
    line = jnp.arange(n + more) * 0.4 + values[source]
    table = jnp.outer(jnp.sin(line), jnp.cos(line * values[0]))
    return values.at[target].add(jnp.sum(table @ jnp.ones(n + more)) / 9 + line[n - 1] / 5)


def run_choice(values, n, place, border, body, other):
    @cond(values[place] > border)
    def branch(values):
        return run(body, values, n)

    @branch.otherwise
    def branch(values):
        return run(other, values, n)

    return branch(values)


def run_gate(values, n, name, places, wires, are_traced):
    wires = [wire + n - 1 for wire in wires] if are_traced else wires
    getattr(qml, name)(*(values[place] for place in places), wires=wires)
    return values


def run_matrix(values, n, place, other, wire):
    """A gate by its matrix, which depends on two numbers."""
    c, s, phase = jnp.cos(values[place]), jnp.sin(values[place]), jnp.exp(1j * values[other])
    qml.QubitUnitary(jnp.array([[c, -s * phase], [s, c * phase]]), wire)
    return values


def run_circuit(values, n, gates, measured, method, target):
    @qml.qnode(DEVICE, diff_method=method if isinstance(n, jax.core.Tracer) else "backprop")
    def node(values):
        run(gates, values, n)
        return MEASUREMENTS[measured](values)

    return values.at[target].add(jnp.ravel(node(values))[0])


RUN = {
    "elementary": run_elementary,
    "whole": run_whole,
    "loop": run_loop,
    "repetition": run_repetition,
    "choice": run_choice,
    "selection": run_selection,
    "sized": run_sized,
    "gate": run_gate,
    "matrix": run_matrix,
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
