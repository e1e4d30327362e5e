"""A list of PennyLane's operators, folded: for devices that run in Python."""

from collections.abc import Sequence
from typing import Any

import pennylane as qml
from pennylane import ops

from diastase.capture.context import Folding
from diastase.quantum.settings.folding import NotFoldableError


def folded_operators(operators: Sequence[Any], folding: Folding) -> list[Any]:
    """The operators, with those between that undo them and apply them again."""
    start = next((k for k, op in enumerate(operators) if not _prepares(op)), len(operators))
    first, rest = list(operators[:start]), operators[start:]
    for operator in rest:
        if isinstance(operator, qml.operation.Channel):
            raise NotFoldableError(operation=operator.name)
    if folding.method == "global":
        return [*first, *rest, *([*_undone(rest), *rest] * folding.times)]
    foldable = [place for place, operator in enumerate(rest) if _is_foldable(operator)]
    more: set[int] = set()
    if folding.method == "local-random":
        more = {foldable[number] for number in folding.once_more(len(foldable))}
    return [*first, *(op for k, each in enumerate(rest) for op in _again(each, folding, k in more))]


def _again(operator: Any, folding: Folding, more: bool) -> list[Any]:
    if not _is_foldable(operator):
        return [operator]
    return [operator, *([*_undone([operator]), operator] * (folding.times + more))]


def _undone(operators: Sequence[Any]) -> list[Any]:
    for operator in operators:
        if not _is_foldable(operator):
            raise NotFoldableError(operation=operator.name)
    return [qml.adjoint(operator) for operator in reversed(operators)]


def _is_foldable(operator: Any) -> bool:
    """Whether an operator neither measures, nor depends on what was measured, nor prepares."""
    return not (_prepares(operator) or isinstance(operator, ops.MidMeasure | ops.Conditional))


def _prepares(operator: Any) -> bool:
    return isinstance(operator, qml.operation.StatePrepBase)
