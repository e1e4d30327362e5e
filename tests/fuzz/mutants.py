"""Does the campaign find mistakes? `python -m fuzz.mutants [--seconds 600] [--only TEXT ...]`.

Each mistake of the table is made in a copy of the sources, and programs are drawn until one is
found to be wrong, or the time is over: a few programs of each oracle in turn, nothing shrunk. What
is found must be right without the mistake. Seconds are of processor time, so that a machine with
other work finds as much. Prints which oracle found it, after how many of them and of programs.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
from hypothesis import Phase

import settings
from fuzz import campaign, corpus
from fuzz.mutant_table import MUTANTS, Mutant
from fuzz.oracles import Turns

SOURCES = Path(__file__).parents[2]
PACKAGES = ("frontend", "mlir", "runtime")


def mutated(mutant: Mutant, folder: Path) -> None:
    """Copy the sources and make the mistake."""
    for package in PACKAGES:
        shutil.copytree(
            SOURCES / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    path = folder / mutant.file
    text = path.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.file} has it {text.count(mutant.old)} times"
    path.write_text(text.replace(mutant.old, mutant.new))


def verdict(name: str, seconds: float) -> dict:
    """What becomes of a mutant: `oracle` is missing where nothing was found."""
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        mutated(MUTANTS[name], folder)
        paths = [str(folder / package) for package in PACKAGES]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*paths, str(SOURCES / "tests")]),
        }
        command = [sys.executable, "-m", "fuzz.mutants", "--search", str(seconds)]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if lines:
        return lines[-1]
    return {"oracle": "the process died", "error": ended.stderr[:300]}


def search(seconds: float) -> dict:
    """In the mutated process: draw programs until one is wrong."""
    campaign.BATCH, campaign.PHASES = 3, (Phase.generate,)
    programs, number, turns = 0, 0, Turns(0)
    with tempfile.TemporaryDirectory() as given:
        corpus.CORPUS = Path(given)
        while time.process_time() < seconds:
            with turns.taken(name := turns.next()):
                counts, found = campaign.batch(name, number, math.inf, Path(given) / "running")
            programs += counts.total()
            told = {"programs": programs, "seconds": round(time.process_time())}
            if found:
                return {**told, **json.loads(found.read_text())}
            number += 1
    return {"programs": programs, "seconds": round(time.process_time())}


def right_without(told: dict) -> bool:
    """Whether the program is right as the sources are; one that has ended its process is."""
    try:
        return "drawn" not in told or bool(campaign.judge(told["oracle"], told["drawn"]))
    except Exception as error:
        print(json.dumps(told["drawn"]), error)
        return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--only", nargs="*", default=[""], metavar="TEXT")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--search", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    settings.begin()
    jax.config.update("jax_enable_x64", True)
    if given.search:
        print(json.dumps(search(given.search)), flush=True)
        return
    names = [name for name in MUTANTS if any(text in name for text in given.only)]
    print(f"{'mutant':48}{'programs':>9}{'seconds':>8}  found by")
    killed = 0
    with ThreadPoolExecutor(given.workers) as pool:
        for name, told in zip(
            names, pool.map(lambda name: verdict(name, given.seconds), names), strict=True
        ):
            what = "nobody"
            if "oracle" in told:
                what = f"{told['oracle']}: {' '.join(told['error'].split())[:90]}"
                killed += (is_right := right_without(told))
                what += "" if is_right else " (WITHOUT THE MISTAKE, TOO)"
            numbers = f"{told.get('programs', 0):9}{told.get('seconds', 0):8}"
            print(f"{name:48}{numbers}  {what}", flush=True)
    print(f"{killed} of {len(names)} mutants are found within {given.seconds:g} seconds")


if __name__ == "__main__":
    main()
