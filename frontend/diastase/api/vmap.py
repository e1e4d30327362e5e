"""`vmap`: a function over batches of its arguments, as `jax.vmap`, under Catalyst's name."""

import functools
from collections.abc import Hashable
from typing import Any

import jax

from diastase.api.differentiable import Function, check_callable


def vmap(
    fn: Function | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: Hashable | None = None,
) -> Any:
    """A function of arguments with one more axis, over which it is mapped, as `jax.vmap`.

    Args:
        fn: a function of pytrees of arrays; without it, `vmap(in_axes=1)` is a decorator.
        in_axes: which axis of each argument is mapped: a number for all, or a tuple, one entry for
            each, of numbers, None (not mapped) or pytrees of these. Keyword arguments are mapped
            over their first axis.
        out_axes: where the axis is in the results.
        axis_size: its size, needed where no argument is mapped. The size of a mapped axis may be
            known at run time only.
        axis_name: a name for collective operations of JAX.

    Returns:
        A function, whose results have one more axis than those of `fn`, and the same dtypes.

    Raises:
        DerivativeTargetError: a `TypeError`, for what is no function.
        TransformationUseError: a `ValueError`, in a program, where mapped axes differ in size.
        MappedSizeError: a `ValueError`, for sizes that differ between the elements.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit, vmap
        >>> scaled = qjit(vmap(lambda x, factor: x * factor, in_axes=(0, None)))
        >>> scaled(jnp.array([1.0, 2.0]), 3.0).tolist()
        [3.0, 6.0]

    """
    if fn is None:
        return functools.partial(
            vmap, in_axes=in_axes, out_axes=out_axes, axis_size=axis_size, axis_name=axis_name
        )
    check_callable("vmap", fn)
    mapped = jax.vmap(
        fn, in_axes=in_axes, out_axes=out_axes, axis_size=axis_size, axis_name=axis_name
    )

    # The hints of `fn` are those of one entry of a batch: the function has none, to compile from.
    @functools.wraps(fn, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    def batched(*args: Any, **kwargs: Any) -> Any:
        return mapped(*args, **kwargs)

    del batched.__wrapped__
    return batched
