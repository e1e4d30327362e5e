"""The page: one HTML file with everything in it, which needs no network.

In: columns, rows of the user's source, drawings. Out: a `Page`, which is written to a file when it
is made, and shows itself in a notebook.

The trap: names and source may hold anything, `</script>` included. In HTML all text is escaped; in
the JSON that the script reads no `<` is left, which JSON can write in another way. The page forbids
itself all other content (`Content-Security-Policy`), and a notebook shows it in a frame that has no
access to the notebook.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

from diastase.inspection.explorer.columns import (
    Column,
    Groups,
    column_of_jaxpr,
    column_of_stage,
    in_runs,
    within,
)
from diastase.inspection.explorer.sources import Row, rows_of
from diastase_mlir import PIPELINE, CompileOptions, LoweredModule, located_texts
from diastase_mlir.options import file_name
from diastase_runtime.errors import Span
from diastase_runtime.trusted_files import temporary_folder

_FILES = resources.files(__package__ or "")
_MOST = 7_000_000
"""Characters of all columns; a page is to be less than 10 MB."""
_UNWRITABLE = "backslashreplace"
"""What becomes of halves of characters, as names of files may have."""
_FRAME = (
    '<iframe title="{title}" srcdoc="{html}" sandbox="allow-scripts" '
    'style="width: 100%; height: 640px; border: 1px solid #8888"></iframe>'
)


@dataclass
class Page:
    """A page in HTML, as `f.explore()` gives it; a notebook shows it.

    Example:
        >>> from diastase import qjit
        >>> page = qjit(lambda x: x + 1).explore(1)
        >>> page.html.startswith("<!doctype html>")
        True

    """

    title: str
    html: str = field(repr=False)
    """The page as text."""
    path: Path
    """Where it was written last: into a temporary folder, before anybody calls `save`."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file.

        Args:
            path: of the file, in a folder that there is; what it has is replaced.

        Returns:
            Where it is, as an absolute path; `path` is that from now on.

        Raises:
            OSError: where it cannot be written.

        Example:
            >>> from diastase import qjit
            >>> page = qjit(lambda x: x + 1).explore(1)
            >>> page.save("page.html").name
            'page.html'

        """
        target = Path(path)
        target.write_bytes(self.html.encode(errors=_UNWRITABLE))
        self.path = target.absolute()
        return self.path

    def __str__(self) -> str:
        return f"{self.title}: {self.path}"

    def _repr_html_(self) -> str:
        return _FRAME.format(title=escape(self.title), html=escape(self.html))


@dataclass(frozen=True)
class Explored:
    """What is known of a program."""

    function: Callable[..., Any]
    """The user's own."""
    name: str
    title: str
    note: str
    """A sentence below the title, if there is something to say."""
    jaxpr: Any
    tracing_seconds: float
    module: LoweredModule
    options: CompileOptions
    report: str
    drawings: Sequence[str]


def page_of(program: Explored) -> Page:
    """Compile the program anew, stage by stage, and write the page."""
    reasons = {stage.name: stage.why_here for stage in PIPELINE.stages}
    stages = located_texts(program.module, program.options)
    columns = [
        column_of_jaxpr(program.jaxpr, program.tracing_seconds),
        *(column_of_stage(stage, reasons.get(stage.stage, "")) for stage in stages),
    ]
    stages_table = _table(columns)
    columns = within(columns, _MOST)
    groups = Groups()
    runs = [groups.runs(column.spans) for column in columns]
    rows = list(rows_of(sorted(groups.lines), program.function))
    data = {
        "columns": [
            _source(rows, groups),
            *(_data(column, run) for column, run in zip(columns, runs, strict=True)),
        ],
        "groups": list(map(list, groups.groups)),
    }
    html = Template(_text("page.html")).substitute(
        title=escape(program.title),
        note=f"<p>{escape(program.note)}</p>" if program.note else "",
        style=_text("page.css"),
        script=_text("page.js"),
        data=_in_script(data),
        stages=stages_table,
        circuits=_folded(f"Circuits ({len(program.drawings)})", "".join(program.drawings)),
        report=_folded("Report", f"<pre>{escape(program.report)}</pre>"),
    )
    folder = temporary_folder(f"diastase-{file_name(program.name)}-")
    page = Page(f"explorer of {program.name}", html, folder)
    page.save(folder / f"{file_name(program.name)}.html")
    return page


def _text(file: str) -> str:
    return (_FILES / file).read_text(encoding="utf8")


def _in_script(data: Any) -> str:
    """JSON in which nothing ends a script, or begins a comment of HTML's."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _source(rows: Sequence[Row], groups: Groups) -> dict[str, Any]:
    own = [
        groups.of([Span(row.file, row.line)] if (row.file, row.line) in groups.lines else [])
        for row in rows
    ]
    return {
        "name": "source",
        "title": "source",
        "about": "what you wrote",
        "shown": True,
        "text": "\n".join(row.text for row in rows),
        "groups": in_runs(own),
        "numbers": [row.line for row in rows],
    }


def _data(column: Column, runs: Sequence[int]) -> dict[str, Any]:
    return {
        "name": column.name,
        "title": column.title,
        "about": column.about,
        "shown": column.is_shown,
        "text": column.text,
        "groups": runs,
    }


def _table(columns: Iterable[Column]) -> str:
    """What each stage took, and how long its text is."""
    columns = list(columns)
    longest = max((column.seconds or 0.0 for column in columns), default=0.0) or 1.0
    rows: list[str] = []
    for column in columns:
        seconds = column.seconds
        took = "" if seconds is None else f"{seconds * 1000:.2f} ms"
        bar = f'<meter max="{longest:.6f}" value="{seconds or 0.0:.6f}"></meter>'
        cells = [
            f"<th>{escape(column.title)}</th>",
            f"<td>{took}</td>",
            f"<td>{bar if took else ''}</td>",
            f"<td>{column.lines:,}</td>",
            f"<td>{len(column.text.encode(errors=_UNWRITABLE)):,}</td>",
            f"<td>{escape(column.about)}</td>",
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("", "time", "", "lines", "bytes", ""))
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _folded(title: str, content: str) -> str:
    if not content:
        return ""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
