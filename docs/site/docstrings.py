"""Docstrings as reStructuredText: what stands between backticks, and programs that are indented.

Docstrings are written to be read in a terminal: one backtick around code, and an indented block
after a paragraph for a program. Sphinx wants two backticks, and a mark before the block. What names
a page of `docs/`, or a public name, becomes a link. Sections (`Args:`, `Raises:`, …) are left
to napoleon, which runs after this.
"""

import ast
import re
import textwrap
from functools import cache
from itertools import takewhile
from typing import Any

from public_names import public_names

SPAN = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")
PAGE = re.compile(r"docs/([\w-]+)\.md")
SECTION = re.compile(r"^\w[\w ]*:$")
MLIR = re.compile(r"~?(?:torch_mlir|jaxlib)\.[\w.]*\b(\w+)")
ITEM = re.compile(r"^\s*([-*+•]|\d+\.)\s")


def as_rst(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    lines[:] = _linked(_marked(lines))
    if what == "property":  # of whose first line napoleon takes what is before a colon for its type
        lines[:0] = ["..", ""]  # an empty comment


def shortened(
    _app: Any, _what: str, _name: str, _object: Any, _options: Any, signature: str, result: str
) -> tuple[str, str]:
    """A signature without the modules of MLIR's private classes."""
    shown = [MLIR.sub(r"\1", text) if text else text for text in (signature, result)]
    return shown[0], shown[1]


def _marked(lines: list[str]) -> list[str]:
    """With a directive before indented blocks that are neither sections, items nor examples."""
    made: list[str] = []
    inside = -1  # the indentation above a block that is a program
    for number, line in enumerate(lines):
        if line.strip() and _indent(line) <= inside:
            inside = -1
        above = _paragraph_above(lines, number)
        if inside < 0 and above is not None and _begins_program(line, above):
            inside = _indent(above)
            language = _language(lines[number:], inside)
            made += [f"{' ' * inside}.. code-block:: {language}", ""]
        made.append(line)
    return made


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _paragraph_above(lines: list[str], number: int) -> str | None:
    """The last line of the paragraph before this line, if an empty line is between them."""
    if not number or lines[number - 1].strip() or not lines[number].strip():
        return None
    return next((line for line in reversed(lines[:number]) if line.strip()), None)


def _begins_program(line: str, above: str) -> bool:
    text = above.strip()
    is_other = SECTION.match(text) or ITEM.match(text) or text.endswith("::")
    return (
        _indent(line) >= _indent(above) + 4 and not is_other and not line.strip().startswith(">>>")
    )


def _language(lines: list[str], outside: int) -> str:
    """Python, if the block is; it ends before a line that is not indented."""
    block = takewhile(lambda line: not line.strip() or _indent(line) > outside, lines)
    try:
        ast.parse(textwrap.dedent("\n".join(block)))
    except SyntaxError:
        return "text"
    return "python"


def _linked(lines: list[str]) -> list[str]:
    """With roles for spans of code; programs and examples are left alone."""
    made: list[str] = []
    text: list[str] = []  # of a paragraph: a span may go on in the next line
    program, is_example = -1, False
    for line in [*lines, ""]:
        if line.strip() and program >= 0 and _indent(line) <= program:
            program = -1
        is_example = bool(line.strip()) and (is_example or line.lstrip().startswith(">>>"))
        if program < 0 and line.strip() and not is_example:
            text.append(line)
        else:
            made += [*_with_roles(text), line]
            text = []
        if line.strip().startswith(".. code-block::"):
            program = _indent(line)
    return made[:-1]


def _with_roles(lines: list[str]) -> list[str]:
    parts = SPAN.split("\n".join(lines))
    parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
    parts[1::2] = [_role(part) for part in parts[1::2]]
    for number in range(2, len(parts), 2):
        if parts[number][:1].isalnum():  # `float`s: a role ends before no letter
            parts[number] = rf"\ {parts[number]}"
    return "".join(parts).split("\n") if lines else []


def _role(span: str) -> str:
    text = " ".join(span.split())
    if page := PAGE.fullmatch(text):
        return f":doc:`/{page[1]}`"
    if full := _full_names().get(text):
        return f":py:obj:`{text} <{full}>`"
    return f"``{text}``"


@cache
def _full_names() -> dict[str, str]:
    """Public names as docstrings say them: `grad`, `QJIT.save`, `diastase.debug.print`."""
    found: dict[str, str] = {}
    for public in public_names():
        if public.kind in ("module", "data"):
            continue
        found[str(public)] = str(public)
        # Of a short name the first, and none that a reader takes for Python's.
        if public.qualified not in ("print", "map", "add", "apply", "where", "callback"):
            found.setdefault(public.qualified, str(public))
    return found
