"""A QNode whose measurements are transformed: its circuit is run for each tape that this gives.

    the circuit, its measurements  ->  the circuit, operators, measurements     (a part)
                                       the circuit, operators, measurements
    results                        <-  post-processing  <-  results of the parts

The transforms are given a tape of the measurements alone, so the circuit keeps its control flow.
Each part is the call of a quantum function that calls the user's and goes on as its tape says; how
it is run (once, with shots, averaged, differentiated) is not known here.

The traps: coefficients that the circuit computes are values inside of it, while post-processing
takes place outside; so a part returns them, too, and the transforms are applied once more, to
measurements with the values that came out. And measurements of mid-circuit outcomes are of those of
one run: they stay with the first part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import pennylane as qml
from jax.core import Tracer
from pennylane.exceptions import QuantumFunctionError
from pennylane.measurements import MeasurementProcess
from pennylane.tape import QuantumScript

from diastase.capture.device_errors import UnsupportedTransformError
from diastase.capture.pennylane_compat import is_quantum_object, making_operators, transform_name
from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.capture.regions import current_scope
from diastase.quantum.measurements.measurements import WithSnapshots
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.circuits import QNodeCall
from diastase.quantum.tapes.tapes import Transformed, transformed
from diastase_mlir import user_span
from diastase_runtime.errors import DiastaseError


def call_in_parts(call: QNodeCall, run: Callable[[QNodeCall], Any]) -> Any:
    """Record the call of a QNode, each part of which is called by `run`."""
    parts = _Parts(call)
    found = [run(parts.part(0))]
    while len(found) < parts.number:
        found.append(run(parts.part(len(found))))
    if not call.settings.shots.has_partitioned_shots:
        return parts.results([[each] for each in found])[0]
    return tuple(parts.results(found))


@dataclass
class _Seen:
    """What the user's quantum function returned."""

    leaves: Sequence[Any]
    tree: Any

    @property
    def transformed(self) -> list[MeasurementProcess]:
        """The measurements that the transforms are given."""
        return [leaf for leaf in self.leaves if _is_transformed(leaf)]

    @property
    def beside(self) -> list[Any]:
        """What is returned as it is."""
        return [leaf for leaf in self.leaves if not _is_transformed(leaf)]


def _is_transformed(leaf: Any) -> bool:
    return isinstance(leaf, MeasurementProcess) and leaf.mv is None


class _Parts:
    """The parts of one call."""

    def __init__(self, call: QNodeCall) -> None:
        self.number = 1
        """How many there are; known once the first has been traced."""
        self._call = call
        self._transforms = call.settings.steps.of("measurements")
        self._seen: _Seen

    def part(self, number: int) -> QNodeCall:
        """The call of one of the parts; it returns `(measured, values, beside)`."""

        def function(*args: Any, **kwargs: Any) -> Any:
            returned = self._call.function(*args, **kwargs)
            leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
            seen = _Seen(leaves, tree)
            made = self._transformed(seen.transformed)
            self._seen, self.number = seen, len(made.tapes)
            scope = current_scope()
            assert isinstance(scope, CircuitScope)
            scope.circuit.measured_elsewhere = seen.transformed
            values = [value for value in _data(seen.transformed) if isinstance(value, Tracer)]
            if not made.tapes:  # of identities alone
                return (), values, seen.beside
            tape = made.tapes[number]
            for operator in tape.operations[self._leading :]:
                qml.apply(operator)
            first = number == 0
            return tuple(tape.measurements), values if first else [], seen.beside if first else []

        function.__name__ = self._call.settings.qnode
        return replace(self._call, function=function)

    def results(self, found: Sequence[Sequence[Any]]) -> list[Any]:
        """For each partition of the shots, what the quantum function returned, from the parts."""
        snapshots = [each.snapshots for each in found[0] if isinstance(each, WithSnapshots)]
        plain = [[_without_snapshots(each) for each in part] for part in found]
        results = [self._result(partition) for partition in zip(*plain, strict=True)]
        if not snapshots:
            return results
        return [WithSnapshots(*pair) for pair in zip(snapshots, results, strict=True)]

    def _result(self, found: Sequence[Any]) -> Any:
        """From what each part returned: `(measured, values, beside)`."""
        _, values, beside = found[0]
        made = self._transformed(self._with_values(values))
        given = [part[0] if len(part[0]) != 1 else part[0][0] for part in found[: self.number]]
        processed = made.postprocess(given)
        count = len(self._seen.transformed)
        measured = iter([processed] if count == 1 else processed)
        rest = iter(beside)
        filled = [next(measured if _is_transformed(leaf) else rest) for leaf in self._seen.leaves]
        return jax.tree_util.tree_unflatten(self._seen.tree, filled)

    def _with_values(self, values: Sequence[Any]) -> list[Any]:
        """The measurements, with values that came out in the place of those inside."""
        leaves, tree = jax.tree_util.tree_flatten(self._seen.transformed)
        outside = iter(values)
        for place, leaf in enumerate(leaves):
            if isinstance(leaf, Tracer):
                value = next(outside)
                if value.shape != leaf.shape:
                    reason = "depends on mid-circuit outcomes, so that each shot has its own"
                    observable = "an observable that is split into terms"
                    raise UnsupportedObservableError(observable=observable, reason=reason)
                leaves[place] = value
        with making_operators():
            return jax.tree_util.tree_unflatten(tree, leaves)

    # --- the transforms ----------------------------------------------------------------------

    @property
    def _leading(self) -> int:
        """Operators of the tape that only say which wires there are."""
        return int(self._call.settings.device.wires is not None)

    def _transformed(self, processes: Sequence[MeasurementProcess]) -> Transformed:
        """The tapes for these measurements, and the function from their results."""
        settings = self._call.settings
        wires = settings.device.wires
        with making_operators():
            operators = [] if wires is None else [qml.Barrier(wires=wires)]
        shots = None if settings.is_analytic else 1  # transforms ask only whether there are any
        tape = QuantumScript(operators, processes, shots=shots)
        try:
            return transformed(settings.qnode, tape, self._transforms)
        except DiastaseError:
            raise
        except (QuantumFunctionError, ValueError, RuntimeError) as error:
            name = ", ".join(map(transform_name, self._transforms))
            raise UnsupportedTransformError(
                qnode=settings.qnode, transform=name, reason=f"fails: {error}", always=True,
                instead="split_non_commuting makes circuits whose measurements commute",
                span=user_span(),
            ) from error  # fmt: skip


def _data(processes: Sequence[MeasurementProcess]) -> list[Any]:
    return jax.tree_util.tree_leaves(list(processes))


def _without_snapshots(result: Any) -> Any:
    return result.results if isinstance(result, WithSnapshots) else result
