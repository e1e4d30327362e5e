"""Checks that a program makes when it runs: sizes, parts and forms of arrays, values.

A size that is refused leaves the program (`assert_size`, recorded by tracing before a use;
`assume`); where a value is (`require`), it runs on to its end.

JAX refuses while tracing to take an element of an empty array, or a slice of three from an array
of two, or to give an array a shape with another number of elements. Where the sizes are symbolic
and this could not be decided, the program decides (`lower_if_it_fits`): a part that does not fit
records an error, and the equation gives zeros instead of reading or writing outside of the array.
A part of which nothing is taken (an empty result) always fits; a new shape fits only exactly.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from diastase_mlir.emit.operations import create, integer_constant, integer_type
from diastase_mlir.jax_compat import ir, is_symbolic, least_everywhere
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.elementwise import compared
from diastase_mlir.lowering.elementwise.moves import zeros
from diastase_mlir.lowering.elementwise.regions import case, converted, on_numbers
from diastase_mlir.program import Assumption, Comparison
from diastase_runtime.abi import ErrorCode


@lowers("assert_size")
def lower_assert_size(context: LoweringContext, equation: Equation) -> list[Value]:
    """Record an error and leave the program if the size is too small.

    It must not go on: the product of two negative sizes would be a size.
    """
    size, least = (context.number(equation.params[name]) for name in ("size", "at_least"))
    code = ErrorCode.SIZE_MISMATCH if equation.params["at_least"] != 0 else ErrorCode.NEGATIVE_SIZE
    site = context.failures.site(equation.params["construct"], equation.source_info)
    failed = compared("lt", "SIGNED", size, least)
    context.failures.record(failed, code, site, [size, least], leave="now")
    return []


_FAILED: Mapping[Comparison, str] = {">=": "lt", "<": "ge", "==": "ne", "!=": "eq"}
"""By what an assumption says: the comparison that is true where it fails."""


@lowers("assume")
def lower_assume(context: LoweringContext, equation: Equation) -> list[Value]:
    """Leave the program if an assumption fails that could not be checked at its start."""
    check_assumption(context, equation.params["assumption"])
    return []


def check_assumption(context: LoweringContext, assumption: Assumption) -> None:
    """Record an error and leave the program if an assumption fails."""
    left, right = context.number(assumption.left), context.number(assumption.right)
    failed = compared(_FAILED[assumption.comparison], "SIGNED", left, right)
    site = context.failures.site_at(assumption.text, assumption.span)
    details = [left, right, integer_constant(assumption.number)]
    leave = "at start" if assumption.at_start else "now"
    context.failures.record(failed, ErrorCode.ASSUMPTION_FAILED, site, details, leave=leave)


@lowers("require")
def lower_require(context: LoweringContext, equation: Equation, holds: ir.Value) -> list[Value]:
    """Record an error where the operand is false."""
    failed = create("stablehlo.not", [holds.type], [holds]).result
    site = context.failures.site(equation.params["what"], equation.source_info)
    context.failures.record(failed, equation.params["error"], site)
    return []


Pairs = Iterable[tuple[Any, Any]]
"""Sizes of the axes of an array, each with the size of the part."""


def _gather(equation: Equation) -> Pairs:
    return zip(equation.avals_in[0].shape, equation.params["slice_sizes"], strict=True)


def _update(equation: Equation) -> Pairs:
    return zip(equation.avals_in[0].shape, equation.avals_in[1].shape, strict=True)


def _scatter(equation: Equation) -> Pairs:
    """Axes along which windows extend; a single element that does not fit is not written."""
    numbers = equation.params["dimension_numbers"]
    operand, _, updates = equation.avals_in
    single = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = iter(updates.shape[axis] for axis in numbers.update_window_dims)
    return [(size, next(windows)) for axis, size in enumerate(operand.shape) if axis not in single]


def _slice(equation: Equation) -> Pairs:
    limits = equation.params["limit_indices"]
    yield from zip(equation.avals_in[0].shape, limits, strict=True)
    yield from zip(limits, equation.params["start_indices"], strict=True)


def _first(equation: Equation) -> Pairs:
    axis = equation.params.get("axis", -1)
    return [(equation.avals_in[0].shape[axis], equation.params["k"])]


def _extreme(equation: Equation) -> Pairs:
    return [(equation.avals_in[0].shape[axis], 1) for axis in equation.params["axes"]]


def _form(equation: Equation) -> Pairs:
    source, result = (
        math.prod(aval.shape) for aval in (equation.avals_in[0], equation.avals_out[0])
    )
    return [(source, result), (result, source)]


_PARTS: Mapping[str, Callable[[Equation], Pairs]] = {
    "gather": _gather,
    "dynamic_slice": _gather,
    "dynamic_update_slice": _update,
    "slice": _slice,
    "argmax": _extreme,
    "argmin": _extreme,
    "top_k": _first,
    "reshape": _form,
    "squeeze": _form,
    **dict.fromkeys(
        ("scatter", "scatter-add", "scatter_sub", "scatter-mul", "scatter-min", "scatter-max"),
        _scatter,
    ),
}


_UPDATED_BY = {"dynamic_update_slice": 1} | dict.fromkeys(
    (name for name in _PARTS if name.startswith("scatter")), 2
)
"""Primitives that write a part into their first operand, and which operand the part is."""


def undecided(equation: Equation) -> list[tuple[Any, Any]]:
    """The pairs of sizes of which it is not known that the second fits into the first."""
    if equation.primitive.name not in _PARTS:
        return []
    pairs = _PARTS[equation.primitive.name](equation)
    symbolic = [pair for pair in pairs if is_symbolic(pair[0] - pair[1])]
    return [pair for pair in symbolic if least_everywhere(pair[0] - pair[1]) < 0]


def lower_if_it_fits(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[ir.Value],
    pairs: Sequence[tuple[Any, Any]],
    lower: Callable[[], Sequence[Value]],
) -> Sequence[Value]:
    """What `lower` emits, run only if all parts fit."""
    avals = equation.avals_out
    updated_by = _UPDATED_BY.get(equation.primitive.name)
    part = avals[0] if updated_by is None else equation.avals_in[updated_by]
    nothing = [] if _PARTS[equation.primitive.name] is _form else _is_empty(context, part)
    construct = "reshape" if _PARTS[equation.primitive.name] is _form else "indexing"
    site = context.failures.site(construct, equation.source_info)
    fits: list[ir.Value] = []
    for pair in pairs:
        size, taken = (context.number(own) for own in pair)
        fits.append(_any([compared("ge", "SIGNED", size, taken), *nothing]))
        failed = on_numbers("not", fits[-1])
        context.failures.record(failed, ErrorCode.SIZE_MISMATCH, site, [size, taken])

    def otherwise() -> list[ir.Value]:
        if updated_by is not None:
            return [context.typed(operands[0], avals[0])]
        return [zeros(context, aval) for aval in avals]

    def regular() -> list[ir.Value]:
        results = map(context.value, lower())
        return [context.typed(value, aval) for value, aval in zip(results, avals, strict=True)]

    types = [context.type_of(aval) for aval in avals]
    index = converted(reduce(partial(on_numbers, "and"), fits), integer_type(32))
    return case(context, index, types, [otherwise, regular])


def _any(flags: Sequence[ir.Value]) -> ir.Value:
    return reduce(partial(on_numbers, "or"), flags)


def _is_empty(context: LoweringContext, aval: Any) -> list[ir.Value]:
    """For each size that may be 0 at run time, whether it is."""
    sizes = [context.number(size) for size in aval.shape if is_symbolic(size)]
    return [compared("le", "SIGNED", size, integer_constant(0)) for size in sizes]
