"""Errors about measurements and observables that cannot be made."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class UnsupportedMeasurementError(DiastaseError, NotImplementedError):
    """A measurement that cannot be made, as it is or with the shots that the QNode has.

    `sample`, `counts`, `classical_shadow` and `shadow_expval` need shots; `state`,
    `density_matrix`, `purity`, `vn_entropy` and `mutual_info` are properties of the exact state;
    `expval`, `var` and `probs` are made with shots or without.
    """

    title: ClassVar[str] = "Unsupported measurement"
    message: ClassVar[str] = "{measurement} {reason}"
    help: ClassVar[str] = (
        "samples, counts and shadows need shots; states, purities and entropies have none"
    )
    measurement: str
    reason: str


class UnsupportedObservableError(DiastaseError, NotImplementedError):
    """An observable that cannot be compiled."""

    title: ClassVar[str] = "Unsupported observable"
    message: ClassVar[str] = "{observable} {reason}"
    observable: str
    reason: str
