r"""Steps of making a program, for whoever measures them (`debug.instrumentation`).

    with step("generate_ir") as making:
        lowered = …
        making.size = lambda: lowered.text.count("\n")

In: the steps, where they are made. Out: to the watcher, if there is one, what each took, when it is
over; a step that fails is not told. Steps that are parts of others are told before them, and note
their seconds in the times of the whole. They are what the thread is doing (`activity`), and do not
begin where nobody waits for the whole any more (`background`).
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from diastase_toolchain.background import enter, go_on


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
def step(name: str, *, part_of: dict[str, float] | None = None) -> Generator[Step]:
    """Make a step; what is known of it at its end goes to the watcher, seconds to the whole."""
    if part_of is not None:
        go_on()
        enter(name)
    made, watcher = Step(name, part_of is not None), _Watched.watcher
    processor_start = 0.0 if watcher is None else time.process_time()
    start = time.perf_counter()
    yield made
    made.seconds = time.perf_counter() - start
    if part_of is not None:
        part_of[name] = part_of.get(name, 0.0) + made.seconds
    if watcher is not None and made.happened:
        made.processor_seconds = time.process_time() - processor_start
        watcher(made)
