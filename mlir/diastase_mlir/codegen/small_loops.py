"""How often the loops of LLVM IR text run at most, where the text says so: for few times only.

In: text of MLIR's translation, in which a loop is a backward jump to a block that begins

    %i = phi i64 [ %next, %latch ], [ 0, %before ]
    %more = icmp slt i64 %i, 4
    br i1 %more, label %body, label %after

and has `%next = add i64 %i, 1` inside. Out: a bound, or None. Only speed depends on it, so what
does not look exactly like this (a `while`, a bound known at run time) simply has no bound.

A program of many such loops, each of a few turns, says how many there are. `run_once` finds the
long functions without any.

The trap: a function may be called by another one's loop, so counts of functions are multiplied; not
those of the parts of one function, which are called one after the other. A loop that stands for
several equal ones (`passes.parts.equal_loops`) counts once for each call.
"""

import re
from dataclasses import dataclass
from math import prod

from diastase_mlir.function_parts import LOOP, PART

_NAME = r'(?:"[^"\n]*"|[\w.$-]+)'
_FUNCTION_LABEL_OR_JUMP = re.compile(
    rf"^(?P<function>define\b[^@\n]*@(?P<name>{_NAME}))|^(?P<label>{_NAME}):"
    rf"|\blabel %(?P<target>{_NAME})",
    re.MULTILINE,
)
_PHI = re.compile(
    rf"\s*%(?P<index>{_NAME}) = phi i64 \[ (?P<one>%?{_NAME}), %{_NAME} \],"
    rf" \[ (?P<other>%?{_NAME}), %{_NAME} \]$"
)
_END = re.compile(
    rf"\s*%(?P<more>{_NAME}) = icmp slt i64 %(?P<index>{_NAME}), (?P<end>\d+)\n"
    rf"\s*br i1 %(?P=more), label %(?P<body>{_NAME}), label %(?P<after>{_NAME})$",
    re.MULTILINE,
)
_FUNCTION = re.compile(rf"^define\b[^@\n]*@({_NAME})\(.*?^}}$", re.MULTILINE | re.DOTALL)


def run_once(text: str, entry: str, least: int) -> list[str]:
    """Functions of `least` lines, without a loop, that run once: the entry, and its parts."""
    found: list[str] = []
    for function in _FUNCTION.finditer(text):
        name, _, part = function[1].strip('"').partition(PART)
        is_long = text.count("\n", function.start(), function.end()) >= least
        if (
            is_long
            and name == entry
            and (not part or part.isdigit())
            and not _has_loop(function[0])
        ):
            found.append(function[1].strip('"'))
    return found


def _has_loop(function: str) -> bool:
    """Whether any block jumps to one before it, or to itself."""
    begun: set[str] = set()
    for match in _FUNCTION_LABEL_OR_JUMP.finditer(function):
        if match["label"]:
            begun.add(match["label"].strip('"'))
        elif match["target"] and match["target"].strip('"') in begun:
            return True
    return False


@dataclass(frozen=True)
class _Loop:
    """From the label of its first block to the jump back; and how often it runs at most."""

    start: int
    stop: int
    times: int

    def repeats(self, other: "_Loop") -> bool:
        """Whether the other one may run in each turn of this one."""
        is_apart = self.stop < other.start or other.stop < self.start
        return not is_apart and not (other.start < self.start and self.stop < other.stop)


@dataclass(frozen=True)
class Loops:
    """What the loops of a module are, all together."""

    number: int
    turns: int
    """A bound on how many turns they take in one call."""
    longest: int = 0
    """The lines of the longest of them."""


def bounded_loops(text: str) -> Loops | None:
    """The loops of a module, if there is a bound on how often each of them runs."""
    functions: list[list[_Loop]] = []
    parts: dict[str, list[int]] = {}
    begun: dict[str, int] = {}
    for match in _FUNCTION_LABEL_OR_JUMP.finditer(text):
        if match["function"]:
            begun = {}
            functions.append([])
            name, _, _ = match["name"].partition(PART)
            name, is_loop, _ = name.partition(LOOP)
            calls = text.count(f"@{match['name']}(") - 1 if is_loop else 1
            parts.setdefault(name, []).extend([len(functions) - 1] * calls)
        elif match["label"]:
            begun[match["label"].strip('"')] = match.end()
        elif (start := begun.get(match["target"].strip('"'))) is not None:
            times = _times(text[start : match.end()], begun, start)
            if times is None:
                return None
            functions[-1].append(_Loop(start, match.end(), times))
    if not any(functions):
        return Loops(0, 0)
    turns = prod(
        max(1, sum(_turns(functions[number]) for number in part)) for part in parts.values()
    )
    loops = [loop for function in functions for loop in function]
    longest = max(text.count("\n", loop.start, loop.stop) for loop in loops)
    number = sum(len(functions[number]) for part in parts.values() for number in part)
    return Loops(number, turns, longest)


def _turns(loops: list[_Loop]) -> int:
    """The turns of nested loops and of those one after the other, all together."""
    return sum(prod(outer.times for outer in loops if outer.repeats(loop)) for loop in loops)


def _times(loop: str, begun: dict[str, int], start: int) -> int | None:
    """How often a loop runs; None where that is not written in its first block and its step."""
    _, _, block = loop.partition("\n")
    lines = block.split("\n", 16)
    phis = [phi for phi in map(_PHI.match, lines) if phi]
    number = next((n for n, line in enumerate(lines) if " = phi " not in line), 0)
    end = _END.match("\n".join(lines[number : number + 2]))
    if end is None or not _leaves(end, begun, start):
        return None
    phi = next((phi for phi in phis if phi["index"] == end["index"]), None)
    if phi is None:
        return None
    first, following = sorted((phi["one"], phi["other"]), key=lambda value: value.startswith("%"))
    if not first.isdigit() or not following.startswith("%"):
        return None
    step = re.search(
        rf"^\s*{re.escape(following)} = add (?:nuw |nsw )*i64 %{re.escape(phi['index'])}, (\d+)$",
        block,
        re.MULTILINE,
    )
    if step is None or int(step[1]) == 0:
        return None
    return max(0, -(-(int(end["end"]) - int(first)) // int(step[1])))


def _leaves(end: re.Match[str], begun: dict[str, int], start: int) -> bool:
    """Whether the first block's jump goes into the loop while it runs, and out of it after."""
    body, after = end["body"].strip('"'), end["after"].strip('"')
    return begun.get(body, -1) > start and after not in begun
