"""T counts and Pauli-product depths of the literature's circuits, here and of peers.

    python benchmarks/clifford_t [--peers PYTHON] [--qc FILE ...] [--only NAME ...] [--file FILE]

Each circuit is given gate by gate, the same ones to all. PYTHON is the interpreter of an
environment with PyZX and Catalyst; without it, only ours are counted. What is left here is compared
with the circuit, if that has at most 16 wires. FILE in the `.qc` format adds circuits that are
published as files only: `qft_4` and others are in github.com/meamy/feynman, in `benchmarks/qc`.
"""

import argparse
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE

from circuits import PUBLISHED, all_circuits, read_qc
from ours import PASSES, left_by

_PEERS = Path(__file__).with_name("peers.py")
_PATIENCE = 60.0
"""Seconds for the peers, for one circuit."""
_VERSIONS = ("pyzx", "pennylane-catalyst")
_HEADER = """\
| circuit | wires | gates | T gates | PyZX | Catalyst, commuted | Catalyst, reduced | diastase \
| depth: Catalyst, commuted | Catalyst, reduced | diastase | seconds |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""
_TITLE = """\
# T counts and Pauli-product depths

Written by `python benchmarks/clifford_t --peers PYTHON --qc qft_4.qc csla_mux_3.qc --file FILE`,
not by hand. T gates that are left

- by PyZX's `full_reduce`,
- by Catalyst's `to_ppr` and `commute_ppr` (commuted), and `reduce_t_depth` after them (reduced), as
  its `ppm_specs` counts them; `qjit(..., pipelines=[("passes", ["quantum-compilation-stage"])],
  target="mlir")`, device `null.qubit`, a QNode that returns nothing,
- by `to_ppr`, `commute_ppr` and `reduce_t_depth` here,

and the depth: layers of T gates that commute. Seconds are those of tracing, the passes and, up to
16 wires, comparing what is left with the circuit here. Peers have a minute for a circuit, all
their columns together: where Catalyst has not commuted by then, it has not begun to reduce."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", metavar="PYTHON", help="of PyZX and Catalyst")
    parser.add_argument("--qc", nargs="*", type=Path, default=[], metavar="FILE")
    parser.add_argument("--only", nargs="*", metavar="NAME")
    parser.add_argument("--file", type=Path, help="to write the table to")
    return parser.parse_args()


def of_peers(python, circuit):
    """Versions, and the figures that are there within a minute; none without an interpreter."""
    if python is None:
        return {}
    process = subprocess.Popen(
        [python, "-E", str(_PEERS)], stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    given = json.dumps({"wires": circuit.wires, "gates": circuit.gates})
    try:
        text, _ = process.communicate(given, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # Catalyst has a process of its own
        text, _ = process.communicate()
    return dict(json.loads(line) for line in text.splitlines() if line.startswith("["))


def cells_of(found, what, count):
    """A peer's figures, or as many cells that say what went wrong."""
    late = f"> {_PATIENCE:.0f} s" if found else "-"
    figures = found.get(what, late)
    if isinstance(figures, str):
        return count * [figures if figures == late else "fails"]
    return figures if isinstance(figures, list) else [figures]


def row(name, circuit, found):
    """A line of the table."""
    assert circuit.t_count == PUBLISHED.get(name, circuit.t_count), f"{name} is another circuit"
    start = time.perf_counter()
    left = left_by(PASSES, circuit)
    seconds = time.perf_counter() - start
    (zx,) = cells_of(found, "T gates", 1)
    commuted, reduced = (cells_of(found, what, 2) for what in ("commuted", "reduced"))
    cells = [
        name, circuit.wires, len(circuit.gates), circuit.t_count, zx, commuted[0], reduced[0],
        len(left.t_gates), commuted[1], reduced[1], left.layers, f"{seconds:.2f}",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def main():
    given = arguments()
    circuits = all_circuits() | {file.stem: read_qc(file) for file in given.qc}
    circuits = {n: one for n, one in circuits.items() if not given.only or n in given.only}
    lines, problems, versions = [_HEADER], {}, ""
    print(_HEADER, flush=True)
    for name, circuit in circuits.items():
        found = of_peers(given.peers, circuit)
        versions = ", ".join(f"{peer} {found[peer]}" for peer in _VERSIONS if peer in found)
        lines.append(row(name, circuit, found))
        print(lines[-1], flush=True)
        for what, figure in found.items():
            if isinstance(figure, str) and what not in _VERSIONS:
                problems.setdefault(figure, []).append(f"{name} ({what})")
    notes = [f"- {', '.join(names)}: `{figure}`" for figure, names in problems.items()]
    print("\n".join(notes))
    if given.file is not None:
        about = f"{time.strftime('%Y-%m-%d')}, {versions or 'no peers'}."
        text = [_TITLE, about, "\n".join(lines), "\n".join(notes)]
        given.file.write_text("\n\n".join(text).rstrip() + "\n")


if __name__ == "__main__":
    main()
