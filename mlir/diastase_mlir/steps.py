r"""Steps of making a program, for whoever measures them (`debug.instrumentation`).

    with step("generate_ir") as making:
        lowered = …
        making.size = lambda: lowered.text.count("\n")

In: the steps, where they are made. Out: to the watcher, if there is one, what each took, when it is
over; a step that fails is not told. Without a watcher nothing is measured. `part` marks steps
inside of others, which are told before them; they are what the thread is doing (`activity`).
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from diastase_mlir.activity import enter


@dataclass
class Step:
    """A step that was made."""

    name: str
    part: bool = False
    size: Callable[[], int] | None = None
    """Gives the lines of the program that the step has made."""
    happened: bool = True
    """False for an attempt, of which nobody need know."""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    """Of all threads of the process."""


Watcher = Callable[[Step], None]


class _Watched:
    watcher: Watcher | None = None


def watch_steps(watcher: Watcher | None) -> None:
    """Tell this watcher, or nobody, of steps from now on."""
    _Watched.watcher = watcher


@contextmanager
def step(name: str, *, part: bool = False) -> Generator[Step]:
    """Make a step; what is known of it at its end goes to the watcher."""
    if part:
        enter(name)
    made, watcher = Step(name, part), _Watched.watcher
    if watcher is None:
        yield made
        return
    start, processor_start = time.perf_counter(), time.process_time()
    yield made
    made.seconds = time.perf_counter() - start
    made.processor_seconds = time.process_time() - processor_start
    if made.happened:
        watcher(made)
