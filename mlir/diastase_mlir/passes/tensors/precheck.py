"""Refuse operations on which a pass of MLIR would abort the whole process.

Upstream reports such things with `llvm_unreachable` or `report_fatal_error`, which no exception
handler sees. Lowering avoids them; this pass makes sure that what it overlooks is an error.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.pass_pipeline import PassError
from diastase_mlir.passes.operations import operations_named


def precheck(module: ir.Module) -> None:
    """Raise for operations known to crash a later pass."""
    # stablehlo-legalize-to-linalg: "LLVM ERROR: could not reify"
    for operation in operations_named(module.operation, "stablehlo.reduce_precision"):
        if not operation.operands[0].type.has_static_shape:
            raise PassError(f"{operation.name} of an array of unknown size", operation.location)
