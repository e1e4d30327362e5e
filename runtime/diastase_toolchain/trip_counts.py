"""How often the loops of LLVM IR text run at most, where the text says so: for few times only.

In: text of MLIR's translation, in which a loop is a backward jump to a block that begins

    %i = phi i64 [ %next, %latch ], [ 0, %before ]
    %more = icmp slt i64 %i, 4
    br i1 %more, label %body, label %after

and has `%next = add i64 %i, 1` inside. Out: a bound, or None. Only speed depends on it, so what
does not look exactly like this (a `while`, a bound known at run time) simply has no bound.

A program of many such loops, each of a few turns, says how many there are. `not_worth_it`
finds the functions that no time need be spent on.

A function's loops count as often as it is called, and one that may be called by its address in each
turn of the others.

Parts of functions have names that two places must agree on. `passes.buffers.parts.outlining` cuts a
function into `name.part0`, `name.part1`, …, each called once by the function `name`, so they run
once if it does. Parts of an inner block, which may be the body of a loop, belong to a name of their
own: `name.inner0.part0`. `passes.buffers.parts.equal_loops` makes a function of loops that are
equal, which is called for each.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import prod

PART = ".part"
"""Between the name of the function and the number of the part."""

INNER = ".inner"
"""Between the name of the function and the number of a block inside of it that is cut."""

LOOP = ".loop"
"""Between the name of the function and the number of a loop that it has many times."""


_NAME = r'(?:"[^"\n]*"|[\w.$-]+)'
_LINE = re.compile(
    rf"^(?P<function>define\b[^@\n]*@(?P<name>{_NAME}))|^(?P<label>{_NAME}):"
    rf"|\blabel %(?P<target>{_NAME})|\bcall\b[^@\n]*@(?P<callee>{_NAME})\(",
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
_MENTION = re.compile(rf"@({_NAME})")


@dataclass
class _Body:
    """What of a function repeats, and whom it calls where, as places in the text."""

    attributes: str
    repeated: list[range] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)


def not_worth_it(text: str, entry: str) -> list[str]:
    """Functions that take no time, whatever is done for their speed.

    They are `cold`, or have no loop and run a few times at most when `entry` is called.
    """
    bodies = _bodies(text)
    callers: dict[str, list[tuple[str, bool]]] = {name: [] for name in bodies}
    for caller, body in bodies.items():
        for callee, place in body.calls:
            in_loop = any(place in part for part in body.repeated)
            callers.get(callee, []).append((caller, in_loop))
    mentions = Counter(name.strip('"') for name in _MENTION.findall(text))
    rarely, before = {entry}, 0
    while len(rarely) > before:
        before = len(rarely)
        rarely.update(
            name
            for name, calls in callers.items()
            if len(calls) == mentions[name] - 1 > 0  # nobody has its address
            and all(caller in rarely and not in_loop for caller, in_loop in calls)
        )
    return [
        name
        for name, body in bodies.items()
        if "cold" in body.attributes or (name in rarely and not body.repeated)
    ]


def _bodies(text: str) -> dict[str, _Body]:
    """All functions; a block that is jumped to from below, or from itself, begins a loop."""
    bodies: dict[str, _Body] = {}
    body = _Body("")
    begun: dict[str, int] = {}
    for match in _LINE.finditer(text):
        if match["function"]:
            begun = {}
            head = text[match.end() : text.index("\n", match.end())]
            body = bodies[match["name"].strip('"')] = _Body(head[head.rindex(")") :])
        elif match["label"]:
            begun[match["label"].strip('"')] = match.start()
        elif match["callee"]:
            body.calls.append((match["callee"].strip('"'), match.start()))
        elif (start := begun.get(match["target"].strip('"'))) is not None:
            body.repeated.append(range(start, match.end()))
    return bodies


@dataclass(frozen=True)
class _Loop:
    """From the label of its first block to the jump back; and how often it runs at most."""

    start: int
    stop: int
    times: int


@dataclass(frozen=True)
class _Function:
    """What repeats in a function, and where it calls which others."""

    loops: list[_Loop] = field(default_factory=list)
    calls: list[tuple[int, str]] = field(default_factory=list)

    def times(self, place: int) -> int:
        """How often it comes to a place in one call."""
        return prod(loop.times for loop in self.loops if loop.start <= place <= loop.stop)

    def turns_of(self, loop: _Loop) -> int:
        """How many turns one of its loops takes in one call."""
        return prod(
            outer.times
            for outer in self.loops
            if outer.start <= loop.stop
            and loop.start <= outer.stop  # also if they overlap
            and not (loop.start < outer.start and outer.stop < loop.stop)
        )


@dataclass(frozen=True)
class Loops:
    """What the loops of a module are, all together."""

    number: int
    """How many there are, those of a function as often as it is called."""
    turns: int
    """A bound on how many turns they take in one call."""
    longest: int = 0
    """The lines of the longest of them."""


def bounded_loops(text: str) -> Loops | None:
    """The loops of a module, if there is a bound on how often each of them runs."""
    functions: dict[str, _Function] = {}
    function = _Function()
    begun: dict[str, int] = {}
    for match in _LINE.finditer(text):
        if match["function"]:
            begun = {}
            function = functions[match["name"].strip('"')] = _Function()
        elif match["label"]:
            begun[match["label"].strip('"')] = match.end()
        elif match["callee"]:
            function.calls.append((match.start(), match["callee"].strip('"')))
        elif (start := begun.get(match["target"].strip('"'))) is not None:
            times = _times(text[start : match.end()], begun, start)
            if times is None:
                return None
            function.loops.append(_Loop(start, match.end(), times))
    loops = [loop for function in functions.values() for loop in function.loops]
    if not loops:
        return Loops(0, 0)
    longest = max(text.count("\n", loop.start, loop.stop) for loop in loops)
    return _together(functions, longest)


def _together(functions: Mapping[str, _Function], longest: int) -> Loops | None:
    """The loops of all functions; None where one calls itself.

    What is called by its address, if at all, may be called in each turn of the others.
    """
    callees = {
        name: {callee for _, callee in function.calls if callee in functions}
        for name, function in functions.items()
    }
    number: dict[str, int] = {}
    turns: dict[str, int] = {}
    try:
        for name in TopologicalSorter(callees).static_order():  # those that are called first
            function = functions[name]
            calls = [call for call in function.calls if call[1] in functions]
            number[name] = len(function.loops) + sum(number[callee] for _, callee in calls)
            turns[name] = sum(function.turns_of(loop) for loop in function.loops) + sum(
                function.times(place) * turns[callee] for place, callee in calls
            )
    except CycleError:
        return None
    called = {callee for each in callees.values() for callee in each}
    roots = functions.keys() - called
    return Loops(
        sum(number[name] for name in roots), prod(max(1, turns[name]) for name in roots), longest
    )


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
