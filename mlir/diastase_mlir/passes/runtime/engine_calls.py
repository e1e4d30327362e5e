"""Calls of engine functions: declarations, constants, tables in memory, results.

Used by `quantum_to_runtime` at the current insertion point. Constants and stack space live in the
entry block of the function around the current operation, so a loop never allocates and equal
constants are shared. One stack array of each element type serves all calls of a function: the
engine copies what it is given before it returns.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import create
from diastase_mlir.passes.runtime.argument_pieces import piece_of_argument
from diastase_runtime.abi import import_symbol

ALIGNMENT = 64
"""Bytes: what JAX takes as an array of its own without copying it."""

_MOST_WORDS = 2**31
"""Offsets of pointers are 32-bit numbers in MLIR."""
_CONSTANTS = ("arith.constant", "stablehlo.constant")


class StackArray:
    """Space in the entry block of a function, as large as its largest use."""

    def __init__(self, block: ir.Block, element: ir.Type):
        self.element = element
        self.size = 1
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            self._length = _constant(_integer(1))
            attributes = {"elem_type": ir.TypeAttr.get(element)}
            self.pointer = create("llvm.alloca", [_pointer()], [self._length], attributes).result

    def reserve(self, size: int) -> None:
        """Make room for so many elements."""
        self.size = max(self.size, size)
        constant: Any = self._length.owner
        constant.attributes["value"] = _integer(self.size)


class FunctionConstants:
    """What one function keeps in its entry block."""

    def __init__(self, function: ir.Operation):
        self.block = function.regions[0].blocks[0]
        self.context = self.block.arguments[0]
        self._constants: dict[ir.Attribute, ir.Value] = {}
        self._stack: dict[str, StackArray] = {}

    def constant(self, attribute: Any) -> ir.Value:
        """A constant, shared."""
        if attribute not in self._constants:
            with ir.InsertionPoint.at_block_begin(self.block), ir.Location.unknown():
                self._constants[attribute] = _constant(attribute)
        return self._constants[attribute]

    def stack_array(self, element: ir.Type) -> StackArray:
        """The stack array of an element type."""
        key = str(element)
        if key not in self._stack:
            self._stack[key] = StackArray(self.block, element)
        return self._stack[key]


class RuntimeCalls:
    """Emits calls of the engine into one module."""

    def __init__(self, module: ir.Module):
        self._module = module
        self._declared: dict[str, ir.Type] = {}
        self._tables: dict[tuple[str, bytes], str] = {}
        self._functions: dict[ir.Operation, FunctionConstants] = {}
        self._function: FunctionConstants
        self.in_single_precision: set[ir.Value] = set()
        """States of the engine for single precision, by their pointers."""

    def move_to(self, operation: Any) -> None:
        """From here on, emit for the function around this operation."""
        parent = operation.operation.parent
        while parent.name != "func.func":
            parent = parent.operation.parent
        key = parent.operation
        if key not in self._functions:
            self._functions[key] = FunctionConstants(key)
        self._function = self._functions[key]

    def finish(self) -> None:
        """Declare the functions that were called."""
        with ir.InsertionPoint.at_block_begin(self._module.body), ir.Location.unknown():
            for symbol, function_type in self._declared.items():
                attributes = {
                    "sym_name": ir.StringAttr.get(symbol),
                    "function_type": ir.TypeAttr.get(function_type),
                    "sym_visibility": ir.StringAttr.get("private"),
                }
                create("func.func", [], [], attributes, regions=1)

    def call(self, name: str, arguments: Sequence[ir.Value], result: ir.Type | None = None) -> Any:
        """Call an engine function; the call context is added. Gives its result, if it has one.

        The first argument tells which engine it is, if it is a state.
        """
        single = bool(arguments) and arguments[0] in self.in_single_precision
        return self._call(name, arguments, result, single)

    def create_state(self, name: str, arguments: Sequence[ir.Value], single: bool) -> ir.Value:
        """Call a function that makes a state."""
        state = self._call(name, arguments, _pointer(), single)
        if single:
            self.in_single_precision.add(state)
        return state

    def _call(
        self, name: str, arguments: Sequence[ir.Value], result: ir.Type | None, single: bool
    ) -> Any:
        symbol = import_symbol("single" if single else "engine", name)
        operands = [self._function.context, *arguments]
        results = [] if result is None else [result]
        types = [operand.type for operand in operands]
        self._declared.setdefault(symbol, ir.FunctionType.get(types, results))
        attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
        call = create("func.call", results, operands, attributes)
        return call.result if results else None

    # --- numbers -----------------------------------------------------------------------------

    def integer(self, number: int) -> ir.Value:
        """An `i64` known now."""
        return self._function.constant(_integer(number))

    def real(self, number: float) -> ir.Value:
        """An `f64` known now."""
        return self._function.constant(ir.FloatAttr.get(ir.F64Type.get(), number))

    def site(self, operation: Any) -> ir.Value:
        """The place in the user's program that an operation belongs to."""
        return self.integer(operation.site.value)

    def to_flag(self, number: ir.Value) -> ir.Value:
        """0 or 1 as an `i1`."""
        return create("arith.trunci", [ir.IntegerType.get_signless(1)], [number]).result

    def pointer(self, address: ir.Value) -> ir.Value:
        """An `i64` as the pointer that it is."""
        return create("llvm.inttoptr", [_pointer()], [address]).result

    # --- tables ------------------------------------------------------------------------------

    def integer_table(self, numbers: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Length of, and pointer to, these integers; the next call is the only one to use it."""
        return self.integer(len(numbers)), self._table(numbers, ir.IntegerType.get_signless(64))

    def real_table(self, numbers: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """The same for real numbers."""
        return self.integer(len(numbers)), self._table(numbers, ir.F64Type.get())

    def constant_integers(self, numbers: Sequence[int]) -> ir.Value:
        """Pointer to integers known now."""
        return self._global(np.array(numbers, dtype=np.int64))

    def constant_reals(self, data: bytes) -> ir.Value:
        """Pointer to real numbers known now, given by their bits."""
        return self._global(np.frombuffer(data, dtype=np.float64))

    def offset(self, pointer: ir.Value, elements: int) -> ir.Value:
        """Pointer to a later `i64` (or `f64`) of a table."""
        if elements == 0:
            return pointer
        attributes = {
            "rawConstantIndices": ir.DenseI32ArrayAttr.get([elements]),
            "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(64)),
        }
        return create("llvm.getelementptr", [_pointer()], [pointer], attributes).result

    def array(self, tensor: ir.Value) -> ir.Value:
        """Pointer to the elements of a tensor, complex ones as pairs."""
        if _is_constant(tensor):
            return self._view(tensor)
        piece = piece_of_argument(tensor)
        words = _words(tensor.type)
        if piece is not None and words and words * piece[1] < _MOST_WORDS:
            return self.offset(self._view(piece[0]), words * piece[1])
        buffer, pointer = self.buffer(tensor.type)
        attributes = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
        create("bufferization.materialize_in_destination", [], [tensor, buffer], attributes)
        return pointer

    def _view(self, tensor: ir.Value) -> ir.Value:
        """Pointer to a tensor that is never written."""
        view = {"read_only": ir.UnitAttr.get()}
        memref = create("bufferization.to_buffer", [_memref_type(tensor.type)], [tensor], view)
        return _address(memref.result)

    def _table(self, numbers: Sequence[ir.Value], element: ir.Type) -> ir.Value:
        known = [_constant_scalar(number) for number in numbers]
        if all(number is not None for number in known):
            dtype = np.int64 if isinstance(element, ir.IntegerType) else np.float64
            return self._global(np.array(known, dtype=dtype))
        stack = self._function.stack_array(element)
        stack.reserve(len(numbers))
        for position, number in enumerate(numbers):
            create("llvm.store", [], [number, self.offset(stack.pointer, position)])
        return stack.pointer

    def _global(self, values: np.ndarray) -> ir.Value:
        """Pointer to a constant table of the module; equal ones are shared."""
        if values.size == 0:
            return create("llvm.mlir.zero", [_pointer()], []).result
        key = (values.dtype.str, values.tobytes())
        if key not in self._tables:
            self._tables[key] = f"diastase_table_{len(self._tables)}"
            self._define_table(self._tables[key], values)
        attributes = {"global_name": ir.FlatSymbolRefAttr.get(self._tables[key])}
        return create("llvm.mlir.addressof", [_pointer()], [], attributes).result

    def _define_table(self, name: str, values: np.ndarray) -> None:
        element = "i64" if values.dtype == np.int64 else "f64"
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "global_type": ir.TypeAttr.parse(f"!llvm.array<{values.size} x {element}>"),
            "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "constant": ir.UnitAttr.get(),
            "value": ir.DenseElementsAttr.get(values),  # pyright: ignore
            "addr_space": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0),
        }
        with ir.InsertionPoint.at_block_begin(self._module.body), ir.Location.unknown():
            create("llvm.mlir.global", [], [], attributes, regions=1)

    # --- arrays in memory --------------------------------------------------------------------

    def buffer(
        self, tensor_type: ir.Type, sizes: Sequence[ir.Value] = ()
    ) -> tuple[ir.Value, ir.Value]:
        """New memory for a tensor of this type, and the pointer to it.

        `sizes` are those (`i64`) of all axes, needed only where the type does not know them; what
        is negative, which the engine refuses, is taken to be 0.
        """
        kind = ir.RankedTensorType(tensor_type)
        unknown = [size for axis, size in enumerate(sizes) if kind.is_dynamic_dim(axis)]
        operands = [self._extent(size) for size in unknown]
        attributes: dict[str, Any] = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            # JAX copies arrays that are not, on threads that a forked child does not have.
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT),
        }
        buffer = create("memref.alloc", [_memref_type(tensor_type)], operands, attributes).result
        return buffer, _address(buffer)

    def _extent(self, size: ir.Value) -> ir.Value:
        """A size as an `index`."""
        extent = create("arith.maxsi", [size.type], [size, self.integer(0)]).result
        return create("arith.index_cast", [ir.IndexType.get()], [extent]).result

    def as_tensor(self, buffer: ir.Value, tensor_type: ir.Type) -> ir.Value:
        """The contents of a buffer of ours as a value; nobody else writes to it any more."""
        attributes = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
        return create("bufferization.to_tensor", [tensor_type], [buffer], attributes).result


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")


def _integer(number: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def _constant(attribute: Any) -> ir.Value:
    return create("arith.constant", [attribute.type], [], {"value": attribute}).result


def _constant_scalar(value: ir.Value) -> int | float | None:
    """The number that a scalar is, where it is known."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute: Any = owner.attributes["value"]
    return attribute.value


def _words(tensor_type: ir.Type) -> int:
    """How many numbers of 64 bits an element has; 0 where it is no number of such."""
    element = ir.RankedTensorType(tensor_type).element_type
    if element == ir.ComplexType.get(ir.F64Type.get()):
        return 2
    return 1 if element in (ir.F64Type.get(), ir.IntegerType.get_signless(64)) else 0


def _is_constant(tensor: ir.Value) -> bool:
    owner = tensor.owner
    return not isinstance(owner, ir.Block) and owner.name in _CONSTANTS


def _memref_type(tensor_type: ir.Type) -> ir.Type:
    shaped = ir.RankedTensorType(tensor_type)
    return ir.MemRefType.get(shaped.shape, shaped.element_type)


def _address(buffer: ir.Value) -> ir.Value:
    """The pointer to the first element of a buffer."""
    extract = "memref.extract_aligned_pointer_as_index"
    address = create(extract, [ir.IndexType.get()], [buffer]).result
    number = create("arith.index_cast", [ir.IntegerType.get_signless(64)], [address]).result
    return create("llvm.inttoptr", [_pointer()], [number]).result
