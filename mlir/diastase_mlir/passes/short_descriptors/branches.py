"""What branches give to the blocks that they go to: `cf.br`, `cf.cond_br`, `cf.switch`."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from diastase_mlir.bindings import ir

_SEGMENTS = "operandSegmentSizes"
_CASES = "case_operand_segments"


def replace_arguments(
    branch: ir.Operation, replaced: Callable[[Sequence[ir.Value]], list[ir.Value]]
) -> None:
    """Give each block something else; what the branch looks at stays."""
    attributes = {name: branch.attributes[name] for name in branch.attributes}
    operands = list(branch.operands)
    if _SEGMENTS not in attributes:
        operands = replaced(operands)
    else:
        looked_at, *sizes = ir.DenseI32ArrayAttr(attributes[_SEGMENTS])
        is_switch = _CASES in attributes
        if is_switch:  # whose last size is that of all cases together
            sizes = [sizes[0], *ir.DenseI32ArrayAttr(attributes[_CASES])]
        ends = pairwise(accumulate(sizes, initial=looked_at))
        given = [replaced(operands[first:last]) for first, last in ends]
        operands = [*operands[:looked_at], *(value for values in given for value in values)]
        sizes = list(map(len, given))
        if is_switch:
            attributes[_CASES] = ir.DenseI32ArrayAttr.get(sizes[1:])
            sizes = [sizes[0], sum(sizes[1:])]
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get([looked_at, *sizes])
    successors = list(branch.successors)
    with ir.InsertionPoint(branch), branch.location:
        ir.Operation.create(
            branch.name, operands=operands, attributes=attributes, successors=successors
        )
    branch.erase()
