"""Loops: statements of their own, or their turns.

What a loop carries beside the register is a variable, as far as it changes and has an expression.
The trap: a loop's body is read again where what it carries turns out to have none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.inspection.circuit_texts.expressions import (
    SUM,
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    expressed,
    first_condition,
    given,
    infix,
)
from diastase.inspection.circuit_texts.reading.choices import one_of
from diastase.inspection.circuit_texts.reading.reader import Reader
from diastase.inspection.circuit_texts.reading.variables import declare, update, variables_for
from diastase.inspection.circuit_texts.statements import For, Statement, While
from diastase.inspection.circuit_texts.values import Unsayable, Value, scalar_of, scalar_value
from diastase.jaxprs.control_flow import LoopOperands
from diastase.primitives.quantum import is_register, touches_register


def for_loop(reader: Reader, equation: Any, operands: Sequence[Value]) -> list[Value]:
    """A loop over a range."""
    parts = LoopOperands.read(operands, equation.params)
    bounds = [scalar_of(bound) for bound in parts.bounds]
    backwards = equation.params["apply_reverse_transform"]
    if not reader.language.repeats:
        return _turns_of(reader, equation, parts, bounds)
    found = _range(bounds, backwards)
    if found is None:
        return list(parts.carry)
    first, stride, last, is_natural = found
    index = Expression(reader.index_name(), kind="i", is_natural=is_natural)
    body: ClosedJaxpr = equation.params["body_jaxpr"]
    given_values = [*parts.constants, scalar_value(index, np.dtype(np.int64))]

    def turn(carry: Sequence[Value]) -> list[Value]:
        return reader.region(body, [*given_values, *carry])

    def loop(body: Sequence[Statement]) -> Statement:
        return For(index, first, stride, last, tuple(body))

    return _loop(reader, loop, turn, body, parts)


def _turns_of(
    reader: Reader, equation: Any, parts: LoopOperands, bounds: Sequence[Scalar]
) -> list[Value]:
    """The turns of a loop over a range, one after the other."""
    condition = first_condition(bounds)
    if condition is not None:
        cases = [[given(bound, condition, holds) for bound in bounds] for holds in (False, True)]
        runs = [lambda case=case: _turns_of(reader, equation, parts, case) for case in cases]
        which = Choice(condition, np.int64(0), np.int64(1))
        return one_of(reader, which, runs, equation.outvars)
    if not all(isinstance(bound, np.generic) for bound in bounds):
        raise NotSayableError("has bounds that another loop changes")
    lower, upper, step = (int(bound) for bound in bounds if isinstance(bound, np.generic))
    turns = range(lower, upper, step) if step else range(0)
    body, carry = equation.params["body_jaxpr"], list(parts.carry)
    for index in turns[::-1] if equation.params["apply_reverse_transform"] else turns:
        reader.count_turn()
        carry = reader.region(body, [*parts.constants, np.asarray(index), *carry])
    return carry


def while_loop(reader: Reader, equation: Any, operands: Sequence[Value]) -> list[Value]:
    """A loop as long as a condition of what it carries holds."""
    parts = LoopOperands.read(operands, equation.params)
    condition, body = equation.params["cond_jaxpr"], equation.params["body_jaxpr"]
    if any(map(touches_register, condition.jaxpr.eqns)):
        raise NotSayableError("measures in its condition")
    carried = list[Value]()

    def goes_on(carry: Sequence[Value]) -> Scalar:
        (found,) = reader.region(condition, [*parts.tested, *carry])
        return scalar_of(found)

    def turn(carry: Sequence[Value]) -> list[Value]:
        carried[:] = carry
        return reader.region(body, [*parts.constants, *carry])

    def loop(body: Sequence[Statement]) -> Statement:
        return While(expressed(goes_on(carried)), tuple(body))

    if not reader.language.repeats:
        before = reader.state()
        carry: list[Value] = list(parts.carry)
        while isinstance(found := goes_on(carry), np.generic):
            if not found:
                return carry
            reader.count_turn()
            carry = turn(carry)
        reader.return_to(before)
    return _loop(reader, loop, turn, body, parts)


def _loop(
    reader: Reader,
    loop: Callable[[Sequence[Statement]], Statement],
    turn: Callable[[Sequence[Value]], list[Value]],
    body: ClosedJaxpr,
    parts: LoopOperands,
) -> list[Value]:
    """Write a loop, whose carried values are variables where it changes them."""
    start = len(body.jaxpr.invars) - len(parts.carry)
    pairs = list(zip(body.jaxpr.invars[start:], body.jaxpr.outvars, strict=True))
    changed = [
        place
        for place, (inside, outside) in enumerate(pairs)
        if inside is not outside and not is_register(inside)
    ]
    carry = list(parts.carry)
    before = reader.state()
    while True:
        variables = _carried(reader, carry, changed, body)
        inside = [variables[p] if p in variables else carry[p] for p in range(len(carry))]
        block, results = _turn(reader, turn, inside, variables)
        lost = [place for place in variables if isinstance(results[place], Unsayable)]
        if not lost:
            reader.write(loop(block))
            return inside
        for place in lost:
            carry[place] = results[place]
        reader.return_to(before)


def _turn(
    reader: Reader,
    turn: Callable[[Sequence[Value]], list[Value]],
    inside: Sequence[Value],
    variables: Mapping[int, Value],
) -> tuple[list[Statement], list[Value]]:
    """The statements of a loop's body, and what it gives to the next turn."""
    results = list[Value]()

    def write() -> None:
        results[:] = turn(inside)
        if not any(isinstance(results[place], Unsayable) for place in variables):
            update(reader, variables, results)

    return reader.captured(write), results


def _carried(
    reader: Reader, carry: list[Value], changed: Sequence[int], body: ClosedJaxpr
) -> dict[int, Value]:
    """Declare the variables of a loop; what can have none has no expression."""
    variables = dict[int, Value]()
    for place in changed:
        if isinstance(carry[place], Unsayable):
            continue
        made = variables_for(reader, body.jaxpr.outvars[place].aval)
        if isinstance(made, Unsayable):
            carry[place] = made
        else:
            declare(reader, made, carry[place])
            variables[place] = made
    return variables


def _range(
    bounds: Sequence[Scalar], backwards: bool
) -> tuple[Expression, int, Expression, bool] | None:
    """First, stride, last; whether no number is negative. None where the range is empty."""
    lower, upper, step = bounds
    if not isinstance(step, np.generic):
        raise NotSayableError("has a step that is computed")
    if isinstance(lower, np.generic) and isinstance(upper, np.generic):
        turns = range(int(lower), int(upper), int(step)) if step else range(0)
        if not turns:
            return None
        turns = turns[::-1] if backwards else turns
        first, last = expressed(np.int64(turns[0])), expressed(np.int64(turns[-1]))
        return first, turns.step, last, min(turns) >= 0
    if step == 0:
        return None
    if backwards and abs(int(step)) != 1:
        raise NotSayableError("goes backwards over a computed range in steps")
    low, high = expressed(lower), expressed(upper)
    sign = 1 if int(step) > 0 else -1
    last = infix("-" if sign > 0 else "+", SUM)("i", high, expressed(np.int64(1)))
    first, last = (last, low) if backwards else (low, last)
    natural = low.is_natural if sign > 0 else high.is_natural
    return first, -int(step) if backwards else int(step), last, natural
