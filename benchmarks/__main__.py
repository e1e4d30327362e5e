"""Measure diastase beside its peers: `make bench`, or `python benchmarks [CASE ...] [options]`.

A case is chosen by its name or the beginning of it. `--regressions` measures nothing: it compares
the last run in the history with the one before, and fails where something got slower.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from case_table import CASES
from measuring import plots, results
from measuring.cases import chosen
from measuring.environments import SUBJECTS
from measuring.machine import describe
from measuring.rounds import Plan, measure
from measuring.rows import rows_of

RESULTS = Path(__file__).parent / "results"


def arguments():
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=" ".join(case.name for case in CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each subject in each round")
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--regressions", action="store_true", help="compare the last two runs")
    return parser.parse_args()


def main():
    given = arguments()
    history = given.results / "history.jsonl"
    if given.regressions:
        found = results.regressions(history)
        print("\n".join(found) or "nothing got slower by more than a fifth")
        return 1 if found else 0
    cases = chosen(CASES, given.cases)
    plan = Plan(given.rounds, given.seconds, tuple(given.subjects), tuple(given.threads))
    start, machine = time.monotonic(), describe()
    figures, versions = measure(cases, plan)
    machine["minutes"] = (time.monotonic() - start) / 60
    machine["load_after"] = os.getloadavg()[0]
    rows = rows_of(cases, figures)
    folder = given.results if len(cases) == len(CASES) else given.results / "partial"
    print(results.write(folder, rows, machine, versions, plan))
    results.note_in_history(history, rows, machine)
    made = plots.draw(rows, folder)
    print(f"written to {folder}: results.md, results.json, {', '.join(p.name for p in made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
