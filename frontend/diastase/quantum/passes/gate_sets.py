"""Passes that let circuits be made of the gates of a set.

They are decided about while operators are recorded (`operators.decomposing`), since a rule is a
function of a PennyLane operator; so what they leave is what all other passes see, wherever in the
pipeline they stand. PennyLane's graph (`qml.decomposition`) finds the rules, by what the gates of
the set cost. A global phase is no gate of any wire and can always be recorded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pennylane as qml
from pennylane.decomposition import GateSet, enabled_graph
from pennylane.decomposition.gate_sets import ALL_OPS
from pennylane.queuing import QueuingManager

from diastase.quantum.passes.errors import OptionValueError
from diastase_mlir import register_pass

ALIASES = {"MS": "IsingXX"}
"""Names of gates that PennyLane has other names for."""


@dataclass(frozen=True)
class GateTarget:
    """What the operators of a circuit are to be decomposed into."""

    pass_name: str
    gates: GateSet
    num_work_wires: int | None = 0
    minimize_work_wires: bool = False
    fixed_decomps: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    alt_decomps: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    stopping_condition: Callable[[Any], bool] | None = None
    max_expansion: int | None = None
    by_graph: bool = True
    """Whether the graph chooses rules; else each operator has the one that it names itself."""

    def has(self, operator: Any) -> bool:
        """Whether an operator stays as it is."""
        if operator in self.gates:
            return True
        return self.stopping_condition is not None and self.stopping_condition(operator)


@register_pass("graph_decomposition", built_in=True, of="operators")
def graph_decomposition(
    *,
    gate_set: Any,
    fixed_decomps: Any = None,
    alt_decomps: Any = None,
    num_work_wires: Any = 0,
    minimize_work_wires: Any = False,
) -> GateTarget:
    """The circuit in gates of the set, at the lowest cost that PennyLane's graph finds."""
    name = "graph_decomposition"
    return GateTarget(
        name,
        _gates(name, gate_set),
        _work_wires(name, num_work_wires),
        bool(minimize_work_wires),
        _rules(name, "fixed_decomps", fixed_decomps),
        _rules(name, "alt_decomps", alt_decomps),
    )


@register_pass("decompose", built_in=True, of="operators")
def decompose(
    *,
    gate_set: Any = None,
    stopping_condition: Any = None,
    max_expansion: Any = None,
    num_work_wires: Any = 0,
    minimize_work_wires: Any = False,
    fixed_decomps: Any = None,
    alt_decomps: Any = None,
) -> GateTarget:
    """PennyLane's `decompose`: by its graph where that is enabled, else by `op.decomposition()`."""
    name = "decompose"
    plain = gate_set is None and stopping_condition is None
    return GateTarget(
        name,
        ALL_OPS if plain else _gates(name, () if gate_set is None else gate_set),
        _work_wires(name, num_work_wires),
        bool(minimize_work_wires),
        _rules(name, "fixed_decomps", fixed_decomps),
        _rules(name, "alt_decomps", alt_decomps),
        stopping_condition,
        max_expansion,
        enabled_graph(),
    )


def _gates(name: str, given: Any) -> GateSet:
    gates: Any = {given} if isinstance(given, str | type) else given
    allowed = "a set of gates (names or classes), or a dictionary from them to costs, none negative"
    if not isinstance(gates, Iterable):
        raise OptionValueError(name=name, option="gate_set", value=repr(given), allowed=allowed)
    costs = dict(gates) if isinstance(gates, Mapping) else dict.fromkeys(gates, 1.0)
    costs = {ALIASES.get(gate, gate): cost for gate, cost in costs.items()}
    try:
        found = GateSet(costs)
    except (ValueError, TypeError, AttributeError) as error:
        raise OptionValueError(
            name=name, option="gate_set", value=repr(given), allowed=allowed
        ) from error
    return found if qml.GlobalPhase in found else found | GateSet({qml.GlobalPhase: 0.0})


def _work_wires(name: str, given: Any) -> int | None:
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    allowed = "a number, or None for any number"
    raise OptionValueError(name=name, option="num_work_wires", value=repr(given), allowed=allowed)


def _rules(name: str, option: str, given: Any) -> Mapping[Any, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    allowed = "a dictionary from gates to rules (qml.register_resources)"
    raise OptionValueError(name=name, option=option, value=repr(given), allowed=allowed)


# --- trapped ions ---------------------------------------------------------------------------------


@qml.register_resources({qml.RX: 2, qml.RY: 2, qml.IsingXX: 1, qml.GlobalPhase: 1})
def _cnot_of_ions(wires: Any, **_: Any) -> None:
    """A CNOT by one MS gate (Maslov, New J. Phys. 19, 023035, 2017), global phase included."""
    control, target = wires
    qml.RY(np.pi / 2, control)
    qml.IsingXX(np.pi / 2, [control, target])
    qml.RX(-np.pi / 2, control)
    qml.RX(-np.pi / 2, target)
    qml.RY(-np.pi / 2, control)
    qml.GlobalPhase(np.pi / 4)


@register_pass("ions_decomposition", built_in=True, of="operators")
def ions_decomposition() -> GateTarget:
    """The circuit in RX, RY and MS, the gates of trapped ions; MS(theta) is `IsingXX(theta)`."""
    name = "ions_decomposition"
    with QueuingManager.stop_recording():
        gates = _gates(name, {"RX": 1.0, "RY": 1.0, "MS": 10.0})
    return GateTarget(name, gates, alt_decomps={qml.CNOT: [_cnot_of_ions]})
