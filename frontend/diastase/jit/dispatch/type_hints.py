"""Types declared by hints: how calls are brought to their form, and the warning if they differ.

An argument whose type is promoted to the declared one, as an int to a float, is converted, so that
the program is the declared one, as in Catalyst. Anything else compiles again, with the warning.
"""

import inspect
import warnings
from collections.abc import Hashable, Set
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import ShapedArray, Tracer

from diastase.jit.dispatch.keys import types_key
from diastase.jit.dispatch.program_cache import Arguments, types_of
from diastase.jit.options.errors import RecompilationWarning
from diastase.jit.stages.argument_checks import same_shape
from diastase.tracing.signatures import Signature
from diastase_mlir.diagnostics import stack_level_of_user
from diastase_mlir.jax_compat import is_extended

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
