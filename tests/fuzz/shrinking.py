"""Smaller programs that are wrong in the same way: what hypothesis leaves, with parts taken out.

Hypothesis shrinks choices. What was drawn for another part goes with that part only; here each
block of gates and each statement may go, or give way to what is inside of it.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.grammar import is_body

PATIENCE = 60.0
"""Seconds, after which what has been found so far is small enough."""


def shrunk(drawn: dict[str, Any], is_wrong: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Leave out what can be left out, one part after the other, until nothing more can."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = next((less for less in _smaller(drawn) if is_wrong(less)), None)
        if found is None:
            break
        drawn = found
    return drawn


def _smaller(drawn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in drawn.items():
        for less in _lists_less(value) if isinstance(value, list) else ():
            yield {**drawn, name: less}


def _lists_less(blocks: list) -> Iterator[list]:
    """Without one element, with one replaced by what is inside, or with one that is smaller."""
    for place, block in enumerate(blocks):
        before, after = blocks[:place], blocks[place + 1 :]
        if before or after:
            yield [*before, *after]
        if not is_body([block]):
            continue
        for number, part in enumerate(block):
            if is_body(part):
                yield [*before, *part, *after]
                for less in _lists_less(part):
                    yield [*before, [*block[:number], less, *block[number + 1 :]], *after]
