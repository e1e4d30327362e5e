"""The `runtime` dialect: what a program asks of the call that it runs in, and of the outside.

    runtime.poll                                      Python may handle signals, and end the call
    %ok = runtime.no_error : tensor<i1>               whether the call has recorded no error
    runtime.check(%failed, %size) {code, site, leave} record an error, the first one only
    %state = runtime.context : !llvm.ptr              the call's state, for functions that take it
    %n = runtime.dim(%array) {axis = 0}               a size, of 64 bits (StableHLO's has 32)
    %m = runtime.product(%n, %n)                      sizes multiplied, divided, and what is left
    %i = runtime.scalar(%n) : index                   bounds and conditions for `scf`
    %k = runtime.number(%i) : tensor<i64>             its counter as a number of the program
    %b = runtime.resizable(%a)                        an array whose sizes a loop may change

    runtime.cumulative(%a) ({ … }) {axis, reverse}    each element combined with all before it
    runtime.reduce_window(%a, %x, %sizes, …) ({ … })  StableHLO's, of windows known at run time
    runtime.select_and_scatter(%a, %b, %x, …) ({ … }) likewise
    stablehlo.dynamic_slice … {runtime.inside}        the part is known to lie inside the array

StableHLO has no words for these. `site` indexes the table of places in the user's program. The
functions of a module get the state of the call as their first argument when these are converted
(`passes/runtime/runtime_to_calls.py`).
"""

# Annotations are the bindings' own language for constraints here, not types.
# pyright: reportInvalidTypeForm=false, reportInvalidTypeArguments=false

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ext, ir

Flag = ir.IntegerType[1]
Number = ir.IntegerType[64]
Tensor = ir.RankedTensorType


class Runtime(ext.Dialect, name="runtime"):
    """The call that a program runs in."""


RUNTIME: Any = Runtime
"""To be loaded into a context (`bindings.Loadable`)."""


class PollOp(Runtime.Operation, name="poll"):
    """Let Python handle signals, which may record an error."""


class NoErrorOp(Runtime.Operation, name="no_error"):
    """Whether the call has recorded no error so far."""

    holds: ext.Result[Flag | Tensor]


class CheckOp(Runtime.Operation, name="check"):
    """Record an error, with details, if something has failed and none is recorded yet.

    `leave`: abandon the call then, `now`, or `at start`, where nothing is allocated yet; or `no`.
    """

    failed: ext.Operand[Flag | Tensor]
    details: Sequence[ext.Operand[Number | Tensor]]
    code: ir.IntegerAttr
    site: ir.IntegerAttr
    leave: ir.StringAttr


class DimOp(Runtime.Operation, name="dim"):
    """The size of an array along an axis."""

    array: ext.Operand[Tensor]
    axis: ir.IntegerAttr
    size: ext.Result[Tensor]


class ProductOp(Runtime.Operation, name="product"):
    """The product of two sizes, at most 2**58 and at least -2**58: none wraps around."""

    left: ext.Operand[Tensor]
    right: ext.Operand[Tensor]
    result: ext.Result[Tensor]


class FloorDivideOp(Runtime.Operation, name="floor_divide"):
    """The quotient of two sizes, rounded down; -1, which is no size, where the divisor is 0."""

    left: ext.Operand[Tensor]
    right: ext.Operand[Tensor]
    result: ext.Result[Tensor]


class ModuloOp(Runtime.Operation, name="modulo"):
    """What is left of such a division, with the sign of the divisor; 0 where that is 0."""

    left: ext.Operand[Tensor]
    right: ext.Operand[Tensor]
    result: ext.Result[Tensor]


class ScalarOp(Runtime.Operation, name="scalar"):
    """A number as structured control flow takes it, as a bound of a loop or as a condition."""

    tensor: ext.Operand[Tensor]
    scalar: ext.Result[ir.IndexType | Flag]


class NumberOp(Runtime.Operation, name="number"):
    """The counter of a loop as a number of the program."""

    index: ext.Operand[ir.IndexType]
    tensor: ext.Result[Tensor]


class ResizableOp(Runtime.Operation, name="resizable"):
    """The array itself, as the initial value of a carry of which each turn may change the sizes."""

    array: ext.Operand[Tensor]
    result: ext.Result[Tensor]


class CumulativeOp(Runtime.Operation, name="cumulative"):
    """Each element combined with all before it along an axis, or after it, one after another."""

    array: ext.Operand[Any]
    axis: ir.IntegerAttr
    reverse: ir.IntegerAttr
    result: ext.Result[Any]
    combination: ext.Region


class ReduceWindowOp(Runtime.Operation, name="reduce_window"):
    """StableHLO's, whose attributes are vectors here, and with the sizes of the results.

    Several arrays are a tuple, as an operation of ours has no lists of values of several types.
    """

    arrays: ext.Operand[Any]
    initial: ext.Operand[Any]
    sizes: ext.Operand[Any]
    windows: ext.Operand[Any]
    strides: ext.Operand[Any]
    base_dilations: ext.Operand[Any]
    window_dilations: ext.Operand[Any]
    low_padding: ext.Operand[Any]
    result: ext.Result[Any]
    combination: ext.Region


class SelectAndScatterOp(Runtime.Operation, name="select_and_scatter"):
    """StableHLO's, without padding, whose attributes are vectors here."""

    array: ext.Operand[Any]
    source: ext.Operand[Any]
    initial: ext.Operand[Any]
    windows: ext.Operand[Any]
    strides: ext.Operand[Any]
    result: ext.Result[Any]
    select: ext.Region
    scatter: ext.Region


class ContextOp(Runtime.Operation, name="context"):
    """The state of the call, a `!llvm.ptr`."""

    state: ext.Result[Any]
