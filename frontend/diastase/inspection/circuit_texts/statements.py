"""Statements of a circuit, as the languages have them in common, and those of them that are needed.

In: what the reader finds, in order. Out: a tree, whose leaves name gates of OpenQASM's
`stdgates.inc`, expressions and wires; each language prints it.

The trap: variables are recognised by their names, `v` and a number, which arguments never have.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diastase.inspection.circuit_texts.expressions import Expression, Scalar, names_in, negated

Wire = np.generic | Expression


@dataclass(frozen=True)
class Statement:
    """Anything that a circuit consists of."""

    origin: Any = field(default=None, kw_only=True, compare=False, repr=False)
    """The equation that it was found in."""


@dataclass(frozen=True)
class Gate(Statement):
    """A gate on wires, of which the leading ones control it: if they are 1, or 0."""

    name: str
    angles: tuple[Expression, ...]
    wires: tuple[Wire, ...]
    controls: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Phase(Statement):
    """A factor exp(i angle) of the whole state."""

    angle: Expression


@dataclass(frozen=True)
class Measure(Statement):
    """A measurement in the middle, whose outcome has a name."""

    outcome: str
    wire: Wire


@dataclass(frozen=True)
class Reset(Statement):
    """A wire becomes 0."""

    wire: Wire


@dataclass(frozen=True)
class Read(Statement):
    """The measurement of a wire at the end."""

    wire: int


@dataclass(frozen=True)
class Assign(Statement):
    """A variable has a value, or will have one where it is declared without."""

    variable: Expression
    value: Expression | None
    is_declaration: bool = False


@dataclass(frozen=True)
class If(Statement):
    """A choice."""

    condition: Expression
    then: tuple[Statement, ...]
    other: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class For(Statement):
    """A loop over a range, its end included."""

    index: Expression
    first: Expression
    stride: int
    last: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class While(Statement):
    """A loop as long as a condition holds."""

    condition: Expression
    body: tuple[Statement, ...]


def blocks_of(statement: Statement) -> Sequence[Sequence[Statement]]:
    """The blocks inside of a statement."""
    if isinstance(statement, If):
        return (statement.then, statement.other)
    return (statement.body,) if isinstance(statement, For | While) else ()


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, those in blocks too."""
    for statement in statements:
        yield statement
        for block in blocks_of(statement):
            yield from walk(block)


def wires_of(statement: Statement) -> Sequence[Wire]:
    """The wires of a statement, those in its blocks aside."""
    if isinstance(statement, Gate):
        return statement.wires
    return (statement.wire,) if isinstance(statement, Measure | Reset) else ()


def pruned(
    statements: Sequence[Statement], given: AbstractSet[str] = frozenset()
) -> tuple[Statement, ...]:
    """The statements without variables that nothing reads, and what is left empty then.

    Those that are given outside are kept.
    """
    while True:
        read = {name for statement in walk(statements) for name in reads(statement)} | given
        kept = tuple(_kept(statements, read))
        if len(list(walk(kept))) == len(list(walk(statements))):
            return kept
        statements = kept


def _kept(statements: Sequence[Statement], read: set[str]) -> Iterator[Statement]:
    for statement in statements:
        if isinstance(statement, If):
            then, other = (tuple(_kept(block, read)) for block in blocks_of(statement))
            made = choice(statement.condition, then, other, statement.origin)
            if made is not None:
                yield made
        elif isinstance(statement, For | While):
            body = tuple(_kept(statement.body, read))
            if body:
                yield replace(statement, body=body)
        elif not isinstance(statement, Assign) or statement.variable.text in read:
            yield statement


def choice(
    condition: Expression, then: Sequence[Statement], other: Sequence[Statement], origin: Any = None
) -> If | None:
    """A choice; of an empty block the other one alone, of two nothing."""
    if not then:
        condition, then, other = negated(condition), other, ()
    return If(condition, tuple(then), tuple(other), origin=origin) if then else None


def reads(statement: Statement) -> set[str]:
    """The variables and outcomes that it reads; those in its blocks, and its own, aside."""
    found = set[str]()
    match statement:
        case Gate():
            expressions = [*statement.angles, *statement.wires]
        case Phase():
            expressions = [statement.angle]
        case Measure() | Reset():
            expressions = [statement.wire]
        case If() | While():
            expressions = [statement.condition]
        case For():
            expressions = [statement.first, statement.last]
        case Assign():
            expressions = [statement.value]
        case _:
            expressions = []
    for each in expressions:
        if isinstance(each, Expression):
            found |= ours_in(each)
    return found - ({statement.variable.text} if isinstance(statement, Assign) else set())


def ours_in(scalar: Scalar) -> set[str]:
    """The variables and outcomes that a scalar refers to."""
    return {name for name in names_in(scalar) if _OURS.fullmatch(name)}


_OURS = re.compile(r"[mv]\d+")
