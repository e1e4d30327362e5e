"""What passes ask of the operations of a module."""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_runtime.abi import ENTRY_FUNCTION

_PARALLEL = "#linalg.iterator_type<parallel>"


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


def parallel_loops(generic: ir.Operation) -> list[bool]:
    """For each loop of a `linalg.generic`, whether its iterations are independent."""
    kinds = ir.ArrayAttr(generic.attributes["iterator_types"])
    return [str(kind) == _PARALLEL for kind in kinds]
