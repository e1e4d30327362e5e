"""Let faults befall programs, place by place, and say what became of them.

`python -m faults` starts this as a process whose C library fails when it is told to. Prints a line
for each place: how often the fault came, how often the result was right, which errors were raised,
how often there were warnings, and what was not as it has to be. Ends with 1 if there was any of
that. `--write` keeps each line in `tests/faults/results.md` as it comes, in place of the one of an
earlier run, so that an hour and a half may be spent in parts.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jax

from diastase_engine.libraries import build, engine
from diastase_mlir.driver import compilation
from diastase_mlir.lowering import module
from faults.laboratory import Laboratory
from faults.places import PLACES, QUICK, Place

IMPORTED_BEFORE_FORKING = (build, compilation, module)
RESULTS = Path(__file__).with_name("results.md")
HEADER = ["place", "faults", "right", "others", "warned", "cache, and what is left"]


@dataclass
class Line:
    """What became of a place."""

    name: str
    struck: int = 0
    right: int = 0
    others: Counter[str] = field(default_factory=Counter)
    warned: int = 0
    wrong: list[str] = field(default_factory=list)

    def cells(self) -> list[str]:
        """As the table has it."""
        others = ", ".join(f"{name} {count}" for name, count in self.others.most_common())
        verdict = f"{len(self.wrong)} FAULTS" if self.wrong else "as it has to be"
        return [self.name, str(self.struck), str(self.right), others, str(self.warned), verdict]


def line_of(place: Place, laboratory: Laboratory) -> Line:
    """Let the cases of a place take place, and count."""
    line = Line(place.name)
    for outcome in place.outcomes(laboratory):
        line.struck += bool(outcome.struck)
        line.warned += bool(outcome.warned)
        if outcome.result == "right":
            line.right += 1
        else:
            line.others[outcome.result] += 1
        wrong = outcome.faults
        if outcome.is_ours and outcome.result not in ("right", *place.accepted):
            wrong.append(f"{outcome.result}: {outcome.message}")
        line.wrong += [f"{fault}  [at {outcome.where or outcome.struck}]" for fault in wrong]
    return line


def report(
    places: Sequence[Place], laboratory: Laboratory, results: Path | None = None
) -> list[Line]:
    """Do it all, printing each line as it comes, and writing it into the results."""
    laboratory.prepare(tuple({name: None for place in places for name in place.programs}))
    lines: list[Line] = []
    for place in places:
        lines.append(line := line_of(place, laboratory))
        print(" | ".join(line.cells()), flush=True)
        for fault, count in Counter(line.wrong).items():
            print(f"    {count} times: {fault.replace(str(laboratory.folder), '')}", flush=True)
        if results is not None:
            results.write_text(with_line(results.read_text(), line))
    return lines


def with_line(text: str, line: Line) -> str:
    """The table in Markdown with another line, in the order of the places."""
    written = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| ")]
    cells = {row[0]: row for row in written[2:]} | {line.name: line.cells()}
    rows = [cells[place.name] for place in PLACES if place.name in cells]
    total = sum(int(row[1]) for row in rows)
    return (
        "# What becomes of programs where something fails\n\n"
        f"Written by `python -m faults --write`: {total} faults at {len(rows)} of {len(PLACES)} "
        "places.\n\n"
        + "".join(f"| {' | '.join(row)} |\n" for row in [HEADER, ["---"] * len(HEADER), *rows])
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", metavar="WORDS", help="places whose name has some")
    parser.add_argument("--quick", action="store_true", help="what the suite runs")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS.name}")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    engine.has_python = lambda: False  # the whole engine is there, and nothing is built behind
    places = [
        place
        for place in (QUICK if given.quick else PLACES)
        if given.only is None or any(words in place.name for words in given.only)
    ]
    lines = report(places, Laboratory(given.folder), RESULTS if given.write else None)
    sys.exit(any(line.wrong for line in lines))


if __name__ == "__main__":
    main()
