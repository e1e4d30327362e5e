"""Cut functions of many loops and branches into several; before they become jumps.

LLVM's passes over loops look at all other loops of the function for each, and its code generator
at all values: a function of 400 loops takes a hundred times as long to compile as one of 40. So do
branches, of which there may be one for each array, which asks whether it is still to be freed. So
operations in a row that have enough of both become a function of their own, called where they stood
(`parts.outlining`).
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.buffers.parts.outlining import Cutting, Outliner

_OF_A_LOOP = 2
"""What a loop counts; a branch counts one."""

MOST_LOOPS = 32
"""Of a block that is left as it is."""

LOOPS_OF_A_PART = 12
"""Long enough that calls and their arguments take no time, short enough for LLVM."""

_LOOPS = ("linalg.", "scf.for", "scf.while", "scf.parallel")
_IN_LOOPS = frozenset({"linalg.yield", "linalg.index"})


def split_functions(module: ir.Module) -> None:
    """Cut all blocks that have too many loops."""
    most, of_a_part = (loops * _OF_A_LOOP for loops in (MOST_LOOPS, LOOPS_OF_A_PART))
    Outliner(module, Cutting(_weight, most, of_a_part)).cut_functions()


def _weight(operation: ir.Operation) -> int:
    name = operation.name
    if name == "scf.if":
        return 1
    return _OF_A_LOOP * (name.startswith(_LOOPS) and name not in _IN_LOOPS)
