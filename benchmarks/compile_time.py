"""How long compiling takes, beside `jax.jit` and Catalyst: time to the first result after imports.

Three programs: `x * 2 + 1`, a circuit of one gate, and one of 22 gates on 4 qubits. Each
measurement is a process of its own with an empty cache of programs, which compiles one program
after another, all different; then a second process finds the same programs in the cache. Shown
are medians over processes of the first program of each, and of the later ones. The state-vector
engine, which is built once per machine, is built before (its time is printed).
"""

import shutil
import statistics
import tempfile
from pathlib import Path

from systems import SYSTEMS, measure, print_table

REPETITIONS = 5
PROGRAMS = ("scalar", "rotation", "circuit")


def main():
    """Measure all systems in turn, print the table."""
    rows = {}
    with tempfile.TemporaryDirectory() as directory:
        prepared = Path(directory, "engine")
        build_engine(prepared)
        for program in PROGRAMS:
            found = {system: [] for system in (*SYSTEMS, "cached")}
            for repetition in range(REPETITIONS):
                cache = Path(directory, f"{program}{repetition}")
                shutil.copytree(prepared, cache)
                for system in SYSTEMS:
                    found[system].append(measure(system, "compile", program, cache=cache))
                found["cached"].append(measure("diastase", "compile", program, cache=cache))
            rows |= rows_of(program, found)
    print_table("time to the first result", "ms", rows, SYSTEMS)


def rows_of(program, found):
    """The rows of one program: first and later compilations, and those from the cache."""
    rows = {
        f"{program}, first of the process": medians(found, "first"),
        f"{program}, later ones": medians(found, "later"),
    }
    for key, label in (("first", "first of the process"), ("later", "later ones")):
        cached = {"diastase": found["cached"]}
        rows[f"{program}, from the cache, {label}"] = medians(cached, key)
    return rows


def medians(found, key):
    """The median of each system's repetitions."""
    times = {system: [run[key] for run in runs if run] for system, runs in found.items()}
    return {system: statistics.median(t) if t else None for system, t in times.items()}


def build_engine(cache):
    """Make a cache that holds the engine and no program."""
    cache.mkdir(mode=0o700)
    seconds = measure("diastase", "engine", cache=cache)["engine"]
    print(f"state-vector engine, built once per machine: {seconds:.1f} s")


if __name__ == "__main__":
    main()
