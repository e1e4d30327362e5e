"""Passes that change what a circuit measures, and how results are made of what it measured.

Each is a transform of PennyLane's. It is not given the circuit, which may have loops and branches,
but a tape of its measurements only (`qnode.measured_parts`): what it adds to the tape is applied
after the circuit, and if it makes several tapes, the circuit is run for each.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
import pennylane as qml
from pennylane import transforms
from pennylane.transforms.core import BoundTransform

from diastase.quantum.passes.errors import NeedsShotsError, OptionValueError
from diastase_mlir import register_pass, user_span

_STRATEGIES = ("default", "qwc", "wires", None)
_BASES = {
    "PauliX": qml.PauliX, "PauliY": qml.PauliY, "PauliZ": qml.PauliZ, "Hadamard": qml.Hadamard,
    "Identity": qml.Identity, "X": qml.PauliX, "Y": qml.PauliY, "Z": qml.PauliZ,
    "H": qml.Hadamard, "I": qml.Identity,
}  # fmt: skip


@register_pass("split_non_commuting", built_in=True, of="measurements")
def split_non_commuting(*, grouping_strategy: Any = "default") -> BoundTransform:
    """A run for each group of measurements that commute."""
    _check("split_non_commuting", "grouping_strategy", grouping_strategy, _STRATEGIES)
    options = {"grouping_strategy": grouping_strategy}
    return BoundTransform(transforms.split_non_commuting, kwargs=options)


@register_pass("split_to_single_terms", built_in=True, of="measurements")
def split_to_single_terms() -> BoundTransform:
    """Each term of a sum is measured by itself."""
    return BoundTransform(transforms.split_to_single_terms)


@register_pass("diagonalize_measurements", built_in=True, of="measurements")
def diagonalize_measurements(
    *, supported_base_obs: Any = ("PauliZ", "Identity"), to_eigvals: Any = False
) -> BoundTransform:
    """Observables become those of the bases that are supported, by gates before them."""
    name = "diagonalize_measurements"
    given = supported_base_obs
    bases = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    known = [_BASES.get(base) if isinstance(base, str) else base for base in bases]
    _check(name, "to_eigvals", to_eigvals, (True, False))
    for base, found in zip(bases, known, strict=True):
        if found not in _BASES.values():
            allowed = "some of PauliX, PauliY, PauliZ, Hadamard and Identity"
            _refuse(name, "supported_base_obs", base, allowed)
    if to_eigvals and not {*known} <= {qml.PauliZ, qml.Identity}:
        allowed = "False, where other bases than PauliZ are supported"
        _refuse(name, "to_eigvals", True, allowed)
    if to_eigvals:
        return BoundTransform(_with_eigenvalues)
    options = {"supported_base_obs": tuple(known)}
    return BoundTransform(transforms.diagonalize_measurements, kwargs=options)


@qml.transform
def _with_eigenvalues(tape: Any) -> Any:
    """Diagonalize, and measure wires whose outcomes have the values of the observable.

    PennyLane's own `to_eigvals` keeps eigenvalues by the hash of the observable, traced ones, too.
    """
    (diagonal,), processing = _diagonalize(tape)
    measured = [_valued(process) for process in diagonal.measurements]
    return (diagonal.copy(measurements=measured),), processing


def _valued(process: Any) -> Any:
    words = None if process.obs is None else process.obs.pauli_rep
    if words is None:
        return process
    wires = process.wires
    total: Any = 0.0
    for word, coefficient in words.items():
        factors = [(1.0, -1.0) if wire in word else (1.0, 1.0) for wire in wires]
        total = total + coefficient * reduce(np.kron, factors, np.ones(1))
    return type(process)(eigvals=total, wires=wires)


_diagonalize: Any = transforms.diagonalize_measurements.tape_transform


def _check(name: str, option: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if not isinstance(value, str | bool | None) or value not in allowed:
        _refuse(name, option, value, f"one of {', '.join(map(repr, allowed))}")


def _refuse(name: str, option: str, value: Any, allowed: str) -> None:
    shown = value.__name__ if isinstance(value, type) else repr(value)
    raise OptionValueError(name=name, option=option, value=shown, allowed=allowed)


# --- measurements from samples --------------------------------------------------------------------


@qml.transform
def _from_samples(tape: Any) -> Any:
    """Measure in one basis, in which each result is computed of the same bits."""
    if not tape.shots:
        raise NeedsShotsError(name="measurements_from_samples", span=user_span())
    return _diagonalize(tape)


@register_pass("measurements_from_samples", built_in=True, of="measurements")
def measurements_from_samples() -> BoundTransform:
    """Results are computed of one set of samples of bits."""
    return BoundTransform(_from_samples)
