"""Large loops run on the thread pool: which, and that nothing about the results changes."""

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import for_loop, qjit

Configure = Callable[[int], None]
MANY = 400_000


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


def loops_of(function: Callable, *arguments: object) -> int:
    """How many loops of the program are calls of the pool."""
    text = qjit(function).lower(*arguments).as_text("llvm_dialect")
    return len(set(re.findall(r"@(diastase_loop_\d+)\b", text)))


FUNCTIONS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "elementwise": (lambda a, b: jnp.sin(a) * b + 1.0, (numbers(MANY), numbers(MANY))),
    "complex": (lambda a: jnp.exp(1j * a) * (2 + 3j), (numbers(MANY),)),
    "position": (lambda a: a + jnp.arange(a.shape[0]), (numbers(MANY),)),
    "rows": (lambda m: jax.nn.softmax(m, axis=1), (numbers(500, 800),)),
    "columns": (lambda m: (m.sum(0), m.max(1), m.T + 1), (numbers(500, 800),)),
    "few rows": (lambda m: jnp.cos(m) + m, (numbers(2, MANY),)),
    "strided": (lambda a: jnp.where(a > 0.5, a, 0)[::2], (numbers(MANY),)),
    "sum": (lambda a: a.sum(), (numbers(MANY),)),
    "all kinds": (
        lambda a: (a.max(), a.min(), (1 + a / 1e6).prod(), (a > 0).sum(), (a > 9).any(), a.mean()),
        (numbers(MANY),),
    ),
    "integers": (
        lambda a: (a.sum(), a.max(), a.min(), jnp.bitwise_xor.reduce(a), (a > -9).all()),
        (np.arange(MANY) * 7919 % 10007 - 5000,),
    ),
    "tall": (lambda m: (m.sum(0), m.max(0), (m * m).sum(), jnp.argmax(m)), (numbers(80_000, 5),)),
    "cumulative": (
        lambda m: (jnp.cumsum(m, 0), jnp.cumprod(m, 1), jax.lax.cummax(m, 0, reverse=True)),
        (numbers(900, 401),),
    ),
    "places": (lambda m: (m.argmax(0), m.argmin(1), m[5].argmax()), (numbers(900, 401),)),
    "one-hot": (lambda m: jax.nn.one_hot(m, 100), (np.arange(MANY // 50) % 103,)),
    "loop": (lambda a: for_loop(0, 3, 1)(lambda i, x: x * 0.5 + a)(a), (numbers(MANY),)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_do_not_depend_on_the_number_of_threads(name: str, configure: Configure) -> None:
    function, arguments = FUNCTIONS[name]
    compiled = qjit(function)
    expected = jax.tree.leaves(function(*map(jnp.asarray, arguments)))
    alone = jax.tree.leaves(compiled(*arguments))
    for result, right in zip(alone, expected, strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-9, atol=1e-9)
    for threads in (2, 3, 8):
        configure(threads)
        for _ in range(3):
            for result, before in zip(jax.tree.leaves(compiled(*arguments)), alone, strict=True):
                np.testing.assert_array_equal(result, before)


def test_large_loops_are_divided_and_small_ones_are_not() -> None:
    large, small = numbers(MANY), numbers(50)
    assert loops_of(lambda a: jnp.sin(a) * a, large) == 1
    assert loops_of(lambda a: a.sum(), large) == 1
    assert loops_of(lambda a: jnp.sin(a) * a, small) == 0
    assert loops_of(lambda a: jax.nn.softmax(a), small) == 0


def test_parts_are_inlined_before_llvm_looks_at_them() -> None:
    lowered = qjit(FUNCTIONS["elementwise"][0]).lower(*FUNCTIONS["elementwise"][1])
    assert re.search(
        r"@diastase_loop_0_part\(.*attributes \{always_inline", lowered.as_text("llvm_dialect")
    )


def test_rows_are_combined_by_parts_of_the_rows() -> None:
    """A piece of each row for a thread would be fetched from everywhere."""
    text = qjit(lambda m: m.sum(0)).lower(numbers(2000, 300)).as_text("llvm_dialect")
    assert str(256 * 300) in text  # numbers: the results of all parts
    assert loops_of(lambda m: (jnp.cumsum(m, 0), m.argmax(1)), numbers(900, 401)) == 3


def test_host_callbacks_stay_with_their_thread() -> None:
    def function(a):
        shape = jax.ShapeDtypeStruct(a.shape, a.dtype)
        return jax.pure_callback(lambda x: np.asarray(x) + 1, shape, a * 2) + 1

    large = numbers(MANY)
    np.testing.assert_allclose(qjit(function)(large), 2 * large + 2)


def test_sizes_at_run_time(configure: Configure) -> None:
    """One program for all sizes, those that are too small to be divided among them."""

    @qjit(abstracted_axes={0: "n"})
    def moments(a):
        centred = a - a.mean()
        return centred * 2, (centred * centred).sum(), a.max()

    configure(3)
    for size in (1, 2, 3, 63, 64, 65, 1000, 100_000, 262_144, 262_145, 700_001):
        a = numbers(size)
        centred, square, largest = moments(a)
        np.testing.assert_allclose(centred, 2 * (a - a.mean()), atol=1e-12)
        np.testing.assert_allclose(square, ((a - a.mean()) ** 2).sum(), rtol=1e-10)
        assert largest == a.max()


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (1, 1), (1000, 7), (7, 100_000), (900, 900)])
def test_matrices_of_any_size(shape: tuple[int, int], configure: Configure) -> None:
    configure(2)
    a = numbers(*shape)
    doubled, rows, columns = _of_any_matrix(a)
    np.testing.assert_allclose(doubled, np.sin(a).T * 2, atol=1e-12)
    np.testing.assert_allclose(rows, a.sum(1), atol=1e-9)
    np.testing.assert_allclose(columns, a.sum(0), atol=1e-9)


@qjit(abstracted_axes={0: "n", 1: "m"})
def _of_any_matrix(a):
    return jnp.sin(a).T * 2, a.sum(1), a.sum(0)


@pytest.mark.sample(3)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1000, 7), (7, 100_000), (900, 900)])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_places_and_running_results_of_any_size(
    shape: tuple[int, int], threads: int, configure: Configure
) -> None:
    configure(threads)
    a = numbers(*shape)
    a.flat[a.size // 2], a.flat[-1] = np.nan, -0.0
    for result, right in zip(
        _in_order(a), _in_order.original_function(jnp.asarray(a)), strict=True
    ):
        np.testing.assert_allclose(result, right, rtol=1e-9, atol=1e-9)


@qjit(abstracted_axes={0: "n", 1: "m"})
def _in_order(a):
    return jnp.argmax(a, 0), jnp.argmin(a, 1), jnp.cumsum(a, 0), jax.lax.cummin(a, 1, reverse=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8", "bool"])
def test_parts_begin_with_what_changes_nothing(dtype: str, configure: Configure) -> None:
    """Numbers on one side of zero, bits that all have, factors that are seldom 1."""
    configure(2)
    places = np.arange(2 * MANY)
    small = (places % 7 + 1).astype(dtype)
    factors = np.where(places % MANY == 7, 3, 1).astype(dtype)

    def combined(a, b):
        found = [a.max(), a.min(), a.sum(), b.prod()]
        if a.dtype.kind == "b":
            return [*found, a.all(), a.any(), (~a).any(), (~a).all()]
        if a.dtype.kind != "u":
            found += [(-a).max(), (-a).min()]
        if a.dtype.kind != "f":
            found += [each(a | 64) for each in bits_of(a)]
        return found

    def bits_of(a):
        module = np if isinstance(a, np.ndarray) else jnp
        return [getattr(module, f"bitwise_{name}").reduce for name in ("and", "or", "xor")]

    assert loops_of(combined, small, factors) >= 4
    for found, expected in zip(
        qjit(combined)(small, factors), combined(small, factors), strict=True
    ):
        np.testing.assert_array_equal(found, np.asarray(expected).astype(found.dtype))


def test_there_are_no_more_parts_than_room_for_them(configure: Configure) -> None:
    """Of much work for each number; parts are longer then, the last one shorter."""
    configure(2)

    def function(a):
        for _ in range(20):
            a = jnp.sin(a)
        return a.sum()

    a = numbers(1_000_003)
    text = qjit(function).lower(a).as_text("llvm_dialect")
    (parts,) = re.findall(r"call @\w*parallel_for\(%\d+, %\d+, (%\d+), %\d+\)", text)
    assert f"{parts} = llvm.mlir.constant(256 : i64)" in text
    b = a
    for _ in range(20):
        b = np.sin(b)
    np.testing.assert_allclose(qjit(function)(a), b.sum(), rtol=1e-9, atol=1e-9)


def test_values_that_are_no_ordinary_numbers(configure: Configure) -> None:
    configure(2)
    a = np.zeros(MANY)
    assert not np.signbit(qjit(lambda x: x.sum())(a))
    assert qjit(lambda x: (x * 0 + jnp.inf).sum())(a) == np.inf
    a[MANY - 1], a[5] = np.inf, -np.inf
    assert np.isnan(qjit(lambda x: x.sum())(a))
    assert qjit(lambda x: x.max())(a) == np.inf
    a[7] = np.nan
    assert np.isnan(qjit(lambda x: (x.max(), x.min()))(a)).all()
