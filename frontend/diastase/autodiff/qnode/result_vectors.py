"""Results of a run as one vector, and derivatives of functions of a few of many operands."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from diastase.primitives.errors import NotTransformableError
from diastase.primitives.qnode_derivatives import Positions
from diastase_mlir.jax_compat import is_symbolic

Values = Sequence[Any]


def flat(results: Values) -> Any:
    """All results, one after the other."""
    return jnp.concatenate([jnp.ravel(result) for result in results])


def unflat(vector: Any, avals: Sequence[Any]) -> list[Any]:
    """The results of these types in a vector."""
    found, start = list[Any](), 0
    total = sum(aval.size for aval in avals)
    vector = jnp.broadcast_to(vector, (total,))  # where nothing is shifted there is one zero
    for aval in avals:
        part = jax.lax.slice_in_dim(vector, start, start + aval.size).reshape(aval.shape)
        if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
            part = jnp.real(part)
        found.append(part.astype(aval.dtype))
        start += aval.size
    return found


def padded(rows: Any, count: int) -> Any:
    """Rows of zeros after a number of others that is not known: so no slice is too long."""
    if not is_symbolic(rows.shape[0]):
        return rows
    return jnp.concatenate([rows, jnp.zeros((count, *rows.shape[1:]), rows.dtype)])


def paired(cotangents: Values, results: Values) -> Any:
    """Re(cotangents . results)."""
    terms = [
        jnp.real(jnp.sum(cotangent * result))
        for cotangent, result in zip(cotangents, results, strict=True)
    ]
    return sum(terms, jnp.float64(0))


def replaced(values: Values, positions: Positions, moved: Values) -> list[Any]:
    """The values, with those at some positions replaced."""
    changed = list(values)
    for position, value in zip(positions, moved, strict=True):
        changed[position] = value
    return changed


def pulled_back(function: Callable[..., Any], primals: Values) -> list[Any]:
    """The gradient of a real function; element by element where it cannot go backwards."""
    try:
        _, pull_back = jax.vjp(function, *primals)
        return list(pull_back(jnp.float64(1)))
    except (NotTransformableError, ValueError):  # a loop
        pass
    return [
        _by_element(partial(_at, function, primals, number), primal)
        for number, primal in enumerate(primals)
    ]


def _at(function: Callable[..., Any], primals: Values, number: int, entry: Any) -> Any:
    def of_one(value: Any) -> Any:
        return function(*replaced(primals, (number,), [value]))

    return jax.jvp(of_one, (primals[number],), (entry,))[1]


def _by_element(along: Callable[[Any], Any], primal: Any) -> Any:
    aval = jax.typeof(primal)

    def element(row: Any) -> Any:
        entry = row.reshape(aval.shape)
        if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
            return along(entry)
        return along(entry) - 1j * along(1j * entry)

    unit = jnp.eye(aval.size, dtype=aval.dtype)
    return jax.lax.map(element, unit).reshape(aval.shape).astype(aval.dtype)
