"""Long chains and large trees of loops over elements are fused in parts; before fusion.

MLIR fuses two loops at a time and copies the body and the operands of both each time, so that k of
them in one take time that grows with the square of k. Where more than `MOST` would become one, the
largest of what goes into a loop is hidden from fusion by a cast (`emit.tensors.hidden`), which
`drop_barriers` removes afterwards: it is an array of its own, one of `MOST` that would have been.

In: `linalg.generic` on tensors. Out: the same, where at most `MOST` are fused into one.
"""

from itertools import islice

from diastase_mlir.bindings import ir
from diastase_mlir.emit.tensors import hidden
from diastase_mlir.passes.operations import operations_named, parallel_loops

MOST = 256
"""Loops that become one: more than random bits take (160), which would be arrays between else."""


def bounded_fusion(module: ir.Module) -> None:
    """Hide operands where too many loops would be fused."""
    found = operations_named(module.operation, "linalg.generic")
    fused: dict[ir.Value, int] = {}  # how many loops give a value, once they are one
    for generic in found:
        producers = {
            number: fused[operand]
            for number, operand in enumerate(generic.operands)
            if operand in fused and _is_used_once(operand)
        }
        while sum(producers.values()) >= MOST:
            largest = max(producers, key=producers.__getitem__)
            with ir.InsertionPoint(generic), generic.location:
                generic.operands[largest] = hidden(generic.operands[largest])
            del producers[largest]
        if all(parallel_loops(generic)):
            fused.update(dict.fromkeys(generic.results, 1 + sum(producers.values())))


def _is_used_once(value: ir.Value) -> bool:
    return len(list(islice(value.uses, 2))) == 1
