"""`outline_parts`, `inline_parts`: long chains of operations on arrays, bufferized in parts.

What must hold whatever the cuts are: answers, and that an array is written in place. Random
programs set and add elements, rows and slices of arrays, keep old versions, and do so in loops and
branches.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import debug, grad, qjit
from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers.parts import outline_parts as outlining
from diastase_mlir.passes.buffers.parts.inline_parts import inline_parts
from diastase_mlir.passes.buffers.parts.outline_parts import outline_parts
from sampled import examples

MOST_OPERATIONS, OPERATIONS_OF_A_PART = 4, 2
UPDATES = 19
SIZE = 3 * UPDATES


@pytest.fixture
def short_parts(monkeypatch):
    """Parts are as short as can be; programs of other tests are not found instead."""
    monkeypatch.setattr(outlining, "MOST_OPERATIONS", MOST_OPERATIONS)
    monkeypatch.setattr(outlining, "OPERATIONS_OF_A_PART", OPERATIONS_OF_A_PART)
    monkeypatch.setenv("DIASTASE_CACHE", "0")


def set_one(a, x, j):
    for number in range(UPDATES):
        a = a.at[number].set(x * number)
    return a


def add_one(a, x, j):
    for number in range(UPDATES):
        a = a.at[number // 2].add(jnp.sin(x * number))
    return a


def set_traced(a, x, j):
    for number in range(UPDATES):
        a = a.at[j + number].set(a[number] + x)
    return a


def set_slices(a, x, j):
    for number in range(UPDATES):
        a = a.at[2 * number : 2 * number + 3].set(x * number)
    return a


def slices_at_traced_places(a, x, j):
    for number in range(UPDATES):
        a = jax.lax.dynamic_update_slice(a, jnp.full(2, x * number), (j + number,))
    return a


def scattered(a, x, j):
    for number in range(UPDATES):
        a = a.at[j + jnp.arange(3) + number].add(x * number)
    return a


def several_in_turn(a, x, j):
    arrays = [a, a + 1, a * 2]
    for number in range(UPDATES):
        here = number % 3
        arrays[here] = arrays[here].at[number].set(x * number + arrays[here - 1][number // 2])
    return arrays


def the_old_one_is_read(a, x, j):
    first = a
    for number in range(UPDATES):
        a = a.at[number].set(first[number + 1] * x)
        if number == UPDATES // 2:
            first = a
    return a, first


def in_a_loop(a, x, j):
    def body(turn, a):
        return set_one(a, x + turn + a[j], j)

    return jax.lax.fori_loop(0, 4, body, a)


def in_a_loop_that_stops(a, x, j):
    def body(state):
        turn, a = state
        return turn + 1, add_one(a, x + turn, j)

    return jax.lax.while_loop(lambda state: state[0] < j, body, (0, a))


def in_branches(a, x, j):
    return jax.lax.cond(x > 1, set_one, add_one, a, x, j)


def differentiated(a, x, j):
    return jax.grad(lambda x: jnp.sum(set_one(a, jnp.sin(x), j) ** 2))(x)


def slices_of_old_values(a, x, j):
    """Views that are used in other parts than those which make them."""
    head = a[1:-1]
    for number in range(UPDATES):
        a = a.at[number].set(head[number] * x + jnp.sum(head))
    return a, head


def chain(a, x, j):
    kept = []
    for number in range(UPDATES):
        a = jnp.sin(a) * 0.5 + jnp.tanh(a.sum()) * 0.1 + x
        a = jnp.roll(a, -1) * 0.9
        if number % 7 == 0:
            a = jnp.cumsum(jnp.sort(a)) / SIZE
            kept.append(a)
    return a, kept


UPDATES_IN_PLACE = [
    set_one, add_one, set_traced, set_slices, slices_at_traced_places, scattered, several_in_turn,
    in_a_loop,
]  # fmt: skip
OTHERS = [
    the_old_one_is_read, in_a_loop_that_stops, in_branches, differentiated, slices_of_old_values,
    chain,
]  # fmt: skip
ARGUMENTS = np.linspace(-1.0, 2.0, SIZE), 1.25, 3


@pytest.mark.sample(2)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [*UPDATES_IN_PLACE, *OTHERS])
def test_answers_are_jaxs(short_parts, function, dynamic):
    compiled = qjit(function, abstracted_axes=({0: "n"}, {}, {})) if dynamic else qjit(function)
    kept = ARGUMENTS[0].copy()
    found = jax.tree.leaves(compiled(*ARGUMENTS))
    array, x, j = ARGUMENTS
    expected = jax.tree.leaves(function(jnp.asarray(array), x, j))
    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(array, kept)


@pytest.mark.sample(3)
@pytest.mark.parametrize("function", UPDATES_IN_PLACE)
def test_the_array_is_not_copied_for_updates(short_parts, function):
    """Once for each array that changes, as arguments do not, and results are not arguments."""
    compiled = qjit(function)
    compiled(*ARGUMENTS)
    text = debug.get_compilation_stage(compiled, "deallocate")
    allocated = re.findall(rf"memref\.alloc\(\).*memref<{SIZE}xf64>", text)
    assert 1 <= len(allocated) <= 3
    assert ".part" not in text


def test_parts_of_parts(short_parts):
    """However long a block is, no function of its parts is."""
    updates = "\n".join(
        f"%a{n + 1} = tensor.insert %x into %a{n}[%i] : tensor<?xf64>" for n in range(3000)
    )
    text = f"""
        func.func @f(%a0: tensor<?xf64>, %x: f64, %i: index) -> tensor<?xf64> {{
          {updates}
          return %a3000 : tensor<?xf64>
        }}"""
    with session():
        module = parse(text.encode())
        before = str(module)
        outline_parts(module)
        assert module.operation.verify()
        for function in module.body.operations:
            assert len(list(function.body.blocks[0])) <= MOST_OPERATIONS + 2
        names = [ir.StringAttr(f.attributes["sym_name"]).value for f in module.body.operations]
        assert len(names) > 3000 // OPERATIONS_OF_A_PART
        inline_parts(module)
        assert str(module) == before


def test_short_blocks_stay():
    text = b"""
        func.func @f(%a: tensor<9xf64>, %x: f64, %i: index) -> tensor<9xf64> {
          %b = tensor.insert %x into %a[%i] : tensor<9xf64>
          %c = tensor.insert %x into %b[%i] : tensor<9xf64>
          return %c : tensor<9xf64>
        }"""
    with session():
        module = parse(text)
        before = str(module)
        outline_parts(module)
        assert str(module) == before


SHAPE = (5, 4)
places = st.tuples(st.integers(0, 4), st.integers(0, 3))
arrays = st.integers(0, 2)
steps = st.one_of(
    st.tuples(st.just("set"), arrays, places, arrays, places),
    st.tuples(st.just("set"), arrays, places, arrays, places),
    st.tuples(st.just("set somewhere"), arrays, places, arrays),
    st.tuples(st.just("add"), arrays, places),
    st.tuples(st.just("row"), arrays, places, arrays),
    st.tuples(st.just("slice"), arrays, places, arrays),
    st.tuples(st.just("slice somewhere"), arrays, places, arrays),
    st.tuples(st.just("scatter"), arrays, arrays),
    st.tuples(st.just("sum"), arrays, places, arrays),
    st.tuples(st.just("sum of a slice"), arrays, places, arrays),
    st.tuples(st.just("slice before"), arrays, places, arrays),
    st.tuples(st.just("combine"), arrays, arrays),
    st.tuples(st.just("flip"), arrays, arrays),
    st.tuples(st.just("copy"), arrays, arrays),
    st.tuples(st.just("keep"), arrays),
)
programs = st.lists(
    st.recursive(
        steps,
        lambda inner: st.one_of(
            st.tuples(st.just("for"), st.integers(0, 3), st.lists(inner, max_size=4)),
            st.tuples(st.just("rotate"), st.integers(0, 3), st.lists(inner, max_size=4)),
            st.tuples(st.just("while"), st.integers(0, 2), st.lists(inner, max_size=4)),
            st.tuples(
                st.just("cond"),
                st.lists(inner, max_size=3),
                st.lists(inner, min_size=1, max_size=3),
            ),
        ),
        max_leaves=8,
    ),
    min_size=1,
    max_size=8,
)


def run(program, state, n, kept):
    """Apply steps in order; `kept` are versions to be returned, None inside of control flow."""
    state = list(state)
    for name, *rest in program:
        if name == "for":
            turns, body = rest
            state = lax.fori_loop(0, turns, lambda i, s, b=body: run(b, s, i + n * 0, None), state)
        elif name == "rotate":
            turns, body = rest
            state = lax.fori_loop(
                0, turns, lambda i, s, b=body: run(b, [*s[1:], s[0]], i + n * 0, None), state
            )
        elif name == "while":
            turns, body = rest
            _, state = lax.while_loop(
                lambda c, turns=turns: c[0] < turns,
                lambda c, b=body: (c[0] + 1, run(b, c[1], c[0], None)),
                (jnp.int64(0), state),
            )
        elif name == "cond":
            yes, no = (lambda s, b=body: run(b, s, n, None) for body in rest)
            state = lax.cond(n > 1, yes, no, state)
        elif name == "keep":
            if kept is not None:
                kept.append(state[rest[0]])
        else:
            state[rest[0]] = STEPS[name](state, n, *rest)
    return state


def slice_before(state, n, a, p, b):
    part = state[b][1:4, :2]
    changed = state[a].at[p].add(1)
    return changed.at[0, 0].set(part.sum(dtype=part.dtype))


STEPS = {
    "set": lambda s, n, a, p, b, q: s[a].at[p].set(s[b][q]),
    "set somewhere": lambda s, n, a, p, b: s[a].at[n + p[0], p[1]].set(s[b][n, p[1]] + 1),
    "add": lambda s, n, a, p: s[a].at[p].add(3),
    "row": lambda s, n, a, p, b: s[a].at[p[0]].set(s[b][p[1]]),
    "slice": lambda s, n, a, p, b: (
        s[a].at[p[0] % 4 :, p[1] % 3 :].set(s[b][p[0] % 4 :, p[1] % 3 :])
    ),
    "slice somewhere": lambda s, n, a, p, b: lax.dynamic_update_slice(
        s[a], s[b][1:3, :2], (n + p[0], p[1])
    ),
    "scatter": lambda s, n, a, b: s[a].at[jnp.array([0, 2, 0]) + n].add(s[b][:3]),
    "sum": lambda s, n, a, p, b: s[a].at[p].set(s[b].sum(dtype=s[b].dtype)),
    "sum of a slice": lambda s, n, a, p, b: (
        s[a].at[p].set(lax.dynamic_slice(s[b], (n, p[1]), (2, 2)).sum(dtype=s[b].dtype))
    ),
    "slice before": slice_before,
    "combine": lambda s, n, a, b: s[a] + s[b],
    "flip": lambda s, n, a, b: jnp.flip(s[b], 1),
    "copy": lambda s, n, a, b: s[b],
}


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    programs,
    st.sampled_from(["int8", "int64", "float32", "complex128"]),
    st.integers(-1, 5),
    st.booleans(),
)
def test_random_programs(short_parts, program, dtype, n, given):
    def values(n, *state):
        kept = []
        state = state if given else [jnp.full(SHAPE, 2, a.dtype) for a in state]
        return run(program, [a.astype(dtype) for a in state], n, kept), kept

    state = [jnp.arange(20).reshape(SHAPE).astype(dtype) + number for number in range(3)]
    before = [np.array(a) for a in state]
    got, expected = qjit(values)(n, *state), jax.jit(values)(n, *state)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, equal_nan=True)
    for one, other in zip(state, before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_second_derivatives_in_a_long_program():
    def program(x):
        results = []
        for k in range(2):
            results += [jax.hessian(lambda v: (v**3).sum() * v[0])(x + k), jnp.sort(-x) * x]
            for i in range(12):
                x = x.at[i * k % 6].add(x[i % 6] * 0.1)
            results.append(jnp.cumsum(x))
        return results

    x = jnp.arange(6.0)
    for got, expected in zip(qjit(program)(x), program(x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_the_engine_reads_coefficients_that_no_part_has_written_to(short_parts):
    """One address of constants serves both circuits; between them, twice the constants are made."""

    def average(x):
        qml.RX(x, wires=0)
        qml.CNOT([0, 1])
        qml.RY(0.3, wires=1)
        return qml.expval(qml.Z(0) @ qml.Y(1) + 0.5 * qml.X(2) + qml.Z(1))

    def product(circuit):
        return lambda x: circuit(x) * circuit(3 * x)

    ours = qml.qnode(qml.device("lightning.qubit", wires=3))(average)
    theirs = qml.qnode(qml.device("default.qubit", wires=3), interface="jax")(average)
    expected = jax.grad(product(theirs))(0.4)
    np.testing.assert_allclose(qjit(grad(product(ours)))(0.4), expected, rtol=1e-12)
