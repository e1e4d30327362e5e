"""Derivatives as PennyLane's functions take them, of functions that JAX can differentiate.

PennyLane's conventions: the first argument is differentiated unless `argnums` says otherwise; an
integer gives one derivative, a sequence a tuple of them. A QNode, or a loop of ours, inside of the
function is refused by its own rules.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from diastase.api.errors import DerivativeArgumentError, UnsupportedDerivativeError
from diastase_mlir.diagnostics import user_span

Function = Callable[..., Any]
Argnums = int | Sequence[int] | None


def grad(f: Function, *, method: str | None = None, h: Any = None, argnums: Argnums = None) -> Any:
    """The gradient of a scalar function, as a function of the same arguments."""
    _refuse_other_methods("grad", method, h)
    return jax.grad(f, argnums=_argnums(argnums))


def value_and_grad(
    f: Function, *, method: str | None = None, h: Any = None, argnums: Argnums = None
) -> Any:
    """The value of a scalar function and its gradient, as a function of the same arguments."""
    _refuse_other_methods("value_and_grad", method, h)
    return jax.value_and_grad(f, argnums=_argnums(argnums))


def jacobian(
    f: Function, *, method: str | None = None, h: Any = None, argnums: Argnums = None
) -> Any:
    """The Jacobian of a function, as a function of the same arguments."""
    _refuse_other_methods("jacobian", method, h)
    return jax.jacobian(f, argnums=_argnums(argnums))


def jvp(
    f: Function,
    params: Sequence[Any],
    tangents: Sequence[Any],
    *,
    method: str | None = None,
    h: Any = None,
    argnums: Argnums = None,
) -> tuple[Any, Any]:
    """The value of a function and its derivative along the tangents of some of its parameters."""
    _refuse_other_methods("jvp", method, h)
    differentiated = _positions("jvp", params, argnums)
    tangents = _listed("jvp", "tangents", tangents)
    if len(tangents) != len(differentiated):
        reason = f"{len(differentiated)} parameters are differentiated, {len(tangents)} tangents"
        raise DerivativeArgumentError(function="jvp", reason=reason, span=user_span())
    primals = tuple(params[position] for position in differentiated)
    return jax.jvp(_of_some(f, params, differentiated), primals, tuple(tangents))


def vjp(
    f: Function,
    params: Sequence[Any],
    cotangents: Any,
    *,
    method: str | None = None,
    h: Any = None,
    argnums: Argnums = None,
) -> tuple[Any, Any]:
    """The value of a function, and the cotangents of some of its parameters."""
    _refuse_other_methods("vjp", method, h)
    differentiated = _positions("vjp", params, argnums)
    primals = tuple(params[position] for position in differentiated)
    value, pull_back = jax.vjp(_of_some(f, params, differentiated), *primals)
    structure = jax.tree.structure(value)
    leaves = jax.tree.leaves(cotangents)
    if len(leaves) != structure.num_leaves:
        reason = f"the function returns {structure.num_leaves} arrays, {len(leaves)} cotangents"
        raise DerivativeArgumentError(function="vjp", reason=reason, span=user_span())
    gradients = pull_back(jax.tree.unflatten(structure, leaves))
    return value, gradients if isinstance(argnums, Sequence) else gradients[0]


def _refuse_other_methods(function: str, method: str | None, h: Any) -> None:
    if method in (None, "auto") and h is None:
        return
    option = f"method={method!r}" if method not in (None, "auto") else f"h={h!r}"
    raise UnsupportedDerivativeError(function=function, option=option, span=user_span())


def _argnums(argnums: Argnums) -> int | Sequence[int]:
    return 0 if argnums is None else argnums


def _positions(function: str, params: Any, argnums: Argnums) -> tuple[int, ...]:
    """Which parameters are differentiated."""
    count = len(_listed(function, "params", params))
    given = (0,) if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not all(0 <= position < count for position in given):
        reason = f"argnums={argnums} of {count} parameters"
        raise DerivativeArgumentError(function=function, reason=reason, span=user_span())
    return given


def _listed(function: str, name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, list | tuple):
        return values
    reason = f"{name} is a list or tuple, one entry for each argument, not {type(values).__name__}"
    raise DerivativeArgumentError(function=function, reason=reason, span=user_span())


def _of_some(f: Function, params: Sequence[Any], positions: Sequence[int]) -> Function:
    """The function of the parameters at these positions alone."""

    def of_some(*values: Any) -> Any:
        arguments = list(params)
        for position, value in zip(positions, values, strict=True):
            arguments[position] = value
        return f(*arguments)

    return of_some
