"""Elementary functions of arrays become calls that LLVM can make for a vector of elements at once.

    linalg.generic { ^bb0(%in: f64, %out: f64): %0 = math.exp %in : f64 … }
    ->
    linalg.generic { … %0 = func.call @diastase_import__elementary__exp_f64(%in) : (f64) -> f64 … }

`codegen.import_table` says that the function has vector forms, and the loop vectoriser chooses one.
Scalars, and what loops written by the user compute on scalars, stay with the C library.
In: operations on memory, before they are loops.

Truth values as numbers become a choice between 1 and 0, which is one instruction for a vector;
LLVM would make integers of them first.
"""

from diastase_engine import ELEMENTARY_FUNCTIONS
from diastase_mlir.bindings import arith, ir
from diastase_mlir.passes.operations import (
    Signatures,
    declare_pure,
    operations_named,
    replace_by_call,
)
from diastase_runtime.abi import import_symbol

_OPERATIONS = {f"math.{name}": name for name in ELEMENTARY_FUNCTIONS}
_AS_NUMBER = "arith.uitofp"


def elementary_calls(module: ir.Module) -> None:
    """Replace the operations in bodies of loops over elements, and declare what they call."""
    declared: Signatures = {}
    for operation in _in_loops(module, *_OPERATIONS):
        _replace(operation, declared)
    for operation in _in_loops(module, _AS_NUMBER):
        _choose(operation)
    declare_pure(module, declared)


def _in_loops(module: ir.Module, *names: str) -> list[ir.Operation]:
    return [
        operation
        for operation in operations_named(module.operation, *names)
        if operation.parent is not None and operation.parent.name == "linalg.generic"
    ]


def _choose(operation: ir.Operation) -> None:
    truth, kind = operation.operands[0], operation.results[0].type
    if str(truth.type) != "i1":
        return
    with ir.InsertionPoint(operation), operation.location:
        number = arith.select(truth, arith.constant(kind, 1.0), arith.constant(kind, 0.0))
    operation.results[0].replace_all_uses_with(number)
    operation.erase()


def _replace(operation: ir.Operation, declared: Signatures) -> None:
    kind = operation.results[0].type
    if str(kind) not in ("f32", "f64"):
        return
    name = import_symbol("elementary", f"{_OPERATIONS[operation.name]}_{kind}")
    replace_by_call(operation, name, declared)
