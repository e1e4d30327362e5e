"""Primitives that draw shots from a register, and those that say where outcomes come from.

`sample` leaves the register as it is. Its results are packed: one integer a shot, made of the bits
of its wires, the first wire the most significant; so everything that is computed of the same shots
is computed from one array.

An *outcome script* is the memory of one QNode whose body is run several times: which outcomes the
mid-circuit measurements of a run are to have, and how likely that was. It is an `i64` scalar, a
pointer that nobody but these primitives may look into; 0 is no script. They have no register as
operand, so the order of equations is all that orders them.
"""

from typing import Any

import numpy as np
from jax.core import ShapedArray

from diastase.primitives.define import define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE, Wires
from diastase_mlir.jax_internals import SizeCheckEffect


def _sample_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, shots: Any
) -> ShapedArray:
    return ShapedArray((shots,), np.dtype(np.int64))


def _assert_shots_abstract_eval(*, shots: Any, qnode: str) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


assert_shots_p = define_primitive(
    "assert_shots",
    construct="shots",
    abstract_eval=_assert_shots_abstract_eval,
    has_effects=True,
    missing_rules=dict.fromkeys(("jvp", "transpose", "vmap"), "it has no operands"),
)
"""`shots` is positive, or the program is left; recorded before the first use of it as a size."""

sample_p = define_primitive(
    "sample",
    construct="a measurement with shots",
    abstract_eval=_sample_abstract_eval,
    multiple_results=False,
    missing_rules=INSIDE_A_QNODE,
)
"""`register, *wires -> i64[shots]`: packed outcomes; `shots` is a number or a dimension."""
