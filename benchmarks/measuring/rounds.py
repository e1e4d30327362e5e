"""Measure cases: the subjects in turn, round after round, so that all see the same machine.

Out: a `Figure` for each case, number of threads and subject: seconds of one call in each round,
and the value, which is compared with ours. A subject that fails has a reason instead of times.
"""

import math
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from measuring.environments import SUBJECTS, Missing
from measuring.workers import Failed, Worker, Workers

OURS = "diastase"
_LONGEST = 8.0
"""Seconds for one subject in one case, roughly: slow ones get fewer rounds."""
_LONG_COMPILE = 2.0
"""Seconds; from here on it does not matter whether it is the first of the process: it counts."""
_COMPLEX64 = {"qsim": 1e-3}


@dataclass
class Figure:
    case: str
    subject: str
    threads: int
    seconds: list = field(default_factory=list)
    value: list = field(default_factory=list)
    problem: str = ""
    """Why there are no times, or why they count for nothing."""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int = 5
    seconds: float = 0.1
    """Of each subject in each round."""
    subjects: tuple = tuple(SUBJECTS)
    threads: tuple = (1, 2)


class Caches:
    """Folders for compiled programs: none has any program, all have what is built once."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._count = 0
        worker = Worker(OURS, 1)
        libraries = worker.ask("build")["libraries"]
        worker.close()
        # `engine-<key>-<checksum>.so`, and `engine-<key>.json` beside it.
        self._built = [
            file
            for library in map(Path, libraries)
            for file in library.parent.glob(library.stem.rpartition("-")[0] + "*")
        ]

    def new(self):
        self._count += 1
        cache = self._folder / str(self._count)
        programs = cache / "programs"
        programs.mkdir(mode=0o700, parents=True)
        cache.chmod(0o700)
        for file in self._built:
            shutil.copy2(file, programs)
        return cache


def measure(cases, plan):
    """All figures of these cases, and the versions of the subjects."""
    figures, versions = [], {}
    with tempfile.TemporaryDirectory() as folder:
        caches = Caches(folder)
        for threads in plan.threads:
            workers = Workers(threads, caches.new())
            for case in cases:
                if threads in case.threads:
                    print(f"{case.title}, {threads} thread(s)", file=sys.stderr, flush=True)
                    figures += _measure_case(case, threads, plan, workers, caches)
            versions |= _versions(workers, {f.subject for f in figures if f.seconds})
            workers.close()
    return figures, versions


def _versions(workers, names):
    found = {}
    for name in sorted(names):
        try:
            found[name] = workers.get(name).ask("versions")
        except (Failed, Missing):
            pass
    return found


def _measure_case(case, threads, plan, workers, caches):
    figures = [Figure(case.name, name, threads) for name in case.subjects if name in plan.subjects]
    steps = _new_processes if case.in_new_processes else _kept_processes
    measures = {f.subject: steps(case, f, plan, workers, caches) for f in figures}
    left = {f.subject: _attempt(f, measures[f.subject]) for f in figures}
    for _ in range(plan.rounds - 1):
        for figure in figures:
            if left[figure.subject]:
                left[figure.subject] = _attempt(figure, measures[figure.subject])
    for figure in figures:
        measures[figure.subject].close()
    _compare(case, figures)
    return figures


def _attempt(figure, steps):
    """One round of one subject; whether there may be another."""
    try:
        seconds = next(steps, None)
    except (Failed, Missing) as error:
        figure.problem = str(error)
        return False
    if seconds is None:
        return False
    figure.seconds.append(seconds)
    return sum(figure.seconds) < _LONGEST


def _kept_processes(case, figure, plan, workers, caches):
    """The rounds of one subject in a process that stays."""
    worker = workers.get(figure.subject)
    answer = worker.ask(
        "prepare",
        case.patience,
        kind=case.kind,
        program=case.program,
        arguments=case.arguments_of(figure.subject),
        options=case.options if figure.subject == OURS else {},
    )
    figure.value = answer["value"]
    try:
        if case.kind == "compile" and answer["first"] > _LONG_COMPILE:
            yield answer["first"]
        while True:
            seconds = worker.ask("run", case.patience, seconds=plan.seconds)["seconds"]
            yield seconds * case.shares.get(figure.subject, 1)
    finally:
        if worker.alive:
            worker.ask("release")


def _new_processes(case, figure, plan, workers, caches):
    """The rounds of one subject, each in a process of its own."""
    cache = caches.new()
    if case.kind == "again":
        _once(case, figure, cache)
    while True:
        yield _once(case, figure, cache if case.kind == "again" else caches.new())


def _once(case, figure, cache):
    worker = Worker(figure.subject, figure.threads, cache)
    try:
        if case.kind == "import":
            package = SUBJECTS[figure.subject].package
            return worker.ask("imported", package=package)["seconds"]
        answer = worker.ask("first", case.patience, program=case.program, arguments=case.arguments)
        figure.value = answer["value"]
        return answer["seconds"]
    finally:
        worker.close()


def _compare(case, figures):
    """Note a problem where a result is not ours."""
    ours = next((f for f in figures if f.subject == OURS and f.seconds), None)
    for figure in figures if ours else ():
        allowed = max(case.tolerance, _COMPLEX64.get(figure.subject, 0.0))
        if figure.seconds and (difference := _difference(figure.value, ours.value, allowed)):
            figure.problem = difference


def _difference(found, expected, allowed):
    """What is wrong with a result, or nothing."""
    if len(found) != len(expected):
        return f"{len(found)} numbers instead of {len(expected)}"
    worst = max(map(_distance, found, expected), default=0.0)
    return "" if worst <= allowed else f"results differ by {worst:.1e}"


def _distance(one, other):
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    distance = abs(one - other) / (1 + abs(other))
    return math.inf if math.isnan(distance) else distance
