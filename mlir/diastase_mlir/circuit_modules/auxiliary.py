"""Wires that passes have added to a register: in |0> wherever anything is measured, seen by nobody.

They come after the user's, so that the state without them is every 2^k-th amplitude. What is about
all wires is about the user's: `probs`, `sample`, `state`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase_mlir.jax_compat import new_equation, new_variable


def without_auxiliary(closed: ClosedJaxpr, added: int) -> ClosedJaxpr:
    """Restrict what a circuit measures to the wires that it had before so many were added."""
    if not added:
        return closed
    (number,) = [
        equation.params["num_wires"]
        for equation in closed.jaxpr.eqns
        if equation.primitive.name == "allocate_qubits"
    ]
    own = number - added
    equations = [one for each in closed.jaxpr.eqns for one in _restricted(each, own, added)]
    return closed.replace(jaxpr=closed.jaxpr.replace(eqns=equations))


def _restricted(equation: Any, own: int, added: int) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    if name in ("probs", "sample") and params["wires"] == ():
        return [equation.replace(params={**params, "wires": tuple(range(own))})]
    if name != "state":
        return [equation]
    (result,) = equation.outvars
    size = 2 ** (own + added)
    wide = new_variable(ShapedArray((size,), np.dtype(result.aval.dtype)))
    taken = {"start_indices": (0,), "limit_indices": (size,), "strides": (2**added,)}
    return [
        equation.replace(outvars=[wide], params={**params, "size": size}),
        new_equation(lax.slice_p, [wide], [result], taken, equation.source_info),
    ]
