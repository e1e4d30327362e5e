"""Functions that a program calls for BLAS: `diastase_dgemm` and its like, made where first used.

They take their arguments by value and put into memory what Fortran wants there. A product that is
large is shared out among the threads of our pool, in parts of its result, each by a call of its
own; BLAS runs on one thread meanwhile (`diastase_engine/threads/blas.py`). A small one is one call,
which does not wake BLAS's threads either.

What they keep on the stack is gone when they return, so calls may stand in loops.
"""

from collections.abc import Sequence
from math import prod

from diastase_mlir.bindings import func, ir
from diastase_mlir.bindings.operations import name_of
from diastase_mlir.passes.buffers.matmul_to_blas.templates import LIMITS, definitions

PREFIXES = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
"""First letter of a routine's name, by the type of its matrices."""


def call_routine(
    module: ir.Module,
    name: str,
    element: ir.Type,
    arguments: Sequence[ir.Value],
    work: Sequence[int] | None,
) -> None:
    """Call a routine; letters are `i8`, sizes `i64`, numbers real, arrays pointers.

    `work`: the sizes whose product is the number of multiplications, if all are known.
    """
    routine = PREFIXES[str(element)] + name
    is_small = work is not None and prod(work) <= LIMITS[name]
    symbol = f"diastase_direct_{routine}" if is_small else f"diastase_{routine}"
    if symbol not in _symbols(module):
        _define(module, definitions(name, routine, str(element), is_small=is_small))
    func.CallOp([], ir.FlatSymbolRefAttr.get(symbol), list(arguments))


def _define(module: ir.Module, text: str) -> None:
    """Add the functions of a text that the module does not have."""
    known, made = _symbols(module), ir.Module.parse(text)
    with ir.InsertionPoint(module.body):
        for operation in made.body.operations:
            if name_of(operation) not in known:
                operation.operation.clone()


def _symbols(module: ir.Module) -> set[str]:
    return {name_of(operation) for operation in module.body.operations}
