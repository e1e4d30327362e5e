"""Lowering by JAX's own rules, kept only where everything they emit can be compiled further.

A rule is tried inside a scratch operation. If it raises, or emits an operation that the pipeline
could not convert (`CONVERTIBLE` is the list of those it can), the scratch operation is erased and
with it all traces of the attempt; otherwise its contents move to where they belong.
"""

from collections.abc import Sequence
from dataclasses import replace

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import array_attribute, create
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation
from diastase_runtime.errors import DiastaseError

_ELEMENTWISE = """
    abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros
    divide exponential exponential_minus_one floor imag is_finite log log_plus_one logistic map
    maximum minimum multiply negate not or popcnt power real remainder round_nearest_afz
    round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign
    sine sqrt subtract tan tanh xor
""".split()

_ANY_SHAPE = """
    bitcast_convert broadcast_in_dim case cholesky concatenate constant dot_general dynamic_gather
    dynamic_iota dynamic_reshape gather iota real_dynamic_slice reduce return scatter sort
    transpose triangular_solve while
""".split()

_STATIC_SHAPE = """
    convolution pad reduce_precision reduce_window reshape reverse slice
""".split()

_CHLO = """
    acos acosh asin asinh atan atanh bessel_i1e broadcast_add broadcast_and broadcast_atan2
    broadcast_compare broadcast_complex broadcast_divide broadcast_maximum broadcast_minimum
    broadcast_multiply broadcast_power broadcast_select broadcast_subtract conj constant
    constant_like cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma next_after
    polygamma sinh square tan zeta
""".split()

CONVERTIBLE = frozenset(
    [f"stablehlo.{name}" for name in (*_ELEMENTWISE, *_ANY_SHAPE)]
    + ["stablehlo.dynamic_broadcast_in_dim"]
    + [f"chlo.{name}" for name in _CHLO]
)
"""Operations of StableHLO and CHLO that the pipeline converts, whatever their shapes."""

CONVERTIBLE_STATIC = frozenset(f"stablehlo.{name}" for name in _STATIC_SHAPE)
"""Those it converts where all shapes are known."""

NEEDS_ELEMENTS = CONVERTIBLE_STATIC | {"stablehlo.gather", "stablehlo.reduce"}
"""Those that it leaves over or refuses where the operand is known to be empty."""

CHECKED_DIALECTS = ("stablehlo.", "chlo.", "mhlo.", "sdy.", "shape.", "func.")
"""Operations of other dialects are emitted by our own rules only, and always convertible."""


def lower_by_jax(
    context: LoweringContext, equation: Equation, operands: Sequence[ir.Value]
) -> Sequence[ir.Value] | str:
    """The results by JAX's rule; a reason, and nothing emitted, where that leads nowhere."""
    undo = context.undoing()
    equation, operands = _with_ones(context, equation, operands)
    scratch = create("diastase.scratch", [], [], regions=1)
    block = scratch.regions[0].blocks.append()
    results: list[ir.Value] = []
    try:
        with ir.InsertionPoint(block):
            results = list(jax_compat.lower_with_jax(context.module_context, equation, operands))
        reason = _inconvertible(block)
    except DiastaseError:
        raise
    except Exception as error:  # a rule may raise anything at all for what it cannot do
        reason = f"JAX's rule for it raised {type(error).__name__}"
    if reason:
        scratch.erase()
        undo()
        return reason
    for operation in list(block.operations):
        operation.move_before(scratch)
    scratch.erase()
    return results


def _with_ones(
    context: LoweringContext, equation: Equation, operands: Sequence[ir.Value]
) -> tuple[Equation, Sequence[ir.Value]]:
    """Operands that are broadcast along axes assumed to be of size 1, with 1 in their types.

    Others keep their types: what does not need the assumption may run before it is checked.
    """
    result = equation.avals_out[0] if len(equation.avals_out) == 1 else None
    shape = getattr(result, "shape", ())
    avals, values = list(equation.avals_in), list(operands)
    for position, aval in enumerate(avals):
        own = getattr(aval, "shape", ())
        if len(own) != len(shape) or not any(map(jax_compat.is_symbolic, own)):
            continue
        sizes = [
            1 if size != wanted and jax_compat.normalised(size) == 1 else size
            for size, wanted in zip(own, shape, strict=True)
        ]
        avals[position] = aval.update(shape=tuple(sizes))
        values[position] = context.typed(values[position], avals[position])
    return replace(equation, avals_in=tuple(avals)), values


def _inconvertible(block: ir.Block) -> str:
    """Which operation in a block the pipeline cannot convert; empty if there is none."""
    unknown: list[str] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if not _is_known(inner):
            unknown.append(inner.name)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    for operation in block:
        operation.operation.walk(visit)
    return f"the compiler has no conversion for {unknown[0]}" if unknown else ""


def _is_known(operation: ir.Operation) -> bool:
    name = operation.name
    if name == "stablehlo.dynamic_broadcast_in_dim":
        _declare_expansion(operation)
    if name == "stablehlo.custom_call":
        target = ir.StringAttr(operation.attributes["call_target_name"]).value
        return target.startswith("diastase.")
    if name in NEEDS_ELEMENTS and _is_empty(operation.operands[0]):
        return False
    if not name.startswith(CHECKED_DIALECTS) or name in CONVERTIBLE:
        return True
    return name in CONVERTIBLE_STATIC and _is_static(operation)


def _is_static(operation: ir.Operation) -> bool:
    values = (*operation.operands, *operation.results)
    types = [ir.RankedTensorType(value.type) for value in values if _is_tensor(value)]
    return all(tensor.has_static_shape for tensor in types)


def _is_empty(value: ir.Value) -> bool:
    return 0 in ir.RankedTensorType(value.type).shape


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _declare_expansion(operation: ir.Operation) -> None:
    """Say which axes expand, without which a dynamic broadcast is not converted.

    JAX only ever expands axes of size 1 that are known to be of size 1 (`_with_ones`).
    """
    operand = ir.RankedTensorType(operation.operands[0].type)
    sizes = [
        0 if operand.is_dynamic_dim(axis) else operand.get_dim_size(axis)
        for axis in range(operand.rank)
    ]
    expanding = [axis for axis, size in enumerate(sizes) if size == 1]
    others = [axis for axis, size in enumerate(sizes) if size != 1]
    for name, axes in (("expanding", expanding), ("nonexpanding", others)):
        if axes:
            operation.attributes[f"known_{name}_dimensions"] = array_attribute("i64", axes)
