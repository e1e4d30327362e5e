"""Turn the matrix products that `arrays_to_loops` has marked into calls of BLAS; on buffers.

    linalg.fill ins(%zero) outs(%c)
    linalg.contract … {diastase.for_blas} ins(%a, %b) outs(%c)
    ->
    func.call @diastase_dgemm(…sizes, strides and addresses of %a, %b, %c…)

BLAS thinks in columns, our arrays are stored by rows: it is asked for the transposed result of the
transposed operands in reverse order, which moves nothing. Whatever is a matrix in steps (no axis
with neighbours in memory) is copied first, and the copy is freed after the call.

A product adds to its result, which is filled with zeros just before. Where nothing in between
touches that buffer, the fill goes, if the routine overwrites what it finds.

Known sizes fit BLAS's 32-bit integers, or the product stays a loop; others are compared when the
program runs, and the loops stand in the other branch.
"""

from dataclasses import replace
from functools import reduce

from diastase_mlir.bindings import arith, ir
from diastase_mlir.emit.library_calls import MARK
from diastase_mlir.emit.loops import Values, for_each, if_else
from diastase_mlir.emit.operations import compare_integers, create, index_constant
from diastase_mlir.passes.buffers.matmul_to_blas.calls import (
    LARGEST,
    Product,
    call_for,
    describe,
    numbers_of,
    packed,
)
from diastase_mlir.passes.operations import SCOPE, defining, maps_of, operations_named


def matmul_to_blas(module: ir.Module) -> None:
    """Replace all marked products, of a module that is marked itself."""
    if MARK not in module.operation.attributes:
        return
    del module.operation.attributes[MARK]
    found = [
        operation
        for operation in operations_named(module.operation, "linalg.contract")
        if MARK in operation.attributes
    ]
    for product in found:
        _replace(module, product)


def _replace(module: ir.Module, operation: ir.Operation) -> None:
    """Replace a `linalg.contract` on buffers."""
    zeros = _overwritten_zeros(operation)
    with ir.InsertionPoint(operation), operation.location:
        given = _understood(module, operation)
        product = _readable(given)
        numbers = numbers_of(product)
        if any(isinstance(number, int) and number > LARGEST for number in numbers):
            return
        unknown = [number for number in numbers if not isinstance(number, int)]
        if zeros is not None:
            product = replace(product, overwrites=not product.is_of_vector)

        def call() -> Values:
            _over_batch(product)
            return []

        def loops() -> Values:
            if product.overwrites and zeros is not None:
                zeros.clone()
            operation.clone()
            return []

        if unknown:
            most = reduce(arith.maxsi, unknown)
            fits = compare_integers("sle", most, index_constant(LARGEST))
            if_else(SCOPE, fits, [], call, loops)
        else:
            call()
        _put_back(given, product)
    if product.overwrites and zeros is not None:
        zeros.erase()
    operation.erase()


def _understood(module: ir.Module, operation: ir.Operation) -> Product:
    """Which axis is which."""
    maps = maps_of(operation)
    labels = [[f"d{ir.AffineDimExpr(result).position}" for result in own.results] for own in maps]
    left, right, result = (
        describe(operand, own) for operand, own in zip(operation.operands, labels, strict=True)
    )
    names = [f"d{number}" for number in range(maps[0].n_dims)]
    (k,) = (name for name in names if name not in result.axes)
    i = next((n for n in names if n not in right.axes), None)
    j = next((n for n in names if n not in left.axes), None)
    batch = [name for name in names if name not in (i, j, k)]
    element = ir.MemRefType(operation.operands[2].type).element_type
    return Product(module, element, left, right, result, tuple(batch), i, j, k)


def _readable(product: Product) -> Product:
    """The product on copies where a matrix has no axis with neighbours in memory."""
    left, right, result = product.left, product.right, product.result
    if not left.has_neighbours(product.i, product.k):
        left = packed(left)
    if not right.has_neighbours(product.k, product.j):
        right = packed(right)
    if product.i is not None and product.j is not None and not result.has_neighbours(product.j):
        result = packed(result)
    return replace(product, left=left, right=right, result=result)


def _put_back(given: Product, used: Product) -> None:
    """Copy the result to where it belongs, and free the copies."""
    if used.result is not given.result:
        create("memref.copy", [], [used.result.memref, given.result.memref])
    pairs = [(given.left, used.left), (given.right, used.right), (given.result, used.result)]
    for original, copy in pairs:
        if copy is not original:
            create("memref.dealloc", [], [copy.memref])


def _over_batch(product: Product) -> None:
    """Call for each matrix of the batch."""

    def one(position: Values, _: Values) -> Values:
        call_for(product, dict(zip(product.batch, position, strict=True)))
        return []

    for_each(SCOPE, [product.result.axes[label].size for label in product.batch], [], one)


def _overwritten_zeros(product: ir.Operation) -> ir.Operation | None:
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
    is_fill = operation.name == "linalg.fill" and operation.operands[1] == result
    return is_fill and _is_zero(operation.operands[0])


def _is_zero(scalar: ir.Value) -> bool:
    owner = defining(scalar)
    if owner is None:
        return False
    if owner.name == "complex.create":
        return all(map(_is_zero, owner.operands))
    value = owner.attributes["value"] if "value" in owner.attributes else None
    parts = list(value) if isinstance(value, ir.ArrayAttr) else [value]
    return all(isinstance(part, ir.FloatAttr) and part.value == 0 for part in parts)
