"""What passes ask of operations, and the functions and calls that they make.

Who makes a value, and what it is if it is known; operations by name, the loops of a `linalg`
operation, the functions of a module. A function that is called but not defined is declared at the
end of a pass (`declare`), from what `call_imported` has gathered. Memory is in `memory`.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, index_constant, index_type
from diastase_mlir.emit.tensors import Size, extract
from diastase_runtime.abi import ENTRY_FUNCTION, Engine

_PARALLEL = "#linalg.iterator_type<parallel>"


LIBRARIES: dict[str, Engine] = {
    "!quantum.register": "engine",
    "!quantum.single_register": "single",
    "!quantum.mixed_register": "mixed",
    "!quantum.single_mixed_register": "single_mixed",
    "!quantum.lane_register": "lanes",
}
"""Types of registers, and the libraries that serve them."""
REGISTERS = frozenset(LIBRARIES)

Signatures = dict[str, ir.Type]
"""Types of functions to be declared, by their symbols."""


class _AtBlocks:
    """Who emits in regions (`emit.loops.Scope`): nothing but the insertion point changes."""

    @contextmanager
    def region(self, block: ir.Block) -> Generator[None]:
        """Emit at the end of a block."""
        with ir.InsertionPoint(block):
            yield


SAME_ELEMENTS = frozenset({"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape"})
"""Operations that give an array another type or shape, with the same elements in the same order."""

INTEGER_QUOTIENTS = frozenset(
    f"arith.{name}" for name in "ceildivsi ceildivui divsi divui floordivsi remsi remui".split()
)
"""Quotients and remainders, by which a process ends if the divisor is 0."""

QUOTIENTS = INTEGER_QUOTIENTS | {"arith.divf", "arith.remf"}
"""Those of floats, too: what takes as long as many additions."""

SCOPE = _AtBlocks()


# --- operations and values ------------------------------------------------------------------------


def operands_of(operation: Any) -> list[ir.Value]:
    """The operands of an operation; to iterate over them ends in an exception, which costs more."""
    operands = operation.operands
    return [operands[place] for place in range(len(operands))]


def bits_of(operation: Any) -> list[ir.Value]:
    """The qubits that a gate, a preparation or a measurement takes: the last ones of its operands.

    Each is a result as well, of which a measurement has one more: the outcome.
    """
    operands = operation.operands
    end, outcomes = len(operands), int(operation.name == "quantum.measure")
    return [operands[place] for place in range(end - len(operation.results) + outcomes, end)]


def operations_named(within: ir.Operation, *names: str) -> list[Any]:
    """All operations of these names inside of one, whatever is inside of an operation before it.

    They may be replaced and erased one after the other, which a walk does not survive.
    """
    wanted, found = frozenset(names), list[Any]()

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in wanted:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    within.walk(collect)
    return found


def operations_in(within: Any) -> list[Any]:
    """All operations inside of one, whatever is inside of an operation before it, and it."""
    found: list[Any] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    within.operation.walk(collect)
    return found


def defining(value: ir.Value) -> Any:
    """The operation that makes a value, None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner


def constant_of(value: ir.Value) -> Any:
    """The number that a scalar is.

    Args:
        value: an MLIR value, the angle of a gate, say.

    Returns:
        A number of Python's, or None where it is known only when the program runs.

    """
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


def parallel_loops(generic: ir.Operation) -> list[bool]:
    """For each loop of a `linalg.generic`, whether its iterations are independent."""
    kinds = ir.ArrayAttr(generic.attributes["iterator_types"])
    return [str(kind) == _PARALLEL for kind in kinds]


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


def name_of(function: ir.Operation | ir.OpView) -> str:
    """The name of a function, or of anything else that has one."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def callee_of(call: ir.Operation | ir.OpView) -> str:
    """The name of the function that an operation calls."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def entry_of(module: ir.Module) -> ir.Operation | None:
    """The program's entry, where the module has it with a body."""
    for definition in module.body.operations:
        function = definition.operation
        if function.name == "func.func" and function.regions[0].blocks:
            if name_of(function) == ENTRY_FUNCTION:
                return function
    return None


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
    """Declare functions of numbers, where nobody has: calls of them may be moved and removed."""
    known = ir.SymbolTable(module.operation)
    new = {symbol: kind for symbol, kind in signatures.items() if symbol not in known}
    for function in declare(module, new):
        function.attributes["llvm.readnone"] = ir.UnitAttr.get()
