"""`for_loop`, `while_loop`, `cond`, `switch`: compiled, against the same code as plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import cond, for_loop, qjit, switch, while_loop
from diastase.capture.control_flow.errors import (
    BranchStructureError,
    BranchTypeError,
    CarryStructureError,
    CarryTypeError,
    LoopBoundError,
    LoopConditionError,
    MissingBranchError,
    NotAnArrayError,
    PredicateError,
    ResizingError,
    ResizingOptionsError,
    SwitchCaseError,
)
from diastase.dynamic_shapes.errors import LaxShapesError
from diastase_runtime.errors import ZeroStepError


def same(function, *argument_sets):
    """Compiled once, the function gives what it gives uncompiled."""
    compiled = qjit(function)
    for arguments in argument_sets:
        result, expected = compiled(*arguments), function(*arguments)
        assert jax.tree.structure(result) == jax.tree.structure(expected)
        for ours, theirs in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


# --- loops ---------------------------------------------------------------------------------------


def test_for_loop_is_a_range():
    def function(lower, upper, step):
        @for_loop(lower, upper, step)
        def loop(i, digits, count):
            return digits * 10 + i, count + 1

        return loop(0, 0)

    bounds = [(0, 5, 1), (5, 0, -1), (9, 0, -4), (3, 3, 1), (3, 0, 1), (0, 3, -1), (-3, 4, 3)]
    same(function, *bounds)


@pytest.mark.parametrize("bounds", [(0, 5, 2), (5, 0, -2), (0, 0, 1)])
def test_for_loop_with_known_bounds(bounds):
    def function(x):
        @for_loop(*bounds)
        def loop(i, total):
            return total + i * x

        return loop(0.0)

    same(function, (1.5,))


def test_a_step_of_zero():
    with pytest.raises(ZeroStepError):
        qjit(lambda: for_loop(0, 3, 0)(lambda i, x: x)(1))()
    compiled = qjit(lambda step: for_loop(0, 3, step)(lambda i, x: x + i)(0))
    assert compiled(1) == 3
    with pytest.raises(ZeroStepError):
        compiled(0)


def test_unsigned_bounds_with_a_negative_step_count_down():
    def function(n):
        return for_loop(n, 0, -1)(lambda i, x: x * 10 + i)(0)

    assert qjit(function)(jnp.uint8(3)) == 321


def test_while_loop():
    def function(x):
        @while_loop(lambda value, count: value > 1.0)
        def loop(value, count):
            return value / 2, count + 1

        return loop(x, 0)

    same(function, (10.0,), (0.5,))


def test_loops_without_values_and_with_one_in_a_tuple():
    @qjit
    def function(n):
        @for_loop(0, n, 1)
        def nothing(i):
            pass

        @for_loop(0, n, 1)
        def one(i, x):
            return (x + i,)

        assert nothing() is None
        return one(0)

    assert function(4) == 6


def test_loops_carry_pytrees_and_close_over_values():
    def function(n, x):
        table = jnp.arange(5.0) * x

        @for_loop(0, n, 1)
        def loop(i, state, total):
            return {"a": state["a"] + table[i], "b": (state["b"][0] * 2,)}, total + state["a"]

        return loop({"a": x, "b": (1,)}, 0.0)

    same(function, (4, 1.5), (1, 2.0))


def test_nested_constructs():
    def function(n, x):
        @for_loop(0, n, 1)
        def outer(i, total):
            @while_loop(lambda value, j: j < i)
            def inner(value, j):
                @cond((i + j) % 2 == 0)
                def branch():
                    return value + x * j

                @branch.else_if(j > 2)
                def large():
                    return value * 0.5

                @branch.otherwise
                def other():
                    return value - 1.0

                return branch(), j + 1

            return inner(total, 0)[0]

        return outer(0.0)

    same(function, (6, 1.5), (0, 1.0))


def test_carried_numbers_take_the_type_of_the_body():
    compiled = qjit(lambda x: for_loop(0, 3, 1)(lambda i, total: total + x)(0))
    assert compiled(0.5) == 1.5
    assert compiled(jnp.float32(0.5)).dtype == jnp.float32


def test_dynamic_sizes_in_loops_and_branches():
    def function(n):
        a, b = jnp.ones(n), jnp.arange(n * 2.0).reshape(n, 2)

        @for_loop(0, 3, 1)
        def loop(i, values):
            return values * 2 + b[:, 0] + a.shape[0]

        @cond(n > 3)
        def branch():
            return a + 1

        @branch.otherwise
        def other():
            return a

        return loop(a), branch(), a * 3

    same(function, (4,), (2,), (0,))


# --- branches ------------------------------------------------------------------------------------


def test_cond_with_arguments_and_promotion():
    def function(x, n):
        @cond(x > 1)
        def branch(value):
            return value, {"k": n}

        @branch.else_if(x > 0)
        def small(value):
            return value * 2, {"k": 1.5}

        @branch.otherwise
        def negative(value):
            return -value, {"k": 0}

        return branch(x)

    same(function, (2.0, 7), (0.5, 7), (-1.0, 7))
    assert qjit(function)(2.0, 7)[1]["k"].dtype == jnp.float64


def test_a_result_of_a_branch_is_not_overwritten():
    """`one-shot-bufferize` once took the result of a branch for memory that is free."""

    def function(a, n):
        a = a * 1.5
        chosen = jax.lax.cond(n > 2, lambda v: v + 1, lambda v: v, a)
        return chosen, a * 3

    same(function, (jnp.arange(4.0), 4), (jnp.arange(4.0), 1))


@pytest.mark.parametrize("predicate", [1, 0, 2.5, jnp.array([True]), jnp.array([[0]])])
def test_predicates_that_are_cast(predicate):
    def function(p):
        @cond(p)
        def branch():
            return 1

        @branch.otherwise
        def other():
            return 2

        return branch()

    assert qjit(function)(predicate) == function(predicate)


def test_cond_without_results_needs_no_otherwise():
    @qjit
    def function(x):
        @cond(x > 0)
        def branch():
            return None

        assert branch() is None
        return x

    assert function(1.0) == 1.0


def test_switch():
    def function(index, x):
        @switch(index)
        def choose(value):
            return value

        @choose.branch(5)
        def double(value):
            return 2 * value

        @choose.branch(-3)
        def shifted(value):
            return value + index

        return choose(x)

    same(function, (5, 1.5), (-3, 1.5), (0, 1.5), (6, 1.5))


def test_switch_on_a_narrow_index():
    def function(index):
        @switch(index)
        def choose():
            return 0

        @choose.branch(300)
        def never():
            return 1

        @choose.branch(44)
        def some():
            return 2

        return choose()

    assert qjit(function)(jnp.uint8(44)) == 2


# --- plain Python --------------------------------------------------------------------------------


def test_outside_of_a_compiled_function_they_are_python():
    seen = []

    @for_loop(3, 0, -2)
    def loop(i, text):
        seen.append(type(i))
        return text + str(i)

    assert loop("x") == "x31"
    assert seen == [int, int]

    @while_loop(lambda items: len(items) < 3)
    def grow(items):
        return [*items, 0]

    assert grow([]) == [0, 0, 0]

    @cond([])
    def branch():
        raise AssertionError

    assert branch() is None

    @branch.otherwise
    def other():
        return "other"

    assert branch() == "other"

    @switch(2)
    def choose():
        return 0.5

    @choose.branch(2)
    def two():
        return "two"

    assert choose() == "two"


# --- refusals ------------------------------------------------------------------------------------


def changes_dtype(x):
    return for_loop(0, 3, 1)(lambda i, state: {"a": state["a"] / 2})({"a": jnp.asarray(x, int)})


def changes_shape(x):
    return while_loop(lambda v: v[0] < 3)(lambda v: jnp.concatenate([v, v]))(jnp.ones(2) * x)


def changes_count(x):
    return for_loop(0, 3, 1)(lambda i, a, b: a)(x, x)


def changes_structure(x):
    return for_loop(0, 3, 1)(lambda i, a: (a, a))([x, x])


def returns_too_much(x):
    return for_loop(0, 3, 1)(lambda i: x)()


def breaks_sharing(n):
    a = jnp.ones(n)
    return for_loop(0, 3, 1)(lambda i, v, w: (jnp.ones(n + 1), w))(a, a)


def breaks_sharing_of_axes(n):
    return for_loop(0, 3, 1)(lambda i, v: v[1:])(jnp.eye(n))


def resizes_in_lax(n):
    return jax.lax.fori_loop(0, 3, lambda i, v: jnp.concatenate([v, v]), jnp.ones(n))


def resizes_in_scan(n):
    return jax.lax.scan(lambda v, _: (v[1:], n), jnp.ones(3), jnp.ones(n))


def branches_differ_in_lax(n):
    return jax.lax.cond(n > 2, lambda: jnp.ones(n), lambda: jnp.ones(2))


def floating_bound(x):
    return for_loop(0, x * 1.5, 1)(lambda i, a: a)(x)


def vector_condition(x):
    return while_loop(lambda v: v > 0)(lambda v: v - 1)(jnp.ones(3) * x)


def different_ranks(x):
    return cond(x > 0)(lambda: {"k": jnp.ones(2)}).otherwise(lambda: {"k": jnp.ones((2, 1))})()


def different_structures(x):
    return cond(x > 0)(lambda: (x, x)).otherwise(lambda: x)()


def no_otherwise(x):
    return cond(x > 0)(lambda: x)()


def vector_predicate(x):
    return cond(jnp.ones(2) * x)(lambda: x).otherwise(lambda: x)()


def floating_index(x):
    return switch(x * 0.5)(lambda: x)()


def text_as_predicate(x):
    return cond("x > 0")(lambda: None)()


def floating_case(x):
    return switch(x)(lambda: x).branch(1.5)(lambda: 0)()


def traced_case(x):
    return switch(x)(lambda: x).branch(x)(lambda: 0)()


def carries_text(x):
    return for_loop(0, 3, 1)(lambda i, text: text)("text")


REFUSED = {
    changes_dtype: (CarryTypeError, r"state\['a'\] of for_loop comes in as i64\[\], .* f64\[\]"),
    changes_shape: (CarryTypeError, r"v of while_loop comes in as f64\[2\], .* f64\[4\]"),
    changes_count: (CarryStructureError, "takes 2 values and returns"),
    changes_structure: (CarryStructureError, r"\[\*, \*\] and returns \(\[\*, \*\], \[\*, \*\]\)"),
    returns_too_much: (CarryStructureError, "no value"),
    breaks_sharing: (ResizingError, r"v and w of for_loop .* size d0, .* with d0 \+ 1 and d2"),
    breaks_sharing_of_axes: (ResizingError, "axis 0 of v and axis 1 of v"),
    resizes_in_lax: (LaxShapesError, r"type float64\[d0\] but .* float64\[2\*d0\], so the shapes"),
    resizes_in_scan: (LaxShapesError, "diastase.for_loop and diastase.while_loop may"),
    branches_differ_in_lax: (LaxShapesError, "branches of diastase.cond and diastase.switch may"),
    floating_bound: (LoopBoundError, r"the upper bound is f64\[\]"),
    vector_condition: (LoopConditionError, r"bool\[3\]"),
    different_ranks: (BranchTypeError, r"result\['k'\]: .* f64\[2\], otherwise .* f64\[2,1\]"),
    different_structures: (BranchStructureError, "consistent return structure"),
    no_otherwise: (MissingBranchError, "needs an otherwise"),
    vector_predicate: (PredicateError, r"f64\[2\]|bool\[2\]"),
    floating_index: (PredicateError, "not an integer"),
    text_as_predicate: (NotAnArrayError, ": The predicate of a cond is 'x > 0' of type str"),
    floating_case: (SwitchCaseError, "1.5 of type float"),
    traced_case: (SwitchCaseError, "known only when the program runs"),
    carries_text: (NotAnArrayError, "text of for_loop is 'text'"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refusals(function):
    kind, message = REFUSED[function]
    with pytest.raises(kind, match=message) as caught:
        qjit(function)(1)
    assert isinstance(caught.value, TypeError)
    assert caught.value.span.file == __file__
    assert caught.value.span.function == function.__name__


def test_options_that_contradict_each_other():
    for flag in (True, False):
        with pytest.raises(ResizingOptionsError, match=f"resizing={flag} .* say the opposite"):
            for_loop(0, 3, 1, flag, experimental_preserve_dimensions=flag)
    agreeing = for_loop(0, 3, 1, True, experimental_preserve_dimensions=False)
    assert agreeing(lambda i, v: v + i)(1) == 4


def test_transformations():
    def function(x):
        return for_loop(0, 3, 1)(lambda i, v: v * x)(1.0)

    assert qjit(lambda x: jax.jvp(function, (x,), (1.0,)))(2.0) == (8.0, 12.0)
    np.testing.assert_allclose(qjit(jax.grad(function))(2.0), 12.0)
    np.testing.assert_allclose(qjit(jax.vmap(function))(jnp.arange(3.0)), jnp.arange(3.0) ** 3)
