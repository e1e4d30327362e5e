"""Calls of engine functions: constants, tables in memory, arrays in and out.

Used by `quantum_to_runtime` at the current insertion point. Constants and stack space live in the
entry block of the function around the current operation, so a loop never allocates and equal
constants are shared. One stack array of each element type serves all calls of a function: the
engine copies what it is given before it returns.

An array is handed over where it lies if it is a constant, or a contiguous piece of an argument: the
caller's arrays are never written (`bufferization.writable = false`), and a copy of each would cost
a loop, memory and time to compile. The same is true of arguments of the module's other functions.
Any other array is copied into a buffer of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import allocate, as_tensor, filled
from diastase_mlir.emit.operations import create, integer_type
from diastase_mlir.emit.tensors import Size
from diastase_mlir.passes.memory import (
    StackSpace,
    address_of,
    offset,
    pointer_type,
    store,
    to_pointer,
    word_type,
)
from diastase_mlir.passes.operations import (
    Signatures,
    call_imported,
    constant_of,
    declare,
    defining,
    function_around,
    operands_of,
    to_index,
)
from diastase_runtime.abi import Engine, import_symbol

_MOST_WORDS = 2**31
"""Offsets of pointers are 32-bit numbers in MLIR."""
_MOST_ON_STACK = 256
"""Elements of an array that are stored one by one."""
_CONSTANTS = ("arith.constant", "stablehlo.constant")
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


class _FunctionConstants:
    """What one function keeps in its entry block."""

    def __init__(self, function: ir.Operation):
        self._function = function
        self._block = function.regions[0].blocks[0]
        self.context = self._block.arguments[0]
        self._constants: dict[ir.Attribute, ir.Value] = {}
        self._stack: dict[str, StackSpace] = {}

    def constant(self, attribute: Any) -> ir.Value:
        """A constant, shared."""
        if attribute not in self._constants:
            with ir.InsertionPoint.at_block_begin(self._block), ir.Location.unknown():
                made = create("arith.constant", [attribute.type], [], {"value": attribute})
                self._constants[attribute] = made.result
        return self._constants[attribute]

    def stack_space(self, element: ir.Type) -> StackSpace:
        """The stack array of an element type."""
        key = str(element)
        if key not in self._stack:
            self._stack[key] = StackSpace(self._function, element)
        return self._stack[key]

    def own_space(self, element: ir.Type) -> StackSpace:
        """A stack array for one purpose."""
        return StackSpace(self._function, element)


class EngineCalls:
    """Emits calls of the engine into one module."""

    def __init__(self, module: ir.Module):
        self._module = module
        self._declared: Signatures = {}
        self._tables: dict[tuple[str, bytes], str] = {}
        self._kept: dict[ir.Operation, ir.Value] = {}
        """Small arrays on the stack, by the operations that make them."""
        self._functions: dict[ir.Operation, _FunctionConstants] = {}
        self._function: _FunctionConstants
        self.library_of: dict[ir.Value, Engine] = {}
        """Which library serves a state, by its pointer."""
        self.usual_library: Engine = "engine"
        """The one that serves what is no state."""

    def move_to(self, operation: Any) -> None:
        """From here on, emit for the function around this operation."""
        function = function_around(operation)
        if function not in self._functions:
            self._functions[function] = _FunctionConstants(function)
        self._function = self._functions[function]

    def finish(self) -> None:
        """Declare the functions that were called."""
        declare(self._module, self._declared)

    def call(self, name: str, arguments: Sequence[ir.Value], *results: ir.Type) -> Any:
        """Call an engine function; the call context is added. Gives its result, if it has one.

        The first argument tells which engine it is, if it is a state.
        """
        return self._call(name, arguments, results, self._serving(arguments))

    def create_state(
        self, name: str, arguments: Sequence[ir.Value], library: Engine | None = None
    ) -> ir.Value:
        """Call a function that makes a state: of a library, or of that of its first argument."""
        library = library or self._serving(arguments)
        state = self._call(name, arguments, [pointer_type()], library)
        self.library_of[state] = library
        return state

    def _serving(self, arguments: Sequence[ir.Value]) -> Engine:
        usual = self.usual_library
        return self.library_of.get(arguments[0], usual) if arguments else usual

    def _call(
        self, name: str, arguments: Sequence[ir.Value], results: Sequence[ir.Type], library: Engine
    ) -> Any:
        symbol = import_symbol(library, name)
        operands = [self._function.context, *arguments]
        returned = call_imported(self._declared, symbol, operands, results)
        return returned[0] if returned else None

    # --- numbers -----------------------------------------------------------------------------

    def integer(self, number: int) -> ir.Value:
        """An `i64` known now."""
        return self._function.constant(ir.IntegerAttr.get(word_type(), number))

    def real(self, number: float) -> ir.Value:
        """An `f64` known now."""
        return self._function.constant(ir.FloatAttr.get(ir.F64Type.get(), number))

    def site(self, operation: Any) -> ir.Value:
        """The place in the user's program that an operation belongs to."""
        return self.integer(operation.site.value)

    def to_flag(self, number: ir.Value) -> ir.Value:
        """0 or 1 as an `i1`."""
        return create("arith.trunci", [integer_type(1)], [number]).result

    # --- tables ------------------------------------------------------------------------------

    def integer_table(self, numbers: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """Length of, and pointer to, these integers; the next call is the only one to use it."""
        return self.integer(len(numbers)), self._table(numbers, word_type())

    def real_table(self, numbers: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """The same for real numbers."""
        return self.integer(len(numbers)), self._table(numbers, ir.F64Type.get())

    def constant_integers(self, numbers: Sequence[int]) -> ir.Value:
        """Pointer to integers known now."""
        return self._global(np.array(numbers, dtype=np.int64))

    def constant_reals(self, data: bytes) -> ir.Value:
        """Pointer to real numbers known now, given by their bits."""
        return self._global(np.frombuffer(data, dtype=np.float64))

    def nowhere(self) -> ir.Value:
        """The null pointer: no table."""
        return create("llvm.mlir.zero", [pointer_type()]).result

    def offset(self, pointer: ir.Value, elements: int) -> ir.Value:
        """Pointer to a later `i64` (or `f64`) of a table."""
        return offset(pointer, elements, bits=64) if elements else pointer

    def _table(self, numbers: Sequence[ir.Value], element: ir.Type) -> ir.Value:
        known = [constant_of(number) for number in numbers]
        if all(number is not None for number in known):
            dtype = np.int64 if isinstance(element, ir.IntegerType) else np.float64
            return self._global(np.array(known, dtype=dtype))
        pointer = self._function.stack_space(element).reserve(len(numbers))
        for position, number in enumerate(numbers):
            store(number, self.offset(pointer, position))
        return pointer

    def _global(self, values: np.ndarray) -> ir.Value:
        """Pointer to a constant table of the module; equal ones are shared."""
        if values.size == 0:
            return self.nowhere()
        key = (values.dtype.str, values.tobytes())
        if key not in self._tables:
            self._tables[key] = f"diastase_table_{len(self._tables)}"
            self._define_table(self._tables[key], values)
        attributes = {"global_name": ir.FlatSymbolRefAttr.get(self._tables[key])}
        return create("llvm.mlir.addressof", [pointer_type()], [], attributes).result

    def _define_table(self, name: str, values: np.ndarray) -> None:
        element = "i64" if values.dtype == np.int64 else "f64"
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "global_type": ir.TypeAttr.parse(f"!llvm.array<{values.size} x {element}>"),
            "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "constant": ir.UnitAttr.get(),
            "value": ir.DenseElementsAttr.get(values),  # pyright: ignore
            "addr_space": ir.IntegerAttr.get(integer_type(32), 0),
        }
        with ir.InsertionPoint.at_block_begin(self._module.body), ir.Location.unknown():
            create("llvm.mlir.global", [], [], attributes, regions=1)

    # --- arrays in memory --------------------------------------------------------------------

    def array(self, tensor: ir.Value) -> ir.Value:
        """Pointer to the elements of a tensor, complex ones as pairs."""
        owner = defining(tensor)
        if owner is not None and owner.name in _CONSTANTS:
            return _view(tensor)
        piece = piece_of_argument(tensor)
        words = _words(tensor.type)
        if piece is not None and words and words * piece[1] < _MOST_WORDS:
            return self.offset(_view(piece[0]), words * piece[1])
        return to_pointer(address_of(filled(tensor)))

    def small_array(self, tensor: ir.Value) -> ir.Value:
        """The same, of an array of numbers that the next call is the only one to use.

        One that is made of scalars is put on the stack, element by element: where it is made, if
        it is used several times.
        """
        made, is_shared = defining(tensor), _is_shared(tensor)
        while made is not None and made.name in (*_RESHAPES, "stablehlo.reshape"):
            is_shared |= _is_shared(made.operands[0])
            made = defining(made.operands[0])
        if made is None or made.name != "tensor.from_elements":
            return self.array(tensor)
        numbers = operands_of(made)
        if len(numbers) > _MOST_ON_STACK or numbers[0].type != ir.F64Type.get():
            return self.array(tensor)
        if not is_shared:
            return self._table(numbers, ir.F64Type.get())
        if made not in self._kept:
            self._kept[made] = self._function.own_space(ir.F64Type.get()).reserve(len(numbers))
            with ir.InsertionPoint.after(made):
                for position, number in enumerate(numbers):
                    store(number, self.offset(self._kept[made], position))
        return self._kept[made]

    def filled_by(
        self, name: str, arguments: Sequence[ir.Value], kind: Any, sizes: Sequence[ir.Value] = ()
    ) -> ir.Value:
        """The tensor that a function writes into memory of ours, its last argument.

        `sizes` are those (`i64`) of all axes, needed only where the type does not know them; what
        is negative, which the engine refuses, is taken to be 0.
        """
        own: list[Size] = list(kind.shape)
        for axis, size in enumerate(sizes):
            if kind.is_dynamic_dim(axis):
                extent = create("arith.maxsi", [size.type], [size, self.integer(0)]).result
                own[axis] = to_index(extent)
        buffer = allocate(own, kind.element_type)
        self.call(name, [*arguments, to_pointer(address_of(buffer))])
        return as_tensor(buffer)


def _is_shared(value: ir.Value) -> bool:
    """Whether a value has several users."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is not None


def _view(tensor: ir.Value) -> ir.Value:
    """Pointer to a tensor that is never written."""
    shaped = ir.RankedTensorType(tensor.type)
    memref = ir.MemRefType.get(shaped.shape, shaped.element_type)
    view = {"read_only": ir.UnitAttr.get()}
    return to_pointer(
        address_of(create("bufferization.to_buffer", [memref], [tensor], view).result)
    )


def _words(tensor_type: ir.Type) -> int:
    """How many numbers of 64 bits an element has; 0 where it is no number of such."""
    element = ir.RankedTensorType(tensor_type).element_type
    if element == ir.ComplexType.get(ir.F64Type.get()):
        return 2
    return 1 if element in (ir.F64Type.get(), word_type()) else 0


def piece_of_argument(tensor: ir.Value) -> tuple[ir.Value, int] | None:
    """The argument in which a tensor lies as it is, and the number of elements before it."""
    begin = 0
    while (operation := defining(tensor)) is not None:
        source = operation.operands[0] if len(operation.operands) == 1 else None
        if source is None or not isinstance(source.type, ir.RankedTensorType):
            return None
        if operation.name == "tensor.extract_slice":
            before = _before(operation, ir.RankedTensorType(source.type))
            if before is None:
                return None
            begin += before
        elif operation.name not in _RESHAPES:
            return None
        tensor = source
    return (tensor, begin) if _is_the_callers(tensor) else None


def _is_the_callers(value: Any) -> bool:
    """Whether an argument of a block is one of the program, of known shape."""
    function = value.owner.owner.operation
    if function.name != "func.func" or not isinstance(value.type, ir.RankedTensorType):
        return False
    if not value.type.has_static_shape or "arg_attrs" not in function.attributes:
        return False
    attributes = function.attributes["arg_attrs"][ir.BlockArgument(value).arg_number]
    return "bufferization.writable" in attributes and not attributes["bufferization.writable"].value


def _before(slice_operation: Any, source: ir.RankedTensorType) -> int | None:
    """How many elements of the source come before a slice; None unless it is contiguous."""
    if not source.has_static_shape:
        return None
    offsets, sizes, steps = (
        list(slice_operation.attributes[f"static_{name}"])
        for name in ("offsets", "sizes", "strides")
    )
    if any(step != 1 for step in steps) or not _is_contiguous(sizes, source.shape):
        return None
    return int(np.ravel_multi_index(offsets, source.shape))


def _is_contiguous(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether only axes after the first with more than one element are complete."""
    first = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    return list(sizes[first + 1 :]) == list(shape[first + 1 :]) and 0 not in shape
