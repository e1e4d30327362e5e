"""`pure_callback`: values that a Python function computes when a program runs.

In: a function, and what it returns, as annotation or argument. Out: `jax.pure_callback`, under
`jax.custom_vjp` where the user gives a derivative.
"""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.callbacks.calls import (
    ResultTypesError,
    becomes_an_equation,
    check_arguments,
    checked_function,
    name_of,
)
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import CallbackResultError


def pure_callback(callback_fn: Callable[..., Any], result_type: Any = None) -> "PureCallback":
    """Compute values by a Python function without side effects, when the program runs.

    Outside of compiled functions it is simply called.

    Args:
        callback_fn: gets `jax.Array`s; it may use NumPy, SciPy, files, whatever Python can do. What
            it raises comes out of the compiled function.
        result_type: of what it returns, by default its annotation: `float`, `int`, `bool`,
            `complex`, a `jax.ShapeDtypeStruct`, an array like the result, or a tuple, list or
            dictionary of these.

    Returns:
        A `PureCallback`, called with traced values. For reverse mode it is given a derivative, as
        to `jax.custom_vjp`: see its methods `fwd` and `bwd`.

    Raises:
        CallbackFunctionError: a `TypeError`, for what is no function.
        ResultTypesError: a `TypeError`, if the types of the results are unknown.
        CallbackArgumentsError: a `TypeError`, in a call, if it does not take such arguments.
        CallbackResultError: a `TypeError`, when the program runs, if it returns other types.

    Example:
        >>> import numpy as np
        >>> from diastase import pure_callback, qjit
        >>> @pure_callback
        ... def sine(x) -> float:
        ...     return np.sin(x)
        >>> @qjit
        ... def f(x: float):
        ...     return sine(x) + 1
        >>> f(0.0)
        Array(1., dtype=float64)

    """
    return PureCallback(checked_function(callback_fn, "pure_callback"), result_type)


class PureCallback:
    """A Python function as part of programs; made by `pure_callback`.

    Example:
        >>> import numpy as np
        >>> from diastase import grad, pure_callback, qjit
        >>> @pure_callback
        ... def sine(x) -> float:
        ...     return np.sin(x)
        >>> cosine = pure_callback(np.cos, float)
        >>> @sine.fwd
        ... def forward(x):
        ...     return sine(x), cosine(x)
        >>> @sine.bwd
        ... def backward(slope, cotangent):
        ...     return (slope * cotangent,)
        >>> float(qjit(grad(sine))(0.0))
        1.0

    """

    def __init__(self, function: Callable[..., Any], result_type: Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._forward, self._backward = function, None, None
        self._types = _types(function, result_type)

    def fwd(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Say how the value is computed where it will be differentiated.

        Args:
            function: of the same arguments; it returns the value, and whatever `bwd` needs. It is
                traced, and may use callbacks, too.

        Returns:
            The function itself.

        Raises:
            CallbackFunctionError: a `TypeError`, for what is no function.

        """
        self._forward: Any = checked_function(function, "fwd")
        return function

    def bwd(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Say how cotangents are pulled back.

        Args:
            function: takes what `fwd` has given beside the value, and a cotangent, and returns a
                tuple: a cotangent for each argument that is given by position, then each that is
                given by keyword and traced, in the order of the parameters; or that of the only
                one. It is traced, and may use callbacks, too.

        Returns:
            The function itself.

        Raises:
            CallbackFunctionError: a `TypeError`, for what is no function.

        """
        self._backward: Any = checked_function(function, "bwd")
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, now or when the program runs."""
        if not becomes_an_equation((args, kwargs)):
            return self._function(*args, **kwargs)
        check_arguments(self._function, args, kwargs)
        if self._forward is None or self._backward is None:
            return self._called(*args, **kwargs)

        # JAX differentiates by what is given by position, so traced keywords follow there.
        traced = [name for name, value in kwargs.items() if _is_traced(value)]
        signature = _signature(self._function) if traced else None
        if signature is not None:
            traced.sort(key=[*signature.bind(*args, **kwargs).arguments, *traced].index)
        fixed = {name: value for name, value in kwargs.items() if name not in traced}

        def by_position(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any) -> Any:
                others, named = given[:count], dict(zip(traced, given[count:], strict=True)) | fixed
                if signature is not None:
                    bound = signature.bind(*others, **named)
                    others, named = bound.args, bound.kwargs
                return function(*others, **named)

            return call

        def pulled_back(residuals: Any, cotangent: Any) -> tuple[Any, ...]:
            found = self._backward(residuals, cotangent)
            return found if isinstance(found, tuple) else (found,)

        count = len(args)
        run = jax.custom_vjp(by_position(self._called))
        run.defvjp(by_position(self._forward), pulled_back)
        return run(*args, *(kwargs[name] for name in traced))

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        span, declared = user_span(), _keys(self._types)

        def call(args: Any, kwargs: Any) -> Any:
            results = self._function(*args, **kwargs)
            found = _keys(results)
            if found != declared and len(found) == len(declared):  # JAX compares numbers only
                given, wanted = ", ".join(found), ", ".join(declared)
                raise CallbackResultError(found=given, expected=wanted, span=span)
            return results

        return jax.pure_callback(call, self._types, args, kwargs, vmap_method="sequential")

    def __repr__(self) -> str:
        return f"<pure_callback {name_of(self._function)}>"


def _types(function: Callable[..., Any], given: Any) -> Any:
    """What the function returns, as a pytree of `jax.ShapeDtypeStruct`s."""
    if given is None:
        try:
            given = typing.get_type_hints(function).get("return")
        except (NameError, TypeError):  # no text of an annotation, or none that means anything here
            given = getattr(function, "__annotations__", {}).get("return")
    if given is None or given is type(None):
        raise _unknown(function, "it has no annotation `-> type`")
    if typing.get_origin(given) in (tuple, list):
        given = typing.get_origin(given)(typing.get_args(given))

    def read(leaf: Any) -> jax.ShapeDtypeStruct:
        if not isinstance(leaf, type) and hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            negative = any(isinstance(size, int) and size < 0 for size in leaf.shape)
            if negative or not _is_of_arrays(leaf.dtype):
                raise _unknown(function, f"{leaf!r} is not the type of an array")
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
        if isinstance(leaf, type) and issubclass(leaf, bool | int | float | complex | np.generic):
            return jax.ShapeDtypeStruct((), leaf)
        if isinstance(leaf, np.dtype) or isinstance(getattr(leaf, "dtype", None), np.dtype):
            return jax.ShapeDtypeStruct((), np.dtype(leaf))
        raise _unknown(function, f"{leaf!r} is not the type of an array")

    return jax.tree.map(read, given)


def _is_traced(value: Any) -> bool:
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value))


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """None for a function without, written in C, say."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _keys(tree: Any) -> list[str]:
    """The keys of dictionaries that lead to each array in a pytree, for messages."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    kind = jax.tree_util.DictKey
    keys = ([key.key for key in path if isinstance(key, kind)] for path, _ in paths)
    return ["".join(f"[{key!r}]" for key in place) or "a value without key" for place in keys]


def _is_of_arrays(dtype: Any) -> bool:
    is_number = jnp.issubdtype(dtype, np.number) or dtype == np.bool_
    return is_number and np.dtype(dtype).isnative


def _unknown(function: Callable[..., Any], problem: str) -> ResultTypesError:
    return ResultTypesError(function=name_of(function), problem=problem, span=user_span())
