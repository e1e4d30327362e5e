"""Errors about measurements and observables that cannot be made."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class UnsupportedMeasurementError(CompileError, NotImplementedError):
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


class UnsupportedObservableError(CompileError, NotImplementedError):
    """An observable that cannot be compiled."""

    title: ClassVar[str] = "Unsupported observable"
    message: ClassVar[str] = "{observable} {reason}"
    observable: str
    reason: str


class StarredCountsError(DiastaseError, TypeError):
    """Counts given to a function with a star: `zip(*circuit())`, `plt.bar(*circuit())`.

    To a dictionary's user these are its keys, to Catalyst's the two arrays, so neither is chosen.

        outcomes, numbers = circuit()                    # Catalyst's arrays
        plt.bar(*qjit(counts="arrays")(circuit)())       # the same, as a tuple
        zip(*circuit().items())                          # PennyLane's bit strings, and numbers
    """

    title: ClassVar[str] = "Keys or arrays"
    message: ClassVar[str] = "counts with a star may mean {keys}, or Catalyst's pair of arrays"
    label: ClassVar[str] = "here"
    help: ClassVar[str] = "write *counts.keys(), or unpack them first: outcomes, numbers = counts"
    keys: str
