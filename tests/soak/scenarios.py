"""What is done under load: a scenario is a generator that has made so many calls when it yields.

It yields where nothing is going on (its threads are joined, its children waited for): there the
worker measures. It raises where a result is wrong or something else than what must happen does.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

Steps = Generator[int]


@dataclass(frozen=True)
class Scenario:
    """Something to do, and how many times at scale 1."""

    name: str
    calls: int
    least: int
    """Below this many there is nothing to see: at any scale so many are made."""
    bytes_per_call: float
    """What the process may grow by, on top of `SLACK`; infinite for what is not ours to mend."""
    run: Callable[[int], Steps]


SLACK = 4 << 20
"""Bytes by which the heap of a process that leaks nothing may grow: what is free is in pieces."""

SCENARIOS: dict[str, Scenario] = {}


def scenario(
    name: str, calls: int, *, least: int = 100, bytes_per_call: float = 0.0
) -> Callable[[Callable[[int], Steps]], Callable[[int], Steps]]:
    """Register a generator function under a name."""

    def register(run: Callable[[int], Steps]) -> Callable[[int], Steps]:
        SCENARIOS[name] = Scenario(name, calls, least, bytes_per_call, run)
        return run

    return register
