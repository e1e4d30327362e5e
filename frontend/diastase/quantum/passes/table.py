"""The table of all passes, the frontend's among them, and which of PennyLane's transforms are one.

Whoever looks a pass up imports it from here, so that the frontend's have registered themselves.
"""

from typing import Any

from pennylane import transforms
from pennylane.devices import preprocess

from diastase.quantum.passes import gate_sets, gridsynth, measurement_passes
from diastase_mlir.passes.circuits import (
    PASSES,
    PassCall,
    has_pass,
    pass_call,
    pass_calls,
    register_pass,
)

FRONTEND = (gate_sets, gridsynth, measurement_passes)
"""Imported so that they register themselves."""

_OF_PENNYLANE = {
    transform.tape_transform: name
    for name, transform in {
        "decompose": transforms.decompose,
        "split_non_commuting": transforms.split_non_commuting,
        "split_to_single_terms": transforms.split_to_single_terms,
        "diagonalize_measurements": transforms.diagonalize_measurements,
        "measurements_from_samples": preprocess.measurements_from_samples,
    }.items()
}
"""Those that PennyLane itself does not call passes."""


def name_of(entry: Any) -> str | None:
    """The pass that an entry of a QNode's pipeline asks for, if it can be one."""
    return entry.pass_name or _OF_PENNYLANE.get(entry.tape_transform)


def options_of(entry: Any) -> dict[str, Any]:
    """The options that an entry gives, those without names by their places."""
    found = PASSES.get((name_of(entry) or "").replace("-", "_"))
    names = list(found.options) if found is not None else []
    given = dict(zip(names, entry.args, strict=False)) | dict(entry.kwargs)
    extra = {str(place): value for place, value in enumerate(entry.args[len(names) :])}
    return given | extra


__all__ = [
    "FRONTEND",
    "PASSES",
    "PassCall",
    "has_pass",
    "name_of",
    "options_of",
    "pass_call",
    "pass_calls",
    "register_pass",
]
