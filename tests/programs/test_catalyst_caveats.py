"""Every caveat that Catalyst documents of dynamic sizes, with what happens here.

Sources: the section "Dynamically-shaped arrays" of Catalyst's page on sharp bits, the documentation
of `qjit`, `for_loop` and `while_loop`, issues that are named, and its description of tracing with
dynamic dimensions (whose programs are golden tests in `tests/frontend/tracing/explicit`). Each test
says what is said or happens there; the program is compiled once and compared with NumPy over sizes.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import DiastaseError, cond, for_loop, qjit, while_loop
from diastase.capture.control_flow.errors import ResizingError
from diastase_runtime.errors import NegativeSizeError, SizeMismatchError

SIZES = (0, 1, 2, 3, 8, 100)


def compiled_once(function, **options):
    """The compiled function; it fails when it is traced again."""
    traced = []

    def counted(*arguments):
        assert not traced, "traced a second time"
        traced.append(True)
        return function(*arguments)

    return qjit(counted, **options)


def over_sizes(function, reference, sizes=SIZES):
    """`function(n)`, compiled once, gives `reference(n)` for all sizes."""
    program = compiled_once(function)
    for size in sizes:
        result, expected = program(size), reference(size)
        jax.tree.map(np.testing.assert_allclose, result, expected)
        assert jax.tree.map(jnp.shape, result) == jax.tree.map(np.shape, expected)


# --- making arrays -------------------------------------------------------------------------------


def test_ones_and_zeros():
    """There: the way to make dynamic arrays. Returned without compiling again, as here."""
    over_sizes(lambda n: jnp.ones([n, n], dtype=float), lambda n: np.ones((n, n)))
    over_sizes(lambda n: jnp.zeros((2, n)), lambda n: np.zeros((2, n)))


def test_arange_and_linspace():
    """There: they "do not currently support generating dynamically-shaped arrays" (also #759)."""
    over_sizes(lambda n: jnp.arange(n), np.arange)
    over_sizes(lambda n: jnp.arange(2, 2 + 3 * n, 3), lambda n: np.arange(2, 2 + 3 * n, 3))
    over_sizes(lambda n: jnp.linspace(0.0, 1.0, n), lambda n: np.linspace(0.0, 1.0, n))


def test_what_else_makes_arrays_of_a_traced_size():
    """There: `eye(n)` and `jax.random.uniform(shape=(n,))` fail."""
    over_sizes(lambda n: jnp.eye(n), np.eye)
    key = jax.random.key(7)
    over_sizes(lambda n: jax.random.uniform(key, (n,)), lambda n: jax.random.uniform(key, (n,)))


def test_the_same_program_executed_twice():
    """There: a second call with `abstracted_axes` failed (#1231, closed)."""
    program = compiled_once(lambda n: jnp.ones(n) * 2)
    for size in (3, 3, 5, 3):
        assert program(size).tolist() == [2.0] * size


def test_a_negative_size():
    """Not mentioned there."""
    with pytest.raises(NegativeSizeError):
        qjit(lambda n: jnp.ones(n - 5))(3)


# --- using them ----------------------------------------------------------------------------------


def test_reshape_to_a_static_shape():
    """There: the array comes back in its old shape (#908); here it has the new one, or an error."""
    program = compiled_once(lambda n: jnp.reshape(jnp.arange(n), (3, 5)))
    np.testing.assert_array_equal(program(15), np.arange(15).reshape(3, 5))
    with pytest.raises(SizeMismatchError):
        program(3)


def test_reshape_to_a_dynamic_shape():
    """There: the process dies (#908)."""
    over_sizes(
        lambda n: jnp.reshape(jnp.arange(2 * n).reshape(n, 2), (2, n)),
        lambda n: np.arange(2 * n).reshape(2, n),
    )


def test_reshape_within_a_loop():
    """There: "a cryptic error even before compilation" (#908)."""

    def program(n):
        @for_loop(0, 10, 1)
        def loop(i, x):
            return jnp.reshape(x, (2, n)).T + i

        return loop(jnp.arange(2 * n).reshape(n, 2))

    def reference(n):
        x = np.arange(2 * n).reshape(n, 2)
        for i in range(10):
            x = x.reshape(2, n).T + i
        return x

    over_sizes(program, reference)


def test_indexed_assignment():
    """There: reading `x[i]` of a dynamic array in a loop fails (#906)."""

    def program(n):
        @for_loop(0, n, 1)
        def sum_and_multiply(i, x, y):
            x = x.at[i].set(x[i] + y[i])
            y = y.at[i].set(x[i] * y[i])
            return x, y

        return sum_and_multiply(jnp.ones((n, 3)), jnp.full((n, 3), 2.0))

    over_sizes(program, lambda n: (np.full((n, 3), 3.0), np.full((n, 3), 6.0)))


def test_what_fails_there_without_being_documented():
    """Concatenate, sort, cumsum, slices by a traced bound, gradients: tried there, in 0.15."""
    over_sizes(
        lambda n: jnp.concatenate([jnp.ones(n), jnp.zeros(n)]),
        lambda n: np.concatenate([np.ones(n), np.zeros(n)]),
    )
    over_sizes(lambda n: jnp.sort(-jnp.arange(n)), lambda n: np.sort(-np.arange(n)))
    over_sizes(lambda n: jnp.cumsum(jnp.ones(n)), lambda n: np.cumsum(np.ones(n)))
    over_sizes(lambda n: jnp.arange(100)[:n], lambda n: np.arange(100)[:n])
    over_sizes(
        lambda n: jax.grad(lambda x: jnp.sum(x**3))(jnp.arange(n) + 1.0),
        lambda n: 3 * (np.arange(n) + 1.0) ** 2,
    )


def test_the_length_of_an_array():
    """`len` must return an integer in Python; there an error. Here a program for each size."""
    program = qjit(lambda n: len(jnp.ones(n)))
    assert [int(program(size)) for size in SIZES] == list(SIZES)
    over_sizes(lambda n: jnp.ones(n).shape[0] + 1, lambda n: n + 1)


# --- loops and branches --------------------------------------------------------------------------


def test_a_dynamic_array_in_a_loop():
    """Works there."""

    def program(shape):
        @for_loop(0, 10, 2)
        def loop(i, a):
            return a + i

        return loop(jnp.ones([shape], dtype=float))

    over_sizes(program, lambda n: np.full(n, 21.0))


def test_captured_and_carried_arrays():
    """There: allowed by default (an error in the older text); not with `allow_array_resizing`.

    Here: also then, as long as the sizes are known to be equal, which they are unless the body
    changes them.
    """
    for options in (
        {},
        {"allow_array_resizing": True},
        {"experimental_preserve_dimensions": False},
    ):

        def program(n, options=options):
            x = jnp.arange(n) + 1.0

            @for_loop(0, 3, 1, **options)
            def loop(_, a):
                return a * x

            return loop(jnp.ones(n))

        over_sizes(program, lambda n: (np.arange(n) + 1.0) ** 3)


def test_captured_and_carried_arrays_of_another_size():
    """Where the body changes the size, an error; never a wrong answer."""

    def program(n):
        x = jnp.ones(n)

        @for_loop(0, 3, 1)
        def loop(_, a):
            return jnp.concatenate([a + x, x])

        return loop(x)

    with pytest.raises(DiastaseError, match="x"):
        qjit(program)(3)


def test_a_loop_that_returns_an_array_of_new_dimensions():
    """There: an `AssertionError` by default, works with `allow_array_resizing=True`; here both."""
    for options in ({}, {"allow_array_resizing": True}):

        def program(size, options=options):
            @for_loop(0, 10, 1, **options)
            def loop(i, _):
                return jnp.ones([i], dtype=float)

            return loop(jnp.ones([size], dtype=float))

        over_sizes(program, lambda n: np.ones(9))


def test_binary_operations_on_arrays_of_one_shape():
    """There: by default only. Here also with `allow_array_resizing`, if the sizes stay equal."""

    def program(n):
        @while_loop(lambda a, b, k: k < 3, allow_array_resizing=True)
        def loop(a, b, k):
            return a * b, 2 * b, k + 1

        return loop(jnp.ones(n), jnp.full(n, 2.0), 0)[:2]

    over_sizes(program, lambda n: (np.full(n, 64.0), np.full(n, 16.0)))


def test_arrays_resized_independently():
    """Works in PennyLane with `allow_array_resizing=True`, where plain addition is refused, too."""

    def program(n):
        @for_loop(0, 3, 1, allow_array_resizing=True)
        def loop(i, a, b):
            return jnp.concatenate([a, b]), 2 * b

        return loop(jnp.ones(n), jnp.ones(n))

    over_sizes(
        program,
        lambda n: (
            np.concatenate([np.ones(n), np.ones(n), np.full(n, 2.0), np.full(n, 4.0)]),
            np.full(n, 8.0),
        ),
    )


def test_a_sharing_pattern_that_is_not_kept():
    """An error there, and here; each size for itself with `allow_array_resizing=True`."""

    def program(n, **options):
        @for_loop(0, 2, 1, **options)
        def loop(i, a, b):
            return a, jnp.concatenate([b, b])

        return loop(jnp.ones(n), jnp.ones(n))

    with pytest.raises(ResizingError, match="a and b of for_loop come in with the same size"):
        qjit(program)(3)
    over_sizes(
        lambda n: program(n, allow_array_resizing=True), lambda n: (np.ones(n), np.ones(4 * n))
    )


def test_a_negative_step_that_is_traced():
    """There: runs zero iterations without a word. Here as Python's `range`."""

    def program(step):
        return for_loop(5, 0, step)(lambda i, total: total * 10 + i)(0)

    program = qjit(program)
    assert int(program(-1)) == 54321
    assert int(program(-2)) == 531
    assert int(program(1)) == 0


def test_the_index_of_a_loop():
    """There: not concrete, so no size in `arange` (#759). Here a size like any other."""

    def program(n):
        return for_loop(0, n, 1)(lambda i, total: total + jnp.sum(jnp.arange(i)))(0)

    over_sizes(program, lambda n: sum(sum(range(i)) for i in range(n)))


def test_branches_of_different_sizes():
    """There: refused, branches must return equal types."""

    def program(n):
        @cond(n > 2)
        def choice():
            return jnp.ones(n)

        @choice.otherwise
        def other():
            return jnp.zeros(2 * n + 1)

        return choice()

    over_sizes(program, lambda n: np.ones(n) if n > 2 else np.zeros(2 * n + 1))


def test_static_sizes_are_compiled_for_each_shape():
    """There and here: without `abstracted_axes`, arguments of another shape are another program."""
    compiled = []

    @qjit
    def total(x):
        compiled.append(x.shape)
        return jnp.sum(x)

    for size in (2, 3, 2):
        np.testing.assert_allclose(total(jnp.ones(size)), size)
    assert compiled == [(2,), (3,)]


# --- `abstracted_axes` ---------------------------------------------------------------------------


def over_shapes(function, reference, shapes, axes):
    """`function(*arrays)`, compiled once with these abstracted axes, for all these shapes."""
    program = compiled_once(function, abstracted_axes=axes)
    for shape in shapes:
        array = np.arange(np.prod(shape), dtype=float).reshape(shape)
        np.testing.assert_allclose(program(array), reference(array))


def test_an_argument_of_any_size():
    """Works there: the sum of an array with `abstracted_axes={0: "n"}`."""
    over_shapes(jnp.sum, np.sum, [(n,) for n in SIZES], {0: "n"})


def test_reshape_of_an_argument():
    """There: its old shape comes back, or the process dies (#908)."""
    axes = {0: "m", 1: "n"}
    shapes = [(n, n + 1) for n in SIZES]
    over_shapes(
        lambda a: jnp.reshape(a, (a.shape[1], a.shape[0])),
        lambda a: a.reshape(a.shape[1], a.shape[0]),
        shapes,
        axes,
    )
    over_shapes(
        lambda a: jnp.reshape(a, (3, 5)),
        lambda a: a.reshape(3, 5),
        [(15, 1), (5, 3), (1, 15)],
        axes,
    )


def test_a_captured_argument_in_a_loop_that_may_resize():
    """There: "Incompatible shapes for broadcasting" with `allow_array_resizing=True`."""
    for options in ({}, {"allow_array_resizing": True}):

        def program(x, y, options=options):
            @for_loop(0, 3, 1, **options)
            def loop(_, a):
                return a * x

            return jnp.sum(loop(y))

        compiled = compiled_once(program, abstracted_axes={1: "n"})
        for size in SIZES:
            twos = np.full((1, size), 2.0)
            np.testing.assert_allclose(compiled(twos, twos), 16.0 * size)


def test_two_axes_of_one_name_that_differ():
    """An error there and here."""
    program = qjit(abstracted_axes={0: "n"})(lambda x, y: x + y)
    with pytest.raises(DiastaseError):
        program(jnp.ones(3), jnp.ones(4))
