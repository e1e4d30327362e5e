"""Arrays that loops carry on, or functions return, get memory of their own; before bufferization.

    scf.yield %z, %z               ->      %copy = bufferization.alloc_tensor() copy(%z)
                                           scf.yield %z, %copy

Bufferization takes it that the arrays with which an iteration begins share no memory with one
another, nor those that a call returns: it compares each with what was given to the loop or to the
function. What is made inside may be carried on as it is, and what is given to a function may be a
copy, of which two results are views. So one would be written over the other. The same with a
constant: what receives it may write to it.

Where part of an array is collapsed, bufferization predicts another layout than it makes: a branch
or a loop that is given one gets a copy, or branches would not agree on their layout.

`Aliases` says which arrays may be the same memory once they are memory, or when they are. A view is
the memory that it is a part of, what a loop carries on may be what it was given, and an update is
written where the array was. It does not see that a later operation may not write over what is still
read: copies that bufferization makes for that reason are made twice.
"""

from collections.abc import Iterator
from itertools import pairwise

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.operations import (
    callee_of,
    last_of,
    name_of,
    operations_in,
    operations_named,
)
from diastase_runtime.abi import ENTRY_FUNCTION

_COLLAPSE = "tensor.collapse_shape"
_VIEWS = frozenset({"tensor.extract_slice", "tensor.expand_shape", "tensor.cast", _COLLAPSE})

_DESTINATION = {"tensor.insert": 1, "tensor.insert_slice": 1}
"""The operand that an operation updates, of those that copy what else they read."""


def separate_aliases(module: ir.Module) -> None:
    """Separate what all loops carry on, and what all functions but the entry return."""
    for operation in operations_named(module.operation, "scf.if", "scf.for", "scf.while"):
        _copy_collapsed_parts(operation)
    callees = Callees(module)
    for operation in operations_named(module.operation, "func.func", "scf.for", "scf.while"):
        if operation.name == "func.func" and name_of(operation) == ENTRY_FUNCTION:
            continue
        for region in operation.regions:
            for block in region.blocks:
                separate(block, callees, of_function=operation.name == "func.func")


class Callees:
    """The functions of a module, and which of their results may share memory with what."""

    def __init__(self, module: ir.Module):
        self._functions: dict[str, ir.Operation] = {}
        self._pairs: dict[str, list[tuple[int, int]] | None] = {}
        for definition in module.body.operations:
            if definition.operation.name == "func.func":
                self.add(definition.operation)

    def add(self, function: ir.Operation) -> None:
        """A function that may be called from now on."""
        self._functions[name_of(function)] = function

    def pairs(self, name: str) -> list[tuple[int, int]] | None:
        """Numbers of values, results first and then arguments; None if nothing is known."""
        if name not in self._pairs:
            self._pairs[name] = None  # what calls itself
            function = self._functions.get(name)
            if function is not None and function.regions[0].blocks:
                block = function.regions[0].blocks[0]
                aliases = Aliases(block, self, arguments=True)
                values = [*last_of(block).operands, *block.arguments]
                sets: dict[ir.Value, list[int]] = {}
                for number, value in enumerate(values):
                    if _has_memory(value):
                        sets.setdefault(aliases.find(value), []).append(number)
                self._pairs[name] = [
                    pair for numbers in sets.values() for pair in pairwise(numbers)
                ]
        return self._pairs[name]


def separate(block: ir.Block, callees: Callees, *, of_function: bool) -> None:
    """Copy each array at a block's end that may share memory with one before it.

    Memory that a loop is given is left to bufferization, which compares what it carries on with it.
    """
    end = last_of(block)
    numbers = [n for n, value in enumerate(end.operands) if _is_array(value)]
    if not numbers:
        return
    aliases = Aliases(block, callees, arguments=of_function)
    taken = {aliases.find(constant) for constant in aliases.constants}
    for number in numbers:
        value = end.operands[number]
        memory = aliases.find(value)
        if memory not in taken:
            if memory in aliases.inside:
                taken.add(memory)
            continue
        _copy(end, number)


def _copy(operation: ir.Operation, number: int) -> None:
    """Give an operation a copy of one of its operands."""
    value = operation.operands[number]
    sizes = ir.DenseI32ArrayAttr.get([0, 1, 0])  # dynamic sizes, array to be copied, a hint
    with ir.InsertionPoint(operation), operation.location:
        attributes = {"operandSegmentSizes": sizes}
        copy = create("bufferization.alloc_tensor", [value.type], [value], attributes)
    operation.operands[number] = copy.results[0]


def _copy_collapsed_parts(operation: ir.Operation) -> None:
    """Of what branches end with, or what a loop begins with."""
    branches = operation.regions if operation.name == "scf.if" else ()
    ends = [last_of(region.blocks[0]) for region in branches if region.blocks]
    for user in ends or [operation]:
        for number, value in enumerate(user.operands):
            if _is_collapsed_part(value):
                _copy(user, number)


def _is_collapsed_part(value: ir.Value) -> bool:
    is_collapsed = False
    while not isinstance(owner := value.owner, ir.Block) and owner.name in _VIEWS:
        if is_collapsed and owner.name == "tensor.extract_slice":
            return True
        is_collapsed |= owner.name == _COLLAPSE
        value = owner.operands[0]
    return False


class Aliases:
    """Sets of values that a block defines, any two of which may be the same memory.

    With its arguments, or else but for what it is given.
    """

    def __init__(self, block: ir.Block, callees: Callees, *, arguments: bool = False):
        self.inside: set[ir.Value] = set(block.arguments) if arguments else set()
        self.constants: list[ir.Value] = []
        self._parents: dict[ir.Value, ir.Value] = {}
        operations = [own for outer in block.operations for own in operations_in(outer)]
        for operation in operations:
            self.inside.update(operation.results)
            for region in operation.regions:
                for nested in region.blocks:
                    self.inside.update(nested.arguments)
            if operation.name == "arith.constant":
                self.constants.append(operation.results[0])
        for operation in operations:
            for one, other in _pairs(operation, callees):
                if _has_memory(one) and one in self.inside and other in self.inside:
                    one, other = self.find(one), self.find(other)
                    if one != other:
                        self._parents[one] = other

    def find(self, value: ir.Value) -> ir.Value:
        """One value for the whole set."""
        root = value
        while (parent := self._parents.get(root)) is not None:
            root = parent
        while value != root:
            self._parents[value], value = root, self._parents[value]
        return root


def _is_array(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _has_memory(value: ir.Value) -> bool:
    return isinstance(value.type, (ir.RankedTensorType, ir.MemRefType, ir.UnrankedMemRefType))


def _pairs(operation: ir.Operation, callees: Callees) -> Iterator[tuple[ir.Value, ir.Value]]:
    """What an operation, without those inside of it, says of results and operands."""
    name = operation.name
    results, operands = list(operation.results), list(operation.operands)
    if name == "bufferization.alloc_tensor" or not any(map(_has_memory, results)):
        return
    if name.startswith("linalg."):
        yield from zip(results, operands[len(operands) - len(results) :], strict=True)
    elif name in _DESTINATION:
        yield results[0], operands[_DESTINATION[name]]
    elif name == "scf.for":
        yield from zip(results, operands[3:], strict=True)
        yield from zip(results, _arguments(operation, 0)[1:], strict=True)
        yield from zip(results, _given(operation, 0), strict=True)
    elif name == "scf.while":
        yield from zip(_arguments(operation, 0), operands, strict=True)
        yield from zip(_arguments(operation, 0), _given(operation, 1), strict=True)
        yield from zip(results, _given(operation, 0)[1:], strict=True)
        yield from zip(results, _arguments(operation, 1), strict=True)
    elif name in ("scf.if", "scf.index_switch"):
        for number, region in enumerate(operation.regions):
            if region.blocks:
                yield from zip(results, _given(operation, number), strict=True)
    elif name == "func.call" and (numbers := callees.pairs(callee_of(operation))) is not None:
        values = [*results, *operands]
        yield from ((values[one], values[other]) for one, other in numbers)
    else:
        blocks = [block for region in operation.regions for block in region.blocks]
        inside = [
            value for block in blocks for value in (*block.arguments, *last_of(block).operands)
        ]
        yield from pairwise(filter(_has_memory, (*results, *operands, *inside)))


def _arguments(operation: ir.Operation, region: int) -> list[ir.Value]:
    return list(operation.regions[region].blocks[0].arguments)


def _given(operation: ir.Operation, region: int) -> list[ir.Value]:
    """What a region ends with."""
    return list(last_of(operation.regions[region].blocks[0]).operands)
