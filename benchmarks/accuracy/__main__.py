"""Measure how exact numbers are beside XLA's, and write the tables of `docs/accuracy.md`.

    python benchmarks/accuracy [PART ...] [--only PATTERN ...] [--dtypes DTYPE ...] [--points N]

PART is one of functions, pairs, conversions, derivatives and page; without it, all. Of functions
those with a PATTERN in their names are measured; their rows in `results/accuracy/functions.json`
are replaced.
"""

import argparse
import json
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import jax
import numpy as np

from accuracy import conversions, derivatives, pairs
from accuracy.functions import FUNCTIONS
from accuracy.measure import dtype_of, measured
from accuracy.page import PAGE, RESULTS, page

PARTS = ("functions", "pairs", "conversions", "derivatives", "page")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="accuracy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART")
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN")
    parser.add_argument("--dtypes", nargs="+", default=[], metavar="DTYPE")
    parser.add_argument("--points", type=int, help="of each function, instead of its own number")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    np.seterr(all="ignore")  # edges are meant
    warnings.simplefilter("ignore")
    for part in given.parts or PARTS:
        if part == "functions":
            measure_functions(given)
        elif part == "page":
            PAGE.write_text(page())
        else:
            DIFFERENCES[part]()


def measure_functions(given: argparse.Namespace) -> None:
    """Rows are kept at once: a run may be ended."""
    for function in FUNCTIONS:
        if given.only and not any(pattern in function.name for pattern in given.only):
            continue
        for name in function.dtypes:
            if given.dtypes and name not in given.dtypes:
                continue
            start = time.monotonic()
            row = measured(function, dtype_of(name), given.points)
            _write("functions", _rows() | {f"{function.name} {name}": row.as_json()})
            most = [f"{by} {errors.most:.3g}" for by, errors in row.errors.items()]
            seconds = f"{time.monotonic() - start:.0f} s"
            print(function.name, name, *most, seconds, file=sys.stderr, flush=True)


def _rows() -> dict[str, Any]:
    """What was measured before, in the order of the functions' list."""
    path = RESULTS / "functions.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _write(name: str, found: Any) -> None:
    RESULTS.mkdir(exist_ok=True, parents=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def measure_pairs() -> None:
    found = [row for name in ("float32", "float64") for row in pairs.differences(name)]
    _write("pairs", [asdict(row) for row in found])


def measure_conversions() -> None:
    found = [row for name in conversions.TYPES for row in conversions.differences(name)]
    _write("conversions", [asdict(row) for row in found])


def measure_derivatives() -> None:
    """What has been compared is kept at once, too."""
    compared, differences = [], []
    for cases, of in derivatives.COMPARISONS:
        for case in cases:
            differences += [asdict(row) for row in of(case)]
            compared.append(case.name)
            _write("derivatives", {"compared": compared, "differences": differences})


DIFFERENCES = {
    "pairs": measure_pairs,
    "conversions": measure_conversions,
    "derivatives": measure_derivatives,
}

if __name__ == "__main__":
    main()
