"""Loops: a body whose variables are carried from one iteration to the next.

`for` over items that a program can go through is a `for_loop`; with `break` or `return` in it, and
for `while`, it is a `while_loop`. Of that the condition is carried, too: it is computed at the end
of the body, once for each time that Python would compute it, so it may measure.

A variable that is first assigned in the body has no value before it: it is `MaybeDefined`, but
where the loop certainly runs.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from diastase.api.control_flow import for_loop, while_loop
from diastase.autograph.staging.errors import LoopValueError
from diastase.autograph.staging.items import Items
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
    is_traced,
    is_undefined,
    packed,
    pairs_among,
    unpacked,
    written_back,
)
from diastase_mlir.diagnostics import user_span

Test = Callable[[], Any]


def loop_over(
    items: Items, test: Test | None, body: Callable[[Any], Any], names: Variables
) -> None:
    """Go through items, as long as `test` holds, if there is one."""
    if test is None:
        certain = items.known_length is not None

        def run(step: Callable[..., Any], carry: Any) -> Any:
            return _called(for_loop(*items.bounds), lambda k, *state: step(k, *state), carry)

        _traced(names, lambda k: body(items.item(k)), run, body, certain)
        return
    length = items.length
    first = _both(length > 0, test)

    def run_while(step: Callable[..., Any], carry: Any) -> Any:
        def body_of_while(position: Any, _: Any, *state: Any) -> Any:
            end = step(position, *state)
            more = _both(position + 1 < length, test)
            return (position + 1, more, *(() if end is None else (end,)))

        return _while(body_of_while, (0, first), carry)

    _traced(names, lambda k: body(items.at(k)), run_while, body, first is True)


def loop_while(first: Any, test: Test, body: Callable[[], Any], names: Variables) -> None:
    """Repeat while `test` holds; `first` is what it gave before the first iteration."""

    def run(step: Callable[..., Any], carry: Any) -> Any:
        def body_of_while(_: Any, *state: Any) -> Any:
            end = step(None, *state)
            with nothing_else_changes(test, names):
                more = _boolean(test())
            return (more, *(() if end is None else (end,)))

        return _while(body_of_while, (_boolean(first),), carry)

    _traced(names, lambda _: body(), run, body, not is_traced(first))


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


def _traced(
    variables: Variables,
    body: Callable[[Any], Any],
    run: Callable[[Callable[..., Any], Any], Any],
    block: Callable[..., Any],
    certain: bool,
) -> None:
    """Trace a loop; `certain`: it runs at least once."""
    before = variables.get()
    pairs = pairs_among(before)
    while True:
        try:
            after = _Loop(variables, before, pairs, certain).traced(body, run, block)
        except NeedsPair as need:
            pairs = {**pairs, need.position: need.types}
        else:
            break
        finally:
            variables.set(before)
    variables.set(after)


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
                value = after.value if isinstance(after, MaybeDefined) else after
                raise NeedsPair(position, Split.of(value).types())
            if types is None and (isinstance(after, MaybeDefined) or is_undefined(after)):
                if is_undefined(before):
                    continue
                raise NeedsPair(position, Split.of(before).types())
            value = after.value if isinstance(after, MaybeDefined) else after
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
