"""Loops over arrays, turn after turn, become a loop of each element: no turn goes through memory.

    scf.while (%x = %a, %on = %m) {               linalg.generic ins(%a, %m) outs(...) {
      scf.condition(any(%on)) …                   ^bb0(%a0: f64, %m0: i1, …):
    } do {                                  ->      %r:2 = scf.while (%x = %a0, %on = %m0) {
      %new = linalg.generic ins(%x, %on) …            scf.condition(%on) …
      scf.yield %new, %still                        } do { … scf.yield %new, %still }
    }                                               linalg.yield %r#0
                                                  }

`jax.vmap` of a loop is such a loop, and so is one that a user (or `jax.scipy`) writes for arrays.
The first axes of all its arrays are the batch's; what a turn does along these must be elementwise.
An element may have a few numbers, along further axes, which are scalars then (`MOST_PARTS`).
Arrays from outside are read at any place. Numbers that are the same for all elements go along.

A loop that runs while `any` element asks for it goes on for elements that do not. It is a loop of
each element only if that is not seen (`frozen`).

In: `linalg` on tensors, before fusion. Results are hidden from fusion: nothing may compute an
element's loop twice. `buffers.vector_lanes` runs the loops of some elements at the same time.

- `values`: arrays of a loop as numbers of an element; `places` in them; `operations` that make them
- `loops`: structured control flow, and the whole
- `frozen`: whether elements that do not ask for more turns can have them
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.tensors import hidden
from diastase_mlir.passes.operations import operations_in
from diastase_mlir.passes.tensors.unbatch_loops.loops import LoopOfElements
from diastase_mlir.passes.tensors.unbatch_loops.values import is_array


def unbatch_loops(module: ir.Module) -> None:
    """Replace the outermost loops that are loops of elements."""
    for view in module.body.operations:
        _visit(view.operation)


def _visit(operation: Any) -> None:
    if operation.name == "scf.while" and _asks_elements(operation) and _replace(operation):
        return
    if operation.name.startswith("linalg."):
        return
    for region in operation.regions:
        for block in region.blocks:
            for view in list(block.operations):
                _visit(view.operation)


def _asks_elements(loop: Any) -> bool:
    """Whether some elements may take fewer turns than others.

    Where all take as many, the loop stays one over arrays: in each turn, what is done with one does
    not wait for what is done with others, while a lane waits for one result after the other.
    """
    before = loop.regions[0].blocks[0]
    return any(view.operation.name.startswith("linalg.") for view in before.operations)


def _replace(loop: Any) -> bool:
    """Make the loop one of each element, if it is one."""
    ranks = [result.type.rank for result in loop.results if is_array(result.type)]
    used = [result for result in loop.results if list(result.uses)]
    if not used or not all(is_array(result.type) for result in used):
        return False
    inside = _values_in(loop)
    # The numbers of an element are along no axis, or along the last one.
    for rank in range(min(ranks), max(min(ranks) - 2, 0), -1):
        with ir.InsertionPoint(loop), loop.location:
            results = LoopOfElements(loop, rank, inside).emit(used)
            if results is None:
                continue
            for own, new in zip(used, map(hidden, results), strict=True):
                own.replace_all_uses_with(new)
        loop.erase()
        return True
    return False


def _values_in(loop: Any) -> set[ir.Value]:
    """All values that are made in a loop."""
    found: set[ir.Value] = set()
    for operation in operations_in(loop):
        if operation != loop:
            found.update(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                found.update(block.arguments)
    return found
