"""The results as Markdown: a table for each group, after what it was measured on."""

from measuring.cases import duration
from measuring.environments import SUBJECTS
from measuring.rounds import OURS
from measuring.rows import geometric_mean

TITLES = {
    "hea": "HEA",
    "circuits": "Circuits",
    "derivatives": "Derivatives and batches",
    "noise": "Noise, and shots with outcomes of their own",
    "calling": "Calls",
    "compiling": "Compiling",
    "classical": "Classical programs",
}


def markdown(rows, machine, versions, plan):
    parts = [_heading(machine, versions, plan)]
    for group, title in TITLES.items():
        of_group = [row for row in rows if row.case.group == group]
        if of_group:
            parts.append(f"## {title}\n\n{_table(of_group)}")
    problems = [
        f"- {row.title}, {name}: {figure.problem}"
        for row in rows
        for name, figure in row.figures.items()
        if figure.problem
    ]
    if problems:
        parts.append("## Missing and wrong\n\n" + "\n".join(problems))
    return "\n\n".join(parts) + "\n"


def _heading(machine, versions, plan):
    measured = "; ".join(
        f"{name} ({', '.join(f'{k} {v}' for k, v in of.items())})" for name, of in versions.items()
    )
    return (
        "# Benchmarks\n\n"
        "Written by `make bench`, not by hand: how, and what the numbers mean, is in `README.md`. "
        "Times are minimum / **median** / maximum of the rounds; of peers, the median and, in "
        "brackets, how many times as long as diastase it takes.\n\n"
        f"- {machine['time']}, commit {machine['commit']}, {plan.rounds} rounds, "
        f"{machine['minutes']:.1f} minutes\n"
        f"- {machine['processor']}, {machine['cores']} cores, load before "
        f"{machine['load_before']:.1f}, after {machine['load_after']:.1f}\n"
        f"- {measured}"
    )


def _table(rows):
    """A table of the subjects that occur."""
    peers = [name for name in SUBJECTS if name != OURS and any(name in row.figures for row in rows)]
    header = ["", "threads", OURS, *peers, "target", "met"]
    lines = [header, ["---"] * len(header)]
    lines += [_line(row, peers) for row in rows]
    if rows[0].case.group == "classical":
        lines += _means(rows, peers)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _line(row, peers):
    targets = "; ".join(map(str, row.targets))
    verdicts = [row.verdict(target) for target in row.targets]
    met = "; ".join("?" if v is None else "yes" if v >= 1 else f"no ({v:.2f})" for v in verdicts)
    cells = [_peer(row, name) for name in peers]
    return [row.case.title, str(row.threads), _ours(row), *cells, targets, met]


def _means(rows, peers):
    """Lines with the geometric mean of all ratios, for each number of threads."""
    for threads in sorted({row.threads for row in rows}):
        of_these = [row for row in rows if row.threads == threads]
        cells = []
        for name in peers:
            ratios = [ratio for row in of_these if (ratio := row.ratio(name))]
            mean = geometric_mean(ratios)
            cells.append(f"({mean:.2f}×, {len(ratios)} programs)" if mean else "")
        yield ["**geometric mean**", str(threads), "", *cells, "", ""]


def _ours(row):
    figure = row.figures.get(OURS)
    if figure is None or figure.problem or not figure.seconds:
        return figure.problem if figure else ""
    low, high = min(figure.seconds), max(figure.seconds)
    return f"{duration(low)} / **{duration(row.median(OURS))}** / {duration(high)}"


def _peer(row, name):
    median = row.median(name)
    if median is None:
        figure = row.figures.get(name)
        return (figure.problem or "no time") if figure else ""
    ratio = row.ratio(name)
    return duration(median) + (f" ({ratio:.2f}×)" if ratio else "")
