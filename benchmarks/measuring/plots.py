"""The pictures: time over qubits for HEA, and how far each row is from its target."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from measuring.cases import duration
from measuring.environments import SUBJECTS


def draw(rows, folder):
    """Write all pictures for which there are rows; their names."""
    made = []
    for threads in sorted({row.threads for row in rows}):
        of_these = [row for row in rows if row.threads == threads]
        hea = [row for row in of_these if _is_curve(row)]
        if len(hea) > 1:
            made.append(_save(_over_qubits(hea, threads), folder / f"hea_{threads}.png"))
    judged = [(row, target) for row in rows for target in row.targets if row.verdict(target)]
    if judged:
        made.append(_save(_targets(judged), folder / "targets.png"))
    return made


def _is_curve(row):
    arguments = row.case.arguments
    return row.case.group == "hea" and row.case.kind == "call" and "written_out" not in arguments


def _over_qubits(rows, threads):
    figure, axes = plt.subplots(figsize=(7, 5))
    rows = sorted(rows, key=lambda row: row.case.arguments["qubits"])
    for name, subject in SUBJECTS.items():
        points = [(row.case.arguments["qubits"], row.median(name)) for row in rows]
        points = [point for point in points if point[1]]
        if points:
            width = 2.5 if name == "diastase" else 1.2
            axes.plot(*zip(*points, strict=True), "o-", label=name, color=subject.colour, lw=width)
    layers = ", ".join(
        f"n={row.case.arguments['qubits']}: L={row.case.arguments['layers']}" for row in rows
    )
    axes.set(yscale="log", xlabel="qubits", ylabel="seconds of one call")
    axes.set_title(f"HEA on {threads} thread{'s' * (threads > 1)} ({layers})", fontsize=9)
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    return figure


def _targets(judged):
    """Bars of how many times better than its target each row is; the line is the target."""
    figure, axes = plt.subplots(figsize=(9, 1 + 0.28 * len(judged)))
    judged = judged[::-1]
    values = [row.verdict(target) for row, target in judged]
    colours = ["tab:green" if value >= 1 else "tab:red" for value in values]
    axes.barh(range(len(judged)), [value - 1 for value in values], left=1, color=colours)
    axes.axvline(1, color="black", lw=1.5)
    axes.set_yticks(range(len(judged)))
    axes.set_yticklabels([f"{row.title}: {target}" for row, target in judged], fontsize=7)
    for place, ((row, _), value) in enumerate(zip(judged, values, strict=True)):
        axes.annotate(f" {value:.2f} ({duration(row.median('diastase'))})", (value, place),
            fontsize=6, va="center", ha="left" if value >= 1 else "right")  # fmt: skip
    axes.set(xscale="log", xlabel="times better than the target (at the line: met)")
    axes.margins(x=0.25)
    return figure


def _save(figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
