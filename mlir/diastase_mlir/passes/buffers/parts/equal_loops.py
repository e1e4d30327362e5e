"""Loops that a program has many times become one function, called where they stood.

    linalg.generic ins(%a) outs(%b)              call @diastase_entry.loop0(%a, %b)
    linalg.generic ins(%c) outs(%d)        ->    call @diastase_entry.loop0(%c, %d)

In: buffers, before loops become branches. Equal are operations of the same name, attributes and
types, with the same operations inside; the function takes what differs, constants, too. All passes
from here on, and LLVM, then have one loop instead of hundreds.

Only the entry's own block is looked at, which runs once in a call, and loops over few elements. In
a loop the call itself would count, and what LLVM makes of small loops beside each other.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import compress
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.buffers.parts.outlining import (
    Cutting,
    Outliner,
    Step,
    is_constant,
    outside,
)
from diastase_mlir.passes.operations import call, entry_of
from diastase_runtime.abi import ENTRY_FUNCTION
from diastase_toolchain.trip_counts import LOOP

LEAST_EQUAL = 16
"""Loops that are worth a function: to compile these takes longer than to compare them."""

MOST_ELEMENTS = 64
"""Of each array: LLVM makes more of longer loops where it knows what is not the same memory."""

_LOOPS = "linalg."


def equal_loops(module: ir.Module) -> None:
    """Make functions of the loops that the entry has often enough."""
    entry = entry_of(module)
    if entry is not None:
        _share(module, entry.regions[0].blocks[0])


def _share(module: ir.Module, block: ir.Block) -> None:
    outliner = Outliner(module, Cutting(_is_loop, most=0, of_a_part=1))
    loops = [each.operation for each in block.operations if _is_loop(each.operation)]
    if len(loops) < LEAST_EQUAL:
        return
    alike: defaultdict[Hashable, list[tuple[Step, list[ir.Value]]]] = defaultdict(list)
    for loop in loops:
        step = outliner.step(loop)
        values = outside([step])
        alike[_structure(step, values)].append((step, values))
    shared = (loops for loops in alike.values() if len(loops) >= LEAST_EQUAL)
    for number, alike_loops in enumerate(shared):
        steps, used = zip(*alike_loops, strict=True)
        is_taken = [not _are_one_constant(values) for values in zip(*used, strict=True)]
        made_anew = [value for value, taken in zip(used[0], is_taken, strict=True) if not taken]
        name = f"{ENTRY_FUNCTION}{LOOP}{number}"
        outliner.outline(name, steps[:1], [], list(compress(used[0], is_taken)), made_anew, {})
        for step, values in zip(steps[1:], used[1:], strict=True):
            loop = step.operation
            with ir.InsertionPoint(loop), loop.location:
                call(name, list(compress(values, is_taken)))
            loop.erase()


def _is_loop(operation: ir.Operation) -> bool:
    return (
        operation.name.startswith(_LOOPS)
        and not operation.results
        and all(_is_small(operand.type) for operand in operation.operands)
    )


def _is_small(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.MemRefType):
        return True
    return kind.has_static_shape and prod(kind.shape) <= MOST_ELEMENTS


def _structure(step: Step, used: Sequence[ir.Value]) -> Hashable:
    """What loops that are alike have in common: all but the values that they take from outside."""
    numbers = {value: number for number, value in enumerate([*step.own, *used])}
    operations = tuple(
        (
            operation.name,
            _attributes(operation),
            *(numbers[value] for value in operation.operands),
            *(len(block.operations) for region in operation.regions for block in region.blocks),
        )
        for operation in step.operations
    )
    return operations, tuple(value.type for value in numbers), tuple(map(is_constant, used))


def _attributes(operation: ir.Operation) -> Hashable:
    return tuple(operation.attributes.items())


def _are_one_constant(values: Sequence[Any]) -> bool:
    """Whether all of these are constants, and equal."""
    if not all(map(is_constant, values)):
        return False
    return len({(value.owner.name, _attributes(value.owner)) for value in values}) == 1
