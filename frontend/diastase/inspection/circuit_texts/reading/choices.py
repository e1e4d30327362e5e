"""Branches: an `if` for each condition that the number of the branch depends on.

Each branch is read once. What they give is known only then, so a variable that stands for it is
declared afterwards, before the `if`, and assigned at the end of each block.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diastase.inspection.circuit_texts.expressions import (
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    compared,
    expressed,
)
from diastase.inspection.circuit_texts.reading.reader import REGISTER, Reader
from diastase.inspection.circuit_texts.reading.variables import assign_all, declare, variables_for
from diastase.inspection.circuit_texts.statements import Statement
from diastase.inspection.circuit_texts.values import Unsayable, Value, choose, scalar_of
from diastase.primitives.quantum import is_register

Run = Callable[[], list[Value]]
"""Reads a block; what it gives."""


@dataclass(frozen=True)
class _Block:
    """A branch, read where it stands."""

    number: int
    statements: Sequence[Statement]
    results: Sequence[Value]


@dataclass(frozen=True)
class _Fork:
    """One of two, by a condition."""

    condition: Expression
    then: "_Block | _Fork"
    other: "_Block | _Fork"


def switch(reader: Reader, equation: Any, operands: Sequence[Value]) -> list[Value]:
    """What one of the branches does and gives."""
    index, given_values = scalar_of(operands[0]), operands[1:]
    params = equation.params
    branches = params["branches" if "branches" in params else "branch_jaxprs"]
    if isinstance(index, np.generic):
        return reader.region(branches[int(index)], given_values)
    runs = [lambda body=body: reader.region(body, given_values) for body in branches]
    return one_of(reader, index, runs, equation.outvars)


def one_of(
    reader: Reader, index: Scalar, runs: Sequence[Run], outvars: Sequence[Any]
) -> list[Value]:
    """What one of several blocks does and gives; the index that picks it is not known."""
    tree = _read(reader, index, runs)
    results = {block.number: block.results for block in _blocks(tree)}
    results_of = [results.get(number, results[min(results)]) for number in range(len(runs))]
    variables = dict[int, Value]()
    found = list[Value]()
    for place, variable in enumerate(outvars):
        values = [result[place] for result in results_of]
        found.append(_given_by(reader, place, variable, index, values, variables))
    for made in variables.values():
        declare(reader, made)
    _write(reader, tree, variables)
    return found


def _read(reader: Reader, index: Scalar, runs: Sequence[Run]) -> _Block | _Fork:
    """The blocks, and which conditions lead to each."""
    if isinstance(index, Choice):
        cases = [_read(reader, case, runs) for case in (index.if_true, index.if_false)]
        return _Fork(index.condition, *cases)
    if isinstance(index, Expression):
        *first, tree = [_read(reader, np.int64(number), runs) for number in range(len(runs))]
        for number, block in reversed(list(enumerate(first))):
            condition = expressed(compared("==")("b", index, expressed(np.int64(number))))
            tree = _Fork(condition, block, tree)
        return tree
    results = list[Value]()

    def run() -> None:
        results[:] = runs[int(index)]()

    return _Block(int(index), reader.captured(run), results)


def _blocks(tree: _Block | _Fork) -> Iterator[_Block]:
    if isinstance(tree, _Block):
        yield tree
    else:
        yield from _blocks(tree.then)
        yield from _blocks(tree.other)


def _given_by(
    reader: Reader, place: int, variable: Any, index: Scalar, values: Sequence[Value],
    variables: dict[int, Value],
) -> Value:  # fmt: skip
    """What branches give: the same, one of two that are known, or a variable."""
    if is_register(variable):
        return REGISTER
    unsayable = [value for value in values if isinstance(value, Unsayable)]
    if unsayable:
        return unsayable[0]
    if all(isinstance(value, np.ndarray) for value in values):
        try:
            return choose(index, values)
        except NotSayableError:
            pass
    made = variables_for(reader, variable.aval)
    if not isinstance(made, Unsayable):
        variables[place] = made
    return made


def _write(reader: Reader, tree: _Block | _Fork, variables: Mapping[int, Value]) -> None:
    if isinstance(tree, _Block):
        reader.statements += tree.statements
        for place, variable in variables.items():
            assign_all(reader, variable, tree.results[place])
        return
    cases = [
        reader.captured(lambda c=case: _write(reader, c, variables))
        for case in (tree.then, tree.other)
    ]
    reader.either(tree.condition, *cases)
