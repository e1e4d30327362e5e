"""Statements on traced values: branches of `cond`, bodies of `for_loop` and `while_loop`.

What a branch assigns is what it returns. Numbers that are equal in both branches stay numbers.

The variables of a body are carried from one iteration to the next. `for` over items that a program
can go through is a `for_loop`; with `break` or `return` in it, and for `while`, it is a
`while_loop`. Of that the condition is carried, too: it is computed at the end of the body, once for
each time that Python would compute it, so it may measure.

A variable that has a value on some paths only (one branch assigns it, or a body that may not run)
becomes `MaybeDefined`, which takes a second tracing.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from diastase.api.control_flow import cond, for_loop, while_loop
from diastase.autograph.staging.errors import BranchValueError, LoopValueError
from diastase.autograph.staging.items import Items
from diastase.autograph.staging.staging import in_words, named_as_in, nothing_else_changes, staged
from diastase.autograph.staging.variables import (
    MaybeDefined,
    NeedsPair,
    Pairs,
    Split,
    Variables,
    copied,
    is_traced,
    is_undefined,
    packed,
    pairs_among,
    plain,
    same_number,
    unpacked,
    written_back,
)
from diastase_mlir.diagnostics import user_span

Block = Callable[[], Any]


def choose(condition: Any, blocks: tuple[Block, Block], variables: Variables, count: int) -> None:
    """Run the first block if the condition holds, else the other; `count` variables are used."""

    def attempt(before: tuple[Any, ...], pairs: Pairs) -> tuple[Any, ...]:
        return _Choice(blocks, variables, before, pairs, count).traced(condition)

    _traced(variables, count, attempt)


def _traced(
    variables: Variables, count: int, attempt: Callable[[tuple[Any, ...], Pairs], tuple[Any, ...]]
) -> None:
    """Trace a statement until it is known which variables have a value on some paths only.

    `attempt` gives the values of the first `count` variables afterwards; all others are unchanged.
    """
    before = variables.get()
    pairs = pairs_among(before[:count])
    while True:
        try:
            after = attempt(before, pairs)
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
            splits = [Split.of(plain(value)) for value in values if not is_undefined(value)]
            if len(splits) == 2 and not splits[0].fits(splits[1]):
                first, other = map(_described, map(plain, values))
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


def _require_defined(position: int, values: Sequence[Any]) -> None:
    """Ask for a pair where a variable has a value in one block only, or perhaps."""
    defined = [plain(value) for value in values if not is_undefined(value)]
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


Test = Callable[[], Any]


def loop_over(
    items: Items, test: Test | None, body: Callable[[Any], Any], names: Variables
) -> None:
    """Go through items, as long as `test` holds, if there is one."""
    if test is None:
        certain = items.known_length is not None

        def run(step: Callable[..., Any], carry: Any) -> Any:
            return _called(for_loop(*items.bounds), lambda *turn: step(*turn), carry)

        _trace_loop(names, lambda k: body(items.item(k)), run, body, certain)
        return
    length = items.length
    first = _both(length > 0, test)

    def run_while(step: Callable[..., Any], carry: Any) -> Any:
        def body_of_while(position: Any, _: Any, *state: Any) -> Any:
            end = step(position, *state)
            more = _both(position + 1 < length, test)
            return (position + 1, more, *(() if end is None else (end,)))

        return _while(body_of_while, (0, first), carry)

    _trace_loop(names, lambda k: body(items.at(k)), run_while, body, first is True)


def loop_while(first: Any, test: Test, body: Callable[[], Any], names: Variables) -> None:
    """Repeat while `test` holds; `first` is what it gave before the first iteration."""

    def run(step: Callable[..., Any], carry: Any) -> Any:
        def body_of_while(_: Any, *state: Any) -> Any:
            end = step(None, *state)
            with nothing_else_changes(test, names):
                more = _boolean(test())
            return (more, *(() if end is None else (end,)))

        return _while(body_of_while, (_boolean(first),), carry)

    _trace_loop(names, lambda _: body(), run, body, not is_traced(first))


def _while(body: Callable[..., Any], leading: tuple[Any, ...], carry: Any) -> Any:
    """A loop whose condition is the last of its leading values."""
    place = len(leading) - 1
    loop = while_loop(lambda *state: state[place])(body)
    state = loop(*leading) if carry is None else loop(*leading, carry)
    return None if carry is None else state[-1]


def _called(loop: Callable[..., Any], body: Callable[..., Any], carry: Any) -> Any:
    run = loop(body)
    return run() if carry is None else run(carry)


def _both(holds: Any, test: Test) -> Any:
    """Whether there is another item, and the test holds."""
    if not is_traced(holds):
        return _boolean(test()) if holds else False
    return jnp.logical_and(holds, _boolean(test()))


def _boolean(value: Any) -> Any:
    """A condition as True, False or a boolean of the program."""
    if not is_traced(value):
        return bool(value)
    return value if value.dtype == bool and value.shape == () else jnp.squeeze(value) != 0


def _trace_loop(
    variables: Variables,
    body: Callable[[Any], Any],
    run: Callable[[Callable[..., Any], Any], Any],
    block: Callable[..., Any],
    certain: bool,
) -> None:
    """Trace a loop; `certain`: it runs at least once."""

    def attempt(before: tuple[Any, ...], pairs: Pairs) -> tuple[Any, ...]:
        return _Loop(variables, before, pairs, certain).traced(body, run, block)

    _traced(variables, len(variables.names), attempt)


class _Loop:
    """One attempt to trace a loop."""

    def __init__(
        self, variables: Variables, before: tuple[Any, ...], pairs: Pairs, certain: bool
    ) -> None:
        self.variables, self.before, self.pairs = variables, before, pairs
        self.certain = certain
        self.given: tuple[Any, ...] = ()
        self.start: tuple[Any, ...] = ()
        """What is given, as it was before the body changed lists and dictionaries of it."""
        self.end: tuple[Any, ...] = ()

    def traced(
        self,
        body: Callable[[Any], Any],
        run: Callable[[Callable[..., Any], Any], Any],
        block: Callable[..., Any],
    ) -> tuple[Any, ...]:
        """The variables afterwards."""

        def step(position: Any, carry: Any = None) -> Any:
            self.given = self._unpacked(carry)
            self.start = copied(self.given)
            self.variables.set(self.given)
            with staged(), nothing_else_changes(block, self.variables, self.before):
                body(position)
            self.end = self.variables.get()
            self._check()
            return self._packed(self.end)

        with named_as_in(self.variables.names):
            arrays = run(step, self._packed(self.before))
        results = self._unpacked(arrays)
        values = zip(self.before, self.start, self.end, results, strict=True)
        return tuple(self._value(position, *value) for position, value in enumerate(values))

    def _packed(self, values: tuple[Any, ...]) -> Any:
        parts = {
            name: packed(value, self.pairs.get(position))
            for position, (name, value) in enumerate(zip(self.variables.names, values, strict=True))
        }
        return parts or None

    def _unpacked(self, carry: Any) -> tuple[Any, ...]:
        return tuple(
            unpacked(name, value, carry[name], self.pairs.get(position))
            for position, (name, value) in enumerate(
                zip(self.variables.names, self.before, strict=True)
            )
        )

    def _check(self) -> None:
        for position, (before, after) in enumerate(zip(self.before, self.end, strict=True)):
            types = self.pairs.get(position)
            if types is None and is_undefined(before) and not is_undefined(after):
                value = plain(after)
                raise NeedsPair(position, Split.of(value).types())
            if types is None and (isinstance(after, MaybeDefined) or is_undefined(after)):
                if is_undefined(before):
                    continue
                raise NeedsPair(position, Split.of(before).types())
            value = plain(after)
            expected = types or Split.of(before)
            if not is_undefined(value) and not expected.fits(Split.of(value)):
                name = self.variables.names[position]
                raise LoopValueError(variable=in_words(name), span=user_span())

    def _value(self, position: int, before: Any, start: Any, end: Any, result: Any) -> Any:
        if position in self.pairs:
            defined = not is_undefined(end) and not isinstance(end, MaybeDefined)
            return result.value if self.certain and defined else result
        kept = [
            first if inner is last else array
            for first, inner, last, array in zip(
                *(Split.of(value).arrays for value in (before, start, end, result)), strict=True
            )
        ]
        after = Split.of(result).joined(kept)
        return written_back(before, after) if end is self.given[position] else after
