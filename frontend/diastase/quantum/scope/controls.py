"""The controls of `ctrl`: wires, and the values of them that activate an operation.

Values may be known only when the program runs. Such a control activates on 1, and its wire is
flipped before and after, by a matrix that is either X or the identity.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.quantum_errors import ControlValuesError
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase_mlir import at, user_span
from diastase_mlir.jax_compat.x64 import runs_in_64_bits

_ONE_FOR_EACH = "give one 0 or 1 for each control wire"


@dataclass(frozen=True)
class ControlledBy:
    """Control wires and their values."""

    wires: tuple[Any, ...]
    values: tuple[Any, ...]
    """Booleans, or traced ones."""

    @property
    def is_known(self) -> bool:
        """Whether no value is traced."""
        return not any(isinstance(value, Tracer) for value in self.values)

    def applied_to(self, function: Callable[[], Any], scope: CircuitScope) -> Any:
        """What a function returns, all that it applies being recorded under these controls."""
        if not scope.records_here:  # in a function that JAX traces: what is applied is refused
            return function()
        scope.flush()
        with at(user_span()):
            scope.circuit.check_wires(self.wires, "ctrl")
            self._flip(scope)
        with self._under(scope):
            returned = function()
        with at(user_span()):
            self._flip(scope)
        return returned

    def _under(self, scope: CircuitScope) -> AbstractContextManager[None]:
        values = (True if isinstance(value, Tracer) else value for value in self.values)
        return scope.unitary("ctrl", tuple(zip(self.wires, values, strict=True)))

    @runs_in_64_bits
    def _flip(self, scope: CircuitScope) -> None:
        for wire, value in zip(self.wires, self.values, strict=True):
            if isinstance(value, Tracer):
                on = value.astype(jnp.complex128)
                matrix: Any = jnp.stack([jnp.stack([on, 1 - on]), jnp.stack([1 - on, on])])
                with qml.QueuingManager.stop_recording():
                    flip = qml.QubitUnitary(matrix, wires=wire)
                scope.circuit.record(flip, scope)


def read_controls(control: Any, control_values: Any) -> ControlledBy:
    """Check the arguments of `ctrl`."""
    wires = tuple(as_list(control))
    values = (True,) * len(wires) if control_values is None else as_list(control_values)
    if len(values) != len(wires):
        reason = f"{len(wires)} control wires, {len(values)} control values"
        raise ControlValuesError(reason=reason, hint=_ONE_FOR_EACH, span=user_span())
    return ControlledBy(wires, tuple(map(_as_boolean, values)))


def as_list(wires: Any) -> list[Any]:
    """One wire, or a collection of them."""
    if isinstance(wires, str) or not hasattr(wires, "__len__") or getattr(wires, "ndim", 1) == 0:
        return [wires]
    return list(wires)


def _as_boolean(value: Any) -> Any:
    is_number = isinstance(value, bool | int | np.generic | np.ndarray | jax.Array)
    kind = getattr(value, "dtype", np.dtype(int))
    if not is_number or np.ndim(value) != 0 or kind.kind not in "bui":
        reason = f"a control value is 0 or 1, not {value!r}"
        raise ControlValuesError(reason=reason, hint=_ONE_FOR_EACH, span=user_span())
    if isinstance(value, Tracer):
        return value if value.dtype == bool else value != 0
    if value not in (0, 1):
        reason = f"a control value is 0 or 1, not {value!r}"
        raise ControlValuesError(reason=reason, hint=_ONE_FOR_EACH, span=user_span())
    return bool(value)


def require_known(controls: Sequence[Any], operator: str) -> None:
    """Refuse traced control values of an operator, which is one object for all of them."""
    if any(isinstance(value, Tracer) for value in controls):
        reason = f"a control value of {operator} is known only when the program runs"
        hint = "control a function: ctrl(lambda: …, control, control_values)()"
        raise ControlValuesError(reason=reason, hint=hint, span=user_span())
