"""How functions and stages look in a notebook: a title, a table, and texts that fold open.

In: plain text; it is escaped here. A text is cut where a notebook would become slow to scroll.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

_LONGEST = 40_000
"""Characters of a text that are shown."""


def page(
    title: str,
    rows: Iterable[Sequence[str]] = (),
    texts: Mapping[str, str] | None = None,
) -> str:
    """HTML with a title in bold, a table of these rows, and folded texts by what they are."""
    parts = [f"<b>{escape(title)}</b>"]
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if lines:
        parts.append(f"<table>{lines}</table>")
    for name, text in (texts or {}).items():
        parts.append(
            f"<details><summary>{escape(name)}</summary><pre>{escape(_cut(text))}</pre></details>"
        )
    return f"<div>{''.join(parts)}</div>"


def _cell(text: str) -> str:
    return f'<td style="text-align:left">{escape(text)}</td>'


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    rest = text.count("\n", _LONGEST)
    return f"{text[:_LONGEST]}\n… {rest} more lines: print(...) shows all"
