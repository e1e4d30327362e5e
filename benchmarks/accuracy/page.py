"""The tables of `docs/accuracy.md`, from the figures in `results/accuracy/`.

The page keeps what stands outside of the marks; a test compares the rest with the figures.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
RESULTS = ROOT / "benchmarks" / "results" / "accuracy"
_SHOWN = 6
"""How many numbers of one row of edges, conversions and derivatives are shown."""


def figures(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def page() -> str:
    """The page with fresh tables."""
    text = PAGE.read_text()
    for name, table in TABLES.items():
        begin, end = (
            f"<!-- table: begin {name} (benchmarks/accuracy) -->\n",
            f"<!-- table: end {name} -->\n",
        )
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n{table()}\n{end}{after}"
    return text


def _lines(header: str, rows: list[list[str]]) -> str:
    columns = header.split("|")
    cells = [columns, ["---"] * len(columns), *rows]
    return (
        "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|").strip() for cell in row) + " |"
            for row in cells
        )
        + "\n"
    )


def functions() -> str:
    """A row for each function and type."""
    rows = [
        [
            f"`{row['name']}`", row["dtype"], _count(row["points"]),
            *(cell for by in ("ours", "XLA") for cell in _cells(row["errors"][by])),
        ]
        for row in figures("functions").values()
    ]  # fmt: skip
    return _lines("function|type|numbers|ours|at|subnormal|XLA|at|subnormal", rows)


def _count(points: int) -> str:
    return "all" if points == 2**16 else f"{points:,}".replace(",", " ")


def _cells(errors: dict[str, Any]) -> list[str]:
    most = f"{_units(errors['most'])} ({_units(errors['usual'])})"
    if errors["wrong"]:
        most += f"; {errors['wrong']} ∞, as at {', '.join(errors['wrong_at'])}"
    return [most, ", ".join(errors["at"]), _units(errors["subnormal"])]


def _units(number: float) -> str:
    return f"{number:.2f}" if number < 100 else f"{number:.1e}"


def edges() -> str:
    """What is of another kind or sign than the exact value; equal rows of several types are one."""
    rows = []
    for row in figures("functions").values():
        for whose, listed in _by_owner(row["edges"]).items():
            if listed:
                shown = [
                    f"{at}: {ours} / {xla} / {exact}" for at, ours, xla, exact in listed[:_SHOWN]
                ]
                more = f"; {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
                share = f"{len(listed)} of {row['edge_count']}"
                rows.append(
                    [f"`{row['name']}`", row["dtype"], whose, share, "; ".join(shown) + more]
                )
    return _lines("function|type|which|edges|arguments: ours / XLA's / exact", rows)


def _by_owner(listed: list[list[str]]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {"both the same": [], "they differ": []}
    for row in listed:
        found["both the same" if row[1] == row[2] else "they differ"].append(row)
    return found


def conversions() -> str:
    """A row for each pair of types of which one is not exact."""
    rows = [
        [source, target, kind, *cells]
        for (source, target, kind), *cells in _inexact(
            "conversions", ("source", "target"), "number"
        )
    ]
    return _lines("from|to|what|ours wrong|XLA's wrong|for example: ours / XLA's / exact", rows)


def pairs() -> str:
    """A row for each operation and type of which one is not exact."""
    rows = [[*key, *cells] for key, *cells in _inexact("pairs", ("name", "dtype"), "at")]
    return _lines(
        "operation|type|what|ours wrong|XLA's wrong|for example: ours / XLA's / exact", rows
    )


def _inexact(name: str, keys: tuple[str, ...], argument: str) -> Iterator[tuple[Any, ...]]:
    """What it is about, how many ours has wrong, how many XLA, and an example."""
    found = defaultdict(list)
    for row in figures(name):
        kind = "subnormal" if row["is_flushed"] else "other"
        found[(*(row[key] for key in keys), kind)].append(row)
    for key, listed in found.items():
        counts = [str(sum(row[f"is_{by}"] for row in listed)) for by in ("ours", "xla")]
        first = max(listed, key=lambda row: row["is_ours"])
        example = f"{first[argument]}: {first['ours']} / {first['xla']} / {first['exact']}"
        yield (key, *counts, example)


def derivatives() -> str:
    """What was compared, and a row for each function and form that is not JAX's somewhere."""
    given = figures("derivatives")
    compared = "Compared: " + ", ".join(f"`{name}`" for name in given["compared"]) + ".\n"
    found = defaultdict(list)
    for row in given["differences"]:
        found[row["name"], row["by"]].append(row)
    rows = []
    for (name, form), listed in found.items():
        shown = [f"{row['at']}: {row['ours']} / {row['jax']}" for row in listed[:_SHOWN]]
        rows.append([name, form, str(len(listed)), "; ".join(shown)])
    if not rows:
        return f"{compared}\nNone differs.\n"
    return f"{compared}\n" + _lines("function|derivative|numbers|at: ours / JAX's", rows)


TABLES = {
    "functions": functions, "edges": edges, "pairs": pairs, "conversions": conversions,
    "derivatives": derivatives,
}  # fmt: skip
