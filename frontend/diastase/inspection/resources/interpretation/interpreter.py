"""The loops of the abstract interpreter (`regions`): looked at once, wherever that says everything.

Where a turn of a loop depends on its index or on what is carried (`VarietyError`), the loop is, in
this order,

    unrolled           within a budget of equations
    summed             by a symbol for the number of the turn; a carried integer that grows by the
                       same number in every turn is an expression in it
    taken as unknown   loops and branches in it get names (`choices`)

A `while_loop` is unrolled as long as its condition is known; else its turns are unknown.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from diastase.inspection.resources.interpretation.exact import (
    Number,
    contains,
    expanded,
    index_symbol,
    is_known,
    trip_count,
)
from diastase.inspection.resources.interpretation.loop_operands import Loop
from diastase.inspection.resources.interpretation.regions import Regions, TooLongError, VarietyError
from diastase.inspection.resources.interpretation.values import NOTHING, VARYING, Value

E = TypeVar("E")


@dataclass
class Interpreter(Regions[E]):
    """One analysis of a program."""

    _bounds: dict[Number, Number] = field(default_factory=dict[Number, Number])
    """How many values each index of a sum has, the outer ones first."""
    _looked_at: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """By a loop and what is known of its operands: its effect, and what is known of its results."""

    def loop(
        self, equation: Any, operands: Sequence[Value], effect: E, after: frozenset[Any]
    ) -> Sequence[Value]:
        """A loop with something of a circuit in it."""
        key = (id(equation), tuple(operands), after)
        if key not in self._looked_at:
            self._looked_at[key] = self._effect_of(Loop.read(equation, operands), after)
        made, results = self._looked_at[key]
        self.domain.follow(effect, made)
        return results

    def _effect_of(self, loop: Loop, after: frozenset[Any]) -> tuple[E, Sequence[Value]]:
        ways = self._ways(loop) if loop.bounds else (self._while_known, self._while_unknown)
        after = after.union(*(bound.outcomes for bound in loop.bounds))
        trips = self._trips(loop) if loop.bounds else None
        for way in ways:
            inner = self.domain.start()
            try:
                found = way(loop, trips, inner, after)
            except VarietyError:
                if way == ways[-1] or not loop.bounds:
                    raise
                continue
            if found is not None:
                return found
        raise AssertionError("the last way is always open")

    def _ways(self, loop: Loop) -> tuple[Any, ...]:
        ways = (self._unrolled, self._summed, self._unknown)
        return ways if any(loop.counted) else (self._uniform, *ways)

    def _trips(self, loop: Loop) -> Number:
        lower, upper, step = (bound.number for bound in loop.bounds)
        if any(number is VARYING for number in (lower, upper, step)):
            raise VarietyError
        if lower is None or upper is None or not is_known(step):
            return self.choices.trips(loop.equation)
        return trip_count(lower, upper, step, self._bounds)

    def _turn(
        self, loop: Loop, index: Value, carry: Sequence[Value], inner: E, after: frozenset[Any]
    ) -> list[Value]:
        """Go through the body; again, while there are outcomes that a later turn knows of."""
        while True:
            turn = self.domain.start()
            if loop.condition is not None:
                given = [*loop.tested, *carry]
                (going,) = self.region(loop.condition, given, self.domain.start(), after)
                after = after | going.outcomes
            results = self.region(loop.body, loop.turn_operands(index, carry), turn, after)
            wider = [
                Value(one.number, one.outcomes | now.outcomes)
                for one, now in zip(carry, results, strict=True)
            ]
            if wider == list(carry):
                self.domain.follow(inner, turn)
                return results
            carry = wider

    def _uniform(
        self, loop: Loop, trips: Number, inner: E, after: frozenset[Any]
    ) -> tuple[E, list[Value]] | None:
        """All turns alike."""
        results = self._turn(loop, Value(VARYING), loop.varied(VARYING), inner, after)
        return self.domain.repeated(inner, trips), loop.left(results)

    def _unrolled(
        self, loop: Loop, trips: Number, inner: E, after: frozenset[Any]
    ) -> tuple[E, list[Value]] | None:
        """Turn by turn, if the budget is enough."""
        size = max(1, len(loop.body.jaxpr.eqns))
        if not is_known(trips) or trips * size > self.budget or loop.bounds[0].number is None:
            return None
        carry = list(loop.carry)
        with self._turn_by_turn() as spent:
            for turn in range(trips):
                index = loop.index(turn, trips)
                carry = self.region(loop.body, loop.turn_operands(index, carry), inner, after)
        return None if spent else (inner, carry)

    @contextmanager
    def _turn_by_turn(self) -> Generator[list[bool]]:
        """Spend the budget; what is given has an element afterwards if it was not enough.

        Of nested loops all are given up, up to the outermost one.
        """
        spent: list[bool] = []
        self.repeating += 1
        try:
            yield spent
        except TooLongError:
            if self.repeating > 1:
                raise
            spent.append(True)
        finally:
            self.repeating -= 1

    def _summed(
        self, loop: Loop, trips: Number, inner: E, after: frozenset[Any]
    ) -> tuple[E, list[Value]] | None:
        """With a symbol for the number of the turn."""
        if loop.bounds[0].number is None or not is_known(loop.bounds[2].number):
            return None
        number = index_symbol("i")
        index = loop.index(number, trips)
        self._bounds[number] = trips
        try:
            growths = self._growths(loop, index, number, after)
            carry = [_grown(*pair, number) for pair in zip(loop.varied(None), growths, strict=True)]
            results = self._turn(loop, index, carry, inner, after)
        finally:
            del self._bounds[number]
        left = [
            one if growth is None else _grown(one, growth, trips)
            for one, growth in zip(loop.left(results), growths, strict=True)
        ]
        return self.domain.summed(inner, number, trips), left

    def _growths(
        self, loop: Loop, index: Value, turn: Number, after: frozenset[Any]
    ) -> list["_Growth | None"]:
        """By how much carried integers grow in each turn."""
        counted = loop.counted
        if not any(counted):
            return [None] * len(counted)
        symbols = [index_symbol("c") if counts else None for counts in counted]
        given = [
            one if symbol is None else Value(symbol, one.outcomes)
            for one, symbol in zip(loop.varied(None), symbols, strict=True)
        ]
        operands = loop.turn_operands(index, given)
        found = self.region(loop.body, operands, self.domain.start(), after)
        own = [turn, *(symbol for symbol in symbols if symbol is not None)]
        growths: list[_Growth | None] = []
        for symbol, result, start in zip(symbols, found, loop.carry, strict=True):
            growth = None
            if symbol is not None and result.number is not None:
                growth = expanded(result.number - symbol)
            is_same = growth is not None and not any(contains(growth, each) for each in own)
            growths.append(_Growth(start.number, growth) if is_same else None)
        return growths

    def _unknown(
        self, loop: Loop, trips: Number, inner: E, after: frozenset[Any]
    ) -> tuple[E, list[Value]] | None:
        """Nothing known of a turn but that there is one."""
        results = self._turn(loop, NOTHING, loop.varied(None), inner, after)
        return self.domain.repeated(inner, trips), loop.left(results)

    def _while_known(
        self, loop: Loop, trips: None, inner: E, after: frozenset[Any]
    ) -> tuple[E, list[Value]] | None:
        """Turn by turn, as long as the condition is known and the budget is enough."""
        carry, condition = list(loop.carry), loop.condition
        assert condition is not None
        with self._turn_by_turn() as spent:
            while True:
                given = [*loop.tested, *carry]
                (going,) = self.region(condition, given, self.domain.start(), after)
                if going.number is VARYING:
                    raise VarietyError
                if not is_known(going.number):
                    return None
                if not going.number:
                    break
                carry = self.region(loop.body, loop.turn_operands(NOTHING, carry), inner, after)
        return None if spent else (inner, carry)

    def _while_unknown(
        self, loop: Loop, trips: None, inner: E, after: frozenset[Any]
    ) -> tuple[E, list[Value]]:
        results = self._turn(loop, NOTHING, loop.varied(None), inner, after)
        turns = self.choices.trips(loop.equation)
        return self.domain.repeated(inner, turns), loop.left(results)


@dataclass(frozen=True)
class _Growth:
    """A carried integer: what it starts with, and what each turn adds."""

    start: Number
    each: Number


def _grown(one: Value, growth: _Growth | None, turns: Number) -> Value:
    """A carried value after some turns."""
    if growth is None:
        return one
    return Value(expanded(growth.start + growth.each * turns), one.outcomes)
