"""The table of all passes, with the frontend's among them.

Whoever looks a pass up imports it from here, so that the frontend's have registered themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any

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

__all__ = [
    "FRONTEND",
    "PASSES",
    "PassCall",
    "has_pass",
    "options_by_name",
    "pass_call",
    "pass_calls",
    "register_pass",
]


def options_by_name(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The options that an entry of a pipeline gives a pass, those without names by their places."""
    found = PASSES.get(name.replace("-", "_"))
    names = [*found.options] if found is not None else []
    names += [f"number {place}" for place in range(len(names), len(args))]
    return {**dict(zip(names, args, strict=False)), **kwargs}
