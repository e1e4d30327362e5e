"""Write `docs/catalyst-comparison.md`: the programs of `dynamic_programs.py` in both systems.

    python benchmarks/dynamic_table.py

Catalyst runs in an environment of its own (`measuring/environments.py`).
"""

import inspect
import json
import subprocess
import sys
from pathlib import Path

from dynamic_programs import PROGRAMS
from measuring.environments import Missing, interpreter

HERE = Path(__file__).parent

PAGE = HERE.parent / "docs" / "catalyst-comparison.md"
INTRODUCTION = """\
# Programs of unknown sizes: Catalyst and diastase

Written by `python benchmarks/dynamic_table.py`, not by hand. The programs are in
[`benchmarks/dynamic_programs.py`](../benchmarks/dynamic_programs.py); each is called with several
sizes, among them 0 and 1 where that makes sense, and compared with plain JAX, NumPy or PennyLane.
*works*: every call gave that result; *wrong*: a call gave another result, without an exception;
*error*: a call raised, or took its process down.

"""


def verdicts(system, python):
    """What `dynamic_verdicts.py` prints, by the name of the program."""
    command = [python, str(HERE / "dynamic_verdicts.py"), system]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = map(json.loads, done.stdout.splitlines())
    return {line["name"]: line["verdict"] for line in lines}


def versions(python, packages):
    """`Catalyst 0.15.0, jax 0.7.1`, asked of an interpreter."""
    asked = "; ".join(f"print('{p}', m.version('{p}'))" for p in packages)
    command = [python, "-c", f"import importlib.metadata as m; {asked}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return ", ".join(done.stdout.splitlines())


def cell(verdict):
    """A verdict in one cell of a table."""
    kind, text = verdict
    text = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
    return kind if not text else f"**{kind}** {text[:110]}{'…' if len(text) > 110 else ''}"


def main():
    """Run both systems and write the page."""
    try:
        python = interpreter("catalyst")
    except Missing as reason:
        sys.exit(f"the table needs Catalyst, which {reason}")
    theirs, ours = verdicts("catalyst", python), verdicts("diastase", sys.executable)
    counts = [
        f"{sum(kind == wanted for kind, _ in found.values())} {wanted}"
        for found in (theirs, ours)
        for wanted in ("works", "wrong", "error")
    ]
    lines = [
        f"{len(PROGRAMS)} programs. Catalyst ({versions(python, ['pennylane-catalyst', 'jax'])}): "
        f"{', '.join(counts[:3])}. "
        f"diastase ({versions(sys.executable, ['jax'])}): {', '.join(counts[3:])}.",
        "",
        "| program | Catalyst | diastase |",
        "|---|---|---|",
        *(f"| {name} | {cell(theirs[name])} | {cell(ours[name])} |" for name in PROGRAMS),
    ]
    PAGE.write_text(inspect.cleandoc(INTRODUCTION) + "\n\n" + "\n".join(lines) + "\n")
    print(f"{PAGE}: {lines[0]}")


if __name__ == "__main__":
    main()
