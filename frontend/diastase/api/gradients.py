"""`grad`, `value_and_grad`, `jacobian`: functions that return derivatives.

The same inside of a compiled program, where `qml.grad`, … are these, and outside of one, as plain
JAX. With `method="auto"` JAX differentiates, and each QNode by its own `diff_method`; with "fd" the
whole function is run at arguments moved by `h` (`finite_differences`). In: functions of pytrees;
the first argument is differentiated unless `argnums` says otherwise. An integer gives one
derivative, a sequence a tuple of them. Keyword arguments are passed on.
"""

import functools
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from diastase.api.differentiable import Argnums, Derivation, Function, derivation
from diastase.api.finite_differences import by_each_element, zeros_without_type
from diastase.quantum.measurements.measurements import WithSnapshots


class _Options(NamedTuple):
    """What all three are told about the derivative."""

    method: str | None
    h: float | None
    argnums: Argnums
    holomorphic: bool
    allow_int: bool


def grad(
    fn: Function | None = None,
    *,
    method: str | None = None,
    h: float | None = None,
    argnums: Argnums = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """The gradient of a function that returns one real number, as a function of the same arguments.

    Args:
        fn: a function of pytrees; without it, `grad(argnums=1)` is a decorator. Its number may
            stand in a list or dictionary of its own; the gradient then stands there.
        method: "auto" (the default) is exact: reverse mode, and each QNode by its own
            `diff_method`. "fd" takes forward differences of the whole function, of which about half
            of the digits are right.
        h: the step of "fd", by default 1e-7, in single precision 3e-4.
        argnums: the position of the argument to differentiate by, the first by default, or a
            sequence of them. What is there is floating point, or complex: then the gradient is what
            `jax.grad` gives.
        has_aux: the function returns a pair, of which the second is returned beside the gradient.
        holomorphic: as for `jax.grad`.
        allow_int: as for `jax.grad`: gradients by integers have the dtype `float0`.

    Returns:
        A function. It gives a pytree like the argument, each leaf of the argument's shape and
        dtype; for a sequence of `argnums`, a tuple of them; with `has_aux`, `(gradient, aux)`.

    Raises:
        ScalarResultError: a `TypeError`, if the result is no real number of shape `()`.
        DerivativeTypeError: a `TypeError`, for integers and booleans, and pairs that are none.
        DerivativeArgumentError: a `ValueError`, for an `argnums` that the call does not have.
        DerivativeMethodError: a `ValueError`, for a `method` or an `h` that there is not.
        DerivativeTargetError: a `TypeError`, for what is no function.
        NoDerivativeError: a `DifferentiableCompileError`, if a QNode has none by its `diff_method`.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import grad, qjit
        >>> @qjit
        ... def slope(x: float):
        ...     return grad(lambda y: jnp.sin(y) * y)(x)
        >>> float(slope(0.0))
        0.0

    """
    options = _Options(method, h, argnums, holomorphic, allow_int)
    if fn is None:
        return functools.partial(grad, has_aux=has_aux, **options._asdict())
    asked = derivation("grad", fn, *options)
    both = _value_and_grad(fn, asked, has_aux=has_aux)

    @_of(fn, functools.partial(grad, has_aux=has_aux, **options._asdict()))
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(
    fn: Function | None = None,
    *,
    method: str | None = None,
    h: float | None = None,
    argnums: Argnums = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """The value of a function with its gradient, from one run, as a function of the same arguments.

    Args:
        fn: a function of pytrees that returns one real number, as for `grad`.
        method: "auto" or "fd", as for `grad`.
        h: the step of "fd".
        argnums: by which arguments, as for `grad`.
        has_aux: the function returns a pair; then so is the value: `((value, aux), gradient)`.
        holomorphic: as for `jax.value_and_grad`.
        allow_int: as for `jax.value_and_grad`.

    Returns:
        A function, which gives the pair `(value, gradient)`; the gradient is that of `grad`.

    Raises:
        ScalarResultError: a `TypeError`, if the result is no real number of shape `()`.
        DerivativeTypeError: a `TypeError`; this and all others for the same reasons as `grad`.

    Example:
        >>> from diastase import qjit, value_and_grad
        >>> value, gradient = qjit(value_and_grad(lambda x: x**2))(3.0)
        >>> float(value), float(gradient)
        (9.0, 6.0)

    """
    options = _Options(method, h, argnums, holomorphic, allow_int)
    if fn is None:
        return functools.partial(value_and_grad, has_aux=has_aux, **options._asdict())
    asked = derivation("value_and_grad", fn, *options)
    like = _of(fn, functools.partial(value_and_grad, has_aux=has_aux, **options._asdict()))
    return like(_value_and_grad(fn, asked, has_aux=has_aux))


def jacobian(
    fn: Function | None = None,
    *,
    method: str | None = None,
    h: float | None = None,
    argnums: Argnums = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """All derivatives of all results, as a function of the same arguments.

    Args:
        fn: a function of pytrees that returns a pytree of arrays; without it, a decorator is made.
        method: "auto" or "fd", as for `grad`.
        h: the step of "fd".
        argnums: by which arguments, as for `grad`.
        has_aux: the function returns a pair, and so does this: derivatives of the first, and the
            second.
        holomorphic: must be True for complex results of complex arguments; complex results of
            real arguments have complex derivatives without it.
        allow_int: as for `jax.jacrev`.

    Returns:
        A function. The derivative of a result of shape `s` by an argument of shape `t` has the
        shape `(*s, *t)`; pytrees of results hold pytrees of arguments, or, where `argnums` is a
        sequence, tuples of them.

    Raises:
        DerivativeTypeError: a `TypeError`, for integers, and complex values without `holomorphic`.
        DerivativeArgumentError: a `ValueError`, for an `argnums` that the call does not have.
        DerivativeMethodError: a `ValueError`, for a `method` or an `h` that there is not.
        DerivativeTargetError: a `TypeError`, for what is no function.
        NoDerivativeError: a `DifferentiableCompileError`, if a QNode has none by its `diff_method`.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import jacobian, qjit
        >>> qjit(jacobian(lambda x: x**2))(jnp.array([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]

    """
    options = _Options(method, h, argnums, holomorphic, allow_int)
    if fn is None:
        return functools.partial(jacobian, has_aux=has_aux, **options._asdict())
    asked = derivation("jacobian", fn, *options)
    like = _of(fn, functools.partial(jacobian, has_aux=has_aux, **options._asdict()))
    return like(_jacobian(fn, asked, has_aux=has_aux))


# --- gradients ------------------------------------------------------------------------------------


def _value_and_grad(fn: Function, asked: Derivation, *, has_aux: bool) -> Function:
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        positions = asked.check_arguments(args)

        def scalar(*arguments: Any) -> Any:
            value, aux = _split(asked, fn(*arguments, **kwargs), has_aux)
            return asked.check_scalar(value), (value, aux)

        if asked.method == "auto":
            # A tuple, so that derivatives come as one; positions are checked.
            differentiated = jax.value_and_grad(
                scalar,
                positions,
                has_aux=True,
                holomorphic=asked.holomorphic,
                allow_int=asked.allow_int,
            )
            (_, (value, aux)), found = differentiated(*args)
        else:
            (value, aux), found = _gradient_by_differences(scalar, asked, positions, args)
        # As the number stands in what the function returned, so does the gradient.
        gradient = jax.tree.unflatten(jax.tree.structure(value), [asked.packed(found)])
        return ((value, aux) if has_aux else value), gradient

    return value_and_gradient


def _gradient_by_differences(
    scalar: Function, asked: Derivation, positions: Sequence[int], args: Sequence[Any]
) -> tuple[Any, Sequence[Any]]:
    kept: list[Any] = []
    leaves, structure, rebuild = flat_arguments(args, positions)
    leaves = list(map(jnp.asarray, leaves))

    def function(leaves: Sequence[Any]) -> Sequence[Any]:
        value, others = scalar(*rebuild(leaves))
        kept[:] = kept or [others]
        return [jnp.asarray(value)]

    _, found = by_each_element(
        function, leaves, asked.step, lambda change: change[0], holomorphic=asked.holomorphic
    )
    return kept[0], jax.tree.unflatten(structure, _shaped(found, leaves, ()))


def _split(asked: Derivation, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """What is differentiated, and what is not; what snapshots of a QNode saw is left out."""
    if isinstance(result, WithSnapshots):
        result = result.results
    if not has_aux:
        return result, None
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    reason = "has_aux=True, but it does not return a pair"
    raise asked.wrong_type(reason, "return (value, others)")


# --- Jacobians ------------------------------------------------------------------------------------


def _jacobian(fn: Function, asked: Derivation, *, has_aux: bool) -> Function:
    def derivatives(*args: Any, **kwargs: Any) -> Any:
        positions = asked.check_arguments(args)
        structures: list[Any] = []

        def flat(*arguments: Any) -> Any:
            value, aux = _split(asked, fn(*arguments, **kwargs), has_aux)
            leaves, structure = jax.tree.flatten(value)
            for leaf in leaves:
                asked.check_result(leaf)
            structures[:] = structures or [structure]
            return list(map(jnp.asarray, leaves)), aux

        rows, aux = (_exact if asked.method == "auto" else _jacobian_by_differences)(
            flat, asked, positions, args
        )
        found = jax.tree.unflatten(structures[0], list(map(asked.packed, rows)))
        return (found, aux) if has_aux else found

    return derivatives


def _exact(
    flat: Function, asked: Derivation, positions: tuple[int, ...], args: Sequence[Any]
) -> tuple[Sequence[Any], Any]:
    """For each result derivatives by the arguments; complex results in two parts."""
    complex_arguments = any(
        jnp.iscomplexobj(leaf) for position in positions for leaf in jax.tree.leaves(args[position])
    )

    def in_parts(*arguments: Any) -> Any:
        leaves, aux = flat(*arguments)
        if not asked.holomorphic:
            leaves = [_parts(leaf, asked, complex_arguments) for leaf in leaves]
        return leaves, aux

    found, aux = jax.jacrev(
        in_parts, positions, has_aux=True, holomorphic=asked.holomorphic, allow_int=asked.allow_int
    )(*args)
    return [_joined(row) if isinstance(row, _Parts) else row for row in found], aux


class _Parts(list[Any]):
    """Real and imaginary part of a result; a type of its own, to be told from a tuple of args."""


jax.tree_util.register_pytree_node(
    _Parts, lambda parts: (tuple(parts), None), lambda _, parts: _Parts(parts)
)


def _parts(leaf: Any, asked: Derivation, complex_arguments: bool) -> Any:
    if not jnp.iscomplexobj(leaf):
        return leaf
    if complex_arguments:
        reason = "arguments and results are complex"
        raise asked.wrong_type(reason, "say holomorphic=True, or return real and imaginary part")
    return _Parts([jnp.real(leaf), jnp.imag(leaf)])


def _joined(parts: _Parts) -> Any:
    def join(real: Any, imaginary: Any) -> Any:
        return real if real.dtype == jax.dtypes.float0 else real + 1j * imaginary

    return jax.tree.map(join, *parts)


def _jacobian_by_differences(
    flat: Function, asked: Derivation, positions: Sequence[int], args: Sequence[Any]
) -> tuple[Sequence[Any], Any]:
    kept: list[Any] = []
    leaves, structure, rebuild = flat_arguments(args, positions)
    leaves = list(map(jnp.asarray, leaves))
    complex_arguments = any(map(jnp.iscomplexobj, leaves))

    def function(moved: Sequence[Any]) -> Sequence[Any]:
        results, aux = flat(*rebuild(moved))
        kept[:] = kept or [aux]
        if not asked.holomorphic:
            for leaf in results:
                _parts(leaf, asked, complex_arguments)
        return results

    results, found = by_each_element(
        function, leaves, asked.step, list, holomorphic=asked.holomorphic
    )
    rows: list[Any] = []
    for number, result in enumerate(results):
        columns = [None if table is None else table[number] for table in found]
        by_leaf = _shaped(columns, leaves, result.shape)
        rows.append(jax.tree.unflatten(structure, by_leaf))
    return rows, kept[0]


# --- both -----------------------------------------------------------------------------------------


def flat_arguments(
    args: Sequence[Any], positions: Sequence[int]
) -> tuple[list[Any], Any, Callable[[Sequence[Any]], list[Any]]]:
    """Leaves and structure of the differentiated arguments, and the way from leaves to all."""
    leaves, structure = jax.tree.flatten(tuple(args[position] for position in positions))

    def rebuild(moved: Sequence[Any]) -> list[Any]:
        arguments = list(args)
        values = jax.tree.unflatten(structure, list(moved))
        for position, value in zip(positions, values, strict=True):
            arguments[position] = value
        return arguments

    return leaves, structure, rebuild


def _shaped(columns: Sequence[Any], leaves: Sequence[Any], shape: Sequence[Any]) -> list[Any]:
    """Derivatives by the elements of a leaf, which are in front, as JAX shapes them."""
    return [
        zeros_without_type(jnp.zeros((*shape, *leaf.shape)))
        if column is None
        else jnp.moveaxis(column, 0, -1).reshape(*shape, *leaf.shape)
        for column, leaf in zip(columns, leaves, strict=True)
    ]


class Differentiated(NamedTuple):
    """How a derivative was made."""

    function: Function
    again: Callable[[Function], Function]
    """Makes the same of another function."""


_differentiated: weakref.WeakKeyDictionary[Any, Differentiated] = weakref.WeakKeyDictionary()
"""Not an attribute of the functions: `functools.wraps` would copy it to what is made of them."""


def differentiated(function: Any) -> Differentiated | None:
    """Of what `grad`, `value_and_grad` or `jacobian` returned, how it was made."""
    return _differentiated.get(function) if isinstance(function, FunctionType) else None


def _of(fn: Function, again: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Give a derivative the name and the parameters of its function; not its attributes."""

    def decorate(derivative: Function) -> Function:
        derivative = functools.wraps(fn, updated=())(derivative)
        _differentiated[derivative] = Differentiated(fn, again)
        return derivative

    return decorate
