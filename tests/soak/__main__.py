"""Load: `python -m soak [--only NAME ...] [--scale 1.0] [--workers 2] [--write]`.

Each scenario runs in a process of its own, with a temporary folder and a cache of its own, so that
a crash, or a process that hangs, is a finding. `--write` puts the table into `results.md`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from soak.all_scenarios import SCENARIOS
from soak.report import Outcome, table

RESULTS = Path(__file__).with_name("results.md")
PATIENCE = 3 * 3600.0
"""Seconds after which a process is said to hang, at scale 1; a tenth of it at least."""


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="or parts of names")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(given)


def run(name: str, scale: float) -> Outcome:
    """Run one scenario."""
    found = SCENARIOS[name]
    calls = max(found.least, round(found.calls * scale))
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        environment = {**os.environ, "TMPDIR": f"{folder}/temporary"}
        environment.setdefault("DIASTASE_CACHE_DIR", f"{folder}/cache")
        Path(environment["TMPDIR"]).mkdir()
        command = [sys.executable, "-m", "soak.worker", name, str(calls)]
        patience = PATIENCE * max(scale, 0.1)
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=patience
            )
        except subprocess.TimeoutExpired as error:
            return Outcome(found, calls, "it hangs", (error.stderr or b"").decode())
    if ended.returncode != 0:
        return Outcome(found, calls, f"exit {ended.returncode}", ended.stderr)
    return Outcome(found, calls, None, ended.stderr, json.loads(ended.stdout.splitlines()[-1]))


def main(given: Sequence[str]) -> int:
    asked = arguments(given)
    names = [
        name for name in SCENARIOS if not asked.only or any(part in name for part in asked.only)
    ]
    outcomes = []
    with ThreadPoolExecutor(asked.workers) as pool:
        for outcome in pool.map(partial(run, scale=asked.scale), names):
            outcomes.append(outcome)
            print(outcome.line(), flush=True)
            if outcome.failure:
                print(outcome.errors[-3000:], file=sys.stderr, flush=True)
    text = table(outcomes, asked.scale, f"Python {platform.python_version()}, {os.cpu_count()} processors")
    print(f"\n{text}")
    if asked.write:
        RESULTS.write_text(text)
    return int(any(outcome.verdict != "flat" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
