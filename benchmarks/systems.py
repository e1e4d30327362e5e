"""The systems side by side, and how to run `subject.py` in the environment of each.

Catalyst pins another JAX and so lives in an environment of its own: the interpreter named by
`DIASTASE_BENCH_CATALYST_PYTHON`, or `benchmarks/.venv-catalyst`, which is made at the first run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SYSTEMS = ("diastase", "jax.jit", "catalyst")
_CATALYST = ("pennylane-catalyst==0.15.*", "pennylane==0.45.*", "pennylane-lightning==0.45.*")


def catalyst_python():
    """The interpreter that has Catalyst, or None if it cannot be installed here."""
    if named := os.environ.get("DIASTASE_BENCH_CATALYST_PYTHON"):
        return named
    python = HERE / ".venv-catalyst" / "bin" / "python"
    if not python.exists():
        print("installing Catalyst for comparison ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        install = [python, "-m", "pip", "install", "--quiet", *_CATALYST]
        if subprocess.run(install, check=False).returncode:
            print("Catalyst cannot be installed here: left out", file=sys.stderr)
            return None
    return str(python)


def measure(system, *arguments, cache=None):
    """Run `subject.py` for a system; None where the system is not there or cannot do it."""
    python = catalyst_python() if system == "catalyst" else sys.executable
    if python is None:
        return None
    environment = os.environ | ({"DIASTASE_CACHE_DIR": str(cache)} if cache else {})
    done = subprocess.run(
        [python, str(HERE / "subject.py"), system, *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"{system} {' '.join(arguments)}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def print_table(title, unit, rows, columns):
    """Rows by name, each a dictionary from system to seconds; with ratios to diastase."""
    scale = {"us": 1e6, "ms": 1e3}[unit]
    width = max(len(name) for name in rows) + 2
    print(f"\n{title} [{unit}; in brackets: as a multiple of diastase]")
    print(" " * width + "".join(f"{system:>22}" for system in columns))
    for name, times in rows.items():
        ours = times.get("diastase")
        cells = [_cell(times.get(system), ours, scale) for system in columns]
        print(f"{name:{width}}" + "".join(f"{cell:>22}" for cell in cells))


def _cell(seconds, ours, scale):
    if seconds is None:
        return "-"
    ratio = f" ({seconds / ours:6.2f})" if ours else ""
    return f"{seconds * scale:.2f}{ratio}"
