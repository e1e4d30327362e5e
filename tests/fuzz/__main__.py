"""Look for wrong answers: `python tests/fuzz [--seconds 600] [--only ORACLE ...] [--workers 2]`.

Programs are drawn from the number of a batch, which goes on from campaign to campaign (`.fuzz`), so
that none is drawn twice; `--seed` begins elsewhere. What is found is shrunk and put into
`tests/fuzz/corpus`, which the suite runs.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

PROGRESS = Path(__file__).parents[2] / ".fuzz"
ROUND = 60.0
"""Seconds that one process runs: what it has compiled goes with it."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--only", nargs="*", default=[], metavar="ORACLE")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, help="number of the first batch")
    parser.add_argument("--worker", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def work(given: argparse.Namespace) -> None:
    """Check batches until the time is over, and print a line of JSON for each."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from fuzz.campaign import batch
    from fuzz.oracles import ORACLES

    names = given.only or sorted(ORACLES)
    until = time.monotonic() + given.worker
    number = given.seed
    while time.monotonic() < until:
        name = names[number % len(names)]
        running = PROGRESS / f"running-{given.seed}.json"
        counts, found = batch(name, number, until, running)
        line = {"oracle": name, "seed": number, "counts": counts, "found": found and str(found)}
        print(json.dumps(line), flush=True)
        number += 1


def one_round(given: argparse.Namespace, first: int, seconds: float) -> list[dict]:
    """Run one process; if it dies, the program that it was running is a finding."""
    command = [sys.executable, __file__, "--worker", str(seconds), "--seed", str(first)]
    command += ["--only", *given.only] if given.only else []
    patience = seconds + 900  # for what is found last, and shrunk
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=patience)
        code, out, err = ended.returncode, ended.stdout, ended.stderr
    except subprocess.TimeoutExpired as error:
        code, out, err = "it hangs", (error.stdout or b"").decode(), ""
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if code != 0:
        from fuzz.campaign import finding

        running = json.loads((PROGRESS / f"running-{first}.json").read_text())
        path = finding(running["oracle"], running["drawn"], f"exit: {code}\n{err[-1500:]}")
        lines.append({"oracle": running["oracle"], "seed": first, "counts": {}, "found": str(path)})
    return lines


def main() -> None:
    given = arguments()
    PROGRESS.mkdir(exist_ok=True)
    if given.worker is not None:
        return work(given)
    memory = PROGRESS / "next"
    first = given.seed if given.seed is not None else int(memory.read_text() if memory.exists() else 0)
    until = time.monotonic() + given.seconds
    counts: dict[str, Counter] = defaultdict(Counter)
    found: set[str] = set()
    with ThreadPoolExecutor(given.workers) as pool:
        while (left := until - time.monotonic()) > 1:
            starts = [first + 1000 * worker for worker in range(given.workers)]
            seconds = min(ROUND, left)
            rounds = list(pool.map(lambda start, s=seconds: one_round(given, start, s), starts))
            for line in (line for lines in rounds for line in lines):
                counts[line["oracle"]].update(line["counts"])
                if line["found"] and line["found"] not in found:
                    found.add(line["found"])
                    print("found", line["found"], flush=True)
            first += 1000 * given.workers
            memory.write_text(str(first))
    report(counts, found)
    sys.exit(bool(found))


def report(counts: dict[str, Counter], found: set[str]) -> None:
    refusals: Counter = Counter()
    print(f"{'oracle':32}{'right':>8}{'unstable':>10}{'refused':>9}")
    for name, of_oracle in sorted(counts.items()):
        refused = {what: n for what, n in of_oracle.items() if what.startswith("refused")}
        refusals.update(refused)
        columns = of_oracle["right"], of_oracle["unstable"], sum(refused.values())
        print(f"{name:32}{columns[0]:8}{columns[1]:10}{columns[2]:9}")
    print(sum(of_oracle.total() for of_oracle in counts.values()), "programs,", len(found), "findings")
    for what, number in refusals.most_common(12):
        print(f"{number:6} {what[:200]}")


if __name__ == "__main__":
    main()
