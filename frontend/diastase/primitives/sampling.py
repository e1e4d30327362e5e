"""Primitives that draw shots from a register, and those that say where outcomes come from.

`sample` leaves the register as it is. Its results are packed: one integer a shot, made of the bits
of its wires, the first wire the most significant; so everything that is computed of the same shots
is computed from one array.

An *outcome script* is the memory of one QNode whose body is run several times: which outcomes the
mid-circuit measurements of a run are to have, and how likely that was. It is an `i64` scalar, a
pointer that nobody but these primitives may look into; 0 is no script. They have no register as
operand, so the order of equations is all that orders them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray
from jax.extend.core import Primitive

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import IN_LANES, Wires, define_on_register
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

sample_p = define_on_register(
    "sample",
    "a measurement with shots",
    _sample_abstract_eval,
    Role.MEASUREMENT,
    Role.RANDOM,
    provided_rules=IN_LANES,
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


def _define_script_step(
    name: str,
    abstract_eval: Callable[..., Any],
    *roles: Role,
    has_effects: bool = False,
    multiple_results: bool = False,
) -> Primitive:
    return define_primitive(
        name,
        Role.SCRIPT,
        *roles,
        construct="a mid-circuit measurement",
        abstract_eval=abstract_eval,
        has_effects=has_effects,
        multiple_results=multiple_results,
        missing_rules=_ONLY_OUTCOMES,
    )


outcome_script_p = _define_script_step("outcome_script", _script_abstract_eval)
"""`-> script`: a new one. `mode` is `shots` or `tree`; see the engine's `outcome_scripts`."""

next_run_p = _define_script_step("next_run", _next_run_abstract_eval, has_effects=True)
"""`script -> whether there is one`: prepare the next run of the body."""

run_weight_p = _define_script_step("run_weight", _weight_abstract_eval)
"""`script -> f64`: the probability of the outcomes of the last run."""

run_is_valid_p = _define_script_step("run_is_valid", _flag_abstract_eval)
"""`script -> bool`: whether the last run found all outcomes that were postselected."""

require_weight_p = _define_script_step(
    "require_weight", _nothing_abstract_eval, Role.CHECK, has_effects=True, multiple_results=True
)
"""`script, weight of all runs ->`: an error where it is zero."""

end_script_p = _define_script_step(
    "end_script", _nothing_abstract_eval, has_effects=True, multiple_results=True
)
"""`script ->`: the end of its life."""

follow_script_p = define_on_register(
    "follow_script",
    "a mid-circuit measurement",
    _follow_abstract_eval,
    Role.OPERATION,
    Role.START,
    provided_rules=IN_LANES,
)
"""`register, script -> register`: its measurements find their outcomes in the script."""
