"""Lines of a text, and those of them that nothing needs.

The trap: variables are recognised by their names, `v` and a number, which arguments never have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line, and the variable that it declares or assigns, which may turn out to be unread."""

    text: str
    depth: int
    assigns: str = ""


def pruned(lines: Sequence[Line]) -> list[Line]:
    """The lines without variables that nothing reads."""
    while True:
        read = {
            name
            for line in lines
            for name in _NAME.findall(line.text)
            if not line.assigns or name != line.assigns
        }
        kept = _without_empty([one for one in lines if not one.assigns or one.assigns in read])
        if len(kept) == len(lines):
            return list(lines)
        lines = kept


def _without_empty(lines: Sequence[Line]) -> list[Line]:
    """The lines without loops and choices in which nothing is left."""
    kept = list[Line]()
    for place, line in enumerate(lines):
        after = lines[place + 1].text if place + 1 < len(lines) else ""
        is_last = not after.startswith("else")
        if line.text == "}" and kept and kept[-1].text.endswith("{") and is_last:
            kept.pop()
        else:
            kept.append(line)
    return kept


_NAME = re.compile(r"\bv\d+\b")
