"""Circuits that apply an example in all its variants, one after the other."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pennylane as qml

from diastase.quantum.measurements.measurements import WithSnapshots
from frontend.quantum.operators.examples import Example

CONTROLS = 2
"""Wires beside those of the example."""


@dataclass(frozen=True)
class Variant:
    """How an example is applied."""

    form: str
    traced_parameters: bool
    traced_wires: bool

    def __str__(self) -> str:
        traced = ["parameters"] * self.traced_parameters + ["wires"] * self.traced_wires
        return f"{self.form} with traced {' and '.join(traced)}" if traced else self.form


VARIANTS = tuple(
    Variant(*kind)
    for kind in itertools.product(("plain", "adjoint", "ctrl"), (False, True), (False, True))
)


def variants_of(example: Example) -> list[Variant]:
    """Those that differ for this example."""
    return [
        variant
        for variant in VARIANTS
        if (example.parameters or not variant.traced_parameters)
        and (example.wires or not variant.traced_wires or variant.form == "ctrl")
    ]


def final_state(
    example: Example, variants: Sequence[Variant], parameters: Sequence[Any], offset: Any
) -> Any:
    """The state after all these variants; `parameters` and `offset`, which is 0, may be traced."""
    number = example.wires + CONTROLS

    @qml.qnode(qml.device("default.qubit", wires=number))
    def circuit():
        for wire in range(number):
            qml.RY(0.3 + 0.4 * wire, wire)
            qml.RZ(1.1 - 0.2 * wire, wire)
        for wire in range(number):
            qml.CNOT([wire, (wire + 1) % number])
        for variant in variants:
            generator = np.random.default_rng(VARIANTS.index(variant))
            order = range(number) if example.first_wires else generator.permutation(number)
            wires = [int(wire) + (offset if variant.traced_wires else 0) for wire in order]
            _apply(example, variant, parameters, wires)
        return qml.state()

    result = circuit()
    return result.results if isinstance(result, WithSnapshots) else result


def _apply(example: Example, variant: Variant, parameters: Sequence[Any], wires: list[Any]) -> None:
    targets, controls = wires[: example.wires], wires[example.wires :]
    values = tuple(parameters if variant.traced_parameters else example.parameters)
    if variant.form == "plain":
        example.build(values, targets)
    elif variant.form == "adjoint":
        qml.adjoint(example.build(values, targets))
    else:
        qml.ctrl(example.build(values, targets), controls, control_values=[1, 0])
