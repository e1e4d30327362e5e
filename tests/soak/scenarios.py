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
    """So many are made at any scale, and by the test of the suite."""
    slack: float
    """Bytes by which the process may grow; infinite for what is not ours to mend."""
    compiles: bool
    """JAX's caches fill, which are of bounded length: each is empty when the process is measured.
    What malloc has handed out may not grow, either."""
    run: Callable[[int], Steps]


SLACK = 4 << 20
"""The heap of a process that leaks nothing grows, too: what is free is in pieces."""

EACH = 600
"""Bytes that a compilation may leave: JAX's own leave 180, ours 300 to 500, in small pieces."""

OF_THREADS = 48 << 20
"""Threads that come and go have a heap each, of which glibc keeps what is free."""

OF_ARENAS = 400 << 20
"""Eight threads with large results: glibc's malloc keeps what is free in the arenas of each, up to
so much, which all of them reach after 100,000 calls. What is in use does not grow."""

SCENARIOS: dict[str, Scenario] = {}


def scenario(
    name: str, calls: int, *, least: int = 50, slack: float = SLACK, compiles: bool = False
) -> Callable[[Callable[[int], Steps]], Callable[[int], Steps]]:
    """Register a generator function under a name."""

    def register(run: Callable[[int], Steps]) -> Callable[[int], Steps]:
        SCENARIOS[name] = Scenario(name, calls, least, slack, compiles, run)
        return run

    return register
