"""Measure the list of classical programs beside `jax.jit`.

    python benchmarks/classical_200 [--only PATTERN ...] [--threads 1 2] [--seconds S] [--name NAME]

PATTERN is a part of a family's name or of a program's; without it, all are measured, and
`results/classical_200/NAME.md` and `.json` are written (with it, only printed).
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring.machine import describe
from measuring.rounds import OURS, Caches
from measuring.workers import Failed, Worker

from classical_200.table import Figures, markdown

RESULTS = Path(__file__).parents[1] / "results" / "classical_200"
_PATIENCE = {"warm": 60.0, "take": 60.0, "compile": 60.0, "check": 60.0, "time": 30.0}
"""Seconds after which the process is ended and the next program taken."""


def arguments():
    parser = argparse.ArgumentParser(prog="classical_200", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=0.5, help="of each program's calls")
    parser.add_argument("--name", default="results", help="of the files")
    return parser.parse_args()


def chosen(patterns):
    """Numbers and rows of those that a pattern is a part of."""
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    from classical_200.listing import ROWS

    found = [
        (number, row)
        for number, row in enumerate(ROWS)
        if not patterns or any(p in f"{row.family}: {row.title}" for p in patterns)
    ]
    if not found:
        raise SystemExit(f"no program is named {' '.join(patterns)}")
    return found


class Process:
    """The worker that measures; another one after it has been ended."""

    def __init__(self, threads, cache):
        self._threads, self._cache = threads, cache
        self._worker = None

    def ask(self, do, **request):
        return self._worker.ask(do, _PATIENCE[do], **request)

    def take(self, number):
        if not self.alive:
            self._worker = Worker(OURS, self._threads, self._cache, "classical_200.worker")
            self.ask("warm")
        self.ask("take", number=number)

    @property
    def alive(self):
        return self._worker is not None and self._worker.alive

    def close(self):
        if self._worker:
            self._worker.close()


def measured(process, number, row, seconds, threads):
    """The figures of one program, as far as it goes."""
    figures = Figures(row.family, row.title, threads)
    if not _attempt(figures, "take", lambda: process.take(number)):
        return figures
    for by in ("ours", "xla"):
        answer = _attempt(figures, f"compile by {by}", lambda by=by: process.ask("compile", by=by))
        if answer:
            figures.first[by] = answer["seconds"]
            figures.host += answer["host"]
        elif not process.alive:
            return figures
    if len(figures.first) == 2:
        answer = _attempt(figures, "check", lambda: process.ask("check"))
        if answer and answer["wrong"]:
            figures.problems.append(f"WRONG: {answer['wrong']}")
    if figures.first:
        answer = _attempt(figures, "time", lambda: process.ask("time", seconds=seconds))
        figures.least = answer["least"] if answer else {}
    return figures


def _attempt(figures, what, do):
    """What it gives; where it fails, a problem is noted."""
    try:
        return do() or True
    except Failed as error:
        figures.problems.append(f"{what}: {error}")
        return None


def main():
    given = arguments()
    rows = chosen(given.only)
    start, machine = time.monotonic(), describe()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        caches = Caches(folder)
        for threads in given.threads:
            process = Process(threads, caches.new())
            for number, row in rows:
                found = measured(process, number, row, given.seconds, threads)
                figures.append(found)
                ratio = f"{found.ratio:.2f}" if found.ratio else "-"
                print(threads, ratio, row.family, row.title, *found.problems, file=sys.stderr)
            process.close()
            machine["minutes"] = (time.monotonic() - start) / 60
            machine["load_after"] = os.getloadavg()[0]
            if not given.only:
                _write(given.name, figures, machine)
    print(markdown(figures, machine))
    return 0


def _write(name, figures, machine):
    RESULTS.mkdir(exist_ok=True, parents=True)
    (RESULTS / f"{name}.md").write_text(markdown(figures, machine))
    raw = {"machine": machine, "figures": [f.as_json() for f in figures]}
    (RESULTS / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
