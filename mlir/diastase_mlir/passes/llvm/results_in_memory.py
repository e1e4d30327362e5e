"""The entry writes each result's descriptor into the caller's memory, where the result is made.

MLIR would return all descriptors as one structure, built a field at a time by values of the type
of the whole: for a program of many results both the text of LLVM IR and the code generator's work
grow with the square of their number. So the entry takes a pointer to their memory, after its
arguments (`codegen.allocation_runtime` knows it there):

    func.func @diastase_entry(%context, …)     func.func @diastase_entry(%context, …, %results) {
        -> memref<3xf64> {                ->     %0 = memref.alloc() : memref<3xf64>
      %0 = memref.alloc() : memref<3xf64>        the five words of %0's descriptor, stored
      return %0 : memref<3xf64>                  return
    }                                          }

In: an entry of one block. Each descriptor is written as soon as there is one, so that functions
that are cut (`split_functions`) have nothing to hand back.

The trap: a call that is abandoned may have written some of the descriptors, of arrays that are
freed on its way out. The loader does not look at them then.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, reinterpret
from diastase_mlir.passes.memory import descriptor_type, offset, pointer_type, store
from diastase_mlir.passes.operations import behind, entry_of, last_of, set_function_type


def results_in_memory(module: ir.Module) -> None:
    """Let the entry store its results; nothing changes where it has none."""
    entry = entry_of(module)
    if entry is not None:
        _store_results(entry)


def _store_results(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    leave = last_of(block)
    results = list(leave.operands)
    if not results:
        return
    memory = block.add_argument(pointer_type(), function.location)
    set_function_type(function, [argument.type for argument in block.arguments])
    if "arg_attrs" in function.attributes:
        attributes = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*attributes, ir.DictAttr.get()])
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
    first_word = 0
    for result in results:
        with behind(result), leave.location:
            first_word += _store_descriptor(result, memory, first_word)
    with ir.InsertionPoint(leave), leave.location:
        create("func.return")
    leave.erase()


def _store_descriptor(result: ir.Value, memory: ir.Value, first_word: int) -> int:
    """Store a descriptor, and say how many words it has."""
    rank = ir.MemRefType(result.type).rank
    store(reinterpret(result, descriptor_type(rank)), offset(memory, 8 * first_word))
    return 3 + 2 * rank
