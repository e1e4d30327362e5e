"""What runs outside of compiled code: `device_step`, on a PennyLane device, and `accelerated`.

A circuit on a PennyLane device, in Python, is a list of operators that the running program fills,
one host call for each step: a step that starts the list, one that appends an operator, and a last
one that runs the list on the device. What stands for the list in the program is its number, an
`i64`, threaded through the steps as a register is through gates, so loops and branches around
operators are native code.

`accelerated` is a jaxpr that JAX compiles and runs, on a device of its choice, when we run:

    accelerated    *operands -> results    jaxpr: *operands -> results

Its derivative, transpose and batch are `accelerated` again, of what JAX makes of the jaxpr; so
there are derivatives of any order, in both modes, and all of them run on the device.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun
from jax.interpreters import ad, mlir

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE


@dataclass(frozen=True, eq=False)
class DeviceStep:
    """What one host call does; equal to itself only, so no cache of JAX's mixes up two of them."""

    description: str
    """An operator, or what is done with all: as the user reads it in printed jaxprs."""
    function: Callable[..., Sequence[Any]] = field(repr=False)
    """From numpy arrays to numpy arrays of the promised types."""
    draws: bool = False
    """Whether results differ from run to run."""

    def __repr__(self) -> str:
        return self.description


def _device_step_abstract_eval(
    *operands: Any, step: DeviceStep, result_avals: tuple[ShapedArray, ...]
) -> Sequence[ShapedArray]:
    return result_avals


device_step_p = define_primitive(
    "device_step",
    Role.HOST,
    construct="QNode",
    abstract_eval=_device_step_abstract_eval,
    missing_rules=INSIDE_A_QNODE,
)
"""`number of a circuit, *values -> results`; every step but the last gives the number again."""


Values = Sequence[Any]


def _accelerated_abstract_eval(*_: Any, jaxpr: ClosedJaxpr, device: Any) -> Sequence[Any]:
    return jaxpr.out_avals


def _bind(function: Callable[..., Any], operands: Values, device: Any) -> list[Any]:
    """Run a function of flat operands, without tracers in it, on the device."""
    jaxpr = jax.make_jaxpr(function)(*operands)
    return accelerated_p.bind(*operands, jaxpr=jaxpr, device=device)


def _put(values: Values, places: Sequence[int], new: Values) -> list[Any]:
    changed = dict(zip(places, new, strict=True))
    return [changed.get(place, value) for place, value in enumerate(values)]


def _jvp(primals: Values, tangents: Values, *, jaxpr: ClosedJaxpr, device: Any) -> Any:
    function = jaxpr_as_fun(jaxpr)
    results = accelerated_p.bind(*primals, jaxpr=jaxpr, device=device)
    places = [place for place, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]
    smooth = [jnp.issubdtype(aval.dtype, jnp.inexact) for aval in jaxpr.out_avals]

    def pushed(*operands: Any) -> list[Any]:
        values, moves = operands[: len(primals)], operands[len(primals) :]
        own = [values[place] for place in places]
        found = jax.jvp(lambda *moved: function(*_put(values, places, moved)), own, list(moves))
        return [one for one, counts in zip(found[1], smooth, strict=True) if counts]

    moves = [tangents[place] for place in places]
    given = iter(_bind(pushed, [*primals, *moves], device))
    return results, [
        next(given) if counts else ad.Zero(jax.typeof(result).to_tangent_aval())
        for result, counts in zip(results, smooth, strict=True)
    ]


def _transpose(cotangents: Values, *operands: Any, jaxpr: ClosedJaxpr, device: Any) -> Any:
    function = jaxpr_as_fun(jaxpr)
    places = [place for place, one in enumerate(operands) if ad.is_undefined_primal(one)]
    types = [
        jax.ShapeDtypeStruct(one.aval.shape, one.aval.dtype)
        for one in map(operands.__getitem__, places)
    ]
    known = [one for one in operands if not ad.is_undefined_primal(one)]
    rest = [place for place in range(len(operands)) if place not in places]

    def pulled(*values: Any) -> Any:
        fixed = _put(operands, rest, values[: len(rest)])
        transposed = jax.linear_transpose(lambda *own: function(*_put(fixed, places, own)), *types)
        return transposed(list(values[len(rest) :]))

    given = _bind(pulled, [*known, *map(ad.instantiate_zeros, cotangents)], device)
    return _put([None] * len(operands), places, given)


def _batch(operands: Values, axes: Any, *, jaxpr: ClosedJaxpr, device: Any) -> Any:
    batched = jax.vmap(jaxpr_as_fun(jaxpr), in_axes=tuple(axes))
    results = _bind(batched, operands, device)
    return results, [0] * len(results)


accelerated_p: Primitive = define_primitive(
    "accelerated",
    Role.HOST,
    construct="accelerate",
    abstract_eval=_accelerated_abstract_eval,
    rules={"jvp": _jvp, "transpose": _transpose, "vmap": _batch},
)


@accelerated_p.def_impl
def _run(*operands: Any, jaxpr: ClosedJaxpr, device: Any) -> Any:
    if device is not None:
        operands = tuple(jax.device_put(operand, device) for operand in operands)
    return _compiled(jaxpr)(*operands)


@lru_cache(maxsize=256)
def _compiled(jaxpr: ClosedJaxpr) -> Callable[..., Any]:
    return jax.jit(jaxpr_as_fun(jaxpr))


def _inside_of_another(*operands: Any, jaxpr: ClosedJaxpr, device: Any) -> Any:
    """Where JAX compiles a function that calls an accelerated one, that is part of it."""
    return jaxpr_as_fun(jaxpr)(*operands)


mlir.register_lowering(accelerated_p, mlir.lower_fun(_inside_of_another, multiple_results=True))
