"""The derivative of a compiled function as a program: what others' automatic differentiation calls.

It is compiled at its first call, and kept by the function (`derived`), as its own programs are.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.tracing.signatures import Call


def vector_of(numpy: Any, leaves: Sequence[Any]) -> Any:
    """All inexact leaves in one vector; of complex ones the real parts, then the imaginary."""
    parts: list[Any] = [numpy.zeros(0)]
    for leaf in leaves:
        dtype = leaf.dtype if hasattr(leaf, "dtype") else jnp.result_type(leaf)  # numbers of Python
        if jnp.issubdtype(dtype, jnp.complexfloating):
            parts += [numpy.ravel(numpy.real(leaf)), numpy.ravel(numpy.imag(leaf))]
        elif jnp.issubdtype(dtype, jnp.floating):
            parts.append(numpy.ravel(leaf))
    return numpy.concatenate(parts)


def pull_back(compiled: Any, call: Call, tree: Any, argnums: tuple[int, ...]) -> Any:
    """The program `leaves, cotangent of the vector -> cotangents of the leaves at argnums`."""
    key = (compiled.signature.static_key(call), tree, argnums)
    programs = compiled.derived
    if key not in programs:

        def pull_back(leaves: Sequence[Any], cotangent: Any) -> Any:
            def vector(*chosen: Any) -> Any:
                given = list(leaves)
                for position, value in zip(argnums, chosen, strict=True):
                    given[position] = value
                args, kwargs = call.merge(*jax.tree_util.tree_unflatten(tree, given))
                return vector_of(jnp, jax.tree.leaves(compiled.original_function(*args, **kwargs)))

            value, pulled_back = jax.vjp(vector, *[leaves[position] for position in argnums])
            return pulled_back(cotangent.astype(value.dtype))

        programs[key] = compiled.like(pull_back, of_same_arguments=False)
    return programs[key]
