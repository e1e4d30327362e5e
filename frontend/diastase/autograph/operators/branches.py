"""`if` and conditional expressions on traced values: both branches become branches of `cond`.

What a branch assigns is what it returns. Numbers that are equal in both branches stay numbers;
variables that only one of them assigns become `MaybeDefined`, which takes a second tracing.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase.api.control_flow import cond
from diastase.autograph.staging.errors import BranchValueError
from diastase.autograph.staging.staging import (
    in_words,
    named_as_in,
    nothing_else_changes,
    staged,
)
from diastase.autograph.staging.variables import (
    MaybeDefined,
    NeedsPair,
    Pairs,
    Split,
    Variables,
    copied,
    is_undefined,
    packed,
    pairs_among,
    same_number,
    unpacked,
    written_back,
)
from diastase_mlir.diagnostics import user_span

Block = Callable[[], Any]


def choose(condition: Any, blocks: tuple[Block, Block], variables: Variables, count: int) -> None:
    """Run the first block if the condition holds, else the other; `count` variables are used."""
    before = variables.get()
    pairs = pairs_among(before[:count])
    while True:
        try:
            after = _Choice(blocks, variables, before, pairs, count).traced(condition)
        except NeedsPair as need:
            pairs = {**pairs, need.position: need.types}
        else:
            break
        finally:
            variables.set(before)
    variables.set((*after, *before[count:]))


class _Choice:
    """One attempt to trace both blocks."""

    def __init__(
        self,
        blocks: tuple[Block, Block],
        variables: Variables,
        before: tuple[Any, ...],
        pairs: Pairs,
        count: int,
    ) -> None:
        self.blocks, self.variables, self.before = blocks, variables, before
        self.pairs, self.names = pairs, variables.names[:count]
        self.given: dict[int, tuple[Any, ...]] = {}
        self.ends: dict[int, tuple[Any, ...]] = {}

    def traced(self, condition: Any) -> tuple[Any, ...]:
        """The variables afterwards."""
        choice = cond(condition)(lambda: self._branch(0)).otherwise(lambda: self._branch(1))
        with named_as_in(self.names, ("the block of the condition", "the other block")):
            arrays = choice()
        return tuple(
            self._value(position, None if arrays is None else arrays[name])
            for position, name in enumerate(self.names)
        )

    def _branch(self, number: int) -> Any:
        self.given[number] = copied(self.before)
        self.variables.set(self.given[number])
        block = self.blocks[number]
        with staged(), nothing_else_changes(block, self.variables, self.before):
            block()
        self.ends[number] = end = self.variables.get()[: len(self.names)]
        if len(self.ends) == 2:
            self._check()
        parts = {
            name: packed(value, self.pairs.get(position))
            for position, (name, value) in enumerate(zip(self.names, end, strict=True))
        }
        return parts or None

    def _check(self) -> None:
        for position, name in enumerate(self.names):
            values = [end[position] for end in self.ends.values()]
            if position not in self.pairs:
                _require_defined(position, values)
            splits = [Split.of(_plain(value)) for value in values if not is_undefined(value)]
            if len(splits) == 2 and not splits[0].fits(splits[1]):
                first, other = map(_described, map(_plain, values))
                raise BranchValueError(
                    variable=in_words(name), first=first, other=other, span=user_span()
                )

    def _value(self, position: int, arrays: Any) -> Any:
        ends = [end[position] for end in self.ends.values()]
        name, types = self.names[position], self.pairs.get(position)
        if types is not None:
            value = unpacked(name, None, arrays, types)
            partly = any(is_undefined(end) or isinstance(end, MaybeDefined) for end in ends)
            return value if partly else value.value
        numbers = [Split.of(end).arrays for end in ends]
        kept = [
            first[0] if len(ends) == 2 and same_number(*first) else array
            for *first, array in zip(*numbers, arrays or (), strict=True)
        ]
        after = Split.of(ends[0]).joined(kept)
        if all(self.given[k][position] is end[position] for k, end in self.ends.items()):
            return written_back(self.before[position], after)
        return after


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, MaybeDefined) else value


def _require_defined(position: int, values: Sequence[Any]) -> None:
    """Ask for a pair where a variable has a value in one block only, or perhaps."""
    defined = [_plain(value) for value in values if not is_undefined(value)]
    partly = any(isinstance(value, MaybeDefined) for value in values)
    if defined and (partly or len(defined) < len(values)):
        raise NeedsPair(position, Split.of(defined[0]).types())


def _described(value: Any) -> str:
    """A value in words of types: `f64[3]`, `'a'`, `{'a': f64[]}`."""
    split = Split.of(value)
    if split.tree is None or not split.arrays:
        return repr(value)
    types = split.types().arrays
    return str(split.joined([_Type(aval.str_short(short_dtypes=True)) for aval in types]))


class _Type(str):
    """A type, printed without quotes."""

    __slots__ = ()
    __repr__ = str.__str__
