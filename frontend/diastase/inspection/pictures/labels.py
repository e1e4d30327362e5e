"""What PennyLane calls gates and measurements where it draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane.measurements import MeasurementProcess

SUM = "\N{MATHEMATICAL BOLD SCRIPT CAPITAL H}"
"""PennyLane's label of an observable that is a sum, or a matrix."""


@dataclass(frozen=True)
class GateLabel:
    """How a gate of the gate table is drawn."""

    text: str
    controls: int
    """How many of its wires, the first ones, are controls, of the value 1."""


@cache
def gate_label(name: str, wires: int, parameters: int) -> GateLabel:
    """The label of a gate by its name in the gate table, without its parameters."""
    if name.startswith("Adjoint("):
        inner = gate_label(name.removeprefix("Adjoint(").removesuffix(")"), wires, parameters)
        return GateLabel(f"{inner.text}†", inner.controls)
    made = getattr(qml, name)(*[0.5] * parameters, wires=range(wires))
    values = getattr(made, "control_values", None)
    controls = len(made.control_wires) if isinstance(values, list | tuple) else 0
    return GateLabel(made.label(decimals=None), controls)


class Matrices:
    """The arrays that are shown by number: `M0`; equal ones have the same number."""

    def __init__(self) -> None:
        self.known: list[Any] = []

    def label(self, matrix: Any) -> str:
        """The name of an array."""
        for number, other in enumerate(self.known):
            if other.shape == matrix.shape and np.allclose(other, matrix):
                return f"M{number}"
        self.known.append(matrix)
        return f"M{len(self.known) - 1}"


_OTHERS = {
    "probs": "Probs",
    "sample": "Sample",
    "counts": "Counts",
    "state": "State",
    "density_matrix": "DensityMatrix",
}


def process_label(process: MeasurementProcess) -> str:
    """What PennyLane prints for a measurement; without coefficients where they are traced."""
    kind = type(process).__name__
    if kind == "ExpectationMP":
        pattern = "<{}>"
    elif kind == "VarianceMP":
        pattern = "Var[{}]"
    else:
        label = kind.removesuffix("MP")
        label = {"Probability": "Probs", "ClassicalShadow": "Shadow"}.get(label, label)
        if process.obs is None:
            return label
        pattern = label + "[{}]"
    if process.obs is None:
        return pattern.format("MCM" if process.mv is not None else "")
    return pattern.format(_observable_label(process.obs))


def _observable_label(observable: Any) -> str:
    if any(isinstance(number, Tracer) for number in observable.data):
        return SUM
    return observable.label(decimals=2).replace("\n", "")


def pauli_label(words: Sequence[Sequence[tuple[str, Any]]]) -> str:
    """An observable of these Pauli words."""
    if len(words) != 1:
        return SUM
    return "@".join(letter for letter, _ in words[0]) or "I"
