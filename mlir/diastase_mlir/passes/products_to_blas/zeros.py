"""Which fill with zeros is overwritten by a product.

A product adds to its result, which is filled with zeros just before. Where nothing in between
touches that buffer, the fill need not happen, if the routine overwrites what it finds.
"""

from diastase_mlir.bindings import ir


def overwritten_zeros(product: ir.Operation) -> ir.Operation | None:
    """The fill that is the last thing to happen to a product's result before it, if it is one."""
    result = product.operands[2]
    last: ir.Operation | None = None
    for use in result.uses:
        user = _in_block_of(product, use.owner.operation)
        is_earlier = user is not None and user != product and user.is_before_in_block(product)
        if user is not None and is_earlier and (last is None or last.is_before_in_block(user)):
            last = user
    return last if last is not None and _fills_with_zeros(last, result) else None


def _in_block_of(product: ir.Operation, operation: ir.Operation) -> ir.Operation | None:
    """The operation, or the one around it, that stands in the product's block."""
    while operation.block != product.block:
        parent = operation.parent
        if parent is None or parent.operation.name == "builtin.module":
            return None
        operation = parent.operation
    return operation


def _fills_with_zeros(operation: ir.Operation, result: ir.Value) -> bool:
    if operation.name != "linalg.fill" or operation.operands[1] != result:
        return False
    return _is_zero(operation.operands[0])


def _is_zero(scalar: ir.Value) -> bool:
    owner = scalar.owner
    if not isinstance(owner, (ir.Operation, ir.OpView)):
        return False
    if owner.operation.name == "complex.create":
        return all(map(_is_zero, owner.operation.operands))
    value = owner.attributes["value"] if "value" in owner.attributes else None
    parts = list(value) if isinstance(value, ir.ArrayAttr) else [value]
    return all(isinstance(part, ir.FloatAttr) and part.value == 0 for part in parts)
