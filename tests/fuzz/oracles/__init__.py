"""What must hold of a random program, by name: as by others, and as said differently."""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

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

SHARES = {
    "eager_jax_and_default_qubit": 4,
    "eager_jax": 4,
    "derivatives": 3,
    "derivatives_of_arrays": 5,
    "mapped": 2,
    "default_mixed": 2,
    "default_qubit": 2,
    "feedback_on_default_qubit": 2,
    "noise_on_default_mixed": 2,
    "translation": 3,
    "another_process": 0.3,
}
"""Of the time, for one that others have: more for references that are not ours, less for what works
in a child."""


class Turns:
    """Whose turn it is: of whom has had the least processor time for its share."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.spent = dict.fromkeys(names or sorted(ORACLES), 0.0)

    def next(self) -> str:
        return min(self.spent, key=lambda name: self.spent[name])

    @contextmanager
    def taken(self, name: str) -> Generator[None]:
        """Count the time of what is done inside."""
        began = time.process_time()
        yield
        self.spent[name] += (time.process_time() - began) / SHARES.get(name, 1)


__all__ = ["ORACLES", "REGISTERED", "SHARES", "Turns"]
