"""What a row of the results is: a `Case` with its targets. The rows themselves: `case_table.py`."""

from dataclasses import dataclass, field
from typing import Any


def duration(seconds):
    """A time with three digits, in a unit that suits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


@dataclass(frozen=True)
class Faster:
    """We are to be at least `factor` times as fast as a peer (on `threads` threads, or on any)."""

    peer: str
    factor: float
    threads: int | None = None

    def __str__(self):
        where = f" on {self.threads} thread{'s' * (self.threads > 1)}" if self.threads else ""
        return f"≥ {self.factor:.3g} × {self.peer}{where}"


@dataclass(frozen=True)
class AtMost:
    """We are to take at most so many seconds."""

    seconds: float
    threads: int | None = None

    def __str__(self):
        return f"≤ {duration(self.seconds)}"


@dataclass(frozen=True)
class Beside:
    """We are to take at most `factor` times what another case of ours takes, and `more` seconds."""

    case: str
    factor: float
    more: float = 0.0
    threads: int | None = None
    of_threads: int | None = None
    """The other case's; None: the same."""

    def __str__(self):
        more = f" + {duration(self.more)}" if self.more else ""
        where = (
            f" on {self.of_threads} thread{'s' * (self.of_threads > 1)}" if self.of_threads else ""
        )
        return f"≤ {self.factor:.3g} × {self.case}{where}{more}"


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    program: str
    """The file in `programs/`."""
    arguments: dict[str, Any] = field(default_factory=dict)
    subjects: tuple[str, ...] = ("diastase",)
    kind: str = "call"
    """`call`; `compile`: a new program each time; and, each time in a new process, `first`: until
    the first result, `again`: the same with a cache that has the program, `import`."""
    threads: tuple[int, ...] = (1, 2)
    targets: tuple[Faster | AtMost | Beside, ...] = ()
    tolerance: float = 1e-6
    """Results that differ by more are errors (1e-3 for a subject that computes in complex64)."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of `qjit`, for this repository alone: peers compute as they always do."""
    shares: dict[str, int] = field(default_factory=dict)
    """Peers that are given one of so many parts of the shots; their seconds are multiplied."""
    patience: float = 120.0
    """Seconds after which a subject is given up."""
    group: str = "circuits"

    def arguments_of(self, subject):
        """What the program is made with for a subject."""
        parts = self.shares.get(subject, 1)
        if parts == 1:
            return self.arguments
        return self.arguments | {"shots": self.arguments["shots"] // parts}

    @property
    def in_new_processes(self):
        return self.kind in ("first", "again", "import")


def chosen(cases, patterns):
    """The cases of these names, or whose names begin so; all, if there are no patterns."""
    found = [
        case
        for case in cases
        if not patterns or any(case.name == p or case.name.startswith(p) for p in patterns)
    ]
    if not found:
        names = " ".join(case.name for case in cases)
        raise SystemExit(f"no case is named {' '.join(patterns)}; there are: {names}")
    return found
