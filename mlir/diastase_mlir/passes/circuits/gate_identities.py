"""When two gates are the same but for their names, and which inverts which: tables.

`Form` is a gate without what has no meaning: `CNOT` is `PauliX` with a control, `CZ(a, b)` is
`CZ(b, a)`, controls have no order. Two gates on the same qubits with equal forms and parameters are
the same operation, exactly, global phase included. `form_before` gives the form of the gate before,
on the bits that it gives, which are those that the gate after takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.passes.circuits.gates import Gate

CONTROLLED: dict[str, tuple[str, bool]] = {
    "CNOT": ("PauliX", True), "CY": ("PauliY", True), "CZ": ("PauliZ", True),
    "CH": ("Hadamard", True), "CRX": ("RX", True), "CRY": ("RY", True), "CRZ": ("RZ", True),
    "CRot": ("Rot", True), "ControlledPhaseShift": ("PhaseShift", True),
    "CPhaseShift01": ("PhaseShift", False),
}  # fmt: skip
"""Gates whose first wire is a control: the gate on the other one, the value of the control."""

RENAMED = {"U1": "PhaseShift"}

PHASES = frozenset({"PauliZ", "S", "Adjoint(S)", "T", "Adjoint(T)", "PhaseShift"})
"""diag(1, z): under controls, a factor of one basis state; the target is like a control."""

SYMMETRIC = frozenset({
    "SWAP", "ISWAP", "Adjoint(ISWAP)", "SISWAP", "Adjoint(SISWAP)", "PSWAP",
    "IsingXX", "IsingYY", "IsingZZ", "IsingXY", "MultiRZ", "CPhaseShift00",
})  # fmt: skip
"""Gates whose targets may be exchanged."""

SELF_INVERSE = frozenset({
    "Identity", "Hadamard", "PauliX", "PauliY", "PauliZ", "SWAP", "ECR",
})  # fmt: skip

ADJOINT_PAIRS = frozenset({"S", "T", "SX", "SISWAP", "ISWAP"})
"""Gates without parameters whose adjoints are gates by name."""

ADDITIVE = frozenset({
    "RX", "RY", "RZ", "PhaseShift", "CPhaseShift00", "IsingZZ", "IsingXX", "IsingYY",
    "IsingXY", "SingleExcitation", "SingleExcitationPlus", "SingleExcitationMinus",
    "FermionicSWAP", "DoubleExcitation", "DoubleExcitationPlus", "DoubleExcitationMinus",
    "OrbitalRotation", "MultiRZ",
})  # fmt: skip
"""G(a) G(b) = G(a + b)."""

NEGATED: dict[str, Sequence[int]] = {
    **dict.fromkeys(ADDITIVE, (0,)),
    "PSWAP": (0,),
    "Rot": (2, 1, 0),
}
"""The inverse has the negated parameters, in this order."""


@dataclass(frozen=True)
class Shape:
    """A gate by the positions of its bits: what it does to which, at which values of others."""

    name: str
    targets: tuple[int, ...]
    controls: tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Form:
    """A gate by what it does; equal forms with equal parameters do the same."""

    name: str
    targets: tuple[Any, ...] | frozenset[Any]
    controls: frozenset[tuple[Any, bool]]
    """With the values at which the gate acts."""


def shape_of(gate: Gate) -> Shape:
    """What a gate does, all of its controls told apart from what they control."""
    name, count = gate.name, len(gate.targets)
    targets, values = list(range(count)), gate.control_values
    controls = list(zip(range(count, count + len(values)), values, strict=True))
    if name in CONTROLLED:
        name, value = CONTROLLED[name]
        controls.append((targets.pop(0), value))
    elif name == "CPhaseShift10":
        name = "PhaseShift"
        controls.append((targets.pop(), False))
    return Shape(RENAMED.get(name, name), tuple(targets), tuple(controls))


def form(gate: Gate) -> Form:
    """The form of a gate, on the bits that it takes."""
    return _form(shape_of(gate), gate.bits)


def form_before(gate: Gate) -> Form:
    """The form of a gate, on the bits that it gives."""
    return _form(shape_of(gate), gate.results)


def form_on(gate: Gate, wires: Sequence[int]) -> Form:
    """The form of a gate, on wires that stand for its bits."""
    return _form(shape_of(gate), wires)


def _form(shape: Shape, bits: Sequence[Any]) -> Form:
    targets = [bits[position] for position in shape.targets]
    controls = {(bits[position], value) for position, value in shape.controls}
    if shape.name in PHASES:
        return Form(shape.name, (), frozenset({*controls, (targets[0], True)}))
    ordered = frozenset(targets) if shape.name in SYMMETRIC else tuple(targets)
    return Form(shape.name, ordered, frozenset(controls))


def inverse_name(name: str) -> str | None:
    """The name of the inverse of a gate without parameters, if it has one."""
    if name in SELF_INVERSE:
        return name
    if name in ADJOINT_PAIRS:
        return f"Adjoint({name})"
    base = name.removeprefix("Adjoint(").removesuffix(")")
    return base if base != name and base in ADJOINT_PAIRS else None
