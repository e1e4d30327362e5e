"""What lowering and passes agree on about calls of others' code.

The targets of `stablehlo.custom_call` that programs hold, and which matrix products are worth a
call of BLAS: lowering asks to tell the user what computes an equation, `arrays_to_loops` to mark
the product.
"""

from collections.abc import Mapping, Sequence

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.operations import create, integer_type

SITE = "diastase.site"
"""The place in the user's program where a call may fail, a parameter of it."""

LINEAR_ALGEBRA = "diastase.linear_algebra."
"""What stands before the name of one of JAX's primitives; `passes/linear_algebra` knows them."""

FOURIER = "diastase.fourier"
"""The target of discrete Fourier transforms; `passes/runtime/fourier` knows them."""

CALLBACK = "diastase.callback"
"""The target of calls of Python functions: from arrays, then vectors of sizes of those results of
which some are not known, to arrays. `backend_config`: the function's number, the place in the
user's program, and how many operands are arguments."""

MAP = "diastase.map"
"""The target of a call of one function for each element of a batch, in any order and at the same
time: from the number of elements, what the function takes beside the number of one, and those sizes
of results that their types do not know, to arrays with an axis for the element first.
`backend_config`: how many operands are what the function takes, and `wires`, of the largest
register of an element, or `abi.ON_CALLING_THREAD`."""

CONCURRENT = "diastase.concurrent"
"""The target of calls of several functions at the same time: from what they take to what they give,
in their order. `backend_config`: `wires`, as above."""

_WITH_DICTIONARY = 4
"""The version of `stablehlo.custom_call` whose configuration is a dictionary."""


def custom_call(
    target: str,
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    config: Mapping[str, ir.Attribute],
    more: Mapping[str, ir.Attribute] | None = None,
) -> list[ir.Value]:
    """The results of a `stablehlo.custom_call` with such a configuration."""
    attributes = {
        "call_target_name": ir.StringAttr.get(target),
        "api_version": ir.IntegerAttr.get(integer_type(32), _WITH_DICTIONARY),
        "backend_config": ir.DictAttr.get(dict(config)),
        **(more or {}),
    }
    return list(create("stablehlo.custom_call", results, operands, attributes).results)


HAS_SIDE_EFFECT = "has_side_effect"
"""The attribute of calls that stay, and stay in order."""

MARK = "diastase.for_blas"
"""Attribute of the products that become calls of BLAS, and of the module that has any."""

TINY = 64
"""Multiplications in a product of known sizes up to which loops are faster than a call."""


FEW_FEATURES = 4
"""Features of a group up to which the products of a convolution are summed in place."""


def is_for_blas(element: ir.Type, sizes: Sequence[object]) -> bool:
    """Whether BLAS has the type, and the product is not known to be tiny.

    `sizes` are those of one product of the batch; what is no number is not known.
    """
    if any(isinstance(size, int) and size == 0 for size in sizes):
        return False
    if isinstance(element, ir.ComplexType):
        return True  # a product in a loop has branches for infinities
    if not isinstance(element, (ir.F32Type, ir.F64Type)):
        return False
    count = 1
    for size in sizes:
        if not isinstance(size, int):
            return True
        count *= size
    return count > TINY
