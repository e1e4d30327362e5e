"""Replace `SWAP`s of qubits whose states are known by fewer or simpler gates.

    both states known               gates that make each state the other one; none if they are equal
    one is |0>                      two CNOTs instead of the three that a SWAP is
    one is |1>                      X on the other qubit, then the same
    one is |+> or |->               the same with CNOTs turned round, and Z instead of X

After table VI of J. Liu, L. Bello and H. Zhou, arXiv:2012.07711 (`basis_states.py`). A SWAP under
controls loses those that are known to be met, and goes where both states are equal.
"""

from diastase_mlir.passes.circuits.basis_states import State, open_controls, replace_on_known_states
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.disentangle_cnot import controlled
from diastase_mlir.passes.circuits.gates import New, Shape
from diastase_mlir.passes.circuits.registry import register_pass

CHANGES: dict[tuple[State, State], tuple[str, ...]] = {
    ("0", "1"): ("PauliX",), ("1", "0"): ("PauliX",),
    ("+", "-"): ("PauliZ",), ("-", "+"): ("PauliZ",),
    ("0", "+"): ("Hadamard",), ("+", "0"): ("Hadamard",),
    ("1", "-"): ("Hadamard",), ("-", "1"): ("Hadamard",),
    ("0", "-"): ("PauliX", "Hadamard"), ("-", "0"): ("Hadamard", "PauliX"),
    ("1", "+"): ("PauliX", "Hadamard"), ("+", "1"): ("Hadamard", "PauliX"),
}  # fmt: skip
"""Gates that make one state another, exactly."""

FLIPS = {"1": "PauliX", "-": "PauliZ"}


@register_pass("disentangle_swap", built_in=True)
def disentangle_swap(circuit: Circuit) -> None:
    """Replace SWAPs by what they do to known states."""
    replace_on_known_states(circuit, _instead)


def _instead(shape: Shape, states: list[State]) -> list[New] | None:
    """What a gate is to be replaced by; None where it stays."""
    if shape.name != "SWAP":
        return None
    first, second = shape.targets
    one, other = states[first], states[second]
    controls = open_controls(shape, states)
    if controls is None or (one is not None and one == other):
        return []
    if controls:
        shorter = len(controls) < len(shape.controls)
        return [controlled("SWAP", [first, second], controls)] if shorter else None
    if one is not None and other is not None:
        return [
            *(New(name, [first]) for name in CHANGES[one, other]),
            *(New(name, [second]) for name in CHANGES[other, one]),
        ]
    if one is not None:
        return _with_one_known(first, one, second)
    if other is not None:
        return _with_one_known(second, other, first)
    return [New("SWAP", [first, second])] if shape.controls else None


def _with_one_known(known: int, state: str, unknown: int) -> list[New]:
    flip = [New(FLIPS[state], [unknown])] if state in FLIPS else []
    there, back = New("CNOT", [unknown, known]), New("CNOT", [known, unknown])
    return [*flip, there, back] if state in ("0", "1") else [*flip, back, there]
