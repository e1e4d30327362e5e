"""Calls of functions of one element, which stand for all elements of a batch, become loops.

    func.call @diastase_element_0(%context, %count, %wires, %x, %out)
    ->
    llvm.store %uses, %memory          the descriptors of %x and %out, and what else there is
    func.call @for_each_element(%context, @diastase_element_0_entry, %memory, %count, %wires)
    func.call @diastase_after_elements(%context)

    func.func private @diastase_element_0_entry(%context: !llvm.ptr, %memory: !llvm.ptr,
                                                %number: i64)
      func.call @diastase_element_0(%context, %number, %wires, <what is in %memory>)

The first of the functions called belongs to the thread pool (`batch_elements`), which calls the
entry on any thread, for any element, in any order. Where an element may abandon its call,
`codegen.allocation_runtime` makes of the entry a way out of it; the function that is called last
then abandons the call around it, too. Nothing is inlined here: an element has a stack frame of its
own.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import append_block
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.buffers.parallel_loops.context import Context, address_of_function
from diastase_mlir.passes.memory import StackSpace, pointer_type, word, word_type
from diastase_mlir.passes.operations import (
    call,
    callee_of,
    declare,
    function_around,
    name_of,
    new_function,
    operations_named,
)
from diastase_runtime.abi import AFTER_ELEMENTS, ELEMENT_ENTRY, ELEMENT_FUNCTION, import_symbol

_LOOP = import_symbol("threads", "for_each_element")


def element_loops(module: ir.Module) -> None:
    """Replace all calls of functions of elements; a module without any has no such function."""
    functions = {
        name
        for operation in module.body.operations
        if "sym_name" in operation.attributes
        and (name := name_of(operation)).startswith(ELEMENT_FUNCTION)
    }
    if not functions:
        return
    calls = [
        operation
        for operation in operations_named(module.operation, "func.call")
        if callee_of(operation) in functions
    ]
    spaces: dict[ir.Operation, StackSpace] = {}
    for operation in calls:
        around = function_around(operation)
        if around not in spaces:
            spaces[around] = StackSpace(around)
        with ir.InsertionPoint(operation), operation.location:
            _replace(module, operation, spaces[around])
        operation.erase()
    pointer, number = pointer_type(), word_type()
    loop = ir.FunctionType.get([pointer, pointer, pointer, number, number], [])
    declare(module, {AFTER_ELEMENTS: ir.FunctionType.get([pointer], []), _LOOP: loop})


def _replace(module: ir.Module, operation: ir.Operation, space: StackSpace) -> None:
    context, count, wires, *values = operation.operands
    uses = Context(values)
    memory = space.reserve(uses.words)
    uses.store(memory)
    name = callee_of(operation) + ELEMENT_ENTRY
    kind = _define_entry(module, callee_of(operation), name, uses)
    call(_LOOP, [context, address_of_function(name, kind), memory, count, wires])
    call(AFTER_ELEMENTS, [context])


def _define_entry(module: ir.Module, element: str, name: str, uses: Context) -> ir.Type:
    """The function that takes from memory what a function of an element uses."""
    kind = ir.FunctionType.get([pointer_type(), pointer_type(), word_type()], [])
    with ir.InsertionPoint.at_block_begin(module.body):
        entry = new_function(name, kind)
    block = append_block(entry.regions[0], kind.inputs)
    with ir.InsertionPoint(block):
        context, memory, number = block.arguments
        structure = uses.load(memory)
        values = uses.unpack(structure, uses.addresses(structure))
        call(element, [context, number, word(0), *values])
        create("func.return")
    return kind
