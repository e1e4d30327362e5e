"""A gate of a circuit as a pass sees it, the gate that it wants in its place, and what equals what.

`Gate` is a view of one `quantum.gate` or `quantum.unitary`; it holds nothing of its own, so it is
valid as long as the operation is. Its *bits* are what it acts on, targets first, then controls; its
*results* are the same qubits afterwards, in the same order. `before` is the gate before it on all
of its bits, which is what most patterns ask for. `New` says what a gate is replaced by: qubits are
given as positions among the bits of the (first) gate that goes.

Tables say when two gates are the same but for their names, and which inverts which. `Form` is a
gate without what has no meaning: `CNOT` is `PauliX` with a control, `CZ(a, b)` is `CZ(b, a)`,
controls have no order; a rotation about a Pauli word is `PauliRot`, each target with its letter.
Two gates on the same qubits with equal forms and parameters are the same operation, exactly, global
phase included. `form_before` gives the form of the gate before, on the bits that it gives, which
are those that the gate after takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.circuits.values import Number
from diastase_mlir.passes.operations import bits_of, defining
from diastase_runtime.gate_table import word_of

UNITARY = "QubitUnitary"
"""The name of a gate that is given by its matrix."""


@dataclass(frozen=True)
class Gate:
    """A gate on the bits that it acts on, as a pass sees it.

    A bit is an MLIR value, the state of one qubit at one place; a gate takes bits and gives others.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @passes.register_pass("look_at_gates")
        ... def look_at_gates(circuit):
        ...     first, last = circuit.gates()
        ...     print(first.name, len(first.targets), len(first.controls), first.control_values)
        ...     print(len(first.parameters), len(first.bits), len(first.results))
        ...     print(last.before == passes.gate_before(last.bits[0]) == first)
        ...     print(passes.values.matrix_of(last.matrix).shape)
        >>> @qjit
        ... @passes.apply_pass("look_at_gates")
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit(x):
        ...     qml.ctrl(qml.RX, 0, [0])(x, 1)
        ...     qml.QubitUnitary([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, -1]], [0, 1])
        ...     return qml.probs()
        >>> _ = circuit(0.1)
        RX 1 1 [False]
        1 2 2
        True
        (4, 4)

    """

    operation: Any
    """The MLIR operation."""

    @property
    def name(self) -> str:
        """PennyLane's name, as in the gate table."""
        if self.operation.operation.name == "quantum.unitary":
            return UNITARY
        return ir.StringAttr(self.operation.operation.attributes["gate_name"]).value

    @property
    def parameters(self) -> list[ir.Value]:
        """Angles in radians, as MLIR values; none where the gate is given by its matrix."""
        inner = self.operation.operation
        if inner.name == "quantum.unitary":
            return []
        operands = inner.operands
        return [operands[place] for place in range(len(operands) - len(inner.results))]

    @property
    def matrix(self) -> ir.Value:
        """The matrix of a gate that is given by it, as an MLIR value (`values.matrix_of`)."""
        return self.operation.matrix

    @property
    def targets(self) -> list[ir.Value]:
        """The bits that it acts on; of `CNOT` and the like both, the control first."""
        bits = self.bits
        return bits[: len(bits) - self._number_of_controls]

    @property
    def controls(self) -> list[ir.Value]:
        """The bits that control it."""
        bits = self.bits
        return bits[len(bits) - self._number_of_controls :]

    @property
    def control_values(self) -> list[bool]:
        """The values of the controls at which it acts."""
        values = ir.DenseBoolArrayAttr(self.operation.operation.attributes["control_values"])
        return [values[place] for place in range(len(values))]

    @property
    def _number_of_controls(self) -> int:
        return len(ir.DenseBoolArrayAttr(self.operation.operation.attributes["control_values"]))

    @property
    def bits(self) -> list[ir.Value]:
        """All bits, targets before controls."""
        return bits_of(self.operation.operation)

    @property
    def results(self) -> list[ir.Value]:
        """The same qubits after the gate, in the order of `bits`."""
        return list(self.operation.operation.results)

    @property
    def before(self) -> "Gate | None":
        """The gate before this one, if it acts on exactly the same qubits, in any order."""
        bits = self.bits
        gates = [gate_before(bit) for bit in bits]
        first = gates[0]
        if first is None or len(first.results) != len(bits):
            return None
        return first if all(gate == first for gate in gates) else None


def gate_before(bit: ir.Value) -> Gate | None:
    """The gate that a bit comes from.

    Args:
        bit: one of the `bits` of a gate.

    Returns:
        A `Gate`; None where the bit was just taken from the register, or measured.

    Example:
        >>> from diastase import passes
        >>> @passes.register_pass("drop_second_x")
        ... def drop_second_x(circuit):
        ...     for gate in circuit.gates():
        ...         before = passes.gate_before(gate.bits[0])
        ...         if gate.name == "PauliX" and before is not None and before.name == "PauliX":
        ...             circuit.erase([before, gate])

    """
    operation = defining(bit)
    if operation is None or operation.name not in ("quantum.gate", "quantum.unitary"):
        return None
    return Gate(operation.opview)


@dataclass(frozen=True)
class New:
    """A gate to be made, in the place of others (`Circuit.replace`).

    Args:
        name: PennyLane's, of the gate table.
        wires: positions among the bits of the (first) gate that goes.
        parameters: angles in radians, numbers or MLIR values.
        controls: positions of wires that control it.
        control_values: at which it acts; all True by default.

    Example:
        >>> from diastase import passes
        >>> @passes.register_pass("z_as_phase")
        ... def z_as_phase(circuit):
        ...     for gate in circuit.gates():
        ...         if gate.name == "PauliZ":
        ...             circuit.replace(gate, [passes.New("PhaseShift", [0], [3.141592653589793])])
        ...         if gate.name == "RZ":
        ...             circuit.replace(gate, [passes.New.like(gate, gate.parameters)])

    """

    name: str
    wires: Sequence[int]
    parameters: Sequence[Number] = ()
    controls: Sequence[int] = ()
    control_values: Sequence[bool] = ()

    @staticmethod
    def like(gate: Gate, parameters: Sequence[Number]) -> "New":
        """The same gate with other parameters.

        Args:
            gate: of which it has the name, the targets and the controls.
            parameters: angles in radians, as many as the gate has.

        Returns:
            A `New` gate.

        """
        targets, controls = len(gate.targets), len(gate.controls)
        return New(
            gate.name,
            range(targets),
            parameters,
            range(targets, targets + controls),
            gate.control_values,
        )

    def create(self, bits: Sequence[ir.Value], parameters: Sequence[ir.Value], site: Any) -> Any:
        """Make it on these bits at the current insertion point."""
        values = list(self.control_values) or [True] * len(self.controls)
        attributes: dict[str, ir.Attribute] = {
            "gate_name": ir.StringAttr.get(self.name),
            "site": site,
            "control_values": ir.DenseBoolArrayAttr.get(values),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(
                [len(parameters), len(self.wires), len(self.controls)]
            ),
        }
        taken = [bits[position] for position in (*self.wires, *self.controls)]
        types = [bit.type for bit in taken]
        return create("quantum.gate", types, [*parameters, *taken], attributes)


CONTROLLED: dict[str, tuple[str, bool]] = {
    "CNOT": ("PauliX", True), "CY": ("PauliY", True), "CZ": ("PauliZ", True),
    "CH": ("Hadamard", True), "CRX": ("RX", True), "CRY": ("RY", True), "CRZ": ("RZ", True),
    "CRot": ("Rot", True), "ControlledPhaseShift": ("PhaseShift", True),
    "CPhaseShift01": ("PhaseShift", False),
}  # fmt: skip
"""Gates whose first wire is a control: the gate on the other one, the value of the control."""

RENAMED = {
    "U1": "PhaseShift", "PauliRot[X]": "RX", "PauliRot[Y]": "RY", "PauliRot[Z]": "RZ",
}  # fmt: skip

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
    "OrbitalRotation", "MultiRZ", "PauliRot",
})  # fmt: skip
"""G(a) G(b) = G(a + b); names of forms."""

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
    word = word_of(shape.name)
    if word is not None:
        letters = frozenset(zip(word, targets, strict=True))
        return Form("PauliRot", letters, frozenset(controls))
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
