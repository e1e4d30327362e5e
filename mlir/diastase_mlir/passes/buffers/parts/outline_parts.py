"""Cut long blocks of operations on arrays into functions; just before arrays become memory.

Bufferization asks of each operation that could write in place whether any other one may read what
it would write over. It looks at all reads and writes of all arrays that may be the same memory, in
pairs: 400 updates of an array in a row, one function, take it half a minute. It knows of a function
that is called what it writes, and which of its arguments a result is; so parts of a function, and
parts of these (`parts.outlining`), are analysed in a time that grows with their number, and arrays
are written in place across them.

`inline_parts` puts them back when arrays are memory.
"""

from diastase_mlir.bindings import ir
from diastase_mlir.passes.buffers.parts.outlining import Cutting, Outliner

MOST_OPERATIONS = 48
"""On arrays, of a block that is left as it is."""

OPERATIONS_OF_A_PART = 16

_ON_ARRAYS = ("tensor.", "linalg.", "scf.for", "scf.while", "scf.if", "bufferization.")
_INSIDE = frozenset({"linalg.yield", "linalg.index"})


def outline_parts(module: ir.Module) -> None:
    """Cut all blocks that have too many operations on arrays."""
    cutting = Cutting(_is_on_arrays, MOST_OPERATIONS, OPERATIONS_OF_A_PART, arrays_are_values=True)
    Outliner(module, cutting).cut_functions()


def _is_on_arrays(operation: ir.Operation) -> int:
    name = operation.name
    if name == "func.call":
        return any(isinstance(value.type, ir.RankedTensorType) for value in _values(operation))
    return name.startswith(_ON_ARRAYS) and name not in _INSIDE


def _values(operation: ir.Operation) -> list[ir.Value]:
    return [*operation.operands, *operation.results]
