"""The page of what was measured: pictures of the files in `benchmarks/results`, drawn when built.

Nothing is measured here. Each picture says by which commit, when and on which processor its figures
were made; a file that is not there leaves its picture out.
"""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from sources import ROOT

RESULTS = ROOT / "benchmarks" / "results"
COLOURS = {
    "diastase": "#d1495b", "catalyst": "#00798c", "qsim": "#edae49", "jax.jit": "#66a182",
    "qulacs": "#7768ae", "qiskit-aer": "#3d6fb6", "pennylane": "#8c6d46",
}  # fmt: skip
FEWEST_PEERS = 2

Results = dict[str, Any]


def page(folder: Path) -> str:
    """Draw all pictures into a folder of the sources; the page that shows them."""
    parts = [INTRODUCTION]
    for title, file, name, draw, says in PICTURES:
        path = RESULTS / file
        if not path.exists():
            continue
        results = json.loads(path.read_text())
        figure = draw(results)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.svg")
        plt.close(figure)
        machine = results["machine"]
        made = f"{machine['time'][:10]}, commit {machine['commit'][:8]}, {machine['processor']}"
        parts.append(
            f"## {title}\n\n![{title}](pictures/{folder.name}/{name}.svg)\n\n{says} Measured on "
            f"{made}, {machine['cores']} cores: [the figures]({table_of(file)}).\n"
        )
    return "\n".join(parts) + FURTHER


def table_of(file: str) -> str:
    """The page with the table of a file of results."""
    return f"benchmarks/results/{file.removesuffix('.json')}.md"


def medians(results: Results, threads: int) -> dict[str, dict[str, float]]:
    """Seconds by case and subject, of figures that have no problem."""
    found: dict[str, dict[str, float]] = {}
    for figure in results["figures"]:
        if figure["threads"] == threads and figure["seconds"] and not figure["problem"]:
            of_case = found.setdefault(figure["case"], {})
            of_case[figure["subject"]] = statistics.median(figure["seconds"])
    return found


def beside_peers(results: Results) -> Any:
    """For each case, how many times as long as ours a peer takes, on one thread."""
    cases = {
        case: seconds
        for case, seconds in medians(results, 1).items()
        if "diastase" in seconds and len(seconds) >= FEWEST_PEERS and not case.startswith("compile")
    }
    order = sorted(cases, key=lambda case: max(cases[case].values()) / cases[case]["diastase"])
    figure, axes = plt.subplots(figsize=(7.5, 1.2 + 0.23 * len(order)), layout="constrained")
    subjects = {subject for seconds in cases.values() for subject in seconds} - {"diastase"}
    for subject in sorted(subjects):
        points = [
            (cases[case][subject] / cases[case]["diastase"], place)
            for place, case in enumerate(order)
            if subject in cases[case]
        ]
        axes.plot(*zip(*points, strict=True), "o", label=subject, color=COLOURS[subject])
    axes.axvline(1, color=COLOURS["diastase"], label="diastase")
    axes.set(xscale="log", xlabel="times as long as diastase (right of the line: slower)")
    axes.set_yticks(range(len(order)), order, fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    return figure


def beside_xla(results: Results) -> Any:
    """Each program's time over XLA's, in order, on one thread."""
    of_one = [figure for figure in results["figures"] if figure["threads"] == 1]
    ratios = sorted(f["least"]["ours"] / f["least"]["xla"] for f in of_one if f["least"].get("xla"))
    figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
    axes.semilogy(ratios, ".", color=COLOURS["diastase"])
    axes.axhline(1, color="grey", linestyle=":")
    mean = statistics.geometric_mean(ratios)
    axes.axhline(mean, color=COLOURS["catalyst"], label=f"geometric mean: {mean:.2f}")
    axes.set(xlabel="programs, in order", ylabel="time over that of jax.jit")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def compiling(results: Results) -> Any:
    """First calls, ours over XLA's: each program a point."""
    of_one = [figure for figure in results["figures"] if figure["threads"] == 1]
    points = [(f["first"]["xla"], f["first"]["ours"]) for f in of_one if f["first"].get("xla")]
    figure, axes = plt.subplots(figsize=(5.5, 5), layout="constrained")
    axes.loglog(*zip(*points, strict=True), ".", color=COLOURS["diastase"])
    ends = [min(min(point) for point in points), max(max(point) for point in points)]
    axes.plot(ends, ends, ":", color="grey", label="the same")
    axes.set(xlabel="first call by jax.jit (s)", ylabel="first call by diastase (s)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


PICTURES: list[tuple[str, str, str, Callable[[Results], Any], str]] = [
    (
        "Circuits and programs beside Catalyst, qsim and jax.jit",
        "circuits/results.json",
        "circuits",
        beside_peers,
        "Calls of compiled programs, medians, one thread; each peer in an environment of its own. "
        "The number in a name is that of qubits; `hea` is a hardware-efficient ansatz, `pauli` a "
        "sum of 200 Pauli words. Left of the line the peer is faster.",
    ),
    (
        "Circuits beside other simulators",
        "simulators/results.json",
        "simulators",
        beside_peers,
        "The same circuits, one thread.",
    ),
    (
        "306 classical programs beside jax.jit",
        "classical_200/after.json",
        "classical",
        beside_xla,
        "Minima of calls in one process, in turn, one thread. Above 1 we are slower.",
    ),
    (
        "Compiling, beside jax.jit",
        "classical_200/after.json",
        "compiling",
        compiling,
        "The same 306 programs: tracing, compiling and the first run, without the disk cache.",
    ),
]

INTRODUCTION = """# Measured performance

What was measured, from the files in [benchmarks/results](benchmarks/results/index.md): drawn when
this site was built, measured when the lines below say. [How it is measured](benchmarks/index.md);
`make bench` measures it on your machine. What makes programs fast, and what you can set, is on
the page [Performance](performance.md).

"""
FURTHER = """
## Further tables

- [How compiling grows](benchmarks/results/compile_scaling.md), by 155 families of programs
- [Maps on a cluster](benchmarks/results/cluster.md)
- [T counts](benchmarks/results/clifford_t.md) beside PyZX's and Catalyst's
- [Programs of JAX's and Catalyst's documentation](benchmarks/results/documentation.md)
- [Accuracy](accuracy.md) of functions, conversions and derivatives
"""
