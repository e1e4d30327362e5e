"""Functions that JAX, from 0.12 on, records as one equation with a rule of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from diastase import qjit

X = jnp.array([0.0, 1.0, 2.5])
FUNCTIONS = {
    "searchsorted": lambda x: jnp.searchsorted(x, x + 0.5),
    "nonzero": lambda x: jnp.nonzero(x, size=2)[0],
    "ldexp": lambda x: jnp.ldexp(x, 3),
    "frexp": jnp.frexp,
    "in a loop": lambda x: jax.lax.map(lambda y: jnp.searchsorted(x, y), x),
    "mapped": jax.vmap(lambda y: jnp.searchsorted(X, y)),
    "derivative": jax.grad(lambda x: jnp.ldexp(x, 2).sum()),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_traced_inline(name):
    function = FUNCTIONS[name]
    compiled = qjit(function)
    jax.tree.map(np.testing.assert_array_equal, compiled(X), function(X))
    assert "call_hi_primitive" not in str(_primitives(compiled.jaxpr))


def test_plain_jax_records_them_as_before():
    function = FUNCTIONS["searchsorted"]
    before = str(jax.make_jaxpr(function)(X))
    qjit(function)(X)
    jax.clear_caches()
    assert str(jax.make_jaxpr(function)(X)) == before


def _primitives(jaxpr):
    """Names of all primitives in a jaxpr, nested ones included."""
    names = set()
    for equation in jaxpr.eqns:
        names.add(equation.primitive.name)
        for inner in jaxprs_in_params(equation.params):
            names |= _primitives(inner)
    return names
