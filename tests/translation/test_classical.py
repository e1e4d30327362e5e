"""What NumPy computes for equations is what JAX computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from translation.classical import FUNCTIONS

X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 5, 3)))
I = jnp.array([0, 3, -1, 7])  # noqa: E741
PROGRAMS = {
    "rows": lambda: X[I],
    "columns": lambda: X[:, I],
    "diagonal": lambda: X[I[:3], I[:3]],
    "apart": lambda: X[I[:2], 1:3, I[:2] - 1],
    "clipped": lambda: jnp.take(X, I, axis=1, mode="clip"),
    "along": lambda: jnp.take_along_axis(X, I[:3, None, None], axis=0),
    "batched": lambda: jax.vmap(lambda row, place: row[place])(X, I),
    "integers": lambda: (I % 3 - (-I) // 2) ** 2,
    "products": lambda: jnp.einsum("abc,dbc->ad", X, X) @ X[:, :, 0],
    "rolled": lambda: jnp.cumsum(jnp.roll(X, 1, 0), axis=1).mean(0),
    "chosen": lambda: jnp.where(X > 0, jnp.sqrt(jnp.abs(X)), X**3),
    "complex": lambda: jnp.exp(1j * X).real.astype(jnp.float32) + jnp.stack([X, X])[1, ::-1],
}


def evaluated(closed):
    values = dict(zip(closed.jaxpr.constvars, map(np.asarray, closed.consts), strict=True))

    def read(atom):
        return np.asarray(atom.val, atom.aval.dtype) if hasattr(atom, "val") else values[atom]

    for equation in closed.jaxpr.eqns:
        operands = list(map(read, equation.invars))
        if equation.primitive.name == "jit":
            found = evaluated_inside(equation.params["jaxpr"], operands)
        else:
            found = [FUNCTIONS[equation.primitive.name](*operands, **equation.params)]
        for variable, result in zip(equation.outvars, found, strict=True):
            values[variable] = np.asarray(result, variable.aval.dtype)
    return list(map(read, closed.jaxpr.outvars))


def evaluated_inside(closed, operands):
    jaxpr = closed.jaxpr
    return evaluated(
        closed.replace(
            jaxpr=jaxpr.replace(constvars=[*jaxpr.constvars, *jaxpr.invars], invars=[]),
            consts=[*closed.consts, *operands],
        )
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_jax(name):
    (found,) = evaluated(jax.make_jaxpr(PROGRAMS[name])())
    np.testing.assert_allclose(found, PROGRAMS[name](), rtol=1e-6)
