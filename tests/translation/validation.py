"""Translation validation while tests run: what is checked, how often, and what became of it.

One of so many rewritings is checked, by the hash of its text (`sampled.checked`). What was
compared once in this process is not compared again. `session` is what pytest sees of this.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from zlib import crc32

import numpy as np

from diastase_mlir.passes.circuits.registry import PASSES
from diastase_mlir.rewritings import Rewriting, Table, watching
from translation.circuit_text import lines_of
from translation.classical import Skip
from translation.comparison import compare
from translation.tables import compare_table

COUNTS: Counter[tuple[str, str]] = Counter()
"""By the name of a rewriting: how many were `validated`, and why others were not."""


@contextmanager
def validating(one_of: int = 1) -> Generator[None]:
    """Check rewritings inside, one of so many."""
    seen = set[int]()
    with watching(lambda rewriting: check(rewriting, seen, one_of)):
        yield


def check(rewriting: Rewriting | Table, seen: set[int], one_of: int) -> None:
    """Compare, unless there is a reason not to, and count; `TranslationError` where it is wrong.

    `seen`: keys of what need not be compared again.
    """
    name = "table" if isinstance(rewriting, Table) else rewriting.name
    COUNTS[name, _outcome_of(rewriting, name, seen, one_of)] += 1


def _outcome_of(rewriting: Rewriting | Table, name: str, seen: set[int], one_of: int) -> str:
    found = PASSES.get(name)
    if found is not None and not found.built_in:
        return "a pass of a test's own"
    key = _key(rewriting)
    if key in seen:
        return "seen before"
    seen.add(key)
    if key % one_of:
        return "not in the sample"
    try:
        with np.errstate(all="ignore"):  # angles may be infinite
            if isinstance(rewriting, Table):
                compare_table(rewriting, key)
            elif _is_same(rewriting):
                return "nothing changed"
            else:
                compare(rewriting, key)
    except Skip as skip:
        return str(skip)
    return "validated"


def _key(rewriting: Rewriting | Table) -> int:
    if isinstance(rewriting, Table):
        names = " ".join(map(str, (rewriting.sizes, *rewriting.lines)))
        return crc32(names.encode())
    names = {}
    sides = (rewriting.before, rewriting.after)
    lines = [rewriting.name, *(line for side in sides for line in lines_of(side, names))]
    known = [np.asarray(rewriting.known[v]).tobytes() for v in names if v in rewriting.known]
    return crc32(b"".join(known), crc32("\n".join(lines).encode()))


def _is_same(rewriting: Rewriting) -> bool:
    before, after = rewriting.before, rewriting.after
    return len(before.equations) == len(after.equations) and all(
        one is other for one, other in zip(before.equations, after.equations, strict=True)
    )


def report(counts: Counter[tuple[str, str]]) -> list[str]:
    """A line for each kind of rewriting: how many were validated, and why others were not."""
    lines = []
    for name in sorted({name for name, _ in counts}):
        own = {outcome: count for (of, outcome), count in counts.items() if of == name}
        validated = own.pop("validated", 0)
        rest = [f"{count} {outcome}" for outcome, count in sorted(own.items(), key=_most_first)]
        lines.append(f"{name}: {validated} validated" + f" ({', '.join(rest)})" * bool(rest))
    return lines


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
