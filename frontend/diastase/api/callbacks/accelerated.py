"""`accelerate`: functions of JAX's that run by JAX, on a GPU say, in the middle of our programs."""

import functools
from collections.abc import Callable
from typing import Any

import jax

from diastase.api.callbacks.calls import checked_function, name_of
from diastase.api.callbacks.errors import DeviceError, NotJitableError
from diastase.primitives.accelerated import accelerated_p
from diastase.tracing.trace import is_tracing
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import abstract_value, trace_to_jaxpr


def accelerate(func: Callable[..., Any] | None = None, *, dev: Any = None) -> Any:
    """Run a function by `jax.jit`, on a device of JAX's, from within compiled functions.

    `dev`: one of `jax.devices()`, by default JAX's own choice. The function must be one that
    `jax.jit` takes, of arrays in any pytree; the types of its results are found by tracing it. It
    has derivatives, in both modes and of any order, which run on the device, too.

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

    `ValueError` if the function cannot be traced. Outside of compiled functions it is
    `jax.jit(func)` on the device.
    """
    if func is None:
        return functools.partial(accelerate, dev=dev)
    function = checked_function(func, "accelerate")
    if dev is not None and not isinstance(dev, jax.Device):
        raise DeviceError(found=repr(dev), span=user_span())
    jitted = jax.jit(lambda *args, **kwargs: function(*args, **kwargs))  # also of NumPy's functions

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if is_tracing():
            return _equation(function, leaves, tree, dev)
        if dev is not None:
            args, kwargs = tree.unflatten([jax.device_put(leaf, dev) for leaf in leaves])
        try:
            return jitted(*args, **kwargs)
        except jax.errors.JAXTypeError as error:
            raise _not_jitable(function, error) from error

    return call


def _equation(function: Callable[..., Any], leaves: list[Any], tree: Any, dev: Any) -> Any:
    """Record the call; what the function closes over becomes operands."""
    trees: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        args, kwargs = tree.unflatten(values)
        results, out_tree = jax.tree.flatten(function(*args, **kwargs))
        trees.append(out_tree)
        return results

    name = name_of(function)
    names = [f"argument {number}" for number in range(len(leaves))]
    avals = [abstract_value(leaf) for leaf in leaves]
    try:
        jaxpr, captured = trace_to_jaxpr(flat, avals, name, names)
    except jax.errors.JAXTypeError as error:
        raise _not_jitable(function, error) from error
    operands = [jax.numpy.asarray(leaf) for leaf in leaves]
    results = accelerated_p.bind(*captured, *operands, jaxpr=jaxpr, device=dev)
    return trees[-1].unflatten(results)


def _not_jitable(function: Callable[..., Any], error: Exception) -> NotJitableError:
    reason = str(error).strip().splitlines()[0]
    return NotJitableError(function=name_of(function), reason=reason, span=user_span())
