"""Rules R1 to R3 of the type checker: nested jaxprs against the equation around them."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from diastase.inspection.explicit_jaxpr.regions import Region
from diastase.inspection.explicit_jaxpr.types import Defect, ExplicitType, size_of

Sizes = Mapping[Any, Collection[Any]]
"""What the size variables of one jaxpr may be in another: numbers and variables."""


def check_region(region: Region) -> None:
    """Raise the first violation of R1, R2 or R3."""
    if region.operands is None:
        return
    _check_operands(region)
    _check_carried(region)
    if region.is_condition:
        _check_condition(region)
    elif region.results is not None:
        _check_results(region)


def _check_operands(region: Region) -> None:
    operands, inputs = region.operands or (), region.jaxpr.inputs
    if len(operands) != len(inputs):
        raise Defect(f"{region.name} takes {len(inputs)} inputs, and gets {len(operands)} operands")
    sizes = {
        variable: () if operand is None else (size_of(operand),)
        for variable, operand in zip(inputs, operands, strict=True)
    }
    first_row = region.rows[0] if region.rows else len(inputs)
    for position, (variable, operand) in enumerate(zip(inputs, operands, strict=True)):
        if operand is not None and not _fits(
            variable.type, operand.type, sizes, position >= first_row
        ):
            raise Defect(
                f"operand {{}}:{{}} is no {{}}, which {region.name} takes as {{}}",
                operand,
                operand.type,
                variable.type,
                variable,
            )


def _check_results(region: Region) -> None:
    results, outputs = region.results or (), region.jaxpr.outputs
    if len(results) != len(outputs):
        raise Defect(f"{region.name} returns {len(outputs)} outputs for {len(results)} results")
    sizes = _sizes_outside(region)
    first_row = region.rows[1] if region.rows else len(outputs)
    for position, (output, result) in enumerate(zip(outputs, results, strict=True)):
        if not _fits(output.type, result.type, sizes, position >= first_row):
            raise Defect(
                f"result {{}}:{{}} is no {{}}, which {region.name} returns as {{}}",
                result,
                result.type,
                output.type,
                output,
            )


def _sizes_outside(region: Region) -> Sizes:
    """R2: an input is the operand given for it, an output is the result that it becomes."""
    sizes: dict[Any, list[Any]] = {}
    outputs = region.jaxpr.outputs
    for output, result in zip(outputs, region.results or (), strict=True):
        sizes.setdefault(size_of(output), []).append(result)
    for position, variable in enumerate(region.jaxpr.inputs):
        operand = (region.operands or ())[position]
        next_value = outputs[region.carried[position]] if position in region.carried else variable
        if operand is not None and next_value is variable:
            sizes.setdefault(variable, []).append(size_of(operand))
    return sizes


def _check_carried(region: Region) -> None:
    """R3."""
    inputs, outputs = region.jaxpr.inputs, region.jaxpr.outputs
    if region.carried and max(region.carried.values()) >= len(outputs):
        raise Defect(f"{region.name} returns {len(outputs)} outputs, fewer than it carries")
    following: dict[Any, Any] = {variable: (variable,) for variable in inputs}
    for position, output in region.carried.items():
        following[inputs[position]] = (size_of(outputs[output]),)
    for position, number in region.carried.items():
        variable, output = inputs[position], outputs[number]
        if not _fits(variable.type, output.type, following, False):
            raise Defect(
                f"{region.name} returns {{}}:{{}} for {{}}:{{}}, which it carries",
                output,
                output.type,
                variable,
                variable.type,
            )


def _check_condition(region: Region) -> None:
    outputs = region.jaxpr.outputs
    if len(outputs) != 1 or outputs[0].type.aval.dtype != np.bool_:
        raise Defect(f"{region.name} does not return one boolean")


def _fits(inner: ExplicitType, outer: ExplicitType, sizes: Sizes, is_row: bool) -> bool:
    """Whether `outer` is `inner` with its sizes replaced, and one more axis if it is of rows."""
    if inner.shape is None or outer.shape is None:
        return inner.shape is outer.shape and inner.aval == outer.aval
    shape = outer.shape[1:] if is_row else outer.shape
    if inner.aval.dtype != outer.aval.dtype or len(shape) != len(inner.shape):
        return False
    return all(
        size == known
        if isinstance(known, int) and isinstance(size, int)
        else size in sizes.get(known, ())
        for known, size in zip(inner.shape, shape, strict=True)
    )
