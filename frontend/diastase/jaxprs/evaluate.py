"""Jaxprs recorded once more, elsewhere: there they define the symbols of their sizes again."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.dynamic_carry import dimension_table
from diastase_mlir.jax_compat import evaluate_jaxpr


def evaluated(
    closed: ClosedJaxpr, operands: Sequence[Any], instead: Mapping[str, Any] | None = None
) -> list[Any]:
    """The results of a jaxpr for these operands; `instead` is as for `evaluate_jaxpr`."""
    return evaluate_jaxpr(closed, operands, instead, dimension_table().note_copy)


def number_of(atom: Any) -> np.generic | int | None:
    """The number that an operand is, of its exact type; None where it is none, or not known."""
    aval: Any = atom.aval
    if not isinstance(atom, Literal) or aval.shape:
        return None
    if aval.weak_type:  # as numbers of Python's are
        return int(atom.val) if aval.dtype == np.int64 else None
    value: Any = np.asarray(atom.val, aval.dtype) if isinstance(aval.dtype, np.dtype) else None
    return None if value is None else value[()]


def is_number(value: Any) -> bool:
    """Whether a value is known now: a number (`number_of`)."""
    return isinstance(value, np.generic | int)
