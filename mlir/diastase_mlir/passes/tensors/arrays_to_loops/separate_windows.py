"""Windows that do not overlap: the elements of each are on axes of their own, which are reduced.

    %0 = stablehlo.reduce_window %a, %zero, window = [w], strides = [w] { add }     of tensor<n·w>
    ->
    %1 = stablehlo.reshape %a : tensor<n x w>
    %0 = stablehlo.reduce %1, %zero, dimensions = [1] { add }

What is left over at an axis' end is cut off first. For windows of one array of known sizes, where
the order of elements is free and there is no padding.
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import array_attribute, create
from diastase_mlir.emit.tensors import element_type
from diastase_mlir.passes.tensors.arrays_to_loops.rules import numbers


def separate_windows(operation: Any) -> ir.Value | None:
    """The reduction that a `stablehlo.reduce_window` is, if its windows are separate."""
    (array, initial), (result,) = operation.operands, operation.results
    sizes, places = array.type.shape, result.type.shape
    windows = numbers(operation, "window_dimensions")
    ones = [1] * len(sizes)
    names = ("base_dilations", "window_dilations")
    is_dense = all(numbers(operation, name, ones) == ones for name in names)
    is_padded = "padding" in operation.attributes and any(operation.attributes["padding"])
    if is_padded or not is_dense or numbers(operation, "window_strides", ones) != windows:
        return None
    covered = [place * window for place, window in zip(places, windows, strict=True)]
    if covered != sizes:
        bounds = {"start_indices": [0] * len(sizes), "limit_indices": covered, "strides": ones}
        array = _moved("stablehlo.slice", array, covered, bounds)
    split = [size for pair in zip(places, windows, strict=True) for size in pair]
    array = _moved("stablehlo.reshape", array, split, {})
    axes = {"dimensions": array_attribute("i64", range(1, len(split), 2))}
    reduced = create("stablehlo.reduce", [result.type], [array, initial], axes, regions=1)
    operation.regions[0].blocks[0].append_to(reduced.regions[0])
    return reduced.result


def _moved(name: str, array: ir.Value, sizes: list[int], vectors: dict[str, list[int]]) -> ir.Value:
    kind = ir.RankedTensorType.get(sizes, element_type(array))
    attributes = {key: array_attribute("i64", vector) for key, vector in vectors.items()}
    return create(name, [kind], [array], attributes).result
