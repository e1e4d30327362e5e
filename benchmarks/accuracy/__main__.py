"""Measure errors of functions in every type beside XLA's, and write the tables of `docs/accuracy.md`.

    python benchmarks/accuracy [--only PATTERN ...] [--points N] [--page]

PATTERN is a part of a function's name; what is measured replaces its rows in
`results/accuracy/functions.json`. `--page` only writes the page from what is there.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import jax

import numpy as np

from accuracy.functions import FUNCTIONS
from accuracy.measure import dtype_of, measured

RESULTS = Path(__file__).parents[1] / "results" / "accuracy" / "functions.json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN")
    parser.add_argument("--dtypes", nargs="+", default=[], metavar="DTYPE")
    parser.add_argument("--points", type=int, help="of each function, instead of its own number")
    parser.add_argument("--missing", action="store_true", help="only rows that are not there")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    np.seterr(all="ignore")
    for function in FUNCTIONS:
        if given.only and not any(pattern in function.name for pattern in given.only):
            continue
        for name in function.dtypes:
            if given.dtypes and name not in given.dtypes:
                continue
            if given.missing and _has(given.results, f"{function.name} {name}"):
                continue
            start = time.monotonic()
            row = measured(function, dtype_of(name), given.points)
            _keep(given.results, f"{function.name} {name}", row.as_json())
            most = [f"{by} {errors.most:.3g}" for by, errors in row.errors.items()]
            seconds = f"{time.monotonic() - start:.0f} s"
            print(function.name, name, *most, seconds, file=sys.stderr, flush=True)


def _has(results: Path, key: str) -> bool:
    return results.exists() and key in json.loads(results.read_text())


def _keep(results: Path, key: str, row: dict) -> None:
    """At once: a run may be ended, or go on for a part beside another one's."""
    results.parent.mkdir(exist_ok=True, parents=True)
    rows = json.loads(results.read_text()) if results.exists() else {}
    results.write_text(json.dumps(rows | {key: row}, indent=1) + "\n")


if __name__ == "__main__":
    main()
