"""What must hold of a random program, by name: as by others, and as said differently."""

from fuzz.judging import ORACLES
from fuzz.oracles import (
    circuits,
    compilation,
    derivatives,
    measurements,
    openqasm,
    peers,
    programs,
    translation,
)

REGISTERED = (
    circuits, compilation, derivatives, measurements, openqasm, peers, programs, translation
)  # fmt: skip
"""Whose checks are in the table."""

__all__ = ["ORACLES", "REGISTERED"]
