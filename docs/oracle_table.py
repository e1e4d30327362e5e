"""The table of programs by oracle in `trust.md`, from the ledger of `make fuzz`.

`python docs/oracle_table.py` (`make docs`) writes it into the page; a test compares the two.
"""

import json
from pathlib import Path

from generated import with_part

ROOT = Path(__file__).parents[1]
PAGE, LEDGER = ROOT / "docs" / "trust.md", ROOT / "tests" / "fuzz" / "ledger.json"
VERDICTS = ("right", "unstable", "refused")


def table() -> str:
    """One row for each oracle that a recorded campaign has asked, and one for all."""
    counts = json.loads(LEDGER.read_text())["counts"]
    totals = {
        verdict: sum(of_oracle.get(verdict, 0) for of_oracle in counts.values())
        for verdict in VERDICTS
    }
    lines = ["| oracle | right | unstable | refused |", "|---|--:|--:|--:|"]
    for name, numbers in [*((f"`{name}`", counts[name]) for name in counts), ("all", totals)]:
        row = [f"{numbers.get(verdict, 0):,}" for verdict in VERDICTS]
        lines.append(f"| {name} | {' | '.join(row)} |")
    return "\n".join([*lines, ""])


def page() -> str:
    """The page with a fresh table."""
    return with_part(PAGE, "oracles", "oracle_table.py", table())


if __name__ == "__main__":
    PAGE.write_text(page())
