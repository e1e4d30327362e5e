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
from jax.core import AbstractValue, ShapedArray

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE, Wires
from diastase_mlir.jax_compat import SizeCheckEffect


def _sample_abstract_eval(
    register: Any, *wire_operands: Any, wires: Wires, shots: Any
) -> ShapedArray:
    return ShapedArray((shots,), np.dtype(np.int64))


def _assert_shots_abstract_eval(*, shots: Any, qnode: str) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


assert_shots_p = define_primitive(
    "assert_shots",
    Role.CHECK,
    construct="shots",
    abstract_eval=_assert_shots_abstract_eval,
    has_effects=True,
    missing_rules=dict.fromkeys(("jvp", "transpose", "vmap"), "it has no operands"),
)
"""`shots` is positive, or the program is left; recorded before the first use of it as a size."""

sample_p = define_primitive(
    "sample",
    Role.MEASUREMENT,
    Role.RANDOM,
    construct="a measurement with shots",
    abstract_eval=_sample_abstract_eval,
    multiple_results=False,
    missing_rules=INSIDE_A_QNODE,
    provided_rules=("jvp",),
)
"""`register, *wires -> i64[shots]`: packed outcomes; `shots` is a number or a dimension."""


def _uniform_abstract_eval() -> ShapedArray:
    return ShapedArray((), np.dtype(np.float64))


uniform_p = define_primitive(
    "uniform",
    Role.RANDOM,
    construct="a classical shadow",
    abstract_eval=_uniform_abstract_eval,
    multiple_results=False,
    missing_rules=dict.fromkeys(("jvp", "transpose", "vmap"), "it has no operands"),
)
"""`-> f64`: the next of the call's random numbers, from 0 to below 1."""


def _script_abstract_eval(*, mode: str) -> ShapedArray:
    return _SCRIPT


def _next_run_abstract_eval(script: Any) -> tuple[ShapedArray, set[Any]]:
    return _FLAG, {SizeCheckEffect()}


def _flag_abstract_eval(script: Any) -> ShapedArray:
    return _FLAG


def _weight_abstract_eval(script: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(np.float64))


def _nothing_abstract_eval(*operands: Any) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


def _follow_abstract_eval(register: Any, script: Any) -> AbstractValue:
    return register


_SCRIPT = ShapedArray((), np.dtype(np.int64))
_FLAG = ShapedArray((), np.dtype(np.bool_))
_ONLY_OUTCOMES: dict[str, str] = dict.fromkeys(
    ("jvp", "transpose", "vmap"), "it belongs to a QNode, which is transformed as a whole"
)

outcome_script_p = define_primitive(
    "outcome_script",
    Role.SCRIPT,
    construct="a mid-circuit measurement",
    abstract_eval=_script_abstract_eval,
    multiple_results=False,
    missing_rules=_ONLY_OUTCOMES,
)
"""`-> script`: a new one. `mode` is `shots` or `tree`; see the engine's `outcome_scripts`."""

next_run_p = define_primitive(
    "next_run",
    Role.SCRIPT,
    construct="a mid-circuit measurement",
    abstract_eval=_next_run_abstract_eval,
    has_effects=True,
    multiple_results=False,
    missing_rules=_ONLY_OUTCOMES,
)
"""`script -> whether there is one`: prepare the next run of the body."""

run_weight_p = define_primitive(
    "run_weight",
    Role.SCRIPT,
    construct="a mid-circuit measurement",
    abstract_eval=_weight_abstract_eval,
    multiple_results=False,
    missing_rules=_ONLY_OUTCOMES,
)
"""`script -> f64`: the probability of the outcomes of the last run."""

run_is_valid_p = define_primitive(
    "run_is_valid",
    Role.SCRIPT,
    construct="a mid-circuit measurement",
    abstract_eval=_flag_abstract_eval,
    multiple_results=False,
    missing_rules=_ONLY_OUTCOMES,
)
"""`script -> bool`: whether the last run found all outcomes that were postselected."""

require_weight_p = define_primitive(
    "require_weight",
    Role.SCRIPT,
    Role.CHECK,
    construct="a mid-circuit measurement",
    abstract_eval=_nothing_abstract_eval,
    has_effects=True,
    missing_rules=_ONLY_OUTCOMES,
)
"""`script, weight of all runs ->`: an error where it is zero."""

end_script_p = define_primitive(
    "end_script",
    Role.SCRIPT,
    construct="a mid-circuit measurement",
    abstract_eval=_nothing_abstract_eval,
    has_effects=True,
    missing_rules=_ONLY_OUTCOMES,
)
"""`script ->`: the end of its life."""

follow_script_p = define_primitive(
    "follow_script",
    Role.OPERATION,
    Role.START,
    construct="a mid-circuit measurement",
    abstract_eval=_follow_abstract_eval,
    multiple_results=False,
    missing_rules=INSIDE_A_QNODE,
    provided_rules=("jvp",),
)
"""`register, script -> register`: its measurements find their outcomes in the script."""
