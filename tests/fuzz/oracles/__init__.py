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
    qir,
    translation,
)

REGISTERED = (
    circuits, compilation, derivatives, measurements, openqasm, peers, programs, qir,
    translation
)  # fmt: skip
"""Whose checks are in the table."""

BY_OTHERS = (
    "eager_jax_and_default_qubit",
    "derivatives",
    "default_mixed",
    "feedback_on_default_qubit",
    "noise_on_default_mixed",
)
"""Whose reference is not ours: mistakes that all our ways of saying it share only these see."""


def in_turn() -> list[str]:
    """All oracles, each beside two by others, of which the first is one."""
    first, *rest = BY_OTHERS
    names = enumerate(sorted(ORACLES))
    return [name for n, own in names for name in (first, rest[n % len(rest)], own)]


__all__ = ["BY_OTHERS", "ORACLES", "REGISTERED", "in_turn"]
