"""Sizes that tracing assumed to be equal: one variable, or two that the checker takes for one."""

from dataclasses import replace

import jax.numpy as jnp
import pytest

from diastase import for_loop
from diastase.jaxpr import JaxprTypeError, typecheck_jaxpr


def test_sizes_of_arguments_are_one_variable(explicit):
    jaxpr = explicit(lambda n, m: jnp.ones(n) + jnp.ones(m), 3, 3)
    n, _ = jaxpr.inputs
    assert jaxpr.equations[-1].results[0].type.shape == (n,)
    assert jaxpr.assumed_equal == ()


def test_a_size_that_is_assumed_to_be_a_number(explicit):
    jaxpr = explicit(lambda n: jnp.ones((n, 2)) + jnp.ones((3, 2)), 3)
    assert str(jaxpr.equations[-1].results[0].type) == "f64[3,2]"
    assert "d0" not in str(jaxpr)


def test_a_carried_size_that_is_assumed_to_be_another(explicit):
    """It is in the first iteration, and the program is left in the second."""

    def program(n):
        x = jnp.ones(n)
        return for_loop(0, 3, 1)(lambda _, a: jnp.concatenate([a + x, x]))(x)

    jaxpr = explicit(program, 3)
    body = jaxpr.equations[1].params["body_jaxpr"]
    captured, _, carried, *_ = body.inputs
    assert body.assumed_equal == ((captured, carried),)
    params = {**jaxpr.equations[1].params, "body_jaxpr": replace(body, assumed_equal=())}
    loop = replace(jaxpr.equations[1], params=params)
    with pytest.raises(
        JaxprTypeError, match=r"i:f64\[g\] has not the shape of the result j:f64\[e\]"
    ):
        typecheck_jaxpr(replace(jaxpr, equations=(jaxpr.equations[0], loop)))
