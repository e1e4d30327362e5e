"""Which location each line of printed MLIR has.

In: a module, printed with locations and without. Out: for each line of the text without them, the
text of a location, `loc(unknown)` where there is none.

An operation with regions is several lines, of which MLIR gives the last its location:

    %0 = scf.if %flag -> (f64) {          takes that of the end
      scf.yield %a : f64 loc(#loc1)
    } else {                              takes that of the end
      scf.yield %b : f64 loc(#loc2)
    } loc(#loc3)

The trap: locations are names for others (`#loc3 = loc("add"(#loc1))`), to any depth.
"""

import re
from collections.abc import Sequence

UNKNOWN = "loc(unknown)"
_ALIAS = re.compile(r"^(?P<name>#loc\d*) = (?P<location>loc\(.*\))$")
_REFERENCE = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<name>#loc\d*)\b')
_AT_END = re.compile(r" loc\((?P<name>#loc\d*|unknown)\)$")


def line_locations(plain: str, with_locations: str) -> list[str]:
    """Find the location of each line of `plain`."""
    aliases: dict[str, str] = {}
    lines: list[str] = []
    for line in with_locations.split("\n"):
        alias = _ALIAS.match(line)
        if alias is None:
            lines.append(line)
        else:
            aliases[alias["name"]] = alias["location"]
    own = [match and match["name"] for match in map(_AT_END.search, lines)]
    length = plain.count("\n") + 1
    if len(lines) < length:  # never seen; without locations rather than with wrong ones
        return [UNKNOWN] * length
    resolved: dict[str, str] = {}
    names = _of_whole_operations(plain.split("\n"), own)
    return [_resolved(name, aliases, resolved) for name in names]


def _of_whole_operations(lines: Sequence[str], own: Sequence[str | None]) -> list[str]:
    """Give all lines that belong to one operation the location at its end."""
    found = [name or "unknown" for name in own[: len(lines)]]
    open_lines: dict[int, list[int]] = {}
    """By indentation: the lines so far of an operation whose end has not come."""
    for number, line in enumerate(lines):
        content = line.lstrip(" ")
        depth = len(line) - len(content)
        if content.startswith("}"):
            open_lines.setdefault(depth, []).append(number)
            if not content.endswith("{"):
                for part in open_lines.pop(depth):
                    found[part] = found[number]
        elif content.endswith("{"):
            open_lines[depth] = [number]
    return found


def _resolved(name: str, aliases: dict[str, str], resolved: dict[str, str]) -> str:
    """A location with all that it refers to written out."""
    if name not in aliases:
        return UNKNOWN
    if name not in resolved:
        resolved[name] = _REFERENCE.sub(
            lambda part: (
                _resolved(part["name"], aliases, resolved).removeprefix("loc(").removesuffix(")")
                if part["name"]
                else part[0]
            ),
            aliases[name],
        )
    return resolved[name]
