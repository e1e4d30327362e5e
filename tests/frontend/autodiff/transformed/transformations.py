"""The transformations of the matrix: one program with all of them, and what they must be."""

from collections.abc import Callable, Collection
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from frontend.autodiff.transformed import extended

NAMES = ("grad", "jacobian", "jvp", "vjp", "hessian", "vmap", "vmap of grad", "grad of vmap")


def along(size: int) -> Any:
    """The direction of a `jvp`."""
    return np.cos(1.0 + np.arange(size))


def weighting(size: int) -> Any:
    """The weights of results: of a `vjp`, and of the number whose gradient is taken."""
    return np.sin(1.0 + np.arange(size))


def batch_of(x: Any) -> Any:
    """A batch of two arguments."""
    return np.stack([x, 0.8 * x + 0.05])


def all_of(function: Callable[..., Any], names: Collection[str]) -> Callable[..., Any]:
    """The program `(x, n, batch) -> transformations of function(., n)`."""

    def program(x: Any, n: Any, batch: Any) -> dict[str, Any]:
        def several(x: Any) -> Any:
            return function(x, n)

        def scalar(x: Any) -> Any:
            found = several(x)
            return jnp.asarray(weighting(found.shape[0])) @ found

        def pulled_back(x: Any) -> Any:
            found, pull_back = jax.vjp(several, x)
            return pull_back(jnp.asarray(weighting(found.shape[0])))[0]

        table = {
            "grad": lambda: jax.grad(scalar)(x),
            "jacobian": lambda: jax.jacrev(several)(x),
            "jvp": lambda: jax.jvp(several, (x,), (jnp.asarray(along(x.size)),))[1],
            "vjp": lambda: pulled_back(x),
            "hessian": lambda: jax.hessian(scalar)(x),
            "vmap": lambda: jax.vmap(several)(batch),
            "vmap of grad": lambda: jax.vmap(jax.grad(scalar))(batch),
            "grad of vmap": lambda: jax.grad(lambda b: jnp.sum(jax.vmap(scalar)(b) ** 2))(batch),
        }
        return {name: table[name]() for name in names}

    return program


def expected(f: Callable[[Any], Any], x: Any) -> dict[str, Any]:
    """The same from finite differences of a function of lists of extended numbers."""
    exact, rows = _exact(x), [_exact(row) for row in batch_of(x)]
    first, second = extended.jacobian(f, exact), extended.hessian(f, exact)
    values, jacobians = (
        [extended.values(f, row) for row in rows],
        [extended.jacobian(f, row) for row in rows],
    )
    w = weighting(len(first))
    gradients = [w @ one for one in jacobians]
    found = {
        "grad": w @ first,
        "jacobian": first,
        "jvp": first @ along(len(x)),
        "vjp": w @ first,
        "hessian": np.tensordot(w, second, axes=1),
        "vmap": values,
        "vmap of grad": gradients,
        "grad of vmap": [2 * (w @ v) * g for v, g in zip(values, gradients, strict=True)],
    }
    return {name: np.array(table, dtype=object).astype(np.float64) for name, table in found.items()}


def _exact(x: Any) -> Any:
    return np.array([extended.mpmath.mpf(float(value)) for value in x], object)
