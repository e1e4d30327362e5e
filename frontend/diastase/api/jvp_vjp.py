"""`jvp` and `vjp`: a function's value with one product of its Jacobian, at once.

`params` are all arguments of the function, `argnums` those that are differentiated (the first). A
`jvp` takes a tangent for each of these; a `vjp` a cotangent for each array that the function
returns, in its order, and gives a gradient (for a sequence of `argnums` a tuple). The same inside
and outside of compiled programs; for `method` and `h` see `gradients`.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.api.differentiable import Argnums, Derivation, Function, derivation, dtype_of
from diastase.api.finite_differences import along, by_each_element, zeros_without_type
from diastase.api.gradients import flat_arguments


def jvp(
    f: Function,
    params: Sequence[Any],
    tangents: Sequence[Any],
    *,
    method: str | None = None,
    h: float | None = None,
    argnums: Argnums = None,
) -> tuple[Any, Any]:
    """The value of a function and its derivative along the tangents of some of its parameters.

    Args:
        f: a function of pytrees, which returns a pytree of arrays.
        params: a list or tuple of all its arguments.
        tangents: a list or tuple with one for each parameter in `argnums`, of its structure, shapes
            and dtypes; `float0` for integers.
        method: "auto", which is exact (forward mode), or "fd", as for `grad`.
        h: the step of "fd".
        argnums: which parameters are differentiated, a position or several; the first by default.

    Returns:
        The value and the derivative, both of the structure, shapes and dtypes of what `f` returns.

    Raises:
        DerivativeArgumentError: a `ValueError`, if shapes of a parameter and its tangent differ.
        DerivativeTypeError: a `TypeError`, for another dtype, or another number of tangents.
        DerivativeMethodError: a `ValueError`, for a `method` or an `h` that there is not.
        DerivativeTargetError: a `TypeError`, if `f` is no function.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import jvp, qjit
        >>> value, slope = qjit(lambda x, dx: jvp(jnp.sin, [x], [dx]))(0.0, 2.0)
        >>> float(value), float(slope)
        (0.0, 2.0)

    """
    asked = derivation("jvp", f, method, h, argnums, allow_int=True)
    positions = asked.check_arguments(_listed(asked, "params", params))
    tangents = _listed(asked, "tangents", tangents)
    if len(tangents) != len(positions):
        reason = f"{len(positions)} parameters are differentiated, {len(tangents)} tangents"
        raise asked.wrong_type(reason, "give a tangent for each parameter in argnums")
    leaves, structure, rebuild = flat_arguments(params, positions)
    entries, given = jax.tree.flatten(tuple(tangents))
    if len(entries) != len(leaves):
        raise asked.misfit(f"parameters are {structure}, and tangents {given}")
    entries = [
        _matched(asked, ("parameter", "tangent"), leaf, entry)
        for leaf, entry in zip(leaves, entries, strict=True)
    ]
    leaves = list(map(jnp.asarray, leaves))
    if asked.method == "auto":
        return jax.jvp(lambda *moved: f(*rebuild(moved)), tuple(leaves), tuple(entries))
    results: list[Any] = []

    def flat(moved: Sequence[Any]) -> Sequence[Any]:
        arrays, structure = jax.tree.flatten(f(*rebuild(moved)))
        results[:] = results or [structure]
        return list(map(jnp.asarray, arrays))

    values, changes = along(flat, leaves, entries, asked.step)
    return jax.tree.unflatten(results[0], values), jax.tree.unflatten(results[0], changes)


def vjp(
    f: Function,
    params: Sequence[Any],
    cotangents: Any,
    *,
    method: str | None = None,
    h: float | None = None,
    argnums: Argnums = None,
) -> tuple[Any, Any]:
    """The value of a function, and the cotangents of some of its parameters.

    Args:
        f: a function of pytrees, which returns a pytree of arrays.
        params: a list or tuple of all its arguments.
        cotangents: one for each array that `f` returns, in order, of that array's shape and dtype;
            the array itself if there is one.
        method: "auto", which is exact (reverse mode), or "fd", as for `grad`.
        h: the step of "fd".
        argnums: which parameters are differentiated, a position or several; the first by default.

    Returns:
        The value, and a pytree like the parameter, each leaf of its shape and dtype; for a sequence
        of `argnums`, a tuple of them.

    Raises:
        DerivativeArgumentError: a `ValueError`, if shapes of a result and its cotangent differ.
        DerivativeTypeError: a `TypeError`, for another dtype, or another number of cotangents.
        DerivativeMethodError: a `ValueError`, for a `method` or an `h` that there is not.
        DerivativeTargetError: a `TypeError`, if `f` is no function.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit, vjp
        >>> value, cotangent = qjit(lambda x: vjp(lambda y: (y**2, y), [x], [1.0, 0.5]))(3.0)
        >>> float(cotangent)
        6.5

    """
    asked = derivation("vjp", f, method, h, argnums, allow_int=True)
    positions = asked.check_arguments(_listed(asked, "params", params))
    leaves, structure, rebuild = flat_arguments(params, positions)
    leaves = list(map(jnp.asarray, leaves))
    if asked.method == "auto":

        def of_some(*values: Any) -> Any:
            return f(*rebuild(jax.tree.leaves(values)))

        value, pull_back = jax.vjp(of_some, *jax.tree.unflatten(structure, leaves))
        arrays, returned = jax.tree.flatten(value)
        weights = _weights(asked, arrays, cotangents)
        return value, asked.packed(pull_back(jax.tree.unflatten(returned, weights)))
    value, gradients = _by_differences(f, asked, leaves, rebuild, cotangents)
    return value, asked.packed(jax.tree.unflatten(structure, gradients))


def _by_differences(
    f: Function, asked: Derivation, leaves: Sequence[Any], rebuild: Any, cotangents: Any
) -> tuple[Any, list[Any]]:
    """The value, and the cotangents of the leaves."""
    results: list[Any] = []
    weights: list[Any] = []

    def flat(moved: Sequence[Any]) -> Sequence[Any]:
        arrays, found = jax.tree.flatten(f(*rebuild(moved)))
        arrays = list(map(jnp.asarray, arrays))
        if not results:
            results.append(found)
            weights.extend(_weights(asked, arrays, cotangents))
        return arrays

    def paired(changes: Sequence[Any]) -> Any:
        terms = [
            jnp.sum(weight * change)
            for weight, change in zip(weights, changes, strict=True)
            if change.dtype != jax.dtypes.float0
        ]
        return jnp.real(sum(terms, jnp.zeros(())))

    values, found = by_each_element(flat, leaves, asked.step, paired, holomorphic=False)
    gradients = [
        zeros_without_type(leaf)
        if change is None
        else change.reshape(leaf.shape).astype(leaf.dtype)
        for leaf, change in zip(leaves, found, strict=True)
    ]
    return jax.tree.unflatten(results[0], values), gradients


def _weights(asked: Derivation, arrays: Sequence[Any], cotangents: Any) -> list[Any]:
    """Cotangents of the arrays that a function returned, in their order."""
    given = jax.tree.leaves(cotangents)
    if len(given) != len(arrays):
        reason = f"the function returns {len(arrays)} arrays, {len(given)} cotangents"
        raise asked.wrong_type(reason, "give a cotangent for each array that it returns")
    return [
        _matched(asked, ("result", "cotangent"), array, entry)
        for array, entry in zip(arrays, given, strict=True)
    ]


def _matched(asked: Derivation, names: tuple[str, str], value: Any, entry: Any) -> Any:
    """A tangent or cotangent of a value, of the type that it has to have."""
    whose, what = names
    if jnp.shape(value) != jnp.shape(entry):
        shapes = f"{whose} of shape {jnp.shape(value)}, its {what} of shape {jnp.shape(entry)}"
        raise asked.misfit(f"a {shapes}")
    dtype, got = dtype_of(value), dtype_of(entry)
    is_inexact, is_complex = (jnp.issubdtype(dtype, k) for k in (jnp.inexact, jnp.complexfloating))
    is_weak = isinstance(entry, float) or (isinstance(entry, complex) and is_complex)
    if is_inexact and (got == dtype or is_weak):
        return jnp.asarray(entry, dtype)
    if not is_inexact and got == jax.dtypes.float0:
        return entry
    reason = f"a {whose} is {dtype}, its {what} {got}"
    needed = dtype if is_inexact else "float0"
    raise asked.wrong_type(reason, f"give a {what} of type {needed}")


def _listed(asked: Derivation, name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, list | tuple):
        return values
    kind = "an array" if isinstance(values, jax.Array) else type(values).__name__
    reason = f"{name} is a list or tuple, one entry for each argument, not {kind}"
    raise asked.misfit(reason)
