"""What a saved function takes to load, beside NumPy's import and a process that compiles.

    python benchmarks/saved_functions.py [--rounds 15] [--write]

The function is the energy of the ansatz of `ansatz.py`. Processes are new ones, and take turns:
one that imports NumPy, one that loads the function and calls it, one that traces and compiles it,
whose compiled code the disk cache has. `--write` makes results/saved_functions.md.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from ansatz import LAYERS, QUBITS, energy

RESULTS = Path(__file__).parent / "results" / "saved_functions.md"
_ANGLES = f"numpy.zeros(({LAYERS}, {QUBITS}, 2))"
_NUMPY = f"import numpy; {_ANGLES}.sum()"
_SAVED = """
import sys, numpy, diastase_runtime
assert abs(diastase_runtime.load({path!r})({angles}) + {qubits}) < 1e-9
assert not {{"jax", "pennylane", "llvmlite"}} & set(sys.modules)
"""
_COMPILED = """
import sys; sys.path.insert(0, {folder!r})
import numpy
from ansatz import energy
assert abs(energy({angles}) + {qubits}) < 1e-9
"""
_AGAIN = """
import time, numpy, diastase_runtime
diastase_runtime.load({path!r})({angles})
for _ in range(200):
    began = time.perf_counter()
    function = diastase_runtime.load({path!r})
    print(time.perf_counter() - began)
"""


def seconds(program: str) -> float:
    """Of a new process, by the clock."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder:
        path = str(energy.save(Path(folder, "energy.diastase"), types=f"f64[{LAYERS},{QUBITS},2]"))
        words = {
            "path": path, "angles": _ANGLES, "qubits": QUBITS, "folder": str(Path(__file__).parent)
        }  # fmt: skip
        programs = {
            "NumPy's import": _NUMPY,
            "a saved function: NumPy's import, `load`, a first result": _SAVED.format(**words),
            "`qjit`: imports, trace, the disk cache, a first result": _COMPILED.format(**words),
        }
        for program in programs.values():
            seconds(program)
        runs = {what: list[float]() for what in programs}
        for _ in range(given.rounds):
            for what, program in programs.items():
                runs[what].append(seconds(program))
        command = [sys.executable, "-c", _AGAIN.format(**words)]
        again = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        size = Path(path).stat().st_size
    runs["`load` once more in a process"] = [float(each) for each in again]
    lines = [
        "# Loading a saved function",
        "",
        f"`python benchmarks/saved_functions.py` on {time.strftime('%Y-%m-%d')}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores; the load was {load:.1f} when it "
        f"began. The function is the energy of an ansatz of {QUBITS} qubits in {LAYERS} layers, "
        f"a file of {size / 1e6:.1f} MB.",
        "",
        "| what | ms, median | least |",
        "|---|---|---|",
        *(f"| {what} | {1e3 * median(each):.2f} | {1e3 * min(each):.2f} |"
          for what, each in runs.items()),
        "",
    ]  # fmt: skip
    print("\n".join(lines))
    if given.write:
        RESULTS.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
