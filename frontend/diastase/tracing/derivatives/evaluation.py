"""Jaxprs recorded once more, elsewhere: there they define the symbols of their sizes again."""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.tracing.resizing import dimension_table
from diastase_mlir.jax_internals import evaluate_jaxpr


def evaluated(
    closed: ClosedJaxpr, operands: Sequence[Any], instead: Mapping[str, Any] | None = None
) -> list[Any]:
    """The results of a jaxpr for these operands; `instead` is as for `evaluate_jaxpr`."""
    return evaluate_jaxpr(closed, operands, instead, dimension_table().note_copy)
