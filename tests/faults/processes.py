"""Several processes that compile at once, and processes that are killed at any moment."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.children import Outcome, Provocation, Strikes, begin, end, inspect, run
from faults.laboratory import Laboratory, nothing
from faults.programs import PROGRAMS


def at_once(laboratory: Laboratory, name: str, number: int) -> Iterator[Outcome]:
    """Let processes compile one program at the same time."""
    folder = laboratory.fresh(name)
    start, go = os.pipe()
    children = [begin(folder, PROGRAMS[name], _waiting_for(start)) for _ in range(number)]
    os.close(start)
    os.write(go, b"!" * number)
    os.close(go)
    outcomes = [end(folder, child, answers) for child, answers in children]
    for outcome in outcomes:
        inspect(outcome, folder)  # once more: the others were still at work
        laboratory.afterwards(outcome, name)
    yield from outcomes


def _waiting_for(start: int) -> Provocation:
    @contextmanager
    def provoke(_: Path) -> Iterator[Strikes]:
        os.read(start, 1)
        yield lambda: (1, "beside others")

    return provoke


def killed(laboratory: Laboratory, name: str, rounds: int, kills: int = 10) -> Iterator[Outcome]:
    """Kill processes at random moments of compiling and calling; so many with one cache.

    The moments are those of a process that begins with an empty cache; where one got as far as to
    store the program, those after it find it there.
    """
    moments = random.Random(name)
    folder = laboratory.fresh(name)
    began = time.monotonic()
    run(folder, PROGRAMS[name], nothing)
    takes = time.monotonic() - began
    for _ in range(rounds):
        folder = laboratory.fresh(name)
        for kill in range(kills):
            child, answers = begin(folder, PROGRAMS[name], nothing)
            time.sleep(moments.uniform(0, takes))
            os.kill(child, signal.SIGKILL)
            outcome = end(folder, child, answers)
            outcome.struck = int(outcome.result == "signal 9")
            outcome.is_ours = outcome.is_ours or outcome.result in ("signal 9", "no answer")
            if kill + 1 == kills:
                laboratory.afterwards(outcome, name)
            else:
                outcome.left = []  # which the last one's shows
            yield outcome
