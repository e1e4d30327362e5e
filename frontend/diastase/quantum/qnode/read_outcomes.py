"""Mid-circuit outcomes as a device with readout errors reads them, when a QNode returns them.

As on PennyLane's default.mixed, where a wire holds the outcome to the end, and is measured there:
the circuit goes on by the outcome that was found, and what is returned of it is the other one with
the device's probability, drawn for each outcome and shot once.

The trap: what is computed of outcomes was computed of those that were found. So only outcomes
themselves can be read wrongly; arithmetic on them is refused, and what a loop or branch gives.
"""

from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.control_flow.loops import trace_for_loop
from diastase.capture.quantum_errors import UnsupportedMeasurementError
from diastase.primitives.quantum import measure_p
from diastase.primitives.sampling import uniform_p
from diastase.quantum.measurements.measurements import process_name
from diastase.quantum.measurements.readout import flipped
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.sampling_plan import Draw
from diastase_mlir.jax_compat import is_recorded, tracer_equation


def refuse_computed(process: Any, scope: CircuitScope) -> None:
    """Refuse statistics of what is computed of outcomes, where these may be read wrongly."""
    if scope.circuit.readout == 0 or process.mv is None:
        return
    values = process.mv if isinstance(process.mv, list) else [process.mv]
    if not all(map(_is_outcome, values)):
        reason = (
            "of what is computed of mid-circuit outcomes, on a device with readout errors, is not "
            "compiled"
        )
        hint = "return the outcomes themselves, or put qml.BitFlip before their measurements"
        raise UnsupportedMeasurementError(
            measurement=process_name(process), reason=reason, hint=hint
        )


def _is_outcome(value: Any) -> bool:
    equation = tracer_equation(value) if is_recorded(value) else None
    return equation is not None and equation.primitive is measure_p


def read(value: Any) -> Draw:
    """An outcome, drawn for each shot as it is read."""

    def draw(scope: CircuitScope, shots: Any, count: Any) -> Any:
        def turn(shot: Any, wrong: Any) -> Any:
            drawn = uniform_p.bind() < scope.circuit.readout
            return jax.lax.dynamic_update_index_in_dim(wrong, drawn, shot, 0)

        wrong = trace_for_loop((0, count, 1), turn, (jnp.zeros((shots,), bool),))
        return jnp.asarray(value) ^ wrong

    return draw


def reads(outcome: Any, flip: Any) -> Any:
    """How often an outcome, 0 or 1, is read as 1."""
    return outcome if flip == 0 else flip + (1 - 2 * flip) * outcome


def reads_of_all(found: Any, flip: Any, count: int) -> Any:
    """The probabilities of what is read of several outcomes, of those of what was found."""
    return found if flip == 0 else flipped(found, flip, count)
