"""Triangular systems of equations."""

from diastase_mlir.bindings import ir
from diastase_mlir.emit.tensors import sizes_of
from diastase_mlir.passes.runtime.linear_algebra.arguments import Number
from diastase_mlir.passes.runtime.linear_algebra.batch import Batch

_WAYS = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}
"""BLAS's letters, by StableHLO's words."""


def triangular_solve(batch: Batch, matrix: ir.Value, right_side: ir.Value) -> list[ir.Value]:
    """`op(a) x = b` or `x op(a) = b`; a singular matrix gives infinities and NaN, no failure."""
    size, _ = batch.core
    (way,) = (way for way in _WAYS if f" {way}>" in batch.option("transpose_a"))
    rows, columns = sizes_of(right_side)[-2:]
    solution = batch.columns(right_side)
    letters = (
        "L" if batch.option("left_side") else "R",
        "L" if batch.option("lower") else "U",
        _WAYS[way],
        "U" if batch.option("unit_diagonal") else "N",
    )
    arguments = (*letters, rows, columns, Number(1), batch.columns(matrix), size, solution, rows)
    batch.call("trsm", *arguments, unless_empty=[rows, columns], library="blas")
    return [batch.matrix(solution)]
