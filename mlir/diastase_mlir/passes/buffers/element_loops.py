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

from typing import Any

from diastase_mlir.bindings import func, ir
from diastase_mlir.bindings.operations import callee_of, name_of, operations_named
from diastase_mlir.passes.buffers.parallel_loops.context import (
    Context,
    StackSpace,
    create,
    pointer_type,
    word,
    word_type,
)
from diastase_runtime.abi import AFTER_ELEMENTS, ELEMENT_ENTRY, ELEMENT_FUNCTION, import_symbol


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
    for call in calls:
        around = _function_around(call)
        if around not in spaces:
            spaces[around] = StackSpace(around)
        with ir.InsertionPoint(call), call.location:
            _replace(module, call, spaces[around])
        call.erase()
    _declare(module, import_symbol("threads", "for_each_element"), "pppii")
    _declare(module, AFTER_ELEMENTS, "p")


def _function_around(operation: Any) -> ir.Operation:
    around = operation.parent
    while around.name != "func.func":
        around = around.parent
    return around.operation


def _replace(module: ir.Module, call: ir.Operation, space: StackSpace) -> None:
    context, count, wires, *values = call.operands
    uses = Context(values)
    memory = space.reserve(uses.words)
    uses.store(memory)
    name = callee_of(call) + ELEMENT_ENTRY
    kind = _define_entry(module, callee_of(call), name, uses)
    function = create("func.constant", [kind], [], value=_symbol(name))
    # As functions that are declared elsewhere have it; `to-llvm` makes a pointer of both.
    entry = create("builtin.unrealized_conversion_cast", [pointer_type()], [function])
    loop = _symbol(import_symbol("threads", "for_each_element"))
    create("func.call", [], [context, entry, memory, count, wires], callee=loop)
    create("func.call", [], [context], callee=_symbol(AFTER_ELEMENTS))


def _define_entry(module: ir.Module, element: str, name: str, uses: Context) -> ir.Type:
    """The function that takes from memory what a function of an element uses."""
    kind = ir.FunctionType.get([pointer_type(), pointer_type(), word_type()], [])
    with ir.InsertionPoint.at_block_begin(module.body):
        entry = func.FuncOp(name, kind, visibility="private")
    with ir.InsertionPoint(entry.add_entry_block()):
        context, memory, number = entry.arguments
        structure = uses.load(memory)
        values = uses.unpack(structure, uses.addresses(structure))
        create("func.call", [], [context, number, word(0), *values], callee=_symbol(element))
        func.ReturnOp([])
    return kind


def _declare(module: ir.Module, name: str, arguments: str) -> None:
    """Declare a function; `p` is a pointer, `i` a number."""
    kinds = {"p": pointer_type(), "i": word_type()}
    types = [kinds[letter] for letter in arguments]
    with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
        func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")


def _symbol(name: str) -> ir.Attribute:
    return ir.FlatSymbolRefAttr.get(name)
