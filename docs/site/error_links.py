"""Errors that docstrings say are raised lead to their rows on the page of errors."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes

ERROR = re.compile(r"\| `(\w+)` \|")


def to_error(app: Any, _env: Any, node: Any, shown: Any) -> Any:
    """A link to the page of errors, for a class that a docstring says is raised."""
    section = _sections_of_errors().get(node["reftarget"].rpartition(".")[2])
    if node.get("reftype") not in ("exc", "obj") or section is None:
        return None
    page = app.builder.get_relative_uri(node["refdoc"], "errors")
    uri = f"{page}#{nodes.make_id(section)}"
    return nodes.reference("", "", shown.deepcopy(), internal=True, refuri=uri)


@cache
def _sections_of_errors() -> dict[str, str]:
    """The heading on `docs/errors.md` that the row of a class is under."""
    found, section = {}, ""
    for line in Path(__file__).parents[1].joinpath("errors.md").read_text().splitlines():
        if line.startswith("### "):
            section = line.removeprefix("### ")
        elif row := ERROR.match(line):
            found[row[1]] = section
    return found
