"""Small arrays are their elements, scalars, in loops and branches. Before fusion.

    scf.for … iter_args(%a = %0) -> (tensor<2xf64>) {      scf.for … iter_args(%x = %p, %y = %q) {
      %1 = linalg.generic ins(%a) { … negf … }        ->     %2 = arith.negf %x : f64
      scf.yield %1 }                                         %3 = arith.negf %y : f64
                                                             scf.yield %2, %3 }

As arrays they would be memory: each loop over three elements would begin, be masked and end, and
write what the next one reads. What is used as an array by something else becomes one there
(`tensor.from_elements`); canonicalisation removes those that nobody uses.

- `choice`: which loops over elements, and which carried arrays
- `elements`: what numbers an array consists of
- `unrolling`: a loop over elements written out; `passes.bodies`: its body in one turn
- `control_flow`: loops and branches that hand on numbers
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.operations import operations_named
from diastase_mlir.passes.tensors.arrays_in_registers.choice import (
    LOOPS,
    UPDATES,
    arrays_as_numbers,
    loops_to_write_out,
    stands_in_loop,
)
from diastase_mlir.passes.tensors.arrays_in_registers.control_flow import CONTROL_FLOW, made_anew
from diastase_mlir.passes.tensors.arrays_in_registers.elements import Elements
from diastase_mlir.passes.tensors.arrays_in_registers.unrolling import (
    is_side_by_side,
    written_out,
)
from diastase_toolchain.machine_code import SIDE_BY_SIDE


def arrays_in_registers(module: ir.Module) -> None:
    """Rewrite the loops of every function, in place."""
    for view in module.body.operations:
        function = view.operation
        if function.name == "func.func" and operations_named(function, *LOOPS):
            rewriting = _Rewriting(function)
            rewriting.block(function.regions[0].blocks[0])
            rewriting.erase()
            if rewriting.side_by_side:
                kept = ir.ArrayAttr.get([ir.StringAttr.get(SIDE_BY_SIDE)])
                function.attributes["passthrough"] = kept


class _Rewriting:
    """A walk through a function, in the order of its operations.

    The trap: tables of values know them by their addresses, which others get once an operation is
    erased. So what is replaced stays where it is until the walk is over.
    """

    def __init__(self, function: Any):
        self._loops = loops_to_write_out(function)
        self._numbers = arrays_as_numbers(function, self._loops)
        self._elements = Elements(function)
        self._replaced: list[Any] = []
        self.side_by_side = False
        """Whether something was written out that vectors may do."""

    def block(self, block: Any) -> None:
        """Rewrite a block's operations."""
        for view in list(block.operations):
            operation = view.operation
            if operation.name in CONTROL_FLOW:
                new, finish = made_anew(operation, self._is_number, self._elements)
                if new is not operation:
                    self._replaced.append(operation)
                for region in new.regions:
                    for inner in region.blocks:
                        self.block(inner)
                finish()
            elif len(operation.results) and operation.results[0] in self._loops:
                self.side_by_side |= is_side_by_side(operation)
                with ir.InsertionPoint(operation), operation.location:
                    self._replace(operation, written_out(operation, self._elements))
            elif operation.name in UPDATES and stands_in_loop(operation):
                with ir.InsertionPoint(operation), operation.location:
                    array = self._elements.inserted(operation)
                if array is not None:
                    self._replace(operation, [array])

    def erase(self) -> None:
        """Erase what was replaced."""
        for operation in reversed(self._replaced):
            operation.erase()

    def _is_number(self, array: Any) -> bool:
        return array in self._numbers

    def _replace(self, operation: Any, arrays: list[ir.Value]) -> None:
        for result, array in zip(operation.results, arrays, strict=True):
            result.replace_all_uses_with(array)
        self._replaced.append(operation)
