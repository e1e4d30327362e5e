"""The primitive of circuits that run on a PennyLane device, in Python, when the program runs.

Such a circuit is a list of operators that the running program fills, one host call for each step:
a step that starts the list, one that appends an operator, and a last one that runs the list on the
device. What stands for the list in the program is its number, an `i64`, threaded through the steps
as a register is through gates, so loops and branches around operators are native code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax.core import ShapedArray

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE


@dataclass(frozen=True, eq=False)
class DeviceStep:
    """What one host call does; equal to itself only, so no cache of JAX's mixes up two of them."""

    description: str
    """An operator, or what is done with all: as the user reads it in printed jaxprs."""
    function: Callable[..., Sequence[Any]] = field(repr=False)
    """From numpy arrays to numpy arrays of the promised types."""
    draws: bool = False
    """Whether results differ from run to run."""

    def __repr__(self) -> str:
        return self.description


def _device_step_abstract_eval(
    *operands: Any, step: DeviceStep, result_avals: tuple[ShapedArray, ...]
) -> Sequence[ShapedArray]:
    return result_avals


device_step_p = define_primitive(
    "device_step",
    Role.HOST,
    construct="QNode",
    abstract_eval=_device_step_abstract_eval,
    missing_rules=INSIDE_A_QNODE,
)
"""`number of a circuit, *values -> results`; every step but the last gives the number again."""
