"""Primitives of noise that is drawn: channels on a state vector, and runs for many trajectories.

A script of trajectories is an outcome script (`primitives.sampling`) made for a number of them; a
run of the body that follows it stands for those that have drawn alike, and `run_weight` is their
weight. See the engine's `measure.trajectories`.
"""

from typing import Any

import numpy as np
from jax.core import AbstractValue, ShapedArray

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import Wires, define_on_register


def _kraus_abstract_eval(
    register: Any, matrices: Any, *wire_operands: Any, wires: Wires, construct: str
) -> AbstractValue:
    return register


def _trajectories_abstract_eval(count: Any, *, shots: bool) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int64))


def _run_members_abstract_eval(script: Any, *, size: Any) -> ShapedArray:
    return ShapedArray((size,), np.dtype(np.int64))


kraus_p = define_on_register(
    "kraus", "a channel", _kraus_abstract_eval, Role.OPERATION, Role.RANDOM, Role.CHANNEL
)
"""`register, matrices, *wires -> register`: one of the Kraus operators, `c128[m, 2^k, 2^k]`, drawn
with the probability that it has in this state, and the state normalised. An error, when the program
runs, where they do not preserve traces."""

_ONLY_RUNS: dict[str, str] = dict.fromkeys(
    ("jvp", "transpose", "vmap"), "it belongs to a QNode, which is transformed as a whole"
)

trajectories_p = define_primitive(
    "trajectories",
    Role.SCRIPT,
    construct="trajectories",
    abstract_eval=_trajectories_abstract_eval,
    multiple_results=False,
    missing_rules=_ONLY_RUNS,
)
"""`count -> script`: a new one, for so many trajectories. `shots`: a postselected outcome that is
not found leaves a trajectory out; else it makes its weight smaller."""

run_members_p = define_primitive(
    "run_members",
    Role.SCRIPT,
    construct="trajectories",
    abstract_eval=_run_members_abstract_eval,
    multiple_results=False,
    missing_rules=_ONLY_RUNS,
)
"""`script -> i64[size]`: for each trajectory 1 if the last run was its own, else 0."""
