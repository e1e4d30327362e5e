"""The checker complains about jaxprs that are broken in one place each, in the right words."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import ShapedArray

from diastase import cond, for_loop, while_loop
from diastase.jaxpr import (
    ExplicitEquation,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    JaxprTypeError,
    array_type,
    explicit_jaxpr,
    typecheck_jaxpr,
)

INT = np.dtype("int64")


def refuses(jaxpr, match):
    with pytest.raises(JaxprTypeError, match=match):
        typecheck_jaxpr(jaxpr)


def with_equation(jaxpr, position, **changes):
    """The jaxpr with one equation changed."""
    equations = list(jaxpr.equations)
    equations[position] = replace(equations[position], **changes)
    return replace(jaxpr, equations=tuple(equations))


def with_params(jaxpr, position, /, **changes):
    params = {**jaxpr.equations[position].params, **changes}
    return with_equation(jaxpr, position, params=params)


def retyped(jaxpr, variable, type_):
    """The jaxpr with another variable, of this type, for one of it; not in nested jaxprs."""
    new = ExplicitVariable(type_)

    def renew(atoms):
        return tuple(new if atom is variable else atom for atom in atoms)

    equations = tuple(
        replace(equation, operands=renew(equation.operands), results=renew(equation.results))
        for equation in jaxpr.equations
    )
    return replace(
        jaxpr, inputs=renew(jaxpr.inputs), equations=equations, outputs=renew(jaxpr.outputs)
    )


def floats(*shape):
    return array_type(shape, np.dtype("float64"))


# --- scoping -------------------------------------------------------------------------------------


@pytest.fixture
def sizes(explicit):
    """`b = add a 1; c:f64[b] = broadcast_in_dim 1.0 b; d:f64[b] = sin c; in (b, d)`."""
    return explicit(lambda n: jnp.sin(jnp.ones(n + 1)), 3)


def test_it_is_well_typed(sizes):
    typecheck_jaxpr(sizes)


def test_equations_in_the_wrong_order(sizes):
    add, broadcast, sine = sizes.equations
    refuses(
        replace(sizes, equations=(add, sine, broadcast)),
        r"d is used before it is bound, in `c:f64\[b\] = sin d`",
    )
    refuses(
        replace(sizes, equations=(broadcast, add, sine)),
        r"c is used before it is bound, in `b:f64\[c\] = broadcast_in_dim 1.0 c`",
    )


def test_a_size_that_is_used_before_it_is_bound(sizes):
    array = sizes.equations[1].results[0]
    jaxpr = replace(sizes, inputs=(*sizes.inputs, array), equations=sizes.equations[::2])
    refuses(jaxpr, "c is used before it is bound, as the size in a type, in `inputs`")


def test_a_binding_that_is_missing(sizes):
    refuses(replace(sizes, equations=sizes.equations[1:]), "is unbound, in `.* = broadcast_in_dim")
    refuses(replace(sizes, inputs=()), r"is unbound, in `\w:i64\[\] = add")


def test_a_size_that_is_unbound(sizes):
    stranger = ExplicitVariable(array_type((), INT))
    array = sizes.equations[1].results[0]
    refuses(
        retyped(sizes, array, floats(stranger)),
        r"is unbound, as the size in a type, in `c:f64\[e?\w\] = broadcast_in_dim",
    )


def test_variables_that_are_bound_twice(sizes):
    add, broadcast, sine = sizes.equations
    refuses(
        replace(sizes, equations=(add, add, broadcast, sine)),
        r"b is bound twice, in `b:i64\[\] = add a 1`",
    )
    (b,) = add.results
    again = ExplicitEquation("split", (b,), (sine.results[0], sine.results[0]))
    refuses(replace(sizes, equations=(add, broadcast, again)), "is bound twice, in `.* = split b`")
    refuses(replace(sizes, inputs=sizes.inputs * 2), "a is bound twice, in `inputs`")


def test_an_output_that_is_unbound(sizes):
    stranger = ExplicitVariable(floats())
    refuses(replace(sizes, outputs=(*sizes.outputs, stranger)), "is unbound, in `outputs`")


def test_an_output_whose_size_is_not_returned(sizes):
    jaxpr = replace(sizes, outputs=sizes.outputs[1:], num_implicit_outputs=0)
    refuses(jaxpr, "the size b of d is no input and no output, in `outputs`")


def test_an_implicit_output_that_is_no_size(sizes):
    refuses(replace(sizes, num_implicit_outputs=2), "d is implicit, but no integer scalar")


def test_an_implicit_input_that_is_no_size(sizes):
    wrong = retyped(sizes, sizes.inputs[0], floats())
    refuses(replace(wrong, num_implicit_inputs=1), "a is implicit, but no integer scalar")


def test_a_size_that_is_no_integer_scalar(sizes):
    refuses(
        retyped(sizes, sizes.equations[0].results[0], floats()),
        r"b is f64\[\], where JAX infers the dtype int64, in `b:f64\[\] = add a 1`",
    )
    fraction = ExplicitVariable(floats())
    array = ExplicitVariable(floats(fraction))
    jaxpr = replace(sizes, inputs=(*sizes.inputs, fraction, array))
    refuses(jaxpr, "b is no integer scalar, but a size in a type, in `inputs`")


# --- types ---------------------------------------------------------------------------------------


def test_a_type_that_contradicts_its_abstract_value(sizes):
    array = sizes.equations[1].results[0]
    (size,) = array.type.shape
    aval = ShapedArray((1,), array.type.aval.dtype)
    refuses(retyped(sizes, array, ExplicitType(aval, (size, size))), r"has not the rank of f")
    refuses(retyped(sizes, array, ExplicitType(aval, None)), "is not of the kind of f")
    refuses(retyped(sizes, array, ExplicitType(aval, (2,))), "2 is no size of an axis that JAX")
    refuses(retyped(sizes, array, ExplicitType(aval, (-1,))), "-1 is no size")


def test_another_dtype(sizes):
    sine = sizes.equations[2].results[0]
    wrong = array_type(sine.type.shape, np.dtype("float32"))
    refuses(
        retyped(sizes, sine, wrong),
        r"d is f32\[\?\], where JAX infers the dtype float64, in `d:f32",
    )


def test_another_size(sizes):
    (n,) = sizes.inputs
    sine = sizes.equations[2].results[0]
    refuses(
        retyped(sizes, sine, floats(n)),
        r"d is f64\[a\], where the operands make it f64\[b\], in `d:f64\[a\] = sin c`",
    )


def test_another_size_of_a_broadcast(sizes):
    (n,) = sizes.inputs
    array = sizes.equations[1].results[0]
    refuses(
        retyped(sizes, array, floats(n)), r"c is f64\[a\], where the parameters make it f64\[b\]"
    )
    literal, _ = sizes.equations[1].operands
    refuses(with_equation(sizes, 1, operands=(literal,)), "the parameters want 1 sizes, not 0")


@pytest.mark.parametrize(
    ("function", "result_type", "match"),
    [
        (lambda n: jnp.ones(n) + jnp.ones(n), lambda n: floats(3), "has not the shape of the"),
        (lambda n: jnp.ones(n) > 0, lambda n: floats(n), "d is f64.*, where"),
        (
            lambda n: jnp.sum(jnp.ones((n, 2)), 1),
            lambda n: floats(2),
            r"where the operands make it",
        ),
        (lambda n: jnp.ones((n, 2)).T, lambda n: floats(n, 2), r"where the operands make it"),
        (
            lambda n: jnp.squeeze(jnp.ones((n, 1)), 1),
            lambda n: floats(1),
            "where the operands make",
        ),
        (lambda n: jnp.ones((2, n)) @ jnp.ones(n), lambda n: floats(n), "where the operands make"),
        (lambda n: jnp.ones(n).reshape(n, 1), lambda n: floats(1, n), "where the parameters make"),
        (lambda n: jnp.arange(n), lambda n: array_type((2,), INT), "where the parameters make"),
        (lambda n: jnp.ones(n).astype(int), lambda n: floats(n), "make its dtype int64"),
        (lambda n: jnp.concatenate([jnp.ones((2, n))] * 2), lambda n: floats(4, 2), "operands"),
        (
            lambda n: jnp.where(jnp.ones(n) > 0, 1.0, jnp.ones(n)),
            lambda n: floats(2),
            "has not the shape of the result",
        ),
    ],
)
def test_results_that_do_not_fit_their_primitive(explicit, function, result_type, match):
    jaxpr = explicit(function, 3)
    last = jaxpr.equations[-1]
    position = len(jaxpr.equations) - 1
    wrong = ExplicitVariable(result_type(jaxpr.inputs[0]))
    jaxpr = with_equation(jaxpr, position, results=(wrong,), original=None)
    refuses(replace(jaxpr, outputs=(wrong,), num_implicit_outputs=0), match)
    assert last.primitive in str(jaxpr)


def test_operands_that_do_not_fit_each_other(explicit):
    jaxpr = explicit(lambda n: jnp.ones((2, n)) @ jnp.ones(n), 3)
    matrix, _ = jaxpr.equations[-1].operands
    wrong = with_equation(jaxpr, -1, operands=(matrix, matrix))
    refuses(wrong, "that meet have different sizes")
    jaxpr = explicit(lambda n: jnp.ones(n) * jnp.arange(n), 3)
    left, _ = jaxpr.equations[-1].operands
    integers = next(e for e in jaxpr.equations if e.primitive == "iota").results[0]
    refuses(with_equation(jaxpr, -1, operands=(left, integers)), "b and c have different dtypes")


def test_literals(sizes):
    (a, _) = sizes.equations[0].operands
    fraction = ExplicitLiteral(1.5, array_type((), INT))
    refuses(with_equation(sizes, 0, operands=(a, fraction)), r"the literal 1.5 is no i64\[\]")
    array = ExplicitLiteral(np.ones(2), array_type((), np.dtype("float64")))
    refuses(with_equation(sizes, 0, operands=(a, array)), r"is no f64\[\]")


# --- nested jaxprs -------------------------------------------------------------------------------


@pytest.fixture
def loop(explicit):
    """The first program of the document: `for_loop` of one array, a constant and a size."""

    def program(n):
        return for_loop(0, 10, 1)(lambda i, a: a * n)(jnp.ones(n))

    return explicit(program, 3)


def test_a_nested_jaxpr_sees_no_variable_from_outside(loop):
    body = loop.equations[1].params["body_jaxpr"]
    outer = loop.equations[0].results[0]
    last = len(body.equations) - 1
    body = with_equation(body, last, operands=(outer, body.equations[last].operands[1]))
    refuses(
        with_params(loop, 1, body_jaxpr=body),
        r"b is bound in another jaxpr, in `j:f64\[e\] = mul b i in body_jaxpr of for_loop`",
    )


def test_operands_that_a_body_does_not_take(loop):
    *others, _ = loop.equations[1].operands
    (n,) = loop.inputs
    wrong = with_equation(loop, 1, operands=(*others, n))
    refuses(
        wrong, r"operand a:i64\[\] is no f64\[d\], which body_jaxpr takes as f, in `_:i64\[\] b"
    )
    refuses(with_equation(loop, 1, operands=tuple(others)), "body_jaxpr takes 4 inputs, and gets 3")


def test_an_operand_of_another_size(loop):
    """The implicit operand says 7, the array has `a`."""
    constant, _, *others = loop.equations[1].operands
    seven = ExplicitLiteral(7, array_type((), INT))
    wrong = with_equation(loop, 1, operands=(constant, seven, *others))
    refuses(wrong, r"operand b:f64\[a\] is no f64\[e\], which body_jaxpr takes as g")


def test_a_body_that_changes_what_it_carries(loop):
    body = loop.equations[1].params["body_jaxpr"]
    constant, size, index, _ = body.inputs
    for outputs, message in [
        ((size, index), r"body_jaxpr returns f:i64\[\] for g:f64\[e\], which it carries"),
        ((constant, body.outputs[1]), r"returns j:f64\[e\] for g:f64\[e\], which it carries"),
        ((body.outputs[1],), "body_jaxpr returns 1 outputs, fewer than it carries"),
    ]:
        changed = replace(body, outputs=outputs, num_implicit_outputs=len(outputs) - 1)
        refuses(with_params(loop, 1, body_jaxpr=changed), message)


def test_a_result_of_another_size(loop):
    size, array = loop.equations[1].results
    loop = replace(loop, outputs=(size, array), num_implicit_outputs=1)
    typecheck_jaxpr(retyped(loop, array, floats(size)))  # the size did not change in the loop
    refuses(
        retyped(loop, array, floats(3)),
        r"result d:f64\[3\] is no f64\[f\], which body_jaxpr returns as k",
    )


def test_a_result_of_a_loop_that_resizes(explicit):
    """It has the size of its last iteration, never that of the initial value."""

    def program(n):
        return for_loop(0, 3, 1)(lambda i, a: jnp.concatenate([a, a]))(jnp.ones(n))

    jaxpr = explicit(program, 3)
    (n,) = jaxpr.inputs
    array = jaxpr.equations[1].results[1]
    wrong = replace(retyped(jaxpr, array, floats(n)), num_implicit_outputs=0)
    refuses(wrong, r"result \w:f64\[a\] is no f64\[\w\], which body_jaxpr returns as")


def test_a_condition_that_is_no_boolean(explicit):
    def program(n):
        return while_loop(lambda a: jnp.sum(a) < 9)(lambda a: a + 1)(jnp.ones(n))

    jaxpr = explicit(program, 3)
    condition = jaxpr.equations[1].params["cond_jaxpr"]
    wrong = replace(condition, outputs=condition.inputs[:1])
    refuses(with_params(jaxpr, 1, cond_jaxpr=wrong), "cond_jaxpr does not return one boolean")


def test_branches_of_other_types(explicit):
    def program(n):
        @cond(n > 2)
        def branch():
            return jnp.ones(n)

        @branch.otherwise
        def other():
            return jnp.zeros(2 * n)

        return branch()

    jaxpr = explicit(program, 3)
    position = len(jaxpr.equations) - 1
    size, _ = jaxpr.equations[position].results
    first, second = jaxpr.equations[position].params["branch_jaxprs"]
    wrong = replace(second, outputs=(first.inputs[0], *second.outputs[1:]))
    refuses(with_params(jaxpr, position, branch_jaxprs=(first, wrong)), "is bound in another jaxpr")
    wrong = replace(second, outputs=(second.inputs[-1], *second.outputs[1:]))
    refuses(
        with_params(jaxpr, position, branch_jaxprs=(first, wrong)),
        r"result \w:f64\[\w\] is no f64\[\w\], which branch_jaxprs\[1\] returns as",
    )
    shorter = replace(second, outputs=second.outputs[1:], num_implicit_outputs=0)
    refuses(
        with_params(jaxpr, position, branch_jaxprs=(first, shorter)),
        r"branch_jaxprs\[1\] returns 1 outputs for 2 results",
    )
    assert size.type.shape == ()


def test_a_scan_of_other_rows(explicit):
    jaxpr = explicit(
        lambda n: jax.lax.scan(lambda c, x: (c + x[:1].sum(), x * c), 0.0, jnp.ones((n, n))), 3
    )
    scan = jaxpr.equations[-1]
    typecheck_jaxpr(jaxpr)
    body = scan.params["jaxpr"]
    wrong = replace(body, outputs=body.outputs[:1] + body.inputs[:1])
    refuses(with_params(jaxpr, len(jaxpr.equations) - 1, jaxpr=wrong), "is no i64")


# --- what it says, and about what ----------------------------------------------------------------


def test_the_error_names_the_users_line(sizes):
    add, broadcast, sine = sizes.equations
    with pytest.raises(JaxprTypeError) as caught:
        typecheck_jaxpr(replace(sizes, equations=(add, sine, broadcast)))
    assert caught.value.defect == "d is used before it is bound"
    assert caught.value.equation == "c:f64[b] = sin d"
    assert caught.value.span.file == __file__
    assert isinstance(caught.value, TypeError)


def test_jaxprs_of_jax():
    closed = jax.make_jaxpr(lambda x: jax.lax.while_loop(lambda c: c < 9, lambda c: c * 2, x))(1)
    typecheck_jaxpr(closed)
    jaxpr = explicit_jaxpr(closed)
    assert str(jaxpr) == str(closed)
    refuses(replace(jaxpr, equations=()), "unbound")
