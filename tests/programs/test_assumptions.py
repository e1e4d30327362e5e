"""Programs whose Python code asks about sizes: right for every size, compiled once per answer."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import errors, qjit
from diastase.dynamic_shapes.errors import VaryingSizesError
from diastase_runtime.errors import AssumptionError, NegativeSizeError
from soak.measures import resident

SIZES = (0, 1, 2, 3, 8, 100)


class Counted:
    """A function, and how often it was traced."""

    def __init__(self, function):
        self.function = function
        self.traces = 0

    def __call__(self, *args):
        self.traces += 1
        return self.function(*args)


def last_two(n):
    x = jnp.arange(n) * 2
    return x[-2:] if x.shape[0] >= 2 else x


def three_cases(n):
    x = jnp.arange(n) + 1.0
    if x.shape[0] == 0:
        return jnp.zeros(1)
    return x / 2 if x.shape[0] < 3 else x[1:]


def truth(n):
    return jnp.full(2, 1.0) if jnp.ones(n).shape[0] else jnp.full(3, 2.0)


CASES = {"at least": (last_two, 2), "equal": (three_cases, 3), "truth": (truth, 2)}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", [SIZES, SIZES[::-1], (2, 0, 100, 1, 3, 8)])
def test_a_program_for_each_answer(name, order):
    function, programs = CASES[name]
    counted = Counted(function)
    compiled = qjit(counted)
    for n in (*order, *order):
        np.testing.assert_array_equal(compiled(n), function(np.int64(n)))
    assert counted.traces == programs


def test_sizes_of_two_arguments():
    def program(n, m):
        a, b = jnp.arange(n), jnp.arange(m)
        return a + b if a.shape[0] == b.shape[0] else jnp.concatenate([a, b])

    counted = Counted(program)
    compiled = qjit(counted)
    for n in SIZES:
        for m in SIZES:
            np.testing.assert_array_equal(compiled(n, m), program(n, m))
    assert counted.traces == 2


BROADCASTS = {
    "sum": lambda n, m: jnp.arange(n) + jnp.arange(m),
    "where": lambda n, m: jnp.where(jnp.arange(n) > 1, jnp.arange(m), -1),
    "broadcast_to": lambda n, m: jnp.broadcast_to(jnp.arange(n), (m,)),
    "table": lambda n, m: jnp.arange(n)[:, None] * jnp.ones((m, 3)),
    "three": lambda n, m: jnp.ones(n) * jnp.arange(m) + jnp.arange(n),
    "comparison": lambda n, m: jnp.arange(n) < jnp.arange(m),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", BROADCASTS)
def test_sizes_that_broadcast(name):
    """Equal sizes, and ones, as NumPy has it; anything else is an error, as there."""
    function = BROADCASTS[name]
    counted = Counted(function)
    compiled = qjit(counted)
    agreed = 0
    for n in SIZES:
        for m in SIZES:
            try:
                expected = function(n, m)
            except (TypeError, ValueError):
                with pytest.raises((errors.UnknownSizesDifferError, ValueError)):
                    compiled(n, m)
            else:
                agreed += 1
                np.testing.assert_array_equal(compiled(n, m), expected)
    assert agreed >= 6
    assert len(set(program_texts(compiled))) <= 3


def program_texts(compiled):
    programs = compiled._specialisations.compiled()[0].prepared._programs
    return [str(program.compiled.traced.program.assumptions) for program in programs]


CONTRACTIONS = {
    "dot": lambda n, m: jnp.dot(jnp.arange(n), jnp.arange(m)),
    "matmul": lambda n, m: jnp.ones((2, n)) @ jnp.ones((m, 3)),
    "batched": lambda n, m: jnp.ones((n, 2, 3)) @ jnp.ones((m, 3, 2)),
    "columns": lambda n, m: jnp.concatenate([jnp.ones((n, 2)), jnp.zeros((m, 1))], axis=1),
    "stack": lambda n, m: jnp.stack([jnp.arange(n), jnp.arange(m)]),
    "select": lambda n, m: jax.lax.select(jnp.arange(n) > 1, jnp.arange(n), jnp.arange(n) * m),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CONTRACTIONS)
@pytest.mark.parametrize("order", [(3, 1, 0, 8), (0, 8, 1, 3)])
def test_sizes_that_must_be_equal(name, order):
    function = CONTRACTIONS[name]
    counted = Counted(function)
    compiled = qjit(counted)
    for n in order:
        np.testing.assert_array_equal(compiled(n, n), function(n, n))
    assert counted.traces == 1
    if name != "select":
        with pytest.raises((TypeError, ValueError)):
            compiled(2, 3)


def test_a_size_that_must_be_a_number():
    def program(n):
        return jnp.ones(n) + jnp.arange(3)

    compiled = qjit(program)
    np.testing.assert_array_equal(compiled(3), program(3))
    np.testing.assert_array_equal(compiled(1), program(1))
    for n in (0, 2, 8):
        with pytest.raises(errors.UnknownSizesDifferError):
            compiled(n)
    np.testing.assert_array_equal(compiled(3), program(3))


def positive(x):
    k = jnp.sum(x > 0)
    y = jnp.arange(k) + 1
    return y * 10 if y.shape[0] >= 2 else y


@pytest.mark.parametrize("order", [SIZES, SIZES[::-1]])
def test_an_assumption_about_what_the_program_computes(order):
    counted = Counted(positive)
    compiled = qjit(counted)
    for n in (*order, *order):
        x = jnp.arange(100) < n
        expected = np.arange(n) + 1
        np.testing.assert_array_equal(compiled(x), expected * 10 if n >= 2 else expected)
    assert counted.traces == 2


def test_several_assumptions_about_what_the_program_computes():
    def program(x):
        k, m = jnp.sum(x > 0), jnp.sum(x > 1)
        first, second = jnp.arange(k), jnp.ones(m)
        a = first.sum() if first.shape[0] >= 2 else -1
        return a, (second if second.shape[0] == 1 else second * 3)

    compiled = qjit(program)
    for ones in range(4):
        for twos in range(4):
            x = jnp.array([1] * ones + [2] * twos + [0] * 3)
            a, second = compiled(x)
            k = ones + twos
            assert a == (k * (k - 1) // 2 if k >= 2 else -1)
            np.testing.assert_array_equal(second, np.full(twos, 1.0 if twos == 1 else 3.0))


def test_an_assumption_inside_a_loop():
    def program(n):
        def body(i, total):
            size = jnp.ones(i).shape[0]
            return total + (2 if size >= 3 else 1)

        return jax.lax.fori_loop(0, n, body, 0)

    counted = Counted(program)
    compiled = qjit(counted)
    assert compiled(3) == 3
    with pytest.raises(VaryingSizesError, match=r">= 3 holds in some.*\n.*-->") as caught:
        compiled(6)
    assert caught.value.span.text == "return total + (2 if size >= 3 else 1)"
    assert counted.traces == 2
    assert compiled(3) == 3


@pytest.mark.parametrize("choose", [jnp.where, lambda *given: jax.lax.cond(given[0], *given[1:])])
def test_what_the_error_of_iterations_that_differ_advises(choose):
    def program(n):
        def body(i, total):
            big, small = (2, 1) if choose is jnp.where else (lambda: 2, lambda: 1)
            return total + choose(jnp.ones(i).shape[0] >= 3, big, small)

        return jax.lax.fori_loop(0, n, body, 0)

    assert qjit(program)(6) == 9


def test_an_assumption_in_a_branch_holds_after_it():
    """What a branch that is not taken assumes is checked, too."""

    def program(n, m):
        jax.lax.cond(n > 5, lambda: (jnp.ones(n) + jnp.ones(m)).sum(), lambda: 0.0)
        return jnp.arange(n) + jnp.arange(m)

    compiled = qjit(program)
    np.testing.assert_array_equal(compiled(3, 3), [0, 2, 4])
    np.testing.assert_array_equal(compiled(1, 3), [0, 1, 2])


def test_effects_are_not_repeated():
    seen = []

    def program(x):
        jax.debug.callback(lambda v: seen.append(float(v)), x.sum(), ordered=True)
        return positive(x)

    compiled = qjit(program)
    compiled(jnp.ones(3))
    assert seen == [3.0]
    with pytest.raises(AssumptionError) as caught:
        compiled(-jnp.ones(3))
    assert caught.value.span.text == "return y * 10 if y.shape[0] >= 2 else y"
    assert seen == [3.0, -3.0]


def test_ahead_of_time_a_failed_assumption_is_an_error():
    traced = qjit(last_two).trace(jax.ShapeDtypeStruct((), jnp.int64))
    assert traced.assumptions == ("n >= 2",)
    compiled = traced.lower().compile()
    np.testing.assert_array_equal(compiled(4), [4, 6])
    with pytest.raises(AssumptionError, match=r"n >= 2.* 1 and 2") as caught:
        compiled(1)
    assert caught.value.span.text == "return x[-2:] if x.shape[0] >= 2 else x"
    assert isinstance(caught.value, ValueError)
    np.testing.assert_array_equal(compiled(2), [0, 2])


def test_ahead_of_time_sizes_that_must_be_equal_are_taken_to_be():
    size = jax.ShapeDtypeStruct((), jnp.int64)
    traced = qjit(lambda n, m: jnp.ones(n) + jnp.ones(m)).trace(size, size)
    assert traced.assumptions == ("n == m",)
    assert str(traced.jaxpr).count("f64[a]") == 3
    compiled = traced.lower().compile()
    assert compiled(4, 4).shape == (4,)
    with pytest.raises(AssumptionError):
        compiled(4, 1)


def test_declared_types():
    traces = []

    @qjit
    def program(n: int):
        traces.append(n)
        x = jnp.arange(n)
        return x[0] if x.shape[0] > 0 else -1

    assert len(traces) == 1
    assert [int(program(n)) for n in (3, 0, 1, 0)] == [0, -1, 0, -1]
    assert len(traces) == 2


def test_an_error_of_the_program_comes_through():
    def program(n):
        x = jnp.ones(n - 3)
        return x if x.shape[0] >= 2 else x * 2

    compiled = qjit(program)
    assert compiled(6).shape == (3,)
    with pytest.raises(NegativeSizeError):
        compiled(2)
    assert compiled(4).shape == (1,)


def test_threads_compile_each_program_once():
    counted = Counted(last_two)
    compiled = qjit(counted)
    compiled(5)
    wrong = []

    def work():
        for n in (0, 1, 2, 3, 1, 7, 0):
            if not np.array_equal(compiled(n), last_two(np.int64(n))):
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert counted.traces == 2


def test_a_program_that_is_left_frees_what_it_has_allocated():
    """Each call that fails has allocated 320 kB by then."""

    def program(x):
        y = jnp.sort(x) * 2
        size = jnp.arange(jnp.sum(x > 0)).shape[0]
        return y if size >= 2 else y[:2] * 3

    x = jnp.ones(20_000)
    compiled = qjit(program).trace(x).lower().compile()
    assert compiled(x).shape == (20_000,)
    for _ in range(20):
        with pytest.raises(AssumptionError):
            compiled(-x)
    before = resident()
    for _ in range(200):
        with pytest.raises(AssumptionError):
            compiled(-x)
    assert resident() - before < 10_000_000
    np.testing.assert_array_equal(compiled(x), np.full(20_000, 2.0))


def ramp(n):
    return jnp.arange(n) * 1.5 + 1


RIGHT_FOR_EVERY_SIZE = {
    "take": lambda n: jnp.take(jnp.arange(5), jnp.arange(n)),
    "take_along_axis": lambda n: jnp.take_along_axis(ramp(n), jnp.arange(n), 0),
    "roll": lambda n: jnp.roll(ramp(n), 2),
    "roll rows": lambda n: jnp.roll(jnp.ones((n, 2)), 1, axis=0),
    "diagonal": lambda n: jnp.diagonal(jnp.arange(3 * n).reshape(n, 3)),
    "ix_": lambda n: jnp.ix_(jnp.arange(n), jnp.arange(2)),
    "pinv": lambda n: jnp.linalg.pinv(jnp.eye(n)),
    "cond": lambda n: jnp.linalg.cond(jnp.eye(n) * 2),
    "det": lambda n: jnp.linalg.det(jnp.eye(n) * 2),
    "slogdet": lambda n: jnp.linalg.slogdet(jnp.eye(n) * 2),
    "isin": lambda n: jnp.isin(ramp(n), jnp.array([1.0, 2.5])),
    "isin the other way": lambda n: jnp.isin(jnp.array([1.0, 2.5]), ramp(n)),
    "piecewise": lambda n: jnp.piecewise(ramp(n), [ramp(n) > 2], [1.0, 2.0]),
    "vectorize": lambda n: jnp.vectorize(jnp.dot, signature="(k),(k)->()")(
        jnp.ones((n, 3)), jnp.ones((n, 3))
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RIGHT_FOR_EVERY_SIZE)
def test_library_functions_that_need_no_answer(name):
    """What `askers.RIGHT_FOR_EVERY_SIZE` says; an error only where JAX has one."""
    function = RIGHT_FOR_EVERY_SIZE[name]
    counted = Counted(function)
    compiled = qjit(counted)
    for n in (3, 0, 1, 2, 8, 100):
        try:
            expected = jax.tree.leaves(jax.jit(function, static_argnums=0)(np.int64(n)))
        except ValueError:
            with pytest.raises(ValueError, match=r"."):
                compiled(n)
            continue
        found = jax.tree.leaves(compiled(n))
        for wanted, value in zip(expected, found, strict=True):
            assert wanted.shape == value.shape
            np.testing.assert_allclose(value, wanted, atol=1e-12)
    assert counted.traces <= (2 if name == "pinv" else 1)


def test_no_size_is_a_number_that_is_too_large():
    """Where sizes were assumed to be equal; JAX's caches compare them with any number."""

    def program(n, m):
        x = jnp.ones(n) + jnp.ones(m)
        return x.sum() if 2**64 in x.shape else 2 * x.sum()

    assert qjit(program)(3, 3) == 12
