"""An int where a float was compiled: the compiled program serves, if that gives what JAX gives.

In: a function traced for new types of arguments, and a program compiled for others. Traced for an
int, `x * 2.0` is the program for a float behind a conversion of `x`. Where this holds for every
argument that differs, and everything else has the same key, converting the arguments
before the call gives the same result, types included, and nothing is compiled.

The trap: the dtypes of the results prove nothing. `x // 2 * 1.0` returns a float for an int too,
another one than for the float; its trace divides before it converts, so it does not match.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase.jit.stages.stages import Compiled, Traced
from diastase_mlir.program_keys import structure_key


def promoted(compiled: Compiled, traced: Traced) -> Compiled | None:
    """The compiled program for the arguments of `traced`, if it computes exactly that."""
    program, wanted = traced.traced.program, compiled.traced.program
    if any(d.values or d.axes for d in (program.dimensions, wanted.dimensions)):
        return None
    if not _same_interface(compiled, traced):
        return None
    without = _without_conversions(program.jaxpr.jaxpr, wanted.jaxpr.in_avals)
    if without is None:
        return None
    key = structure_key(ClosedJaxpr(without, program.jaxpr.consts))
    if key is None or key != structure_key(wanted.jaxpr):
        return None
    call = PromotingCall(compiled.prepared, compiled.traced.in_avals)
    return replace(compiled, interface=traced.interface, traced=traced.traced, prepared=call)


class PromotingCall:
    """A prepared call that converts its arguments first."""

    def __init__(self, call: Any, avals: Sequence[ShapedArray]) -> None:
        self._call = call
        self._dtypes = tuple(aval.dtype for aval in avals)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program."""
        arguments = zip(leaves, self._dtypes, strict=True)
        return self._call([_converted(leaf, dtype) for leaf, dtype in arguments])


def _converted(leaf: Any, dtype: Any) -> Any:
    if isinstance(leaf, jax.Array):
        return leaf if leaf.dtype == dtype else leaf.astype(dtype)
    return np.asarray(leaf, dtype)


def _same_interface(compiled: Compiled, traced: Traced) -> bool:
    have, want = traced.traced, compiled.traced
    return (
        traced.interface.in_tree == compiled.interface.in_tree
        and traced.interface.out_tree == compiled.interface.out_tree
        and [aval.shape for aval in have.in_avals] == [aval.shape for aval in want.in_avals]
        and [_type(aval) for aval in have.out_avals] == [_type(aval) for aval in want.out_avals]
    )


def _type(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype, aval.weak_type


def _without_conversions(jaxpr: Any, avals: Sequence[Any]) -> Any:
    """The jaxpr with arguments of these types, in place of those that it converts to them."""
    renamed: dict[Any, Any] = {}
    invars: list[Any] = []
    for variable, aval in zip(jaxpr.invars, avals, strict=True):
        if _type(variable.aval) == _type(aval):
            invars.append(variable)
            continue
        converted = [
            equation.outvars[0]
            for equation in jaxpr.eqns
            if equation.primitive.name == "convert_element_type"
            and equation.invars[0] is variable
            and _type(equation.outvars[0].aval) == _type(aval)
        ]
        if not converted:
            return None
        renamed |= dict.fromkeys(converted, converted[0])
        invars.append(converted[0])
    equations = [
        equation.replace(invars=[_rename(atom, renamed) for atom in equation.invars])
        for equation in jaxpr.eqns
        if not any(variable in renamed for variable in equation.outvars)
    ]
    if (set(jaxpr.invars) - set(invars)) & _read(equations, jaxpr.outvars):
        return None  # the argument itself is read, too
    outvars = [_rename(atom, renamed) for atom in jaxpr.outvars]
    return jaxpr.replace(invars=invars, eqns=equations, outvars=outvars)


def _rename(atom: Any, renamed: dict[Any, Any]) -> Any:
    return atom if hasattr(atom, "val") else renamed.get(atom, atom)


def _read(equations: Sequence[Any], outvars: Sequence[Any]) -> set[Any]:
    atoms = [*outvars, *(atom for equation in equations for atom in equation.invars)]
    return {atom for atom in atoms if not hasattr(atom, "val")}
