"""Load: `python -m soak [--only NAME ...] [--scale 1.0] [--workers 2] [--write]`.

Each scenario runs in a process of its own, with a temporary folder and a cache of its own, so that
a crash, or a process that hangs, is a finding. `--write` puts the rows into `results.md`; those of
scenarios that were not run stay as they are.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from soak.all_scenarios import SCENARIOS
from soak.report import Outcome, merged, table

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
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "TMPDIR": f"{folder}/temporary", "PYTHONPATH": path}
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
    with ThreadPoolExecutor(asked.workers) as pool:
        running = [pool.submit(run, name, asked.scale) for name in names]
        for ended in as_completed(running):
            outcome = ended.result()
            print(outcome.line(), flush=True)
            if outcome.failure:
                print(outcome.errors[-3000:], file=sys.stderr, flush=True)
    outcomes = [ended.result() for ended in running]
    text = table(outcomes)
    print(f"\nscale {asked.scale:g}\n\n{text}")
    if asked.write:
        RESULTS.write_text(merged(RESULTS.read_text() if RESULTS.exists() else "", text))
    return int(any(not outcome.is_good for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
