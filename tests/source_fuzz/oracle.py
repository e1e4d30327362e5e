"""Runs the text of a program compiled and by other means, and says whether they agree.

References, by the module's `REFERENCE`: `jit` is `jax.jit` with `stand_ins` for diastase's control flow; `python` is
the function as it stands, on NumPy arrays; `circuit` the same on `default.qubit`; `gradient` central
differences of `cost` of that; `shots` the exact result, within six standard deviations.

A number may be as far from the reference as the reference moves if its inputs move by a few units in the last
place of the least precise type in the program. What is no number must be equal, unless it changes with
them. A difference is believed if XLA, without fusing anything, has the reference's result, too.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase import DiastaseError, qjit
from diastase_mlir.errors import FailedPassError
from diastase_runtime.errors import InternalError
from source_fuzz.stand_ins import JAX_STAND_INS, PYTHON_STAND_INS

_OPTIONS_OF_JAX = ("static_argnums", "static_argnames", "donate_argnums")
_MOVES = 8  # units in the last place
_TRUSTED = 64
# Reverse mode of loops, which JAX has not; code without effect on the result, which is not compiled.
_LENIENT = ("Reverse-mode differentiation does not work for lax.while_loop", "cannot convert float infinity to integer")


@dataclass
class Verdict:
    kind: str
    """`equal`, `refused` (by diastase), `both refuse`, `lenient` (only JAX refuses), `unsure`, `broken` (no program), or what is wrong: `FINDING …`."""
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind.startswith("FINDING")

    @property
    def signature(self) -> str:
        return f"{self.kind}: {re.sub(r'[0-9]+|0x[0-9a-f]+', '#', self.detail)[:110]}"


def check_file(path: Path) -> Verdict:
    """The verdict on a program in a file; AutoGraph reads its source there."""
    try:
        names = _names(path)
    except Exception as error:
        return Verdict("broken", _line(error))
    with warnings.catch_warnings(), jax.enable_x64(names.get("X64", True)), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _check(path, names["REFERENCE"])
        except Exception as error:  # what a removal left is no program
            return Verdict("broken", _line(error))


def _names(path: Path, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "program", "__file__": str(path)}
    text = path.read_text()
    if overrides is PYTHON_STAND_INS:  # a device is made where the text names it
        text = text.replace('DEVICE = "lightning.qubit"', 'DEVICE = "default.qubit"').replace(
            "DEVICE = 'lightning.qubit'", "DEVICE = 'default.qubit'"
        )
        text = re.sub(r"(?m)^SHOTS = .*$", "SHOTS = None", text)
    exec(compile(text, str(path), "exec"), names)
    names.update(overrides or {})
    return names


def _jax_jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return jax.jit(function, **{name: one for name, one in options.items() if name in _OPTIONS_OF_JAX})


def _as_it_stands(function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    return function


def _check(path: Path, reference: str) -> Verdict:
    on_python = reference in ("circuit", "gradient", "shots")
    names = _names(path, PYTHON_STAND_INS if on_python else JAX_STAND_INS if reference == "jit" else {"jnp": np})
    run = names["build"](_jax_jit if reference == "jit" else _as_it_stands)

    def wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _differences(names["cost"], args) if reference == "gradient" else run(*args, **kwargs)

    ours = _names(path)
    try:
        compiled = ours["build"](qjit)
    except Exception as error:
        return _failed(error)
    kept: list[tuple[Any, Any]] = []
    verdict = Verdict("equal")
    for (args, kwargs), (own_args, own_kwargs), (copies, _) in zip(names["calls"](), ours["calls"](), ours["calls"](), strict=True):
        verdict = _check_call(wanted, compiled, (args, kwargs), (own_args, own_kwargs), ours, kept)
        if verdict.kind not in ("equal", "both refuse", "lenient"):
            return verdict
        if not _same(own_args, copies):
            return Verdict("FINDING changes its arguments")
    if any(not _same(result, copy) for result, copy in kept):
        return Verdict("FINDING a later call changes an earlier result")
    return verdict


def _check_call(wanted: Any, compiled: Any, call: Any, own_call: Any, names: dict[str, Any], kept: list[Any]) -> Verdict:
    args, kwargs = own_call
    expected, refusal = _outcome(lambda: wanted(*call))
    found, failure = _outcome(lambda: compiled(*args, **kwargs))
    exact = names["REFERENCE"] == "jit"
    if refusal is not None and failure is None and exact:
        with jax.disable_jit():  # some of what XLA or `jax.jit` cannot do, eager JAX can
            expected, eager = _outcome(lambda: wanted(*call))
        refusal, exact = (None, False) if eager is None else (refusal, True)
    if refusal is not None:
        if failure is None:
            lenient = names.get("LENIENT") or any(one in str(refusal) for one in _LENIENT)
            return Verdict("lenient" if lenient else "FINDING accepts what is refused", _line(refusal))
        return _failed(failure) if isinstance(failure, InternalError) else Verdict("both refuse", f"{_line(refusal)} / {_line(failure)}")
    if failure is not None:
        verdict = _failed(failure)
        with jax.disable_jit():  # where code without effect on the result runs, too
            refusal = _outcome(lambda: wanted(*call))[1]
        return verdict if refusal is None else Verdict("both refuse", f"{_line(refusal)} / {_line(failure)}")
    reference = names["REFERENCE"]
    kept.append((found, jax.tree.map(np.array, found)))
    wrong = _wrong_type(found, expected, exact)
    if wrong:
        return Verdict("FINDING type", wrong)
    if reference == "shots":
        return _within(found, expected, 6 / np.sqrt(names["SHOTS"]))
    if reference in ("gradient", "circuit"):
        tolerance = 1e-5 if reference == "gradient" else 1e-7
        verdict = _within(found, expected, tolerance)
        # A branch may hang on a number that is zero but for rounding.
        moves = (wanted(*_moved(call, 1e-13, np.random.default_rng(seed))) for seed in range(6))
        if verdict.is_finding and any(_within(moved, expected, tolerance).is_finding for moved in moves):
            return Verdict("unsure")
        return verdict
    return _compare(wanted, call, found, expected)


def _outcome(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return jax.block_until_ready(run()), None
    except Exception as error:
        return None, error


def _line(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:160]


def _failed(error: Exception) -> Verdict:
    """Refusals are diastase's own errors, but for those that say that the compiler is at fault."""
    if isinstance(error, DiastaseError) and not isinstance(error, InternalError | FailedPassError):
        return Verdict("refused", _line(error))
    return Verdict("FINDING exception", _line(error))


def _same(one: Any, other: Any) -> bool:
    def equal(a: Any, b: Any) -> bool:
        if isinstance(a, jax.Array) and a.is_deleted():
            return True
        if isinstance(a, str):
            return a == b
        return np.shape(a) == np.shape(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()

    return jax.tree.all(jax.tree.map(equal, one, other))


def _wrong_type(found: Any, expected: Any, exact: bool) -> str:
    ours, theirs = jax.tree.structure(found), jax.tree.structure(expected)
    if ours != theirs:
        return f"structure {ours}, not {theirs}"
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if np.shape(got) != np.shape(want):
            return f"shape {np.shape(got)}, not {np.shape(want)}"
        if exact and got.dtype != want.dtype:
            return f"dtype {got.dtype}, not {want.dtype}"
        if exact and got.weak_type != want.weak_type:
            return f"weak_type {got.weak_type} of {got.dtype}{got.shape}"
    return ""


def _within(found: Any, expected: Any, tolerance: float) -> Verdict:
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        got, want = np.asarray(got), np.asarray(want)
        far = ~np.isclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
        if far.any():
            return Verdict("FINDING value", f"{got[far][:3]}, not {want[far][:3]}")
    return Verdict("equal")


def _differences(cost: Callable[..., Any], args: tuple[Any, ...], step: float = 1e-4) -> Any:
    """The gradient of a real function by its first argument, by central differences of order four."""
    point = np.asarray(args[0], float)
    gradient = np.zeros(np.shape(cost(*args)) + point.shape)
    for index in np.ndindex(point.shape):
        unit = np.zeros(point.shape)
        unit[index] = step
        one, two = (np.asarray(cost(point + k * unit, *args[1:])) - np.asarray(cost(point - k * unit, *args[1:])) for k in (1, 2))
        gradient[(..., *index)] = (8 * one - two) / (12 * step)
    return gradient


_PRECISIONS = (("bf16", 2.0**-8), ("f16", 2.0**-10), ("f32", 2.0**-23), ("c64", 2.0**-23))


def _precision(wanted: Any, call: Any) -> float:
    """One unit in the last place, relative, of the least precise type in the program."""
    try:
        text = str(jax.make_jaxpr(lambda: wanted(*call))())
    except Exception:
        return 2.0**-23
    return next((one for name, one in _PRECISIONS if f"{name}[" in text), 2.0**-52)


def _moved(args: Any, amount: float, rng: np.random.Generator) -> Any:
    def move(one: Any) -> Any:
        if not hasattr(one, "dtype") or not jnp.issubdtype(one.dtype, jnp.inexact):
            return one
        own = max(amount, float(jnp.finfo(one.dtype).eps) * _MOVES)
        array = np if isinstance(one, np.ndarray | np.generic) else jnp
        return array.asarray(one * (1 + own * rng.choice((-1, 1), size=np.shape(one))), one.dtype)

    return jax.tree.map(move, args)


def _compare(wanted: Any, call: Any, found: Any, expected: Any) -> Verdict:
    leaves = [np.asarray(one) for one in jax.tree.leaves(found)]
    references = [np.asarray(one) for one in jax.tree.leaves(expected)]
    if all(np.array_equal(*_wide(a, b), equal_nan=True) for a, b in zip(leaves, references, strict=True)):
        return Verdict("equal")
    unit = _precision(wanted, call)
    rng = np.random.default_rng(0)

    def others(count: int) -> list[list[np.ndarray]]:
        runs = [_outcome(lambda: wanted(*_moved(call, unit * _MOVES * rng.choice((0.3, 1)), rng)))[0] for _ in range(count)]
        return [[np.asarray(one) for one in jax.tree.leaves(run)] for run in runs if run is not None]

    if not _difference(leaves, references, others(2), unit):
        return Verdict("equal")
    runs = others(8)
    with jax.disable_jit():
        eager = _outcome(lambda: wanted(*call))[0]
    runs += [] if eager is None else [[np.asarray(one) for one in jax.tree.leaves(eager)]]
    wrong = _difference(leaves, references, runs, unit)
    return Verdict("FINDING value", wrong) if wrong else Verdict("unsure")


def _wide(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In types that NumPy calculates with."""
    if (one.dtype.kind in "biufc" and one.dtype.itemsize > 2) or one.dtype.kind in "biu":
        return one, other
    return one.astype(np.float64), other.astype(np.float64)


def _difference(found: list[np.ndarray], expected: list[np.ndarray], runs: list[list[np.ndarray]], unit: float) -> str:
    """The first numbers that are further away than the runs explain."""
    for number, (got, want) in enumerate(zip(found, expected, strict=True)):
        got, want = _wide(got, want)
        moved = [_wide(run[number], run[number])[0] for run in runs if run[number].shape == want.shape]
        if got.dtype.kind in "biu":
            steady = np.ones(want.shape, bool)
            for other in moved:
                steady &= other == want
            far = steady & (got != want)
        else:
            finite = np.isfinite(want)
            size = np.abs(np.where(finite, want, 0))
            spread, steady = np.zeros(want.shape), np.ones(want.shape, bool)
            for other in moved:
                steady &= np.isfinite(other) == finite
                spread = np.maximum(spread, np.abs(np.where(np.isfinite(other) & finite, other - want, 0)))
            allowed = _TRUSTED * (spread + max(unit, np.finfo(want.dtype).eps) * (size + size.max(initial=0))) + 1e-300
            close = np.abs(np.where(finite & np.isfinite(got), got - want, 0)) <= allowed
            far = steady & ~np.where(finite & np.isfinite(got), close, (got == want) | (np.isnan(got) & np.isnan(want)))
        if far.any():
            return f"result {number}: {got[far][:3]}, not {want[far][:3]}"
    return ""
