"""Sizes as arguments: what JAX asks whether it is a number, a traced integer may be."""

from typing import Any

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic

_PARTS_OF_SLICES = ("start", "stop", "step")
_GRIDS = ("mgrid", "ogrid")

_NUMBERS_THAT_ARE_SIZES = frozenset(
    {
        "'n' argument of jnp.diag_indices()",
        "'num' argument of jnp.logspace",
        "'num' argument of jnp.geomspace",
        "argument 'N' to jnp.vander()",
        "argument x of jax.random.permutation()",
        "The error occurred in jax.random.choice()",
        "bins argument of histogram_bin_edges",
        "dimensions argument of jnp.indices",
        *(
            f"M argument of jnp.{window}"
            for window in ("bartlett", "blackman", "hamming", "hanning", "kaiser")
        ),
        "The error occurred because of argument 'minlength' of jnp.bincount.",
        *(f"slice {part} of jnp.{grid}" for part in _PARTS_OF_SLICES for grid in _GRIDS),
    }
)
"""Arguments for which JAX asks for a concrete integer, though a symbolic size would do."""

_VALUES_OF_ANY_KIND = (
    "The error arose for the first argument of jnp.unique().",
    "The error arose in union1d()",
)
"""Beginnings of what JAX says of arrays that it wants concrete, though a traced one would do."""


def _dimension(table: DimensionTable, original: Original, dimension: Any) -> Any:
    """An entry of any shape, given by the user or by JAX."""
    if is_size_like(dimension) or is_symbolic(dimension):
        return table.size(dimension)
    return original(dimension)


def _shape_check(
    _: DimensionTable,
    original: Original,
    function: str,
    argument: str,
    sizes: Any,
    non_zero_shape: bool = False,
) -> Any:
    """Sizes must not be negative: of the symbolic ones, that is checked at run time."""
    if not non_zero_shape:
        sizes = [size for size in sizes if not is_symbolic(size)]
    return original(function, argument, sizes, non_zero_shape)


def _size_argument(
    table: DimensionTable, original: Original, value: Any, *args: Any, **keywords: Any
) -> Any:
    """`num`, `length`, `num_classes`, ... of many functions."""
    return table.size(value) if is_size_like(value) else original(value, *args, **keywords)


def _number_argument(
    table: DimensionTable, original: Original, force: Any, value: Any, context: str = ""
) -> Any:
    """An argument that JAX wants as a concrete Python number."""
    if context in _NUMBERS_THAT_ARE_SIZES and (is_size_like(value) or is_symbolic(value)):
        return table.of(value) if context.startswith("slice") else table.size(value)
    if force is None and context.startswith(_VALUES_OF_ANY_KIND):
        return value
    if context.startswith("The error arose for the size argument") and is_symbolic(value):
        return value
    return original(force, value, context)


OVERLAYS: Overlays = {
    "dimension": _dimension,
    "size_argument": _size_argument,
    "number_argument": _number_argument,
    "shape_check": _shape_check,
}
