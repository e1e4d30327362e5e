"""Which line of another text each line of LLVM IR and of assembly comes from, by debug information.

In: LLVM IR text in which MLIR's translation has attached a location to each instruction (`!dbg`);
its lines are numbers of whoever asks, not lines of a file. Out: the same on its way through the
rewritings of this folder, the optimiser and the code generator; and, at the end of each, the text
without debug information with a number for each line, 0 where there is none.

The trap: rewritings rename functions and add attributes at the end of a `define`, where `!dbg`
would come too early. So `for_rewriting` takes it off there, and `with_subprograms` puts it back:
the scope of an instruction's location says to which function it belongs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_AT_FUNCTION = re.compile(r"^(define [^\n]*) !dbg !\d+ \{$|^(declare) !dbg !\d+", re.M)
_ATTACHED = re.compile(r",? !dbg !(\d+)")
_LOCATION = re.compile(
    r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+), [^\n]*?scope: !(\d+)", re.M
)
_NODE = re.compile(r"!(?P<number>\d+) = (?P<content>.*)")
_REFERENCE = re.compile(r"!(\d+)\b")
_OF_UNITS = "!llvm.dbg.cu"

Numbered = tuple[str, list[int]]
"""A text, and a number for each of its lines."""


def for_rewriting(text: str) -> str:
    """Leave locations of instructions alone."""
    return _AT_FUNCTION.sub(
        lambda head: f"{head[1]} {{" if head[1] is not None else str(head[2]), text
    )


def with_subprograms(text: str) -> str:
    """Say of each function whose instructions have locations which one it is."""
    scopes = {number: scope for number, _, scope in _LOCATION.findall(text)}
    lines = text.split("\n")
    head = 0
    for place, line in enumerate(lines):
        if line.startswith("define "):
            head = place
        elif head and (attached := _ATTACHED.search(line)) and attached[1] in scopes:
            lines[head] = f"{lines[head].removesuffix(' {')} !dbg !{scopes[attached[1]]} {{"
            head = 0
    return "\n".join(lines)


def without_debug(text: str) -> Numbered:
    """LLVM IR as it would be printed without debug information."""
    locations = {number: int(line) for number, line, _ in _LOCATION.findall(text)}
    metadata = _Metadata()
    lines: list[str] = []
    numbers: list[int] = []
    place = 0  # of the nodes
    for line in text.rstrip("\n").split("\n"):
        node = _NODE.fullmatch(line)
        if node is not None:
            place = place or len(lines)
            metadata.nodes[node["number"]] = node["content"]
        elif not line.startswith(_OF_UNITS):
            attached = _ATTACHED.search(line)
            is_instruction = attached is not None and not line.startswith(("define", "declare"))
            lines.append(line if attached is None else _ATTACHED.sub("", line))
            numbers.append(locations.get(attached[1], 0) if attached and is_instruction else 0)
    metadata.number(line for line in lines if line.startswith("!"))
    metadata.number(line for line in lines if " !" in line and not line.startswith("!"))
    lines = [metadata.renumbered(line) if "!" in line else line for line in lines]
    kept = metadata.kept()
    lines[place:place], numbers[place:place] = kept, [0] * len(kept)
    return "\n".join(lines), numbers


@dataclass
class _Metadata:
    """Nodes of metadata; those that are kept are numbered as LLVM does, as they are met."""

    nodes: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, lines: Iterable[str]) -> None:
        for line in lines:
            waiting = _REFERENCE.findall(line)[::-1]
            while waiting:
                node = waiting.pop()
                if node in self.nodes and node not in self.numbers:
                    self.numbers[node] = len(self.numbers)
                    waiting += _REFERENCE.findall(self.nodes[node])[::-1]

    def renumbered(self, line: str) -> str:
        return _REFERENCE.sub(lambda node: f"!{self.numbers.get(node[1], node[1])}", line)

    def kept(self) -> list[str]:
        """Their definitions."""
        return [
            f"!{number} = {self.renumbered(self.nodes[node])}"
            for node, number in self.numbers.items()
        ]


_SECTION = re.compile(r"\s+\.(?:section\s+(?P<name>[^\s,]+)|(?:text|data|bss)\b)")
_LOCATED = re.compile(r"\s+\.loc\s+\d+\s+(?P<line>\d+)\b")
_LABEL = re.compile(r"\.L(?:tmp|func_begin|debug\w*|cu_begin|info_string|sec_end)\w*:")
_OF_DEBUG = re.compile(r"\s+\.(?:file\s+\d|cfi_)")
_FUNCTION = re.compile(r"\s+\.type\s+.*@function")
_INSTRUCTION = re.compile(r"\s+[a-z]")


def assembly_lines(text: str) -> Numbered:
    """Assembly without its debug information; what no location was given for has the last one."""
    lines: list[str] = []
    numbers: list[int] = []
    current, is_debug = 0, False
    for line in text.rstrip("\n").split("\n"):
        section, located = _SECTION.match(line), _LOCATED.match(line)
        if section is not None:
            is_debug = (section["name"] or "").startswith(".debug")
        if located is not None:
            current = int(located["line"])
        elif not (is_debug or _LABEL.match(line) or _OF_DEBUG.match(line)):
            if _FUNCTION.match(line):
                current = 0
            lines.append(line)
            numbers.append(current if _INSTRUCTION.match(line) else 0)
    return "\n".join(lines), numbers
