"""`mitigate_with_zne`: noise is made larger on purpose, and results are extrapolated to none.

In: a function that calls QNodes. Out: a function of the same arguments that calls it once for each
scale factor, with all circuits folded by it (`quantum.folding`), and extrapolates each number that
it returns.

The trap: folding belongs to the calls of QNodes, so the function is traced anew for each factor.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.capture.context import (
    Folding,
    FoldingMethod,
    changed_settings,
    current_settings,
    is_tracing,
)
from diastase.capture.jax_errors import jax_failures_as_ours, user_line
from diastase.jit.qjit import QJIT
from diastase.jit.stages.trace_call import flatten_results, return_span
from diastase.tracing.signatures import function_name, misfit
from diastase_mlir import user_span
from diastase_runtime.errors import DiastaseError

Function = Callable[..., Any]
METHODS: tuple[FoldingMethod, ...] = get_args(FoldingMethod)


def mitigate_with_zne(
    fn: Function | None = None,
    *,
    scale_factors: Sequence[float],
    extrapolate: Function | None = None,
    extrapolate_kwargs: Mapping[str, Any] | None = None,
    folding: str = "global",
) -> Any:
    """Mitigate the errors of a QNode, or of all QNodes in a function, by zero-noise extrapolation.

    The function is evaluated for each of `scale_factors` with circuits of so many times their
    length and the same effect, and its results are extrapolated to a length of zero (Temme, Bravyi
    and Gambetta, arXiv:1612.02058; folding: Giurgica-Tiron et al., arXiv:2005.10921). On a device
    without noise, it is what the function returns. It can be differentiated.

    Args:
        fn: a QNode or a function that calls QNodes; without it, a decorator is made. Its results
            are real numbers of shape `()`, in any pytree.
        scale_factors: odd positive integers, known when the program is compiled; with
            `folding="local-random"` real numbers from 1.
        extrapolate: takes the scale factors and the results, arrays of shape `(n,)`, and returns a
            number. By default the polynomial through all of them; PennyLane's `poly_extrapolate`,
            `richardson_extrapolate` and `exponential_extrapolate` (`pennylane.noise`) serve as
            well, and any function of `jax.numpy`.
        extrapolate_kwargs: its keywords, in a dictionary.
        folding: "global" undoes the circuit and applies it again, "local-all" each operation,
            "local-random" each as often as all can be, and a random choice of them once more. The
            choice is the same in every call.

    Returns:
        A function of the same arguments, whose result has the structure of the function's.

    Raises:
        MitigationOptionError: a `ValueError`, for factors, foldings and functions that do not do.
        MitigatedResultError: a `TypeError`, if the function returns anything but real numbers.
        MitigationOutsideError: a `RuntimeError`, if it is called outside of compiled functions.
        NestedMitigationError: a `RuntimeError`, inside of another one.
        NotFoldableError: a `NotImplementedError`, for an operation that cannot be undone.

    Example:
        >>> import pennylane as qml
        >>> from diastase import mitigate_with_zne, qjit
        >>> @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(x):
        ...     qml.RX(x, wires=0)
        ...     return qml.expval(qml.Z(0))
        >>> mitigated = qjit(mitigate_with_zne(circuit, scale_factors=[1, 3, 5]))
        >>> float(mitigated(0.0))
        1.0

    """
    foldings = _foldings(scale_factors, folding)
    factors = [each.scale for each in foldings]
    keywords = _keywords(extrapolate_kwargs)
    if extrapolate is None and len(set(factors)) < len(factors):
        allowed = "no polynomial goes through two results of one factor: give extrapolate"
        raise _invalid("scale_factors", scale_factors, allowed)
    if extrapolate is not None:
        _check_extrapolation(extrapolate, keywords)
    span = user_span()

    def decorate(function: Function) -> Any:
        if not callable(function):
            raise _invalid(
                "fn", function, "mitigate_with_zne takes a QNode or a function of QNodes"
            )
        name = function_name(function)

        def extrapolated(values: jax.Array) -> Any:
            if extrapolate is None:
                return jnp.asarray(_weights(factors)) @ values
            return extrapolate(jnp.asarray(factors), values, **keywords)

        @functools.wraps(function)
        def mitigated(*args: Any, **kwargs: Any) -> Any:
            if not is_tracing():
                raise MitigationOutsideError(function=name, span=user_span())
            if current_settings().folding is not None:
                raise NestedMitigationError(function=name, span=user_span())
            results = [_at(each, function, args, kwargs) for each in foldings]
            _check(function, name, results[0])
            with jax_failures_as_ours(lambda traceback: user_line(traceback) or span):
                return jax.tree.map(lambda *values: extrapolated(jnp.stack(values)), *results)

        return function.like(mitigated) if isinstance(function, QJIT) else mitigated

    return decorate if fn is None else decorate(fn)


def _at(folding: Folding, function: Function, args: Any, kwargs: Any) -> Any:
    with changed_settings(folding=folding):
        return function(*args, **kwargs)


def _foldings(factors: Any, method: str) -> list[Folding]:
    """Check what was asked for."""
    if method not in METHODS:
        raise _invalid("folding", method, f"the methods are {', '.join(METHODS)}")
    if isinstance(factors, Tracer) or not np.iterable(factors):
        raise _invalid("scale_factors", factors, f"they are a list: {_TAKEN[method]}")
    given: list[Any] = list(factors)
    if not given:
        raise _invalid("scale_factors", factors, f"they are a list: {_TAKEN[method]}")
    for factor in given:
        if isinstance(factor, Tracer) or not _is_factor(factor, method):
            raise _invalid("scale_factors", factor, _TAKEN[method])
    return [Folding(method, float(factor)) for factor in given]


def _keywords(given: Any) -> dict[str, Any]:
    """Check what is given to the extrapolation by keyword."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        allowed = "extrapolate_kwargs takes a dictionary from names of parameters to values"
        raise _invalid("extrapolate_kwargs", given, allowed)
    return dict(given)


def _check_extrapolation(extrapolate: Any, keywords: Mapping[str, Any]) -> None:
    if not callable(extrapolate):
        raise _invalid("extrapolate", extrapolate, "extrapolate takes a function, or None")
    problem = misfit(extrapolate, (None, None), keywords)
    if problem:
        name = function_name(extrapolate)
        allowed = f"{name} is called with factors, results and extrapolate_kwargs: {problem}"
        raise MitigationOptionError(
            option="extrapolate", value=name, allowed=allowed, span=user_span()
        )


_ODD = "odd positive integers, known when the program is compiled (a static argument is)"
_TAKEN = {
    "global": f"global folding takes {_ODD}",
    "local-all": f"local-all folding takes {_ODD}",
    "local-random": "local-random folding takes real numbers from 1, known when the program is "
    "compiled",
}


def _is_factor(factor: Any, method: str) -> bool:
    if isinstance(factor, bool | np.bool_) or np.ndim(factor) or np.iscomplexobj(factor):
        return False
    if not np.issubdtype(np.asarray(factor).dtype, np.number) or not 1 <= factor < np.inf:
        return False
    return method == "local-random" or factor % 2 == 1


def _check(function: Function, name: str, result: Any) -> None:
    """Refuse what cannot be extrapolated."""
    flatten_results(function, name, result)
    leaves, _ = jax.tree_util.tree_flatten_with_path(result)
    for path, leaf in leaves:
        aval = jax.typeof(leaf)
        if aval.shape == () and jnp.issubdtype(aval.dtype, jnp.floating):
            continue
        raise MitigatedResultError(
            function=name,
            output=f"result{jax.tree_util.keystr(path)}",
            type=aval.str_short(),
            span=return_span(function),
        )


def _weights(factors: Sequence[float]) -> np.ndarray:
    """What each result counts in the polynomial through all of them, at zero (Lagrange)."""
    return np.array(
        [
            np.prod([other / (other - factor) for other in factors if other != factor])
            for factor in factors
        ]
    )


def _invalid(option: str, value: Any, allowed: str) -> "MitigationOptionError":
    return MitigationOptionError(
        option=option, value=repr(value), allowed=allowed, span=user_span()
    )


# --- errors --------------------------------------------------------------------------------------


class MitigationOptionError(DiastaseError, ValueError, TypeError):
    """`mitigate_with_zne` is told something that it does not take.

        mitigate_with_zne(circuit, scale_factors=[1, 2])           # 2 is even
        mitigate_with_zne(circuit, scale_factors=[1, 2.5], folding="local-random")   # is right

    A circuit, or an operation, that is undone and done again has three times its length, then five
    times, and so on; only a random choice of operations gives what is between.
    """

    title: ClassVar[str] = "Invalid option"
    message: ClassVar[str] = "mitigate_with_zne: {option} is {value}"
    help: ClassVar[str] = "{allowed}"
    option: str
    value: str
    allowed: str


class MitigatedResultError(DiastaseError, TypeError):
    """A function given to `mitigate_with_zne` returns what cannot be extrapolated.

        mitigate_with_zne(circuit, scale_factors=[1, 3])      # circuit returns qml.probs()

    What is extrapolated are real numbers: expectation values, and what is computed of them, in any
    pytree.
    """

    title: ClassVar[str] = "Nothing to extrapolate"
    label: ClassVar[str] = "returned here"
    message: ClassVar[str] = "{function} returns {type} at {output}, not one real number"
    help: ClassVar[str] = "return expectation values, or real numbers made of them, in any pytree"
    function: str
    output: str
    type: str


class MitigationOutsideError(DiastaseError, RuntimeError):
    """A function made by `mitigate_with_zne`, called by plain Python.

        mitigate_with_zne(circuit, scale_factors=[1, 3])(x)
        qjit(mitigate_with_zne(circuit, scale_factors=[1, 3]))(x)     # is right

    Circuits are folded while they are compiled. PennyLane's `qml.noise.mitigate_with_zne` works
    without a compiler.
    """

    title: ClassVar[str] = "Outside of a compiled program"
    message: ClassVar[str] = "mitigate_with_zne of {function} works in functions that qjit compiles"
    help: ClassVar[str] = "put @qjit above the function, or use qml.noise.mitigate_with_zne"
    function: str


class NestedMitigationError(DiastaseError, RuntimeError):
    """A function made by `mitigate_with_zne`, called by one that is mitigated itself.

        inner = mitigate_with_zne(circuit, scale_factors=[1, 3])
        mitigate_with_zne(lambda x: inner(x) ** 2, scale_factors=[1, 3, 5])

    A circuit has one length at a time. Mitigate the circuit, or the function around it.
    """

    title: ClassVar[str] = "Mitigated twice"
    message: ClassVar[str] = "mitigate_with_zne of {function} is called by a mitigated function"
    help: ClassVar[str] = "leave one of the two out"
    function: str
