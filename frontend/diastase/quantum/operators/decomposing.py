"""Recording operators as gates of a set, by rules that PennyLane's graph of decompositions chooses.

    RZ(x), controlled by wire 1   ->   RZ(x/2), CNOT, RZ(-x/2), CNOT      for {RZ, CNOT}

In: an operator as it is applied, under the controls around it; so loops, branches and the traced
parameters in them stay. Out: what `record` makes of each gate of the set. One that the engine has
no gate for is decomposed further there, or applied as a matrix. An operator whose class has no
rules in the graph is replaced by its own `decomposition()`, which may have control flow.

The trap: in the region of an `adjoint`, what is recorded is executed as its inverse. So there it is
the inverse of the operator that is decomposed, and inverses of the gates found are recorded.
"""

import warnings
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pennylane as qml
from jax.core import Tracer
from pennylane import ops
from pennylane.allocation import Allocate, Deallocate
from pennylane.decomposition import DecompositionGraph
from pennylane.decomposition.reconstruct import get_decomp_kwargs
from pennylane.exceptions import DecompositionError
from pennylane.queuing import AnnotatedQueue

from diastase.capture.pennylane_compat import describe
from diastase.capture.pennylane_compat.operators import AppliedFunction
from diastase.quantum.operators.broadcasting import element_of
from diastase.quantum.operators.decompositions import decomposition_of
from diastase.quantum.operators.gate_operands import Controls, Recorder, silently
from diastase.quantum.operators.gates import is_no_gate
from diastase.quantum.passes.errors import GateSetError
from diastase.quantum.passes.gate_sets import GateTarget

_NOT_DECOMPOSED = (
    Allocate, Deallocate, AppliedFunction, qml.Identity, qml.Barrier, qml.Snapshot, ops.MidMeasure,
    ops.Conditional, qml.operation.Channel,
)  # fmt: skip
DEEPEST = 200
"""Decompositions in each other, beyond which one is taken to go round in circles."""


@dataclass
class Decomposer:
    """Records operators by gates of a set, and those gates by `then`."""

    target: GateTarget
    then: Any
    _solutions: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def record(self, operator: Any, recorder: Recorder, controls: Controls = ()) -> None:
        """Record an operator, under these controls."""
        if is_no_gate(operator) or isinstance(operator, _NOT_DECOMPOSED):
            return self.then(operator, recorder, controls)
        if isinstance(operator, ops.Adjoint) and isinstance(operator.base, _NOT_DECOMPOSED):
            return self.then(operator, recorder, controls)
        operator = element_of(operator)
        recorder.wires.take_note(operator.wires, operator.name)
        whole = silently(operator, lambda: _controlled(operator, controls))
        if not self._is_known(whole) and _is_users(operator):
            return self._record_users(operator, recorder, controls)
        if recorder.is_undone:
            inverse = silently(operator, lambda: qml.adjoint(whole, lazy=False))
            for gate in reversed([*self._gates(inverse, self.target.num_work_wires, 0)]):
                self.then(silently(gate, lambda gate=gate: _inverse(gate)), recorder, ())
            return None
        for gate in self._gates(whole, self.target.num_work_wires, 0):
            self.then(gate, recorder, ())
        return None

    def _record_users(self, operator: Any, recorder: Recorder, controls: Controls) -> None:
        """A user's operator: its factors, but those that its `decomposition` records itself."""
        found = decomposition_of(
            operator, lambda function: recorder.run_decomposition(function, controls) or ()
        )
        if found.factors is None:
            raise self._refusal(operator) from found.failure
        for factor in found.factors:
            self.record(factor, recorder, controls)

    # --- what an operator is made of -----------------------------------------------------------

    def _gates(self, operator: Any, work_wires: int | None, depth: int) -> Iterator[Any]:
        """The gates of an operator, first one first."""
        limit = self.target.max_expansion
        is_deepest = limit is not None and depth >= limit
        if isinstance(operator, _NOT_DECOMPOSED) or is_deepest or self.target.has(operator):
            yield operator
            return
        if depth > DEEPEST:
            raise self._refusal(operator)
        factors, used = self._factors(operator, work_wires)
        if factors is None:
            yield operator
            return
        rest = None if work_wires is None else work_wires - used
        for factor in factors:
            yield from self._gates(factor, rest, depth + 1)

    def _factors(self, operator: Any, work_wires: int | None) -> tuple[Sequence[Any] | None, int]:
        """The factors of an operator, and how many work wires they take; None if it is to stay."""
        if not self.target.by_graph:
            found = decomposition_of(operator).factors
            if found is None:
                warnings.warn(
                    f"the gate set has no {operator.name}, which has no decomposition: it stays",
                    UserWarning, stacklevel=2,
                )  # fmt: skip
            return found, 0
        solution = self._solution(operator, work_wires)
        if solution is not None:
            rule = solution.decomposition(operator, work_wires)
            keywords = get_decomp_kwargs(operator)

            def factors() -> Sequence[Any]:
                with AnnotatedQueue() as queue:
                    rule(*operator.parameters, wires=operator.wires, **keywords)
                return queue.queue

            used = rule.get_work_wire_spec(**operator.resource_params).total
            return silently(operator, factors), used
        inner = _unwrapped(operator)
        if qml.list_decomps(type(inner)) or not inner.has_decomposition:
            raise self._refusal(operator)
        return silently(operator, lambda: _by_its_own(operator)), 0

    def _is_known(self, operator: Any) -> bool:
        """Whether an operator is in the gate set, or has a rule."""
        if self.target.has(operator):
            return True
        return self.target.by_graph and (
            self._solution(operator, self.target.num_work_wires) is not None
        )

    def _solution(self, operator: Any, work_wires: int | None) -> Any:
        """The solved graph for an operator of this type; None if it finds no way."""
        try:
            representation = qml.resource_rep(type(operator), **operator.resource_params)
        except (NotImplementedError, AttributeError, TypeError):
            return None
        is_traced = any(isinstance(value, Tracer) for value in operator.data)
        for without_matrices in (True, False) if is_traced else (False,):
            key = (representation, work_wires, without_matrices)
            if key not in self._solutions:
                self._solutions[key] = self._solved(*key)
            solution = self._solutions[key]
            if solution is not None and solution.is_solved_for(operator, work_wires):
                return solution
        return None

    def _solved(self, representation: Any, work_wires: int | None, without_matrices: bool) -> Any:
        """The graph for an operator; `without_matrices`, whose rules look at their elements."""
        target = self.target
        fixed = dict(target.fixed_decomps)
        if without_matrices:
            fixed = dict.fromkeys((qml.QubitUnitary, ops.ControlledQubitUnitary), _no_way) | fixed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no way is said by us
            try:
                graph = DecompositionGraph(
                    [representation], target.gates, fixed, dict(target.alt_decomps)
                )
                return graph.solve(work_wires, minimize_work_wires=target.minimize_work_wires)
            except DecompositionError:  # it needs more work wires
                return None

    def _refusal(self, operator: Any) -> GateSetError:
        gates = [gate for gate in self.target.gates if gate != "GlobalPhase"]
        return GateSetError(
            name=self.target.pass_name, operation=describe(operator), gates=", ".join(sorted(gates))
        )


class _Nothing(qml.operation.Operation):
    """An operator that nothing makes."""

    num_wires = 1
    resource_keys: ClassVar[Set[Any]] = frozenset()

    @property
    def resource_params(self) -> dict[str, Any]:
        """None."""
        return {}


@qml.register_resources({_Nothing: 1})
def _no_way(*_: Any, **__: Any) -> None:
    """A rule that no path through the graph can take."""


def _controlled(operator: Any, controls: Controls) -> Any:
    if not controls:
        return operator
    wires = [wire for wire, _ in controls]
    return qml.ctrl(operator, wires, control_values=[value for _, value in controls])


def _inverse(operator: Any) -> Any:
    """What is undone by an operator; of an allocation as PennyLane has none."""
    if isinstance(operator, Allocate | Deallocate):
        return ops.Adjoint(operator)
    return qml.adjoint(operator, lazy=False)


def _unwrapped(operator: Any) -> Any:
    while isinstance(operator, ops.Adjoint | ops.Controlled):
        operator = operator.base
    return operator


def _is_users(operator: Any) -> bool:
    """Whether an operator is of a class of the user's, which says how it decomposes."""
    is_users = not type(operator).__module__.startswith("pennylane.")
    return is_users and operator.has_decomposition


def _by_its_own(operator: Any) -> Sequence[Any]:
    """The factors that an operator's class names, under its controls, or inverted."""
    match operator:
        case ops.Adjoint():
            return [qml.adjoint(factor) for factor in reversed(_by_its_own(operator.base))]
        case ops.Controlled():
            controls = {"control_values": operator.control_values}
            factors = _by_its_own(operator.base)
            return [qml.ctrl(factor, operator.control_wires, **controls) for factor in factors]
        case _:
            return operator.decomposition()
