"""`adjoint` of a quantum function, recorded."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from diastase.capture.control_flow.pytrees import Leaves, flatten
from diastase.capture.pennylane_compat import without_operators
from diastase.capture.regions import trace_region
from diastase.quantum.host_devices.capture import DeviceCircuit, record_adjoint
from diastase.quantum.inversion.invert import apply_backwards
from diastase.quantum.scope.circuit_scope import CircuitScope


def trace_adjoint(function: Callable[[], Any], scope: CircuitScope) -> Any:
    """Record what undoes a function; its classical results, computed as it says."""
    if not scope.records_here:  # in a function that JAX traces: what this one applies is refused
        return without_operators(function())
    scope.flush()
    if isinstance(scope.circuit, DeviceCircuit):
        return _on_device(function, scope)
    returned: list[Leaves] = []

    def flat_function() -> Sequence[Any]:
        returned.append(flatten(without_operators(function()), "adjoint", "result"))
        return returned[-1].values

    with scope.unitary("adjoint"):
        region = trace_region(flat_function, [], "adjoint").threaded()
    scope.register, results = apply_backwards(
        region.jaxpr, region.captured, scope.register, repeated=False
    )
    return jax.tree.unflatten(returned[-1].tree, results)


def _on_device(function: Callable[[], Any], scope: CircuitScope) -> Any:
    """The list of operators that the program fills is reversed when it runs."""
    end = record_adjoint(scope)
    with scope.unitary("adjoint"):
        returned = without_operators(function())
    end()
    return returned
