"""Rules for derivatives of the best element of each window: where it lies, and what is added there.

The windows are those of `windows`; an element is chosen by the program's own comparison.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import Values, for_each, if_else
from diastase_mlir.emit.operations import any_of, flag_constant, index_constant, negate, select
from diastase_mlir.emit.tensors import extract, generate, insert, sizes_of, unbox
from diastase_mlir.passes.operations import SCOPE
from diastase_mlir.passes.tensors.arrays_to_loops.rules import (
    Function,
    Rule,
    by_axis,
    function_of,
    signless_operands,
)
from diastase_mlir.passes.tensors.arrays_to_loops.windows import WindowAxis, over_taps, padding_of


def _select_and_scatter(operation: Any) -> Sequence[ir.Value]:
    """Each source number combined with what is where the chosen element of its window lies."""
    operand, source, initial, *vectors = signless_operands(operation)
    own = sizes_of(operand)
    names = ("window_dimensions", "window_strides")
    columns = by_axis(operation, names, vectors, len(own))
    lows = [low for low, _ in padding_of(operation, len(own))]
    axes = [
        WindowAxis(*entries, low=low) for *entries, low in zip(own, *columns, lows, strict=True)
    ]
    keeps, combine = (function_of(region) for region in operation.regions)
    scalar = unbox(initial)
    target = generate(own, scalar.type, lambda _: scalar)

    def window(output: Values, carry: Values) -> Values:
        found, *place = _chosen(keeps, axes, operand, scalar, output)

        def scatter() -> Values:
            (total,) = combine(extract(carry[0], place), extract(source, output))
            return [insert(total, carry[0], place)]

        return if_else(SCOPE, found, [carry[0].type], scatter, lambda: carry)

    return for_each(SCOPE, sizes_of(source), [target], window)


def _chosen(
    keeps: Function, axes: Sequence[WindowAxis], operand: ir.Value, unread: ir.Value, output: Values
) -> Values:
    """Whether a window has an element, and where the chosen one is."""

    def compare(position: Values, best: Values) -> Values:
        started, number, *_ = best
        candidate = extract(operand, position)
        takes = any_of([negate(started), negate(keeps(number, candidate)[0])])
        found = [candidate, *position]
        chosen = [select(takes, new, old) for new, old in zip(found, best[1:], strict=True)]
        return [flag_constant(True), *chosen]

    nowhere = [flag_constant(False), unread, *[index_constant(0)] * len(axes)]
    found, _, *place = over_taps(axes, output, nowhere, compare)
    return [found, *place]


RULES: dict[str, Rule] = {
    "stablehlo.select_and_scatter": _select_and_scatter,
    "runtime.select_and_scatter": _select_and_scatter,
}
