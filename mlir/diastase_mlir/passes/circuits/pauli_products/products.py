"""What a segment is made of, for passes on Pauli words: rotations, measurements, others."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.pauli_products.paulis import Pauli
from diastase_mlir.passes.circuits.segments import Place, Segment, Step
from diastase_mlir.passes.circuits.values import Number, constant_of, negate
from diastase_runtime.gate_table import rotation_about, word_of

_ROUNDING = 1e-12
"""How far from a multiple of pi/4 an angle may be that is taken for one."""


@dataclass(frozen=True)
class Rotation:
    """exp(-i angle/2 P) about a word without a sign."""

    step: Step
    word: Pauli
    angle: Number

    @property
    def eighths(self) -> int | None:
        """The angle in units of pi/4, if it is known and a multiple."""
        return _multiple(self.angle, pi / 4)

    @property
    def quarter_turns(self) -> int | None:
        """The angle in units of pi/2, if it is known and a multiple: of a Clifford rotation."""
        return _multiple(self.angle, pi / 2)

    def about(self, image: Pauli) -> "Rotation":
        """The rotation by the same angle about a word that may have a sign; it emits the angle."""
        angle = negate(self.angle) if image.is_negative else self.angle
        return Rotation(self.step, image.without_sign, angle)

    def put(self, place: Place) -> None:
        """Make it there."""
        letters, qubits = spelled(self.word)
        place.gate(rotation_about(letters), qubits, [self.angle], from_step=self.step)


@dataclass(frozen=True)
class Measured:
    """A measurement of a word without a sign."""

    step: Step
    word: Pauli

    def put(self, place: Place, image: Pauli) -> None:
        """Measure a word that may have a sign, in its place."""
        letters, qubits = spelled(image)
        place.measure_instead(self.step, letters, qubits, image.is_negative)


def spelled(word: Pauli) -> tuple[str, tuple[int, ...]]:
    """The letters of a word, and the qubits that they are on."""
    qubits, letters = zip(*word.letters(), strict=True)
    return "".join(letters), qubits


Product = Rotation | Measured | Step


def products_of(segment: Segment) -> list[Product]:
    """What the steps of a segment are: what is no rotation and no measurement stays a step."""
    return [_product(step) for step in segment.steps]


def known_angle(angle: Number) -> float | None:
    """The number of an angle; None where it is known only when the program runs."""
    return constant_of(angle) if isinstance(angle, ir.Value) else angle


def _multiple(angle: Number, unit: float) -> int | None:
    known = known_angle(angle)
    if known is None:
        return None
    number = round(known / unit)
    return number if abs(known - number * unit) <= _ROUNDING else None


def mask_of(qubits: Sequence[int]) -> int:
    """Qubits as a mask."""
    return sum(1 << qubit for qubit in qubits)


def _product(step: Step) -> Product:
    gate = step.gate
    word = None if gate is None else word_of(gate.name)
    if gate is not None and word is not None and not gate.controls:
        return Rotation(step, Pauli.of(word, step.qubits), gate.parameters[0])
    if step.name == "quantum.measure" and not step.operation.reset.value:
        return Measured(step, Pauli.of(step.operation.word.value, step.qubits))
    return step
