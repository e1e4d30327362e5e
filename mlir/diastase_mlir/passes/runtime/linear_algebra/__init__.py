"""Linear algebra by LAPACK, the one that SciPy brings and JAX itself uses on the CPU.

    %l = stablehlo.cholesky %a
    ->
    a copy of %a, stored by columns; func.call @…lapack__dpotrf(…its address); %l of what is there

So results are JAX's to the last bit, except for the order of additions in what surrounds a call.
`batch` is the way to a routine, `arguments` what it is given; the other modules are rules. Signs,
pivots from 0 and NaN where a routine fails are those of JAX's primitives.

Part of `runtime_to_calls`, which imports it for programs that have such operations.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.library_calls import LINEAR_ALGEBRA
from diastase_mlir.emit.operations import to_signless, to_type
from diastase_mlir.passes.runtime.linear_algebra import factorizations, spectral
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch

_RULES: dict[str, Callable[..., Sequence[ir.Value]]] = {
    rule.__name__: rule
    for rule in (
        spectral.eig,
        spectral.eigh,
        spectral.hessenberg,
        spectral.schur,
        spectral.svd,
        spectral.tridiagonal,
        factorizations.cholesky,
        factorizations.geqp3,
        factorizations.geqrf,
        factorizations.householder_product,
        factorizations.lu,
        factorizations.lu_pivots_to_permutation,
        factorizations.ormqr,
        factorizations.qr,
        factorizations.triangular_solve,
        factorizations.tridiagonal_solve,
    )
}
"""From a batch and arrays to arrays, by the name of JAX's primitive."""

_OF_VECTORS = ("tridiagonal_solve", "lu_pivots_to_permutation")
"""Those whose first operand is a batch of vectors."""


def call_libraries(operation: Any, declared: dict[str, ir.Type]) -> Sequence[ir.Operation]:
    """Emit what an operation stands for, at its place; the checks that are to be converted.

    `declared`: the functions that are imported, and their types.
    """
    attributes, name = operation.attributes, operation.name.removeprefix("stablehlo.")
    if name == "custom_call":
        name = ir.StringAttr(attributes["call_target_name"]).value.removeprefix(LINEAR_ALGEBRA)
        attributes = ir.DictAttr(attributes["backend_config"])
    batch = Batch(operation, attributes, declared, rank=1 if name in _OF_VECTORS else 2)
    results = _RULES[name](batch, *map(to_signless, operation.operands))
    for own, value in zip(operation.results, results, strict=True):
        own.replace_all_uses_with(to_type(value, own.type))
    return batch.checks
