"""Promotion: a call whose arguments JAX would promote to types that there is a program for.

Declared by type hints: an argument that is promoted to the declared type, as an int to a float, is
converted before anything else, so that the program is the declared one, as in Catalyst. Anything
else compiles again, with a warning.

Found by tracing: traced for an int, `x * 2.0` is the program for a float behind a conversion of
`x`. Where this holds for every argument that differs, and everything else has the same key,
converting the arguments before the call gives what JAX gives, types included, and nothing is
compiled.

The trap: the dtypes of the results prove nothing. `x // 2 * 1.0` returns a float for an int too,
another one than for the float; its trace divides before it converts, so it does not match.
"""

import inspect
import warnings
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import ShapedArray, Tracer
from jax.extend.core import ClosedJaxpr

from diastase.jit.dispatch.keys import types_key
from diastase.jit.options.errors import RecompilationWarning
from diastase.jit.stages.argument_checks import same_shape
from diastase.jit.stages.stages import Compiled, Traced
from diastase.jit.stages.trace_call import Arguments, types_of
from diastase.tracing.signatures import Signature
from diastase_mlir.diagnostics import stack_level_of_user
from diastase_mlir.jax_compat import is_extended
from diastase_mlir.program_keys import structure_key

_RECOMPILING = "Provided arguments did not match declared signature, recompiling..."


@dataclass(frozen=True)
class Declaration:
    """What a function was compiled for when it was decorated."""

    parameters: inspect.Signature
    bound_names: Set[str]
    """Parameters to which a `functools.partial` gave a value by name."""
    types: Hashable
    tree: Any
    avals: tuple[ShapedArray, ...]

    @staticmethod
    def of(signature: Signature, arguments: Arguments) -> "Declaration":
        """What is declared, of a function whose types all are."""
        assert signature.parameters is not None
        parameters, types = signature.parameters, _strong(arguments)
        return Declaration(
            parameters, signature.bound_names, types, arguments.tree, arguments.avals
        )

    def in_place(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as the declaration has them: in their places, defaults included, promoted."""
        bound = self.parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        for name in self.bound_names - kwargs.keys():
            bound.arguments.pop(name)
        leaves, tree = jax.tree.flatten((bound.args, bound.kwargs))
        if tree != self.tree:
            return bound.args, bound.kwargs
        return tree.unflatten(map(_promoted, leaves, self.avals))

    def warn_unless_met(self, arguments: Arguments) -> None:
        """Warn of a recompilation; weak types alone are no reason to, nor are JAX's settings."""
        if _strong(arguments) != self.types:
            warnings.warn(_RECOMPILING, RecompilationWarning, stacklevel=stack_level_of_user())


def _promoted(leaf: Any, declared: ShapedArray) -> Any:
    """A leaf as what is declared, if JAX would promote its type to that; else as it is."""
    types = types_of([leaf])
    if not types or isinstance(leaf, qml.numpy.tensor) or not _is_promoted(types[0], declared):
        return leaf
    if declared.weak_type and not isinstance(leaf, Tracer):
        return np.asarray(leaf, declared.dtype).item()
    return jnp.asarray(leaf, declared.dtype)


def _is_promoted(given: ShapedArray, declared: ShapedArray) -> bool:
    """Whether a type is another one than the declared, and JAX makes that of both of them."""
    if given.dtype == declared.dtype or not same_shape(declared, given):
        return False
    if is_extended(given.dtype) or is_extended(declared.dtype):
        return False
    return jnp.promote_types(given.dtype, declared.dtype) == declared.dtype


def _strong(arguments: Arguments) -> Hashable:
    """The types of arguments, none of them weak."""
    avals = [aval.update(weak_type=False) for aval in arguments.avals]
    return arguments.tree, types_key(avals)


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

    @property
    def executable(self) -> Any:
        """The loaded program."""
        return self._call.executable

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
