"""What is computed for all elements of a batch gets memory, and elements that write their part.

    %r = stablehlo.custom_call @diastase.map(%count, %x)
        {called_computations = [@diastase_element_0], backend_config = {arguments = 1, wires = 3}}
    ->
    %out = memref.alloc(%count)
    func.call @diastase_element_0(%count, %wires, %x, %out)
    %r = bufferization.to_tensor %out

    func.func private @diastase_element_0(%number, %wires, %x, %out: memref<?xf64>)
      …  memref.store %result, %out[%number]

What is called is the function itself, with the *count* of elements in the place of the number of
one; `element_loops` makes of the call a loop that the engine runs, on the threads that are free.
Each element has a call context of its own there (errors, random numbers), and frees what it
allocates. `%wires` is for the engine, too: how large the states are, which decides what is done in
parallel; `ON_CALLING_THREAD` where Python is called.

The functions of a `diastase.concurrent` are elements, too, of a function that calls the one of its
number. Numbers are arrays of rank 0 yet: `scalarize` comes next.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Any

from diastase_mlir.bindings import ir, load
from diastase_mlir.dialects.runtime import RUNTIME
from diastase_mlir.emit.buffers import allocate, as_tensor, put_element
from diastase_mlir.emit.library_calls import CONCURRENT, MAP
from diastase_mlir.emit.loops import append_block, one_of
from diastase_mlir.emit.operations import (
    create,
    index_constant,
    index_type,
    integer_constant,
    number_type,
    reinterpret,
    signless_type,
)
from diastase_mlir.emit.tensors import Size
from diastase_mlir.passes.memory import word_type
from diastase_mlir.passes.operations import (
    SCOPE,
    call,
    function_type,
    last_of,
    name_of,
    new_function,
    operations_named,
    set_function_type,
)
from diastase_runtime.abi import ELEMENT_FUNCTION

Functions = dict[str, ir.Operation]
"""Those of the module, by name."""


def batches_to_calls(module: ir.Module) -> None:
    """Convert every such call of a module, in place."""
    found = [
        operation
        for operation in operations_named(module.operation, "stablehlo.custom_call")
        if _target(operation) in (MAP, CONCURRENT)
    ]
    if not found:
        return
    load((RUNTIME,))
    functions = {name_of(view.operation): view.operation for view in module.body.operations}
    elements: set[str] = set()
    for operation in found:
        with ir.InsertionPoint(operation), operation.location:
            if _target(operation) == MAP:
                _map(operation, functions, elements)
            else:
                _concurrent(module, operation, functions)
        operation.erase()


def _target(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["call_target_name"]).value


# --- one function for all elements ---------------------------------------------------------------


def _map(operation: Any, functions: Functions, elements: set[str]) -> None:
    (name,) = _callees(operation)
    taken = 1 + _config(operation, "arguments")
    number, *arguments = list(operation.operands)[:taken]
    unknown = iter(list(operation.operands)[taken:])
    outputs = [_memory_of_all(result.type, number, unknown) for result in operation.results]
    if name not in elements:
        elements.add(name)
        _write_results(functions[name], [own.type for own in outputs])
    call(name, [number, _wires(operation), *arguments, *outputs])
    for result, output in zip(operation.results, outputs, strict=True):
        result.replace_all_uses_with(reinterpret(as_tensor(output), result.type))


def _memory_of_all(tensor: ir.Type, number: ir.Value, unknown: Iterator[ir.Value]) -> ir.Value:
    """Memory for a result of so many elements."""
    kind = ir.RankedTensorType(signless_type(tensor))
    sizes: list[Size] = [
        _as_index(next(unknown) if axis else number)
        if kind.is_dynamic_dim(axis)
        else kind.get_dim_size(axis)
        for axis in range(kind.rank)
    ]
    return allocate(sizes, kind.element_type)


def _write_results(function: Any, outputs: Sequence[ir.Type]) -> None:
    """Make a function of an element put its results into its places in memory."""
    (block,) = function.regions[0].blocks
    old = list(block.arguments)
    number, *rest = (argument.type for argument in old)
    kinds = [number, number, *rest, *outputs]
    with function.location:
        first, _, *others = [block.add_argument(kind, function.location) for kind in kinds]
        for before, after in zip(old, [first, *others], strict=False):
            before.replace_all_uses_with(after)
        for _ in old:
            block.erase_argument(0)
        first, _, *others = block.arguments
        leave = last_of(block)
        with ir.InsertionPoint(leave):
            _put(list(leave.operands), others[len(rest) :], _as_index(first))
            create("func.return")
        leave.erase()
        set_function_type(function, kinds)


def _put(results: Sequence[ir.Value], outputs: Sequence[ir.Value], place: ir.Value) -> None:
    """Put the results of an element into its place in each output."""
    for result, output in zip(results, outputs, strict=True):
        put_element(result, output, place)


# --- a function for each element -----------------------------------------------------------------


def _concurrent(module: ir.Module, operation: Any, functions: Functions) -> None:
    outputs = [_memory_of_one(result.type) for result in operation.results]
    names = (f"{ELEMENT_FUNCTION}{number}" for number in count())
    name = next(name for name in names if name not in functions)
    functions[name] = _choice(module, name, operation, functions, outputs)
    number = integer_constant(len(_callees(operation)))
    call(name, [number, _wires(operation), *operation.operands, *outputs])
    for result, output in zip(operation.results, outputs, strict=True):
        own = ir.RankedTensorType(result.type)
        kind = ir.RankedTensorType.get([1, *own.shape], own.element_type)
        array = reinterpret(as_tensor(output), kind)
        result.replace_all_uses_with(create("stablehlo.reshape", [own], [array]).result)


def _memory_of_one(tensor: ir.Type) -> ir.Value:
    """Memory for a result, with an axis of size 1 before its own."""
    kind = ir.RankedTensorType(signless_type(tensor))
    return allocate([1, *kind.shape], kind.element_type)


def _choice(
    module: ir.Module, name: str, operation: Any, functions: Functions, outputs: Sequence[ir.Value]
) -> ir.Operation:
    """The function that calls the one of its number, and puts its results where they belong."""
    number = number_type(word_type())
    kinds = [number, number, *(own.type for own in (*operation.operands, *outputs))]
    with ir.InsertionPoint.at_block_begin(module.body):
        function = new_function(name, ir.FunctionType.get(kinds, []))
    block = append_block(function.regions[0], kinds)
    first, _, *values = block.arguments
    arguments = iter(values[: len(operation.operands)])
    places = iter(values[len(operation.operands) :])
    with ir.InsertionPoint(block):
        branches = [
            _branch(callee, functions[callee], arguments, places) for callee in _callees(operation)
        ]
        one_of(SCOPE, _as_index(first), [], branches)
        create("func.return")
    return function


def _branch(
    name: str, function: ir.Operation, arguments: Iterator[ir.Value], places: Iterator[ir.Value]
) -> Callable[[], Sequence[ir.Value]]:
    kind = function_type(function)
    own = list(islice(arguments, len(kind.inputs)))
    outputs = list(islice(places, len(kind.results)))

    def emit() -> Sequence[ir.Value]:
        _put(call(name, own, kind.results), outputs, index_constant(0))
        return []

    return emit


# --- what both read and emit ---------------------------------------------------------------------


def _callees(operation: Any) -> list[str]:
    symbols = ir.ArrayAttr(operation.attributes["called_computations"])
    return [ir.FlatSymbolRefAttr(symbol).value for symbol in symbols]


def _config(operation: Any, name: str) -> int:
    return ir.IntegerAttr(ir.DictAttr(operation.attributes["backend_config"])[name]).value


def _wires(operation: Any) -> ir.Value:
    return integer_constant(_config(operation, "wires"))


def _as_index(number: ir.Value) -> ir.Value:
    return create("runtime.scalar", [index_type()], [number]).result
