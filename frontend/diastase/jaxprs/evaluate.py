"""Jaxprs evaluated anew, and derivatives of functions of a few of many operands.

The trap: a jaxpr that is recorded once more elsewhere defines the symbols of its sizes there again;
`evaluated` notes that, JAX's own evaluation does not.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.dynamic_carry import dimension_table
from diastase.primitives.errors import NotTransformableError
from diastase_mlir.jax_compat import evaluate_jaxpr

Values = Sequence[Any]


def evaluated(
    closed: ClosedJaxpr, operands: Sequence[Any], instead: Mapping[str, Any] | None = None
) -> list[Any]:
    """The results of a jaxpr for these operands; `instead` is as for `evaluate_jaxpr`."""
    return evaluate_jaxpr(closed, operands, instead, dimension_table().note_copy)


def number_of(atom: Any) -> np.generic | int | None:
    """The number that an operand is, of its exact type; None where it is none, or not known."""
    aval: Any = atom.aval
    if not isinstance(atom, Literal) or aval.shape:
        return None
    if aval.weak_type:  # as numbers of Python's are
        return int(atom.val) if aval.dtype == np.int64 else None
    value: Any = np.asarray(atom.val, aval.dtype) if isinstance(aval.dtype, np.dtype) else None
    return None if value is None else value[()]


def is_number(value: Any) -> bool:
    """Whether a value is known now: a number (`number_of`)."""
    return isinstance(value, np.generic | int)


def paired(cotangents: Values, results: Values) -> Any:
    """Re(cotangents . results)."""
    terms = [
        jnp.real(jnp.sum(cotangent * result))
        for cotangent, result in zip(cotangents, results, strict=True)
    ]
    return sum(terms, jnp.float64(0))


def replaced(values: Values, positions: Sequence[int], moved: Values) -> list[Any]:
    """The values, with those at some positions replaced."""
    changed = list(values)
    for position, value in zip(positions, moved, strict=True):
        changed[position] = value
    return changed


def pullback(
    function: Callable[[Values], Values],
    values: Values,
    wanted: Sequence[int],
    found: Sequence[int],
) -> Callable[[Values], Values]:
    """The VJP of the results in `found` by the operands in `wanted`, with the others fixed."""

    def of_some(*moved: Any) -> Values:
        results = function(replaced(values, wanted, moved))
        return [results[position] for position in found]

    return jax.vjp(of_some, *(values[position] for position in wanted))[1]


def gradient_of(function: Callable[..., Any], primals: Values) -> list[Any]:
    """The gradient of a real function; element by element where it cannot go backwards."""
    try:
        _, pull_back = jax.vjp(function, *primals)
        return list(pull_back(jnp.float64(1)))
    except (NotTransformableError, ValueError):  # a loop
        pass
    return [
        gradient_by_element(partial(_along, function, primals, number), primal)
        for number, primal in enumerate(primals)
    ]


def _along(function: Callable[..., Any], primals: Values, number: int, entry: Any) -> Any:
    def of_one(value: Any) -> Any:
        return function(*replaced(primals, (number,), [value]))

    return jax.jvp(of_one, (primals[number],), (entry,))[1]


def gradient_by_element(
    along: Callable[[Any], Any],
    primal: Any,
    for_each: Callable[[Any], Any] = lambda element: partial(jax.lax.map, element),
) -> Any:
    """A gradient of derivatives along unit vectors; `for_each`: one after the other, or `vmap`."""
    aval = jax.typeof(primal)

    def element(row: Any) -> Any:
        entry = row.reshape(aval.shape)
        if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
            return along(entry)
        return along(entry) - 1j * along(1j * entry)

    unit = jnp.eye(aval.size, dtype=aval.dtype)
    return for_each(element)(unit).reshape(aval.shape).astype(aval.dtype)
