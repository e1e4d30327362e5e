"""What must hold of a random program, by name: as by others, and as said differently."""

import random
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
    """Whose turn it is: of whom has had the least processor time for its share.

    Large shares begin, then the others in an order that follows from a number: a process may end
    before all have had a turn.
    """

    def __init__(self, number: int, names: Sequence[str] = ()) -> None:
        order = sorted(names or ORACLES)
        random.Random(number).shuffle(order)
        order.sort(key=lambda name: -SHARES.get(name, 1))
        self.spent = dict.fromkeys(order, 0.0)

    def next(self) -> str:
        return min(self.spent, key=lambda name: self.spent[name])

    @contextmanager
    def taken(self, name: str) -> Generator[None]:
        """Count the time of what is done inside."""
        began = time.process_time()
        yield
        self.spent[name] += (time.process_time() - began) / SHARES.get(name, 1)


__all__ = ["ORACLES", "REGISTERED", "SHARES", "Turns"]
