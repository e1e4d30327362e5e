"""Cut functions of many loops, or of many operations, into several; before loops become branches.

LLVM's passes over loops look at all other loops of the function for each, and its code generator
at all values: a function of 400 loops takes a hundred times as long to compile as one of 40. So
operations in a row that weigh enough become a function of their own, called where they stood
(`parts.outlining`). What is left calls them and has no loop: `codegen.machine` does little to it.

The trap: `codegen.small_loops` counts the turns of a part as turns of the function it is part of,
which it knows by the name.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.parts.outlining import Cutting, Outliner

LOOP = 32
"""Operations that LLVM takes as long for as for a loop of one."""

MOST_OPERATIONS = 32 * LOOP
"""Of a block that is left as it is."""

OPERATIONS_OF_A_PART = 12 * LOOP
"""Long enough that calls and their arguments take no time, short enough for LLVM."""

_LOOPS = ("linalg.", "scf.for", "scf.while", "scf.parallel")
_IN_LOOPS = frozenset({"linalg.yield", "linalg.index"})


def shorter_functions(module: ir.Module) -> None:
    """Cut all blocks that are too long."""
    Outliner(module, Cutting(_weight, MOST_OPERATIONS, OPERATIONS_OF_A_PART)).cut_functions()


def _weight(operation: ir.Operation) -> int:
    name = operation.name
    return LOOP if name.startswith(_LOOPS) and name not in _IN_LOOPS else 1
