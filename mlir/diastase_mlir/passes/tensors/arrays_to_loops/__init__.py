"""Operations of StableHLO on arrays become loops over elements, where MLIR's conversion is short.

    %0 = stablehlo.pad %a, %x, low = [1] …    ->    %0 = linalg.generic … { %fits ? %a[i - 1] : %x }

MLIR's own conversion (`stablehlo-legalize-to-linalg`) follows and takes what has no rule here. A
rule is given an operation, at whose place it emits, and gives values for its results; None leaves
the operation to MLIR. Sizes may be known at run time only. Elements are signless in here.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import to_type
from diastase_mlir.passes.operations import operations_named
from diastase_mlir.passes.tensors.arrays_to_loops import (
    conversions,
    convolution,
    dot_general,
    indexing,
    moves,
    select_and_scatter,
    sorting,
    windows,
)
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Rule

_MODULES = (
    conversions, convolution, dot_general, indexing, moves, select_and_scatter, sorting, windows,
)  # fmt: skip
_RULES: dict[str, Rule] = {name: rule for module in _MODULES for name, rule in module.RULES.items()}

_LATER = frozenset({"stablehlo.concatenate", "stablehlo.pad"})


def arrays_to_loops(module: ir.Module) -> None:
    """Convert every operation of the module that has a rule, in place."""
    found = operations_named(module.operation, *_RULES)
    # What reads an array that was padded or put together sees how.
    found.sort(key=_is_seen_through)
    for operation in found:
        with ir.InsertionPoint(operation), operation.location:
            results = _RULES[operation.name](operation)
            if results is not None:
                _replace(operation, results)


def _is_seen_through(operation: Any) -> bool:
    """Whether it stands in no other one, whose region would be emitted with it."""
    return operation.name in _LATER and operation.parent.operation.name not in _RULES


def _replace(operation: Any, results: Sequence[ir.Value]) -> None:
    for own, value in zip(operation.results, results, strict=True):
        own.replace_all_uses_with(to_type(value, own.type))
    operation.erase()
