"""Sizes from traced integers: which are equal, what is known of them, what cannot be decided."""

import jax
import jax.numpy as jnp
import pytest

from diastase.capture.tracer_errors import TracedIndexError
from diastase.dynamic_shapes.errors import MappedSizeError, SizeEscapesError
from diastase.tracing.trace import trace
from diastase_mlir.jax_compat import least_everywhere


def program_of(function, *arguments):
    avals = [jax.typeof(argument) for argument in arguments]
    return trace(lambda *xs: jax.tree.leaves(function(*xs)), avals, "f")


def shapes(function, *arguments):
    return [tuple(map(str, aval.shape)) for aval in program_of(function, *arguments).out_avals]


def checks(function, *arguments):
    eqns = program_of(function, *arguments).program.jaxpr.eqns
    return [str(e.params["size"]) for e in eqns if e.primitive.name == "assert_size"]


def assumptions(function, *arguments):
    return [made.text for made in program_of(function, *arguments).program.assumptions]


EQUAL = {
    "sum": (lambda n: n + 1, lambda n: 1 + n),
    "product": (lambda n: n * 2, lambda n: 2 * n),
    "difference": (lambda n: 2 * n - 3, lambda n: n + n - 3),
    "quotient": (lambda n: n // 2, lambda n: n // 2),
    "remainder": (lambda n: n % 3, lambda n: n % 3),
    "quotient of a product": (lambda n: (n * 4) // 4, lambda n: n),
    "minimum": (lambda n: jnp.minimum(n, 5), lambda n: jnp.minimum(n, 5)),
    "maximum": (lambda n: jnp.maximum(n, 5), lambda n: jnp.maximum(n, 5)),
    "power": (lambda n: n * n, lambda n: n * n),
    "size of an array": (lambda n: jnp.ones(n).shape[0], lambda n: n),
    "value of a size": (lambda n: jnp.asarray(jnp.ones(n).shape[0]) + 1, lambda n: n + 1),
    "conversion": (lambda n: n.astype(jnp.int32), lambda n: n.astype(jnp.int32)),
    "size of a concatenation": (
        lambda n: jnp.concatenate([jnp.ones(n), jnp.ones(2)]).shape[0],
        lambda n: n + 2,
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_sizes_that_are_equal_by_their_definition(name):
    left, right = EQUAL[name]
    program_of(lambda n: jnp.ones(left(n)) + jnp.ones(right(n)), 3)


@pytest.mark.parametrize("other", [lambda n: n + 1, lambda n: n // 2, lambda n: 2 * n])
def test_sizes_that_differ_for_most_values_do_not_match(other):
    with pytest.raises(TypeError, match="incompatible shapes"):
        program_of(lambda n: jnp.ones(n) + jnp.ones(other(n)), 3)


def test_arithmetic_that_wraps_around_is_not_followed():
    def same(n):
        return jnp.ones(n + 1) + jnp.ones(1 + n)

    assert assumptions(same, jnp.int8(3)) == ["d0 == d1"]
    assert assumptions(same, jnp.uint32(3)) == ["d0 == d1"]
    assert assumptions(same, jnp.int32(3)) == []


def test_a_divisor_that_may_be_zero_is_not_followed():
    """The symbol is the value that the program computes, not a division that could trap."""
    program = program_of(lambda n, m: jnp.ones(n // m), 3, 2).program
    (size,) = program.jaxpr.out_avals[0].shape
    assert (str(size),) in program.dimensions.values.values()


def test_sizes_in_use_are_checked_once():
    assert checks(lambda n: (jnp.ones(n), jnp.zeros(n), jnp.ones(n + 1)), 3) == ["d0"]
    assert checks(lambda n: (jnp.ones(n - 1), jnp.ones(n), jnp.ones(n + 2)), 3) == ["d0 - 1"]
    assert checks(lambda n: (jnp.ones(n), jnp.ones(n - 2)), 3) == ["d0", "d0 - 2"]


def test_a_check_in_a_branch_teaches_nothing_outside():
    def function(n):
        jax.lax.cond(n > 0, lambda: jnp.ones(n).sum(), lambda: 0.0)
        return jnp.ones(n + 5)[:5]

    # Were n known to be at least 0, this would be five elements of an array of n + 5.
    assert shapes(function, 3) == [("min(5, d0 + 5)",)]


def test_slices_have_the_sizes_that_make_differences_possible():
    assert shapes(lambda n: jnp.ones(n)[1:], 3) == shapes(lambda n: jnp.ones(n)[:-1], 3)
    assert shapes(lambda n: jnp.ones(n + 1)[:n], 3) == [("min(d0 + 1, max(0, d1))",)]
    assert shapes(lambda n: (jnp.ones(n), jnp.ones(n + 1)[:n])[1], 3) == [("d0",)]
    assert shapes(lambda n: jnp.ones(n)[:], 3) == [("d0",)]


def test_a_size_that_differs_within_a_vmap_is_refused():
    with pytest.raises(MappedSizeError) as caught:
        program_of(lambda ns: jax.vmap(lambda n: jnp.ones(n).sum())(ns), jnp.arange(3))
    assert caught.value.span is not None
    program_of(lambda n: jax.vmap(lambda x: x * jnp.ones(n))(jnp.arange(3.0)), 3)


def test_a_size_under_a_derivative():
    program_of(lambda n: jax.grad(lambda x: jnp.sum(x * jnp.ones(n)))(2.0), 3)


def test_a_size_computed_inside_does_not_leave_a_loop():
    with pytest.raises((SizeEscapesError, TypeError)):
        program_of(lambda n: jax.lax.scan(lambda c, x: (c, jnp.ones(c)), n, jnp.ones(3))[1], 3)


def test_squeeze_without_an_axis_asks_which_sizes_are_1():
    assumptions = program_of(lambda n: jnp.squeeze(jnp.ones((n, 1))), 3).program.assumptions
    assert [assumption.comparison for assumption in assumptions] == ["!="]
    assert shapes(lambda n: jnp.squeeze(jnp.ones((n, 1)), 1), 3) == [("d0",)]


def test_the_size_of_an_argument_with_a_symbolic_shape():
    (n,) = jax.export.symbolic_shape("n")
    aval = jax.core.ShapedArray((n, 3), jnp.float64.dtype)
    traced = trace(lambda a: [a.sum(axis=1) * a.shape[0]], [aval], "f")
    (pairs,) = traced.program.dimensions.axes.values()
    assert pairs == (("n", 0),)
    assert str(traced.out_avals[0].shape) == "(n,)"


@pytest.mark.parametrize(
    "function",
    [
        lambda n: jnp.arange(n),
        lambda n: jnp.arange(1, n, 2),
        lambda n: jnp.arange(n * 0.5),
        lambda n: jnp.eye(n),
        lambda n: jnp.linspace(0.0, 1.0, n),
        lambda n: jnp.full((2, n), 3),
        lambda n: jnp.broadcast_to(jnp.arange(3), (n, 3)),
        lambda n: jnp.arange(n * 6).reshape(n, 2, -1),
        lambda n: jnp.tile(jnp.arange(3), n),
        lambda n: jnp.repeat(jnp.arange(3), n),
        lambda n: jnp.searchsorted(jnp.arange(n), 2),
        lambda n: jnp.diag_indices(n),
        lambda n: jax.nn.one_hot(jnp.arange(3), n),
        lambda n: jnp.ones(n).at[1].set(2),
        lambda n: jax.random.normal(jax.random.key(0), (n,)),
        lambda n: jax.random.split(jax.random.key(0), n),
    ],
)
def test_functions_that_take_sizes(function):
    program_of(function, 3)


def test_equality_of_sizes_that_is_decided():
    def function(n):
        a, b = jnp.ones(n + 1), jnp.ones(1 + n)
        assert a.shape == b.shape
        assert a.shape[0] != 0 or n is None
        return a

    def certain(n):
        jnp.ones(n)
        assert jnp.ones(n + 1).shape[0] != 0
        return n

    assert assumptions(certain, 3) == []
    assert assumptions(function, 3) == ["argument 0 + 1 != 0"]


@pytest.mark.parametrize("use", [len, lambda a: range(a.shape[0]), lambda a: float(a.shape[0])])
def test_python_numbers_of_sizes(use):
    with pytest.raises(TracedIndexError, match="a size is known only"):
        program_of(lambda n: use(jnp.ones(n)) and 1.0, 3)


def test_what_a_mask_says_of_how_many_it_selects():
    """At least none and at most all, wherever the mask has a size; no check is needed for it."""

    def function(x, n):
        fewer = jnp.ones(n - 5)
        some = fewer[fewer > x]
        few = some[some > x + 1]
        sizes = [each.shape[0] for each in (fewer, some, few)]
        assert (sizes[0] - sizes[1] >= 0) is True
        assert (sizes[1] - sizes[2] >= 0) is True
        # After a check of n that has failed, there may be less of the first than were selected.
        assert least_everywhere(sizes[0] - sizes[1]) < 0
        everywhere = [*sizes[1:], sizes[1] - sizes[2]]
        assert [least_everywhere(size) for size in everywhere] == [0, 0, 0]
        return few

    program_of(function, 0.5, 7)
