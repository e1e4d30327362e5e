"""Every primitive with jaxprs inside, over dynamic sizes: derived, well typed, printed in place.

That they are well typed, and that their texts can be made, is checked for each program that any
test traces (`tests/conftest.py`); here, what the nested jaxprs take and return.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, switch
from diastase.jaxpr import ExplicitJaxpr, regions, typecheck_jaxpr


@jax.custom_vjp
def doubled(x):
    return x * 2


doubled.defvjp(lambda x: (x * 2, x), lambda residual, g: (g * 2,))


def circuit(angles):
    """A QNode whose parameter has a dynamic size."""

    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def node(a):
        @for_loop(0, a.shape[0], 1)
        def rotate(i):
            qml.RX(a[i], wires=0)

        rotate()
        return qml.expval(qml.Z(0))

    return node(angles)


def chosen(n):
    a = jnp.ones(n)

    @switch(n)
    def choice():
        return a

    @choice.branch(1)
    def second():
        return a * n

    return choice()


PROGRAMS = {
    "scan": lambda n: jax.lax.scan(lambda c, x: (c + x, jnp.ones(n) * c), 0.0, jnp.ones(n))[1],
    "while": lambda n: jax.lax.while_loop(
        lambda c: jnp.sum(c) < n, lambda c: c + jnp.arange(1, n + 1), jnp.ones(n, int)
    ),
    "cond": lambda n: jax.lax.cond(
        n > 2, lambda x: x * jnp.ones(n + 1), lambda x: jnp.zeros(n + 1), 2.0
    ),
    "custom_jvp_call": lambda n: jax.nn.relu(jnp.ones(n)),
    "custom_vjp_call": lambda n: doubled(jnp.ones(n)),
    "remat2": lambda n: jax.checkpoint(lambda x: jnp.sin(jnp.concatenate([x, x])))(jnp.ones(n)),
    "custom_linear_solve": lambda n: jax.lax.custom_linear_solve(
        lambda v: 2 * v, jnp.ones(n), lambda _, b: b / 2, lambda _, b: b / 2
    ),
    "reduce": lambda n: jax.lax.reduce(jnp.ones(n), 0.0, lambda p, q: p + q * 2, (0,)),
    "switch": chosen,
    "qnode": lambda n: circuit(jnp.ones(n)),
}


@pytest.mark.parametrize("primitive", PROGRAMS)
def test_a_primitive_with_jaxprs_inside(explicit, primitive):
    jaxpr = explicit(PROGRAMS[primitive], 3)
    typecheck_jaxpr(jaxpr)
    (equation,) = [e for e in jaxpr.equations if e.primitive == primitive]
    for region in regions(equation):
        assert isinstance(region.jaxpr, ExplicitJaxpr)
        if region.operands is not None:
            assert len(region.operands) == len(region.jaxpr.inputs)
        flags = [is_explicit for _, is_explicit in region.jaxpr.in_type]
        assert flags.count(False) == region.jaxpr.num_consts + region.jaxpr.num_implicit_inputs
        assert len(region.jaxpr.out_type) == len(region.jaxpr.outputs)
    text = str(jaxpr)
    assert "d0" not in text
    assert text.count("{ lambda ") == 1 + sum(_count(part.jaxpr) for part in regions(equation))


def _count(jaxpr):
    inner = [part.jaxpr for equation in jaxpr.equations for part in regions(equation)]
    return 1 + sum(map(_count, inner))


def test_a_size_known_only_inside_is_an_implicit_result(explicit):
    jaxpr = explicit(lambda n: jax.checkpoint(lambda k: jnp.ones(k[0]))(jnp.array([n, 2])), 3)
    (equation,) = [e for e in jaxpr.equations if e.primitive == "remat2"]
    size, array = equation.results
    assert array.type.shape == (size,)
    (region,) = regions(equation)
    assert region.jaxpr.num_implicit_outputs == 1
    assert [str(type_) for type_, _ in region.jaxpr.out_type] == ["i64[]", "f64[OutDBIdx(0)]"]
    assert jaxpr.outputs == (size, array)


def test_sizes_stand_where_a_primitive_takes_constants(explicit):
    """Not before the index of a `cond`, and counted by a `scan`."""
    jaxpr = explicit(PROGRAMS["cond"], 3)
    (equation,) = [e for e in jaxpr.equations if e.primitive == "cond"]
    assert equation.operands[0].type.aval.dtype == np.int32
    jaxpr = explicit(PROGRAMS["scan"], 3)
    (equation,) = [e for e in jaxpr.equations if e.primitive == "scan"]
    assert equation.params["num_consts"] == 1
    assert equation.operands[0] is jaxpr.inputs[0]


def test_branches_of_different_sizes_return_them(explicit):
    def program(n):
        @cond(n > 2)
        def branch():
            return jnp.ones(4)

        @branch.otherwise
        def other():
            return jnp.ones(n)

        return branch()

    jaxpr = explicit(program, 3)
    equation = jaxpr.equations[-1]
    size, array = equation.results
    assert array.type.shape == (size,)
    first, second = equation.params["branch_jaxprs"]
    assert first.outputs[0].value == 4
    assert second.outputs[0] is second.inputs[0]
    assert (
        str(first)
        == "{ lambda ; a:i64[]. let b:f64[4] = broadcast_in_dim 1.0:f64[] in (4:i64[], b) }"
    )


def test_branches_of_one_size_return_it_too(explicit):
    """The result keeps the size that is known outside, so that it meets other arrays."""

    def program(n):
        @cond(n > 2)
        def branch():
            return jnp.ones(n + 1)

        @branch.otherwise
        def other():
            return jnp.zeros(n + 1)

        return branch() + jnp.ones(n + 1)

    text = str(explicit(program, 3))
    assert "    _:i64[] e:f64[d] = switch[\n" in text


def test_the_index_of_a_32_bit_loop(explicit):
    """Sizes are i64, whatever integer they come from."""

    def program(n):
        return for_loop(0, n, 1)(lambda i, a: a + jnp.sum(jnp.ones(i)))(jnp.ones(n))

    jaxpr = explicit(program, np.int32(3))
    assert str(jaxpr).startswith(
        "{ lambda ; a:i32[]. let\n    b:i64[] = convert_element_type[new_dtype=int64"
    )
