"""Loops that change sizes and branches of different sizes, against the same code as plain Python.

Outside of a compiled function our control flow is plain Python on eager arrays: each program is
its own reference. Each is compiled once and run at several sizes.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import cond, for_loop, qjit, switch, while_loop
from diastase.capture.control_flow.errors import ResizingError
from diastase_runtime.errors import AssumptionError
from soak.measures import PROCESS, resident

SIZES = (0, 1, 2, 3, 8)
"""Small, as JAX compiles each operation anew for each size that a plain loop goes through."""


def check(function, *argument_sets):
    compiled = qjit(function)
    for arguments in argument_sets:
        found, expected = compiled(*arguments), function(*arguments)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            other = jnp.asarray(other)
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            if jnp.issubdtype(other.dtype, jax.dtypes.prng_key):
                one, other = jax.random.key_data(one), jax.random.key_data(other)
            np.testing.assert_allclose(
                np.asarray(one, complex), np.asarray(other, complex), rtol=1e-12
            )


# --- for loops -----------------------------------------------------------------------------------


def grows(n):
    @for_loop(0, n, 1)
    def loop(i, x):
        return jnp.concatenate([x, jnp.full(2, x.shape[0])])

    return loop(jnp.arange(n))


def grows_from_nothing(n):
    @for_loop(0, n, 1, allow_array_resizing=True)
    def loop(i, x):
        return jnp.concatenate([x, jnp.full(1, i * 1.5)])

    return loop(jnp.zeros(0))


def grows_from_a_number(n):
    @for_loop(0, n, 1, experimental_preserve_dimensions=False)
    def loop(i, x):
        return jnp.concatenate([x[::-1], x[:1] * 2])

    return loop(jnp.arange(3.0))


def shrinks_to_nothing(n):
    @for_loop(0, n + 2, 1)
    def loop(i, x):
        return x[1:]

    return loop(jnp.arange(n))


def alternates(n):
    @for_loop(0, n, 1)
    def loop(i, x):
        @cond(i % 2 == 0)
        def branch():
            return jnp.concatenate([x, x[::-1], jnp.full(3, i)])

        @branch.otherwise
        def other():
            return x[::2]

        return branch()

    return loop(jnp.arange(n))


def becomes_the_index(n):
    return for_loop(0, n, 1)(lambda i, x: jnp.ones(i) * jnp.sum(x))(jnp.ones(n))


def counts_down(n):
    return for_loop(n, 0, -2)(lambda i, x: jnp.arange(i) + x.shape[0])(jnp.arange(n))


def keeps_a_common_size(n):
    @for_loop(0, 3, 1)
    def loop(i, a, a_):
        b = jnp.ones([n + 1 + i], dtype=float) * (jnp.sum(a) + jnp.sum(a_ + a))
        return b, b * 2

    a0 = jnp.ones(n)
    x, y = loop(a0, a0)
    return x + y


def meets_a_captured_array(n):
    a0 = jnp.arange(n) * 1.0

    @for_loop(0, 3, 1)
    def loop(i, a, count):
        return a + a0, count + a.shape[0]

    a, count = loop(a0, 0)
    return a + a0, count


def one_size_stays_and_one_changes(n):
    x0 = jnp.ones(n)

    @for_loop(0, 4, 1, allow_array_resizing=True)
    def loop(i, x, y):
        return x + x0, jnp.concatenate([y, x])

    x, y = loop(x0, x0)
    return x + x0, y


def swaps(n):
    @for_loop(0, 3, 1)
    def loop(i, x, y):
        return y, x

    return loop(jnp.arange(n), jnp.arange(2 * n + 1))


def rotates(n):
    @for_loop(0, n, 1)
    def loop(i, m):
        return jnp.concatenate([m, jnp.full((1, m.shape[1]), i)]).T

    return loop(jnp.ones((n, n + 2), dtype=int))


def grows_a_square(n):
    @for_loop(0, 3, 1)
    def loop(i, m):
        k = m.shape[0]
        return jnp.eye(k + 1) * jnp.sum(m @ m)

    return loop(jnp.eye(n))


def nests(n):
    @for_loop(0, n, 1, allow_array_resizing=True)
    def outer(i, x):
        @for_loop(0, i, 1, allow_array_resizing=True)
        def inner(j, y):
            return jnp.concatenate([y, jnp.full(1, 10 * i + j)])

        y = inner(x[1:])

        @while_loop(lambda z: z.sum() > 50, allow_array_resizing=True)
        def drop(z):
            return z[:-1]

        return jnp.concatenate([drop(y), jnp.full(1, i)])

    return outer(jnp.zeros(0, dtype=int))


def carries_a_size(n):
    @for_loop(0, 4, 1)
    def loop(i, k, x):
        return k + i, jnp.ones(k) * jnp.sum(x)

    return loop(n, jnp.ones(n))


def captures_from_outside(n):
    table = jnp.arange(2 * n + 3)

    @for_loop(0, n, 1)
    def loop(i, x):
        return jnp.concatenate([x, table[i : i + 2] + jnp.sum(table)])

    return loop(jnp.arange(n)) + 1


def carries_a_tree(n):
    @for_loop(0, 3, 1)
    def loop(i, state):
        x, y = state["x"], state["y"]
        return {"x": jnp.concatenate([x, y[:, 0]]), "y": jnp.ones((x.shape[0], 2)), "k": i}

    return loop({"x": jnp.ones(n), "y": jnp.ones((n + 1, 2)), "k": 0})


def uses_the_results_size(n):
    x = grows(n)
    return jnp.ones(x.shape[0]) + x, x.reshape(n, 3), jnp.outer(x, x[1:])


def keys(n):
    @for_loop(0, 3, 1)
    def loop(i, keys):
        return jnp.concatenate([keys, keys[1:]])

    return loop(jax.vmap(jax.random.key)(jnp.arange(n)))


# --- while loops ---------------------------------------------------------------------------------


def collatz(n):
    @while_loop(lambda x, last: last > 1, allow_array_resizing=True)
    def loop(x, last):
        following = jnp.where(last % 2 == 0, last // 2, 3 * last + 1)
        return jnp.concatenate([x, following[None]]), following

    return loop(jnp.full(1, n), n)[0]


def drops_from_the_end(n):
    @while_loop(lambda x: jnp.sum(x) > 10)
    def loop(x):
        return x[:-1]

    return loop(jnp.arange(n))


def the_condition_captures(n):
    limits = jnp.arange(n)

    @while_loop(lambda x, k: jnp.sum(limits) + jnp.sum(x) < 40 + 50 * k - k * k * 10)
    def loop(x, k):
        return jnp.concatenate([x, limits[: x.shape[0]]]), k + 1

    return loop(limits, 0)


def doubles_to_a_size(n):
    @while_loop(lambda x: x.shape[0] < 20, allow_array_resizing=True)
    def loop(x):
        return jnp.concatenate([x, x + 1])

    return loop(jnp.arange(3))[:n]


def asks_for_a_size_in_a_branch(n):
    @for_loop(0, n, 1)
    def loop(i, x):
        @cond(x.shape[0] >= 4)
        def cut():
            return x[:-2]

        @cut.else_if((x.shape[0] == 2) & (i != 1))
        def double():
            return jnp.concatenate([x, x])

        @cut.otherwise
        def extend():
            return jnp.concatenate([x, jnp.full(2, i)])

        return cut()

    return loop(jnp.arange(n))


def sorts_what_grows(n):
    @for_loop(0, n, 1)
    def loop(i, x):
        y = jnp.sort(jnp.concatenate([x, jnp.full(1, -i)]))
        return jnp.cumsum(y)[jnp.argsort(-y)]

    return loop(jnp.arange(n))


def solves_what_grows(n):
    @for_loop(0, 3, 1)
    def loop(i, x):
        m = jnp.eye(x.shape[0] + 1) * 2
        return jnp.linalg.solve(m, jnp.concatenate([x, jnp.ones(1)]))

    return loop(jnp.ones(n))


def inside_loops_and_branches_of_jax(n):
    def grown(x):
        return for_loop(0, 3, 1)(lambda i, y: jnp.concatenate([y, y[:1]]))(x)

    total = jax.lax.fori_loop(0, n, lambda i, c: c + grown(jnp.ones(n)).sum(), 0.0)
    stacked = jax.lax.scan(lambda c, x: (c, grown(jnp.ones(n) * x).sum()), 0, jnp.arange(n))[1]
    chosen = jax.lax.cond(n > 2, lambda: grown(jnp.ones(n)).sum(), lambda: 0.0)
    return total, stacked, chosen, jax.jit(grown)(jnp.arange(n))


# --- branches ------------------------------------------------------------------------------------


def branches(n):
    @cond(n > 2)
    def branch():
        return jnp.ones(n), jnp.zeros(n), jnp.arange(n + 1)

    @branch.else_if(n == 1)
    def one():
        return jnp.ones(3), jnp.zeros(3), jnp.arange(4)

    @branch.otherwise
    def other():
        return jnp.ones(2 * n), jnp.zeros(2 * n), jnp.arange(7)

    a, b, c = branch()
    return a + b, c, c.shape[0] - a.shape[0]


def cases(n):
    x = jnp.arange(n)

    @switch(n % 3)
    def choose():
        return {"x": x, "y": x}

    @choose.branch(1)
    def doubled():
        return {"x": jnp.concatenate([x, x]), "y": x}

    @choose.branch(2)
    def fixed():
        return {"x": jnp.array([5]), "y": x}

    result = choose()
    return result["x"], result["y"] + x


def only_a_default(n):
    @switch(n)
    def choose():
        return jnp.ones(jnp.sum(jnp.arange(n)))

    return choose() * 2


def nested_branches(n):
    @cond(n > 1)
    def branch():
        @cond(n > 2)
        def inner():
            return jnp.arange(n)

        @inner.otherwise
        def other():
            return jnp.arange(5)

        return inner()

    @branch.otherwise
    def outer():
        return jnp.zeros(0, dtype=int)

    return branch()[::-1]


PROGRAMS = [
    grows, grows_from_nothing, grows_from_a_number, shrinks_to_nothing, becomes_the_index,
    counts_down, keeps_a_common_size, meets_a_captured_array, one_size_stays_and_one_changes, swaps,
    grows_a_square, carries_a_size, captures_from_outside, carries_a_tree, uses_the_results_size,
    keys, drops_from_the_end, the_condition_captures, doubles_to_a_size, branches, cases,
    nested_branches, asks_for_a_size_in_a_branch, sorts_what_grows, solves_what_grows,
    inside_loops_and_branches_of_jax, alternates, nests, rotates, only_a_default,
]  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_as_plain_python(function):
    check(function, *((n,) for n in SIZES))


def test_a_sequence_of_computed_length():
    check(collatz, *((n,) for n in (1, 2, 3, 6)))


def test_branches_of_different_sizes_and_dtypes():
    @qjit
    def choose(n):
        return cond(n > 1)(lambda: jnp.arange(n)).otherwise(lambda: jnp.array([0.5]))() * 2

    for n, expected in ((0, [1.0]), (1, [1.0]), (2, [0.0, 2.0]), (4, [0.0, 2.0, 4.0, 6.0])):
        found = choose(n)
        assert found.dtype == float
        np.testing.assert_array_equal(found, expected)


def test_a_loop_over_the_index_gives_its_last_size():
    sizes = {n: qjit(becomes_the_index)(n).shape for n in (1, 2, 7)}
    assert sizes == {1: (0,), 2: (1,), 7: (6,)}


# --- the programs of the specification that carry several arrays ---------------------------------


def test_separate_dimensions_as_specified():
    """`experimental_preserve_dimensions=False`: equal sizes are a coincidence."""

    def program(sz, preserve, change):
        @for_loop(0, 10, 1, experimental_preserve_dimensions=preserve)
        def loop(i, a, b, b_):
            return a, b, jnp.concatenate([b_, a]) if change else b_

        a0, b0 = jnp.ones(sz), jnp.ones([sz + 1], dtype=float)
        return loop(a0, b0, b0)

    for sz in SIZES:
        found = qjit(lambda n: program(n, False, True))(sz)
        assert [array.shape for array in found] == [(sz,), (sz + 1,), (11 * sz + 1,)]
        found = qjit(lambda n: program(n, False, False))(sz)
        assert [array.shape for array in found] == [(sz,), (sz + 1,), (sz + 1,)]
    with pytest.raises(ResizingError, match="b and b_ of for_loop come in with the same size"):
        qjit(lambda n: program(n, True, True))(3)


# --- what is assumed while a body is traced ------------------------------------------------------


def test_a_question_about_a_size_that_turns_out_to_change_is_forgotten():
    """The body is first traced with the size that comes in, about which nothing is assumed."""
    traced = qjit(asks_for_a_size_in_a_branch).trace(3)
    assert traced.assumptions == ()


def test_a_question_of_python_about_a_size_that_changes():
    """`if` can only be answered for one iteration; where it holds for all, it is right."""

    @qjit
    def program(n):
        @for_loop(0, n, 1)
        def loop(i, x):
            y = jnp.concatenate([x, x])
            return y[1:] if x.shape[0] > 1 else y

        return loop(jnp.ones(n + 1))

    assert [program(n).shape for n in (1, 2, 3)] == [(3,), (9,), (25,)]


def test_a_question_of_python_with_different_answers():
    @qjit
    def program(n):
        @for_loop(0, n, 1)
        def loop(i, x):
            return jnp.concatenate([x, x]) if x.shape[0] < 3 else x[1:]

        return loop(jnp.ones(n))

    with pytest.raises(AssumptionError, match="< 3"):
        program(2)


# --- memory --------------------------------------------------------------------------------------


@qjit
def churn(count, length):
    """Grow and shrink between nothing and `length` elements; how many there were in all."""

    @for_loop(0, count, 1, allow_array_resizing=True)
    def loop(i, x, total):
        @cond(x.shape[0] < length)
        def grow():
            return jnp.concatenate([x, x, jnp.full(3, i * 1.0)])

        @grow.otherwise
        def shrink():
            return x[: x.shape[0] // 7]

        x = grow()
        return x, total + x.shape[0]

    return loop(jnp.zeros(0), 0)[1]


@pytest.mark.skipif(not PROCESS.exists(), reason="needs /proc")
def test_each_iteration_frees_its_memory():
    sizes, total = 0, 0
    for _ in range(1000):
        sizes = 2 * sizes + 3 if sizes < 5000 else sizes // 7
        total += sizes
    assert churn(1000, 5000) == total
    before = resident()
    allocated = int(churn(100_000, 5000)) * 8
    assert allocated > 1e9
    assert resident() - before < 20e6


@pytest.mark.skipif(not PROCESS.exists(), reason="needs /proc")
def test_each_call_frees_its_memory():
    churn(50, 20_000)
    before = resident()
    for _ in range(3000):
        churn(50, 20_000)
    assert resident() - before < 20e6


def test_the_arrays_of_the_caller_are_not_written():
    @qjit
    def program(array, count):
        @for_loop(0, count, 1, allow_array_resizing=True)
        def loop(i, x):
            return cond(i > 0)(lambda: x[1:]).otherwise(lambda: x)().at[0].set(9.0)

        return loop(array)

    given = np.arange(4.0)
    results = [np.asarray(program(given, count)) for count in (0, 1, 2, 3)]
    np.testing.assert_array_equal(given, np.arange(4.0))
    assert [list(result) for result in results] == [[0, 1, 2, 3], [9, 1, 2, 3], [9, 2, 3], [9, 3]]


def _grown_by_its_first(x):
    for number in range(12):
        x = jnp.concatenate([x, x[:1] * number])
    return x


def _cut_and_joined(x):
    for number in range(5):
        x = jnp.concatenate([x[:-1], x[number:], x[-2:] * 2])[:9]
    return x, x[:3] + x[:3]


def _cut_backwards(x):
    y = x
    for number in range(4):
        y = jnp.concatenate([y[:2], x[::-1][: number + 2], y[1:]])
    return y, y[::-1], y[:-1] - y[:-1], jnp.cumsum(y)


def _cut_at_both_ends(x):
    for number in range(6):
        x = x[1:][:-1][: 20 - number]
    return x, jnp.sum(x)


def _cut_in_steps_backwards(x):
    for number in range(4):
        x = jnp.concatenate([x[: number + 1], x[-2::-1]])
    return x, x[1::-1]


def _every_second_of_every_second(x):
    for number in range(5):
        x = jnp.concatenate([x, x[3 : number + 6 : -2], x[::-1]])[::2]
    shorter = x[::2][::3]
    return x, shorter[1:] - shorter[:-1], shorter[:3] + x[::2][::3][:3]


def _convolved(x):
    x = jnp.append(x, 1.0)  # what is convolved is not empty
    return jnp.convolve(x[::2], x[::3])[::2][: x[::2].shape[0]]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "program",
    [
        _every_second_of_every_second,
        _convolved,
        _grown_by_its_first,
        _cut_and_joined,
        _cut_backwards,
        _cut_at_both_ends,
        _cut_in_steps_backwards,
    ],
)
def test_sizes_of_sizes_of_sizes(program):
    """Each slice's size is the minimum of one before: long before the last, they are symbols."""
    compiled = qjit(program, abstracted_axes={0: "n"})
    for size in (0, 1, 2, 3, 12, 30):
        x = jnp.arange(1.0, size + 1)
        own, wanted = jax.tree.leaves(compiled(x)), jax.tree.leaves(program(x))
        for array, expected in zip(own, wanted, strict=True):
            np.testing.assert_allclose(array, expected)
