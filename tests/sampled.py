"""How much of the suite runs: with `make test` a sample of what is long, with `make test-all` all.

`@pytest.mark.sample(n)`: so many of a function's cases, spread evenly. `@pytest.mark.thorough`:
none, where others find most of what the test finds. `examples`: a quarter of so many random
programs. A file or a test that is asked for by name runs whole.

`DIASTASE_TESTS=tenth`: of that sample every tenth test, for `make release-check`.

`checked`: one of how many rewritings of circuits is checked (`translation`), and one of how many
tests has its traced programs checked; `DIASTASE_VALIDATE` says another number, or `off`.
"""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

_NAME, _SAMPLE, _TENTH = "DIASTASE_TESTS", "sample", "tenth"

Case = TypeVar("Case")


def begin(asked_for_all: bool) -> None:
    """Say what runs, before worker processes start, which are told by the environment."""
    os.environ.setdefault(_NAME, "all" if asked_for_all else _SAMPLE)


def is_sample() -> bool:
    """Whether only a sample runs."""
    return os.environ.get(_NAME) in (_SAMPLE, _TENTH)


def is_tenth() -> bool:
    """Whether every tenth test of the sample runs."""
    return os.environ.get(_NAME) == _TENTH


def examples(number: int) -> int:
    """How many random programs to run, of so many."""
    return -(-number // 4) if is_sample() else number


def checked() -> int | None:
    """One of how many is checked, of what could be at each step; None where none is."""
    asked = os.environ.get("DIASTASE_VALIDATE", "4" if is_sample() else "1")
    return None if asked == "off" else int(asked)


def spread(cases: Sequence[Case], count: int) -> Iterable[Case]:
    """So many of these, evenly spread, the first among them."""
    return {cases[number * len(cases) // count] for number in range(min(count, len(cases)))}
