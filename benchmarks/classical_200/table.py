"""Figures of programs as Markdown: what is wrong first, then a summary, then all rows."""

from dataclasses import asdict, dataclass, field

from measuring.cases import duration
from measuring.rows import geometric_mean

HIGHEST = 1.3
"""Ours over XLA's; no row is to exceed it."""


@dataclass
class Figures:
    """What was measured of one program on so many threads."""

    family: str
    title: str
    threads: int
    least: dict = field(default_factory=dict)
    """Seconds of one call, by `ours` and `xla`."""
    first: dict = field(default_factory=dict)
    """Seconds until the first result."""
    host: list = field(default_factory=list)
    """Primitives that the host computes."""
    problems: list = field(default_factory=list)
    """Wrong results, errors, and what took too long."""

    @property
    def ratio(self):
        return _ratio(self.least)

    @property
    def compiling(self):
        """Seconds of compiling: the first call without the time of another, if that is less."""
        calls = {by: (first, self.least.get(by, first)) for by, first in self.first.items()}
        return {by: first - call for by, (first, call) in calls.items() if call < first / 2}

    @property
    def compile_ratio(self):
        return _ratio(self.compiling)

    def as_json(self):
        return asdict(self)


def _ratio(seconds):
    return seconds["ours"] / seconds["xla"] if {"ours", "xla"} <= set(seconds) else None


def markdown(figures, machine):
    parts = ["# Classical programs beside `jax.jit`", _heading(machine)]
    for threads in sorted({f.threads for f in figures}):
        of_these = [f for f in figures if f.threads == threads]
        parts.append(f"## {threads} thread{'s' * (threads > 1)}")
        parts += [_problems(of_these), _summary(of_these), _worst(of_these), _table(of_these)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _heading(machine):
    return (
        "Written by `python benchmarks/classical_200`, not by hand. Times are minima of one call, "
        "ours and XLA's in turn in one process; × is ours over XLA's, above 1 we are slower. "
        "Compiling is the first call without the time of another, if that is less. "
        "Host: what JAX computes while the program runs.\n\n"
        f"- {machine['time']}, commit {machine['commit']}, {machine['minutes']:.0f} minutes\n"
        f"- {machine['processor']}, {machine['cores']} cores, load before "
        f"{machine['load_before']:.1f}, after {machine['load_after']:.1f}"
    )


def _problems(figures):
    lines = [f"- {f.family}: {f.title}: {p}" for f in figures for p in f.problems]
    return "### Wrong, failed, too slow\n\n" + "\n".join(lines) if lines else ""


def _summary(figures):
    ratios = [f.ratio for f in figures if f.ratio]
    compile_ratios = [f.compile_ratio for f in figures if f.compile_ratio]
    lines = [
        f"- {len(figures)} programs, {len(ratios)} measured, {sum(map(_failed, figures))} of them "
        f"with problems, {sum(bool(f.host) for f in figures)} call the host",
        f"- time: geometric mean {_number(geometric_mean(ratios))} ×; "
        f"{sum(r > HIGHEST for r in ratios)} above {HIGHEST}, {sum(r > 1 for r in ratios)} above 1",
        f"- compiling: geometric mean {_number(geometric_mean(compile_ratios))} ×; "
        f"{sum(r > 1 for r in compile_ratios)} above 1",
    ]
    families = [["family", "programs", "time ×", "worst", f"above {HIGHEST}", "compile ×"]]
    for name in dict.fromkeys(f.family for f in figures):
        of_family = [f for f in figures if f.family == name]
        own = [f.ratio for f in of_family if f.ratio]
        compiling = [f.compile_ratio for f in of_family if f.compile_ratio]
        families.append(
            [
                name,
                str(len(of_family)),
                _number(geometric_mean(own)),
                _number(max(own, default=None)),
                str(sum(r > HIGHEST for r in own)),
                _number(geometric_mean(compiling)),
            ]
        )
    return "### Summary\n\n" + "\n".join(lines) + "\n\n" + _lines(families)


def _worst(figures, number=20):
    above = sorted((f for f in figures if f.ratio), key=lambda f: -f.ratio)[:number]
    return f"### Worst {number}\n\n" + _lines([_HEADER, *map(_cells, above)])


def _table(figures):
    return "### All\n\n" + _lines([_HEADER, *map(_cells, figures)])


_HEADER = ["family", "program", "ours", "XLA", "×", "compile", "XLA", "×", "host", "problem"]


def _cells(f):
    return [
        f.family,
        f.title,
        *_seconds(f.least),
        _number(f.ratio),
        *_seconds(f.compiling),
        _number(f.compile_ratio),
        ", ".join(f.host),
        "; ".join(f.problems),
    ]


def _seconds(seconds):
    return [duration(seconds[by]) if by in seconds else "" for by in ("ours", "xla")]


def _number(value):
    return f"{value:.2f}" if value else ""


def _failed(f):
    return bool(f.problems)


def _lines(rows):
    first, *rest = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [first, ["---"] * len(first), *rest])
