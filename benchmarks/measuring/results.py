"""What a run leaves: JSON with every figure, a table, pictures, and a line of `history.jsonl`.

A run of all cases writes to the folder itself, a run of some to `partial/` inside of it. The
history has one line for each run, with the medians of ours only; `regressions` compares the last
two lines case by case, where both have the case.
"""

import json
from dataclasses import asdict

from measuring.cases import duration
from measuring.rounds import OURS
from measuring.table import markdown

ALLOWED = 1.2
"""A row whose time grew by more than this factor is a regression."""


def write(folder, rows, machine, versions, plan):
    """Write everything; the table as text."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = [asdict(figure) for row in rows for figure in row.figures.values()]
    everything = {"machine": machine, "versions": versions, "plan": asdict(plan)}
    everything["figures"] = figures
    (folder / "results.json").write_text(json.dumps(everything, indent=1) + "\n")
    table = markdown(rows, machine, versions, plan)
    (folder / "results.md").write_text(table)
    return table


def note_in_history(path, rows, machine):
    medians = {f"{row.case.name}/{row.threads}": row.median(OURS) for row in rows}
    entry = {name: machine[name] for name in ("time", "commit", "processor", "load_before")}
    entry["seconds"] = {name: seconds for name, seconds in medians.items() if seconds}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as history:
        history.write(json.dumps(entry) + "\n")


def regressions(path):
    """Lines that name what got slower between the last two runs of each case."""
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if len(runs) < 2:
        return ["no run before the last one to compare with"]
    last = runs[-1]
    found = []
    for name, seconds in last["seconds"].items():
        before = next((run for run in runs[-2::-1] if name in run["seconds"]), None)
        if before and seconds > ALLOWED * before["seconds"][name]:
            found.append(
                f"{name}: {duration(before['seconds'][name])} ({before['commit']}) → "
                f"{duration(seconds)} ({last['commit']}), "
                f"{seconds / before['seconds'][name]:.2f}×"
            )
    return found
