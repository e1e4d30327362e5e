"""What passes emit besides what `emit` has, and what they ask of operations.

Functions and calls, pointers and words of memory (`llvm`), all at the current insertion point;
who makes a value, and what it is if it is known; the loops of a `linalg` operation. A function that
is called but not defined is declared at the end of a pass (`declare`), from what `call_imported`
has gathered.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import (
    create,
    index_constant,
    index_type,
    integer_type,
    scalar_constant,
)
from diastase_mlir.emit.tensors import Size, extract

REGISTERS = frozenset(("!quantum.register", "!quantum.single_register"))

Signatures = dict[str, ir.Type]
"""Types of functions to be declared, by their symbols."""


class _AtBlocks:
    """Who emits in regions (`emit.loops.Scope`): nothing but the insertion point changes."""

    @contextmanager
    def region(self, block: ir.Block) -> Generator[None]:
        """Emit at the end of a block."""
        with ir.InsertionPoint(block):
            yield


SCOPE = _AtBlocks()


# --- values --------------------------------------------------------------------------------------


def defining(value: ir.Value) -> Any:
    """The operation that makes a value, None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner


def constant_of(value: ir.Value) -> Any:
    """The number that a scalar is, None where it is known only when the program runs."""
    operation = defining(value)
    if operation is None or operation.name != "arith.constant":
        return None
    return getattr(operation.attributes["value"], "value", None)


def number_in(vector: ir.Value, place: int) -> Size:
    """An integer of a vector, known now or as an `index`."""
    owner = defining(vector)
    if owner is not None and owner.name == "stablehlo.constant":
        elements: Any = ir.DenseIntElementsAttr(owner.attributes["value"])
        return int(elements[place])
    if owner is not None and owner.name == "tensor.from_elements":
        number = owner.operands[place]
    else:
        number = extract(vector, [index_constant(place)])
    known = constant_of(number)
    return to_index(number) if known is None else int(known)


def to_index(number: ir.Value) -> ir.Value:
    """An integer as an `index`."""
    if isinstance(number.type, ir.IndexType):
        return number
    return create("arith.index_cast", [index_type()], [number]).result


def behind(value: Any) -> ir.InsertionPoint:
    """The place where a value is there for the first time."""
    if isinstance(value.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(value.owner.operation)


def operations_in(within: Any) -> list[Any]:
    """All operations inside of one, whatever is inside of an operation before it, and it."""
    found: list[Any] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    within.operation.walk(collect)
    return found


def last_of(block: Any) -> Any:
    """The operation at a block's end."""
    return block.operations[len(block.operations) - 1].operation


# --- loops of `linalg` ---------------------------------------------------------------------------

COMBINING = frozenset({
    f"arith.{name}"
    for name in (
        "addf", "mulf", "maximumf", "minimumf", "addi", "muli", "andi", "ori", "xori", "maxsi",
        "minsi", "maxui", "minui",
    )
})  # fmt: skip
"""Operations that may combine results in any order: each gives the same, or as good."""


def maps_of(generic: ir.Operation) -> list[ir.AffineMap]:
    """How each operand of a `linalg` operation is walked along."""
    maps = ir.ArrayAttr(generic.attributes["indexing_maps"])
    return [ir.AffineMapAttr(item).value for item in maps]


def combining(generic: ir.Operation) -> ir.Operation | None:
    """The operation that combines a result so far with something, if any order will do."""
    block = generic.regions[0].blocks[0]
    terminator = last_of(block)
    if len(terminator.operands) != 1:
        return None
    combined = terminator.operands[0].owner
    if not isinstance(combined, ir.OpView) or combined.operation.name not in COMBINING:
        return None
    uses = [use.owner for use in block.arguments[len(block.arguments) - 1].uses]
    return combined.operation if uses == [combined] else None


# --- functions -----------------------------------------------------------------------------------


def function_type(function: Any) -> Any:
    """What a function takes and gives."""
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def set_function_type(
    function: Any, inputs: Sequence[ir.Type], results: Sequence[ir.Type] = ()
) -> None:
    """Say what a function takes and gives."""
    kind = ir.FunctionType.get(list(inputs), list(results))
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def function_around(operation: Any) -> Any:
    """The function that an operation stands in."""
    around = operation.operation
    while around.name != "func.func":
        around = around.parent.operation
    return around


def new_function(symbol: str, kind: ir.Type) -> ir.Operation:
    """A private function without a body."""
    attributes = {
        "sym_name": ir.StringAttr.get(symbol),
        "function_type": ir.TypeAttr.get(kind),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    return create("func.func", [], [], attributes, regions=1)


def declare(module: ir.Module, signatures: Mapping[str, ir.Type]) -> list[ir.Operation]:
    """Declare functions at the beginning of a module."""
    with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
        return [new_function(symbol, kind) for symbol, kind in signatures.items()]


def call(
    symbol: str, operands: Sequence[ir.Value] = (), results: Sequence[ir.Type] = ()
) -> list[ir.Value]:
    """Call a function; its results."""
    callee = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
    return list(create("func.call", results, operands, callee).results)


def call_imported(
    signatures: Signatures,
    symbol: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type] = (),
) -> list[ir.Value]:
    """Call a function that is declared later by its signature."""
    kinds = [operand.type for operand in operands]
    signatures.setdefault(symbol, ir.FunctionType.get(kinds, list(results)))
    return call(symbol, operands, results)


def replace_by_call(operation: Any, symbol: str, signatures: Signatures) -> None:
    """Call a function of the operands in an operation's place."""
    with ir.InsertionPoint(operation), operation.location:
        kinds = [operation.results[0].type]
        (result,) = call_imported(signatures, symbol, list(operation.operands), kinds)
    operation.results[0].replace_all_uses_with(result)
    operation.erase()


def declare_pure(module: ir.Module, signatures: Signatures) -> None:
    """Declare functions of numbers: calls of them may be moved and removed."""
    for function in declare(module, signatures):
        function.attributes["llvm.readnone"] = ir.UnitAttr.get()


# --- memory --------------------------------------------------------------------------------------


def word_type() -> ir.Type:
    """`i64`."""
    return integer_type(64)


def word(number: int) -> ir.Value:
    """A constant of type `i64`."""
    return scalar_constant(word_type(), number)


def pointer_type() -> ir.Type:
    """`!llvm.ptr`."""
    return ir.Type.parse("!llvm.ptr")


def address_of(buffer: ir.Value) -> ir.Value:
    """The address of a buffer's first element, as an `index`."""
    name = "memref.extract_aligned_pointer_as_index"
    return create(name, [index_type()], [buffer]).result


def to_pointer(address: ir.Value) -> ir.Value:
    """An address, an `index` or an `i64`, as a pointer."""
    if isinstance(address.type, ir.IndexType):
        address = create("arith.index_cast", [word_type()], [address]).result
    return create("llvm.inttoptr", [pointer_type()], [address]).result


def offset(pointer: ir.Value, number: int, bits: int = 8) -> ir.Value:
    """The pointer so many bytes, or numbers of so many bits, later."""
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([number]),
        "elem_type": ir.TypeAttr.get(integer_type(bits)),
    }
    return create("llvm.getelementptr", [pointer_type()], [pointer], attributes).result


def load(kind: ir.Type, pointer: ir.Value) -> ir.Value:
    """What lies behind a pointer."""
    return create("llvm.load", [kind], [pointer]).result


def store(value: ir.Value, pointer: ir.Value) -> None:
    """Write a value behind a pointer."""
    create("llvm.store", [], [value, pointer])


def descriptor_type(rank: int) -> ir.Type:
    """What `to-llvm` makes of an array: two pointers, the offset, sizes and strides."""
    arrays = f", array<{rank} x i64>" * 2 if rank else ""
    return ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")


def inserted(structure: ir.Value, value: ir.Value, path: Sequence[int]) -> ir.Value:
    """A structure with one field replaced."""
    position = {"position": ir.DenseI64ArrayAttr.get(list(path))}
    return create("llvm.insertvalue", [structure.type], [structure, value], position).result


def extracted(structure: ir.Value, kind: ir.Type, path: Sequence[int]) -> ir.Value:
    """A field of a structure."""
    position = {"position": ir.DenseI64ArrayAttr.get(list(path))}
    return create("llvm.extractvalue", [kind], [structure], position).result


def bytes_of(element: ir.Type) -> int:
    """The size of an element in memory."""
    if isinstance(element, ir.ComplexType):
        return 2 * bytes_of(element.element_type)
    if isinstance(element, ir.IndexType):
        return 8
    width: int = element.width  # pyright: ignore[reportAttributeAccessIssue]
    return max(1, width // 8)


class StackSpace:
    """Space on a function's stack, as large as its largest use: uses come one after another."""

    def __init__(self, function: ir.Operation, element: ir.Type | None = None):
        self._size = 1
        block = function.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            self._length = word(1)
            attributes = {"elem_type": ir.TypeAttr.get(element or word_type())}
            self._pointer = create(
                "llvm.alloca", [pointer_type()], [self._length], attributes
            ).result

    def reserve(self, size: int) -> ir.Value:
        """The memory, with room for so many elements: words, if no other were asked for."""
        self._size = max(self._size, size)
        constant: Any = self._length.owner
        constant.attributes["value"] = ir.IntegerAttr.get(word_type(), self._size)
        return self._pointer
