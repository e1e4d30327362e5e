"""Look for wrong answers: `python -m fuzz [--seconds 600] [--only ORACLE ...] [--workers 2]`.

Programs are drawn from the number of a batch, which goes on from campaign to campaign, so that none
is drawn twice; `--seed` begins elsewhere. What is found is shrunk and put into `tests/fuzz/corpus`,
which the suite runs. With `--record` the counts are added to those of all campaigns, `ledger.json`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz.corpus import finding

PROGRESS = Path(__file__).parents[2] / ".fuzz"
LEDGER = Path(__file__).with_name("ledger.json")
ROUND = 180.0
"""Seconds that one process runs: what it has compiled goes with it."""

PATIENCE = 900.0
"""Seconds that a process may take to shrink what it has found last, before it is said to hang."""

STRIDE = 1000
"""More batches than a process checks in one round."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--only", nargs="*", default=[], metavar="ORACLE")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--seed", type=int, help="number of the first batch")
    return parser.parse_args()


def one_round(names: Sequence[str], first: int, seconds: float) -> list[dict]:
    """Run one process; if it dies or hangs, the program that it was running is a finding."""
    command = [sys.executable, "-m", "fuzz.worker", str(seconds), str(first), str(PROGRESS), *names]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE)
        code, out, err = ended.returncode, ended.stdout, ended.stderr
    except subprocess.TimeoutExpired as error:
        code, out, err = "it hangs", (error.stdout or b"").decode(), ""
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if code != 0:
        running = json.loads((PROGRESS / f"running-{first}.json").read_text())
        path = finding(running["oracle"], running["drawn"], f"exit: {code}\n{err[-1500:]}")
        lines.append({"oracle": running["oracle"], "counts": {}, "found": str(path)})
    return lines


def main() -> None:
    given = arguments()
    PROGRESS.mkdir(exist_ok=True)
    ledger = json.loads(LEDGER.read_text())
    first = ledger["next"] if given.seed is None else given.seed
    until = time.monotonic() + given.seconds
    counts: dict[str, Counter] = defaultdict(Counter)
    found: set[str] = set()
    with ThreadPoolExecutor(given.workers) as pool:
        while (left := until - time.monotonic()) > 1:
            seeds = [first + STRIDE * worker for worker in range(given.workers)]
            rounds = [pool.submit(one_round, given.only, seed, min(ROUND, left)) for seed in seeds]
            for line in (line for ended in rounds for line in ended.result()):
                counts[line["oracle"]].update(line["counts"])
                if line["found"] and line["found"] not in found:
                    found.add(line["found"])
                    print("found", line["found"], flush=True)
            first += STRIDE * given.workers
    report(counts, len(found))
    if given.record:
        record(ledger, counts, max(first, ledger["next"]))
    sys.exit(bool(found))


def record(ledger: dict, counts: dict[str, Counter], following: int) -> None:
    """Add up what became of the programs of all campaigns."""
    for name, of_oracle in counts.items():
        total = Counter(ledger["counts"].get(name, {}))
        for what, number in of_oracle.items():
            total["refused" if what.startswith("refused") else what] += number
        ledger["counts"][name] = dict(sorted(total.items()))
    ledger["counts"] = dict(sorted(ledger["counts"].items()))
    LEDGER.write_text(json.dumps({**ledger, "next": following}, indent=1) + "\n")


def report(counts: dict[str, Counter], found: int) -> None:
    """Print what became of the programs of each oracle, and why some were refused."""
    refusals: Counter = Counter()
    print(f"{'oracle':32}{'right':>8}{'unstable':>10}{'refused':>9}")
    for name, of_oracle in sorted(counts.items()):
        refused = {what: n for what, n in of_oracle.items() if what.startswith("refused")}
        refusals.update(refused)
        number = sum(refused.values())
        print(f"{name:32}{of_oracle['right']:8}{of_oracle['unstable']:10}{number:9}")
    total = sum(of_oracle.total() for of_oracle in counts.values())
    print(f"{total} programs, {found} findings")
    for what, number in refusals.most_common(12):
        print(f"{number:6} {what[:200]}")


if __name__ == "__main__":
    main()
