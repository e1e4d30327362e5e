"""The one traversal of equations: order, depth, what is left out; and jaxprs rebuilt on the way."""

import jax
import jax.numpy as jnp
from jax import lax

from diastase_mlir.jax_compat import (
    closed_jaxprs_in,
    equations_in,
    equations_of,
    jaxprs_in,
    variables_in,
    with_jaxprs,
)


def program(x):
    def body(i, y):
        return lax.cond(y > 0, jnp.sin, lambda z: jnp.cos(z) * i, y)

    return lax.fori_loop(0, 3, body, jnp.exp(x)) + 1.0


JAXPR = jax.make_jaxpr(program)(2.0)
(LOOP,) = [e for e in JAXPR.jaxpr.eqns if e.primitive.name in ("scan", "while")]


def names(equations):
    return [equation.primitive.name for equation in equations]


def test_equations_come_in_order_each_before_those_inside():
    found = names(equations_in(JAXPR))
    assert found[0] == "exp"
    assert found[-1] == "add"
    loop, branches = found.index(LOOP.primitive.name), found.index("cond")
    assert 0 < loop < branches < found.index("cos") < found.index("sin") < len(found) - 1
    assert found[loop:-1] == names(equations_of(LOOP))


def test_what_is_not_entered_is_left_out():
    by_name = names(equations_in(JAXPR, lambda equation: equation.primitive.name != "cond"))
    assert "cond" in by_name
    assert "sin" not in by_name
    assert names(equations_in(JAXPR, lambda _: False)) == names(JAXPR.jaxpr.eqns)


def test_the_jaxprs_of_parameters_are_those_of_one_level():
    (branches,) = [e for e in equations_in(JAXPR) if e.primitive.name == "cond"]
    assert len(jaxprs_in(branches.params)) == len(closed_jaxprs_in(branches.params)) == 2
    assert jaxprs_in(LOOP.params)[-1] is closed_jaxprs_in(LOOP.params)[-1].jaxpr
    assert jaxprs_in({"sizes": (1, 2), "name": "f", "nested": [(JAXPR.jaxpr,)]}) == [JAXPR.jaxpr]
    assert closed_jaxprs_in([JAXPR.jaxpr, JAXPR])[-1] is JAXPR


def test_variables_are_inputs_and_results_at_any_depth():
    found = set(variables_in(JAXPR))
    assert {*JAXPR.jaxpr.invars, *JAXPR.jaxpr.outvars} <= found
    assert all(variable in found for each in equations_in(JAXPR) for variable in each.outvars)
    assert sum(len(each.outvars) for each in equations_in(JAXPR)) < len(found)


def test_jaxprs_are_changed_where_they_stand_and_nothing_else_is():
    params = {"jaxpr": JAXPR, "branches": (JAXPR, JAXPR), "count": 3}
    assert with_jaxprs(params, lambda jaxpr: jaxpr) is params
    other = jax.make_jaxpr(jnp.sin)(1.0)
    changed = with_jaxprs(params, lambda _: other)
    assert changed == {**params, "jaxpr": other, "branches": (other, other)}


def test_jaxprs_in_tuples_with_names_are_changed_as_well():
    """As those of a linear system are."""
    solved = jax.make_jaxpr(lambda a: jnp.linalg.solve(a, a))(jnp.eye(2))
    found = [e for e in equations_in(solved) if e.primitive.name == "custom_linear_solve"]
    jaxprs = found[0].params["jaxprs"]
    changed = with_jaxprs(found[0].params, lambda jaxpr: jaxpr.replace())["jaxprs"]
    assert type(changed) is type(jaxprs)
    assert changed is not jaxprs
    assert changed.matvec.eqns == jaxprs.matvec.eqns
