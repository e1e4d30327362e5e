"""Parts of inputs, and derivatives by all parts of an input put into their places at once.

JAX transposes each slice of an array to an array of zeros with the part in it, and adds these up:
a loop or a matrix for each of a thousand parts would make a thousand such arrays. Parameters of
gates are vectors by now (`stretches`); what else reads parts of inputs has its derivatives put into
their places together.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Var

from diastase_mlir.jax_internals import rebuilt
from diastase_mlir.rerolling import Part, is_view, put_into_places, viewed, whole


def without_parts(
    closed: ClosedJaxpr, wanted: Collection[Any]
) -> tuple[ClosedJaxpr, ClosedJaxpr, dict[Any, Part]]:
    """What takes parts of some inputs, the rest as a jaxpr of all inputs and these, and the parts.

    An input of which not only parts are read is a part itself, and the first jaxpr gives it, too.
    """
    inputs = closed.jaxpr.invars
    parts = {variable: whole(variable) for variable in inputs if variable in wanted}
    slices, others = list[Any](), list[Any]()
    for equation in closed.jaxpr.eqns:
        if is_view(equation) and equation.invars[0] in parts:
            parts[equation.outvars[0]] = viewed(parts[equation.invars[0]], equation)
            slices.append(equation)
        else:
            others.append(equation)
    read = [atom for equation in others for atom in equation.invars] + closed.jaxpr.outvars
    used = dict.fromkeys(atom for atom in read if isinstance(atom, Var) and atom in parts)
    slicing = rebuilt(closed, inputs, slices, list(used))
    rest = rebuilt(closed, list(dict.fromkeys([*inputs, *used])), others, closed.jaxpr.outvars)
    return slicing, rest, {variable: parts[variable] for variable in used}


def put_together(variable: Any, parts: Mapping[Any, Part], cotangents: Sequence[Any]) -> Any:
    """The cotangent of an input, given those of all parts."""
    aval = variable.aval
    total, places, numbers = None, list[np.ndarray](), list[Any]()
    for (own, part), cotangent in zip(parts.items(), cotangents, strict=True):
        if own is variable:
            total = cotangent
        elif part.root is variable:
            places.append(part.places(cotangent.shape))
            numbers.append(lax.reshape(cotangent, (cotangent.size,)))
    if places:
        targets = np.concatenate(places)
        pieces = [(targets, np.arange(len(targets)))]
        flat = put_into_places(aval.size, pieces, lax.concatenate(numbers, 0))
        own = lax.reshape(flat, aval.shape)
        total = own if total is None else lax.add(total, own)
    return jnp.zeros(aval.shape, aval.dtype) if total is None else total
