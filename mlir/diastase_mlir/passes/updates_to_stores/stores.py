"""Make long chains of updates stores to one memory; just before bufferization.

    %1 = tensor.insert %x into %0[%i]       %begin = linalg.generic outs(%0) {the same elements}
    %e = tensor.extract %1[%k]              %m = bufferization.to_buffer %begin read_only
    %2 = tensor.insert %e into %1[%j]  ->   memref.store %x, %m[%i]
    …                                       %e = memref.load %m[%k]
                                            memref.store %e, %m[%j]
                                            …
                                            %end = linalg.generic outs(%begin) {the same elements}

Bufferization compares all reads with all writes of what may be one memory, for each update: its
time grows with the cube of a chain's length, and exponentially with branches in loops. So it gets
to see two writes of each chain, the *brackets*; they do nothing, and `without_brackets` removes
them when they have done their work.

Why the memory is right: to bufferization, the first bracket writes all of the memory, and the
second reads it and writes it again. Another value that is in the same memory and is read after the
first bracket makes bufferization give the first a copy, so no such value sees a store; and what
anybody else would write there before the second bracket would change what that reads, so
bufferization has it write elsewhere. Nobody but the second bracket uses what the first gives; so
that one is never given a copy, and the elements are where they were stored. The chain's end is the
same memory as its beginning, which is what loops that carry it need to know.
"""

from dataclasses import dataclass, field

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import create
from diastase_mlir.passes.updates_to_stores import chains
from diastase_mlir.passes.updates_to_stores.brackets import any_layout, bracket, memory_of
from diastase_mlir.passes.updates_to_stores.chains import (
    FIRST_CARRIED,
    INSERTIONS,
    Arrays,
    Part,
    arrays_of,
    operation_of,
)


def updates_to_stores(module: ir.Module) -> None:
    """Rewrite all long chains of updates."""
    count = 0

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += operation.name in INSERTIONS
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if count < chains.LEAST:
        return
    arrays = arrays_of(module)
    rewriting = _Rewriting(arrays)
    for number, chain in enumerate(list(arrays.chains())):
        rewriting.store(number, chain)
    rewriting.remove()


@dataclass
class _Memory:
    """The memory of a chain; `array` is what it holds, to whom asks for its size."""

    memory: ir.Value
    array: ir.Value


@dataclass
class _Rewriting:
    arrays: Arrays
    gone: list[ir.Operation] = field(default_factory=list)
    """Insertions and reads of elements, which are stores and loads now."""
    dropped: dict[ir.Value, list[int]] = field(default_factory=dict)
    """Of branches and loops, the numbers of the results that are stored instead.

    By the first result of each: an operation's hash is one of what it says, which changes here.
    """
    ends: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """What stands for the last version of a chain now."""

    def store(self, number: int, chain: Part) -> None:
        """Make a chain stores, between brackets."""
        first, last = operation_of(chain.later[0]), operation_of(chain.later[-1])
        block = first.block
        with ir.InsertionPoint(first), first.location:
            begin = bracket(self.ends.get(chain.first, chain.first), number)
            memory = _Memory(memory_of(begin, number), begin.results[0])
        with ir.InsertionPoint(first), last.location:
            end = bracket(memory.array)
        end.move_after(last)
        chain.later[-1].replace_all_uses_with(end.results[0])
        self.ends[chain.later[-1]] = end.results[0]
        for version in chain.later[:-1]:
            self._redirect(version, block, memory)
        for version in chain.later:
            self._store(version, memory)

    def _store(self, version: ir.Value, memory: _Memory) -> None:
        """Do to the memory what an update did."""
        operation = operation_of(version)
        if operation.name in INSERTIONS:
            self.gone.append(operation)
            with ir.InsertionPoint(operation), operation.location:
                if operation.name == "tensor.insert":
                    value, _, *position = operation.operands
                    create("memref.store", (), [value, memory.memory, *position])
                else:
                    _store_slice(operation, memory.memory)
        else:
            number = ir.OpResult(version).result_number
            self.dropped.setdefault(operation.results[0], []).append(number)
            for block, part in self.arrays.parts(version) or []:
                for nested in [part.first, *part.later]:
                    self._redirect(nested, block, memory)
                for nested in part.later:
                    self._store(nested, memory)
                if operation.name == "scf.for":
                    part.first.replace_all_uses_with(memory.array)
        version.replace_all_uses_with(memory.array)  # in what goes: later updates, and ends

    def _redirect(self, version: ir.Value, block: ir.Block, memory: _Memory) -> None:
        """Let reads of a version read the memory."""
        now = self.ends.get(version, version)
        for use in self.arrays.uses_in(block, version):
            user = use.user
            reads = use.is_read or use.is_slice
            if not reads or user.operands[use.operand] != now:  # seen from outside, too
                continue
            read = memory.array
            with ir.InsertionPoint(user), user.location:
                if user.name == "tensor.extract":
                    operands = [memory.memory, *list(user.operands)[1:]]
                    load = create("memref.load", [user.results[0].type], operands)
                    user.results[0].replace_all_uses_with(load.results[0])
                    self.gone.append(user)
                elif user.name != "tensor.dim":
                    only = {"restrict": ir.UnitAttr.get()}
                    kinds = [version.type], [memory.memory]
                    read = create("bufferization.to_tensor", *kinds, only).results[0]
            user.operands[use.operand] = read

    def remove(self) -> None:
        """Remove what has become stores."""
        for result, numbers in self.dropped.items():
            _without_results(operation_of(result), set(numbers))
        for operation in self.gone:
            operation.erase()


def _store_slice(insertion: ir.Operation, memory: ir.Value) -> None:
    source, _, *position = insertion.operands
    names = "static_offsets", "static_sizes", "static_strides"
    segments = list(ir.DenseI32ArrayAttr(insertion.attributes["operandSegmentSizes"]))
    attributes = {name: insertion.attributes[name] for name in names}
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, *segments[2:]])
    kind = any_layout(ir.RankedTensorType(source.type))
    part = create("memref.subview", [kind], [memory, *position], attributes)
    create(
        "bufferization.materialize_in_destination",
        (),
        [source, part.results[0]],
        {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()},
    )


def _without_results(operation: ir.Operation, numbers: set[int]) -> None:
    """Replace a branch or a loop by one that does not yield, nor carry, some of its results."""
    first = FIRST_CARRIED if operation.name == "scf.for" else len(operation.operands)
    kept = [number for number in range(len(operation.results)) if number not in numbers]
    operands = [
        value
        for position, value in enumerate(operation.operands)
        if position - first not in numbers
    ]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    with ir.InsertionPoint(operation), operation.location:
        types = [operation.results[number].type for number in kept]
        new = create(operation.name, types, operands, attributes, len(operation.regions))
    for old_region, region in zip(operation.regions, new.regions, strict=True):
        block = old_region.blocks[0]
        block.append_to(region)
        if operation.name == "scf.for":
            for number in sorted(numbers, reverse=True):
                block.erase_argument(1 + number)
        end = block.operations[len(block.operations) - 1].operation
        with ir.InsertionPoint(end), end.location:
            create("scf.yield", (), [end.operands[number] for number in kept])
        end.erase()
    for number, result in zip(kept, new.results, strict=True):
        operation.results[number].replace_all_uses_with(result)
    operation.erase()
