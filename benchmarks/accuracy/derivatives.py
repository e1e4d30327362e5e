"""Derivatives at edges, ends of domains and ties: ours beside plain `jax.jvp` and `jax.grad`.

A case is a function of arrays and its arguments. Pointwise ones are differentiated forward and
backward, others backward, by JAX inside of `qjit` and by `diastase.vjp` and `.grad`; plain JAX,
which no `jit` surrounds, says what is right: also which of equal elements has the derivative.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import diastase
from accuracy.functions import ELEMENTARY, SPECIAL, TWO, Function
from accuracy.measure import text
from diastase import qjit


@dataclass(frozen=True)
class Case:
    """Of one function of arrays."""

    name: str
    program: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Difference:
    """One derivative that is not JAX's."""

    name: str
    by: str
    at: str
    ours: str
    jax: str


_POINTS = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e-300,
        1e200,
        -1e200,
        710.0,
        -746.0,
        np.inf,
        -np.inf,
        np.nan,
    ]
)


def _of_one(function: Function) -> Case:
    return Case(function.name, function.program, (_POINTS,))


def _of_two(name: str, program: Callable[..., Any]) -> Case:
    some = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 1e200, np.inf, -np.inf, np.nan])
    first, second = np.meshgrid(some, some, indexing="ij")
    return Case(name, program, (first.ravel(), second.ravel()))


_PIECEWISE = {
    "abs": jnp.abs, "sign": jnp.sign, "floor": jnp.floor, "round": jnp.round, "ceil": jnp.ceil,
    "relu": jax.nn.relu, "leaky_relu": jax.nn.leaky_relu, "clip": lambda x: jnp.clip(x, -1, 1),
    "relu6": jax.nn.relu6, "hard_tanh": jax.nn.hard_tanh, "elu": jax.nn.elu, "selu": jax.nn.selu,
    "gelu": jax.nn.gelu, "silu": jax.nn.silu, "log_sigmoid": jax.nn.log_sigmoid,
    "where": lambda x: jnp.where(x > 0, jnp.log(x), x), "x**0": lambda x: x**0,
    "x**1": lambda x: x**1,
    "x**2": lambda x: x**2, "x**-1": lambda x: x**-1, "x**0.5": lambda x: x**0.5,
    "safe sqrt": lambda x: jnp.sqrt(jnp.where(x > 0, x, 1.0)),
    "nan_to_num": jnp.nan_to_num, "square": jnp.square, "reciprocal": lambda x: 1 / x,
    "sinc": jnp.sinc, "cube root": jnp.cbrt, "modf": lambda x: jnp.modf(x)[0],
    "frexp": lambda x: jnp.frexp(x)[0],
}  # fmt: skip

_BINARY = {
    "max": jnp.maximum, "min": jnp.minimum, "fmax": jnp.fmax, "fmin": jnp.fmin, "mod": jnp.mod,
    "rem": lax.rem, "fmod": jnp.fmod, "div": jnp.divide, "mul": jnp.multiply,
    "copysign": jnp.copysign, "power": jnp.power, "float_power": jnp.float_power,
    "heaviside": jnp.heaviside, "floor_divide": jnp.floor_divide,
}  # fmt: skip

_TIES = {
    "two": [1.0, 1.0], "three of four": [2.0, 2.0, 1.0, 2.0], "zeros": [0.0, -0.0, 0.0],
    "all equal": [3.0] * 5, "ends": [-1.0, 0.0, 0.0, 5.0, 5.0], "infinite": [np.inf, np.inf, 1.0],
    "with NaN": [1.0, np.nan, 1.0], "empty sum": [0.0, 0.0, 0.0],
}  # fmt: skip

_REDUCTIONS = {
    "max": jnp.max, "min": jnp.min, "prod": jnp.prod, "norm": jnp.linalg.norm,
    "norm 1": lambda x: jnp.linalg.norm(x, 1), "norm inf": lambda x: jnp.linalg.norm(x, jnp.inf),
    "sort": lambda x: jnp.sort(x) @ jnp.arange(1.0, 1 + len(x)), "std": jnp.std, "var": jnp.var,
    "median": jnp.median, "quantile": lambda x: jnp.quantile(x, 0.3), "logsumexp": jax.nn.logsumexp,
    "softmax": lambda x: jax.nn.softmax(x)[0], "cummax": lambda x: lax.cummax(x).sum(),
    "cummin": lambda x: lax.cummin(x).sum(), "cumprod": lambda x: lax.cumprod(x).sum(),
    "top_k": lambda x: lax.top_k(x, 2)[0] @ jnp.array([1.0, 2.0]),
    "at argmax": lambda x: x[jnp.argmax(x)],
    "scatter max": lambda x: jnp.zeros(2).at[jnp.zeros(len(x), int)].max(x).sum(),
    "segment max": lambda x: jax.ops.segment_max(x, jnp.zeros(len(x), int), 1)[0],
    "max pool": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "SAME").sum(),
    "nanmax": jnp.nanmax, "ptp": jnp.ptp, "log of sum": lambda x: jnp.log(x.sum()),
}  # fmt: skip

POINTWISE = (
    *map(_of_one, ELEMENTARY),
    *(_of_one(f) for f in SPECIAL if f.name.split(".")[-1] not in ("expi", "exp1", "ndtri")),
    *(Case(name, program, (_POINTS,)) for name, program in _PIECEWISE.items()),
    *(_of_two(f.name, f.program) for f in TWO[:7]),
    *(_of_two(name, program) for name, program in _BINARY.items()),
)
TIES = tuple(
    Case(name, program, tuple(np.array(elements) for elements in _TIES.values()))
    for name, program in _REDUCTIONS.items()
)


def _slopes(program: Callable[..., Any], arity: int) -> Callable[..., Any]:
    """Of a pointwise function: forward and backward, by each argument."""

    def of(*arguments: Any) -> list[Any]:
        found = []
        for place in range(arity):
            tangents = [
                jnp.ones_like(x) if n == place else jnp.zeros_like(x)
                for n, x in enumerate(arguments)
            ]
            found.append(jax.jvp(program, arguments, tuple(tangents))[1])
        return found + list(jax.vjp(program, *arguments)[1](jnp.ones_like(arguments[0])))

    return of


def _by_diastase(program: Callable[..., Any], arity: int) -> Callable[..., Any]:
    """Of a pointwise function, by `diastase.vjp`."""

    def of(*arguments: Any) -> list[Any]:
        cotangents = (jnp.ones_like(arguments[0]),)
        found = diastase.vjp(program, arguments, cotangents, argnums=tuple(range(arity)))
        return jax.tree.leaves(found[1])

    return of


def pointwise_differences(case: Case) -> Iterator[Difference]:
    """Every derivative of the case that is not JAX's."""
    arity = len(case.arguments)
    expected = _slopes(case.program, arity)(*map(jnp.asarray, case.arguments))
    found = qjit(_slopes(case.program, arity))(*case.arguments)
    ours = qjit(_by_diastase(case.program, arity))(*case.arguments)
    forms = [*(f"jvp {n}" for n in range(arity)), *(f"vjp {n}" for n in range(arity))]
    every = [*zip(forms, found, expected, strict=True)]
    every += zip([f"diastase.vjp {n}" for n in range(arity)], ours, expected[arity:], strict=True)
    for form, one, other in every:
        yield from _unequal(case, form, np.asarray(one), np.asarray(other))


def tie_differences(case: Case) -> Iterator[Difference]:
    """As before, of a function of one array to a number, for each of the arrays."""
    expected = [np.asarray(jax.grad(case.program)(jnp.asarray(x))) for x in case.arguments]

    def by_both(*arguments: Any) -> list[list[Any]]:
        grads = (jax.grad(case.program), diastase.grad(case.program))
        return [[grad(x) for x in arguments] for grad in grads]

    for form, found in zip(("grad", "diastase.grad"), qjit(by_both)(*case.arguments), strict=True):
        for x, one, other in zip(case.arguments, found, expected, strict=True):
            if not _equal(np.asarray(one), other).all():
                yield Difference(case.name, form, str(x.tolist()), str(one), str(other))


def _unequal(
    case: Case, form: str, found: np.ndarray, expected: np.ndarray
) -> Iterator[Difference]:
    for place in np.flatnonzero(~_equal(found, expected)):
        at = ", ".join(text(x[place]) for x in case.arguments)
        yield Difference(case.name, form, at, text(found[place]), text(expected[place]))


def _equal(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """NaN where NaN, infinities of the same sign, and 11 digits; XLA makes zeros of subnormals."""
    with np.errstate(all="ignore"):
        close = np.abs(found - expected) <= 1e-11 * np.abs(expected) + 1e-300
    return close | (found == expected) | (np.isnan(found) & np.isnan(expected))


COMPARISONS = ((POINTWISE, pointwise_differences), (TIES, tie_differences))
"""Cases, and what compares one."""
