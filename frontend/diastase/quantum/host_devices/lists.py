"""The lists of operators that running programs fill: one for each call of a QNode under way.

A list is found by its number, which the program carries; only this process knows it. The list ends
when the circuit is run.

The trap: a program that is left in the middle (an error, a size that it was not compiled for) never
runs its list. So each thread keeps the latest ones only: far more than calls can be nested.
"""

import itertools
import threading
from collections import OrderedDict
from typing import Any

MOST_KEPT = 256

_numbers = itertools.count(1)

Entry = tuple[int, Any]
"""The number of the equation that appended an operator, and the operator."""


class _Lists(threading.local):
    def __init__(self) -> None:
        self.by_number: OrderedDict[int, list[Entry]] = OrderedDict()


_lists = _Lists()


def start_list() -> int:
    """A new, empty list."""
    number = next(_numbers)
    _lists.by_number[number] = []
    while len(_lists.by_number) > MOST_KEPT:
        _lists.by_number.popitem(last=False)
    return number


def list_of(number: int) -> list[Entry]:
    """A list that has been started."""
    return _lists.by_number[number]


def end_list(number: int) -> list[Entry]:
    """A list, which is forgotten here."""
    return _lists.by_number.pop(number)
