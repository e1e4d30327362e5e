"""`accelerate`: functions of JAX's that run by JAX, on a GPU say, in the middle of our programs."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import Jaxpr

from diastase.callbacks.calls import (
    CallbackArgumentsError,
    DeviceError,
    NotJitableError,
    checked_function,
    name_of,
)
from diastase.capture.context import is_tracing
from diastase.dynamic_shapes.symbols import symbols_of
from diastase.jit.stages.trace_call import flatten_results
from diastase.primitives.checks import assert_size_p
from diastase.primitives.define import PRIMITIVES
from diastase.primitives.host import accelerated_p
from diastase_mlir.diagnostics import span_of, user_span
from diastase_mlir.jax_compat import abstract_value, jaxprs_in, trace_to_jaxpr


def accelerate(func: Callable[..., Any] | None = None, *, dev: Any = None) -> Any:
    """Run a function by `jax.jit`, on a device of JAX's, from within compiled functions.

    It has derivatives, in both modes and of any order, which run on the device, too. Outside of
    compiled functions it is `jax.jit(func)` on the device.

    Args:
        func: a function that `jax.jit` takes, of arrays in any pytree; without it, a decorator.
        dev: one of `jax.devices()`, by default JAX's own choice.

    Returns:
        A function of the same arguments and results, whose types are found by tracing.

    Raises:
        DeviceError: a `TypeError`, for what is no device of JAX's.
        CallbackFunctionError: a `TypeError`, for what is no function.
        CallbackArgumentsError: a `TypeError`, in a call, for arguments that are no arrays.
        NotJitableError: a `ValueError`, in a call, if the function cannot be traced by JAX: it has
            a circuit, or an array of traced size.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from diastase import accelerate, grad, qjit
        >>> @accelerate(dev=jax.devices("cpu")[0])
        ... def energy(x):
        ...     return jnp.sum(x**2)
        >>> @qjit
        ... def slope(x):
        ...     return grad(energy)(x)
        >>> slope(jnp.array([1.0, 2.0]))
        Array([2., 4.], dtype=float64)

    """
    if dev is not None and not isinstance(dev, jax.Device):
        raise DeviceError(found=repr(dev), span=user_span())
    if func is None:
        return functools.partial(accelerate, dev=dev)
    function = checked_function(func, "accelerate")
    name = name_of(function)

    def arrays(*args: Any, **kwargs: Any) -> tuple[list[Any], Any]:
        return flatten_results(function, name, function(*args, **kwargs))

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = arrays(*args, **kwargs)
        return tree.unflatten(leaves)

    jitted = jax.jit(run)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        avals = [_type_of(name, leaf) for leaf in leaves]
        try:
            if is_tracing():
                return _recorded(arrays, name, leaves, avals, tree, dev)
            if dev is not None:
                args, kwargs = tree.unflatten([jax.device_put(leaf, dev) for leaf in leaves])
            return jitted(*args, **kwargs)
        except jax.errors.JAXTypeError as error:
            reason = str(error).strip().splitlines()[0]
            raise NotJitableError(function=name, reason=reason, span=user_span()) from error

    return call


def _recorded(
    function: Callable[..., tuple[list[Any], Any]],
    name: str,
    leaves: Sequence[Any],
    avals: Sequence[Any],
    tree: Any,
    device: Any,
) -> Any:
    """Record the call; what the function closes over becomes operands."""
    trees: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        args, kwargs = tree.unflatten(values)
        results, out_tree = function(*args, **kwargs)
        trees.append(out_tree)
        return results

    names = [f"argument {number}" for number in range(len(leaves))]
    jaxpr, captured = trace_to_jaxpr(flat, avals, name, names)
    _check(jaxpr.jaxpr, name)
    operands = [jax.numpy.asarray(leaf) for leaf in leaves]
    results = accelerated_p.bind(*captured, *operands, jaxpr=jaxpr, device=device)
    return trees[-1].unflatten(results)


def _type_of(name: str, leaf: Any) -> Any:
    try:
        return abstract_value(leaf)
    except TypeError:
        problem = f"{leaf!r} is no array"
        raise CallbackArgumentsError(function=name, problem=problem, span=user_span()) from None


def _check(jaxpr: Jaxpr, name: str) -> None:
    """Refuse what only our compiler knows: circuits, control flow, sizes that are computed."""
    known = symbols_of(variable.aval for variable in jaxpr.invars)
    for equation in jaxpr.eqns:
        record = PRIMITIVES.get(equation.primitive.name)
        reason = ""
        if record is not None and record.primitive is not accelerated_p:
            reason = f"{record.construct} is compiled by diastase, not by JAX"
        sizes = symbols_of(variable.aval for variable in equation.outvars)
        if equation.primitive is assert_size_p or not sizes <= known:
            reason = "the size of an array in it is a traced value"
        if reason:
            span = span_of(equation.source_info)
            raise NotJitableError(function=name, reason=reason, span=span)
        for inner in jaxprs_in(equation.params):
            _check(inner, name)
