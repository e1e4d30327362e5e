"""Loops and branches that carry and give numbers in the place of small arrays.

    scf.for … iter_args(%a = %0) -> (tensor<2xf64>) {     scf.for … iter_args(%x = %p, %y = %q) {
      …                                              ->     %a = tensor.from_elements %x, %y
      scf.yield %1 : tensor<2xf64> }                        …
                                                            scf.yield %2, %3 }

Which arrays it concerns is known by the values that they are: results, and what the first block of
a `while` takes.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.operations import last_of, operands_of
from diastase_mlir.passes.tensors.arrays_in_registers.elements import Elements, as_array

CONTROL_FLOW = {"scf.for": 3, "scf.while": 0, "scf.if": 1}
"""Operations with blocks, and how many of their operands are no arguments of these."""

IsChosen = Callable[[Any], bool]
Flags = Sequence[bool]


def arguments_of(operation: Any) -> list[list[Any]]:
    """What each block gets from the operation's operands, or from another of its blocks."""
    blocks = [list(block.arguments) for region in operation.regions for block in region.blocks]
    return [blocks[0][1:]] if operation.name == "scf.for" else blocks


def made_anew(
    operation: Any, is_chosen: IsChosen, elements: Elements
) -> tuple[Any, Callable[[], None]]:
    """The operation with numbers for arrays, before it; itself where that changes nothing.

    The old one is left, without its blocks' operations, to be erased. What is called at last makes
    numbers of what the blocks hand on, which are arrays until then.
    """
    given = [is_chosen(result) for result in operation.results]
    taken = [is_chosen(own) for own in arguments_of(operation)[0]]
    if not any((*given, *taken)):
        return operation, lambda: None
    name, first = operation.name, CONTROL_FLOW[operation.name]
    kinds, operands = [own.type for own in operation.results], operands_of(operation)
    attributes = dict(operation.attributes.items())
    with ir.InsertionPoint(operation), operation.location:
        if taken:
            operands[first:] = _numbers(operands[first:], taken, elements)
        regions = list(operation.regions)
        new = create(name, _types(kinds, given), operands, attributes, len(regions))
        for own, array in zip(operation.results, _arrays(new.results, kinds, given), strict=True):
            own.replace_all_uses_with(array)
    before = {"scf.for": [[False, *taken]], "scf.while": [taken, given]}.get(name, [[], []])
    for old, region, flags in zip(regions, new.regions, before, strict=True):
        _move(old.blocks[0], region, flags)
    after = {"scf.for": [given], "scf.while": [[False, *given], taken]}.get(name, [given, given])

    def finish() -> None:
        for region, flags in zip(new.regions, after, strict=True):
            _hand_on(last_of(region.blocks[0]), flags, elements)

    return new, finish


def _move(block: Any, region: Any, flags: Flags) -> None:
    """A block with its operations, to take numbers where it took arrays."""
    arguments = list(block.arguments)
    kinds = [own.type for own in arguments]
    types = _types(kinds, flags)
    new = region.blocks.append(*types, arg_locs=[region.owner.location] * len(types))
    with ir.InsertionPoint(new), region.owner.location:
        arrays = _arrays(new.arguments, kinds, flags)
    for own, array in zip(arguments, arrays, strict=True):
        own.replace_all_uses_with(array)
    for operation in list(block.operations):
        new.append(operation)


def _hand_on(last: Any, flags: Flags, elements: Elements) -> None:
    with ir.InsertionPoint(last), last.location:
        create(last.name, [], _numbers(operands_of(last), flags, elements))
    last.erase()


def _types(kinds: Sequence[Any], flags: Flags) -> list[ir.Type]:
    return [
        own
        for kind, flag in zip(kinds, flags, strict=True)
        for own in ([kind.element_type] * prod(kind.shape) if flag else [kind])
    ]


def _numbers(arrays: Sequence[Any], flags: Flags, elements: Elements) -> list[ir.Value]:
    return [
        own
        for array, flag in zip(arrays, flags, strict=True)
        for own in (elements.of(array) if flag else [array])
    ]


def _arrays(values: Iterable[ir.Value], kinds: Sequence[Any], flags: Flags) -> list[ir.Value]:
    """What is known as arrays, of numbers and others."""
    values = iter(values)
    return [
        as_array(kind, [next(values) for _ in range(prod(kind.shape))]) if flag else next(values)
        for kind, flag in zip(kinds, flags, strict=True)
    ]
