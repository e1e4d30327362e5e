"""Shift rules: a derivative by one parameter of an operation as a sum over shifted runs.

    df/dp = sum over terms of coefficient * f(p + shift)

`parameter-shift` is exact. f is a sum of waves in p, whose frequencies are the differences of the
eigenvalues of the gate's generator; a gate under controls has the eigenvalue 0, too. Eigenvalues
are read off the gate's matrix, by a Fourier transform along p, so no table can be wrong; for the
frequencies PennyLane gives the terms (two, four, or as many as there are frequencies, twice).

`finite-diff` has the same terms for all parameters, PennyLane's for `h`, `approx_order`, `n` and
`strategy`. A term without a shift is the run that all parameters share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pennylane as qml
from pennylane.gradients import generate_shift_rule
from pennylane.gradients.finite_difference import finite_diff_coeffs

from diastase_mlir import word_of

Term = tuple[float, float]
"""Coefficient and shift."""


@dataclass(frozen=True)
class Rule:
    """How the derivative by one parameter is found."""

    terms: tuple[Term, ...]
    """Coefficients and shifts of runs of its own."""
    base: float = 0.0
    """The coefficient of the run without shifts."""
    multiples: tuple[float, ...] = ()
    """Of the parameter itself, in each term; where there are none, one."""


_UNIT = 0.5
"""Eigenvalues of the generators of gates in the table are multiples of it."""
_POINTS = 32
_ROUNDING = 1e-9


def finite_differences(options: Mapping[str, Any]) -> tuple[Term, ...]:
    """The terms for the options of `finite-diff` or `spsa`."""
    order, h = options["n"], options["h"]
    found = finite_diff_coeffs(order, options["approx_order"], options["strategy"])
    return tuple(
        (float(coefficient / h**order), float(shift * h)) for coefficient, shift in found.T
    )


@cache
def rule_of_word(whole: bool, controlled: bool) -> Rule:
    """The exact rule of exp(i t P), for a Pauli word P or, `whole`, for the identity."""
    waves = (2.0,) if not controlled else (1.0,) if whole else (1.0, 2.0)
    return Rule(_terms(generate_shift_rule(waves)))


def rule_of_recipe(recipe: Any) -> Rule:
    """PennyLane's `[coefficient, multiple of the parameter, shift]` for each term."""
    coefficients, multiples, shifts = zip(*recipe, strict=True)
    terms = tuple(zip(map(float, coefficients), map(float, shifts), strict=True))
    return Rule(terms, multiples=tuple(map(float, multiples)))


def _terms(rule: Any) -> tuple[Term, ...]:
    return tuple((float(coefficient), float(shift)) for coefficient, shift in rule)


@cache
def parameter_shifts(
    name: str, count: int, number: int, wires: int, controlled: bool, shifts: Any = None
) -> tuple[Term, ...] | None:
    """The exact terms for parameter `number` of `count` of a gate; None where there are none."""
    if name == "MultiRZ" or word_of(name) is not None:
        name = "RZ"  # all have the same eigenvalues, and matrices of any size
    eigenvalues = _eigenvalues(name, count, number)
    if eigenvalues is None:
        return None
    if controlled:
        eigenvalues = {*eigenvalues, 0}
    frequencies = sorted({a - b for a in eigenvalues for b in eigenvalues if a > b})
    if not frequencies:
        return ()
    waves = tuple(_UNIT * frequency for frequency in frequencies)
    return _terms(generate_shift_rule(waves, shifts=shifts))


def _eigenvalues(name: str, count: int, number: int) -> set[int] | None:
    """Those of the generator, as multiples of the unit, up to what is common to all."""
    generator = np.random.default_rng(7)
    others = generator.uniform(0.5, 1.5, count)
    steps = np.arange(_POINTS) / _POINTS
    matrices = [_matrix(name, _with(others, number, step * 2 * np.pi / _UNIT)) for step in steps]
    waves = np.fft.fft(np.stack(matrices), axis=0) / _POINTS
    sizes = np.abs(waves).max(axis=(1, 2))
    found = {int(k) if k < _POINTS // 2 else int(k) - _POINTS for k in np.nonzero(sizes > 1e-9)[0]}
    angle = 0.7391
    rebuilt = sum(waves[k] * np.exp(1j * k * _UNIT * angle) for k in found)
    difference = rebuilt - _matrix(name, _with(others, number, angle))
    return found if np.abs(difference).max() < _ROUNDING else None


def _with(values: np.ndarray, number: int, value: float) -> Sequence[float]:
    changed = values.copy()
    changed[number] = value
    return changed.tolist()


def _matrix(name: str, parameters: Sequence[float]) -> np.ndarray:
    gate: Any = getattr(qml, name)
    with qml.QueuingManager.stop_recording():
        return np.asarray(gate.compute_matrix(*parameters), np.complex128)
