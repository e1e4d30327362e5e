"""Replace `CNOT`s on qubits whose states are known by gates that do not entangle.

    control |0>                     nothing
    control |1>                     X on the target
    target |+>                      nothing
    target |->                      Z on the control

By table I of J. Liu, L. Bello and H. Zhou, arXiv:2012.07711 (`basis_states.py`). `X` with several
controls, as in `Toffoli`, loses those that are known to be met in the same way.
"""

from diastase_mlir.passes.circuits.basis_states import State, open_controls, replace_on_known_states
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.gates import New, Shape
from diastase_mlir.passes.circuits.registry import register_pass


@register_pass("disentangle_cnot", built_in=True)
def disentangle_cnot(circuit: Circuit) -> None:
    """Replace CNOTs by what they do to known states."""
    replace_on_known_states(circuit, _instead)


def _instead(shape: Shape, states: list[State]) -> list[New] | None:
    """What a gate is to be replaced by; None where it stays."""
    if shape.name != "PauliX" or not shape.controls:
        return None
    (target,) = shape.targets
    controls = open_controls(shape, states)
    if controls is None or states[target] == "+":
        return []
    met = [control for control in controls if control[1]]
    if states[target] == "-" and met:
        kicked, rest = met[0], [control for control in controls if control != met[0]]
        return [controlled("PauliZ", [kicked[0]], rest)]
    if len(controls) == len(shape.controls):
        return None
    if len(controls) == 1 and met:
        return [New("CNOT", [controls[0][0], target])]
    return [controlled("PauliX", [target], controls)]


def controlled(name: str, wires: list[int], controls: list[tuple[int, bool]]) -> New:
    """A gate under these controls."""
    positions = [position for position, _ in controls]
    return New(name, wires, (), positions, [value for _, value in controls])
