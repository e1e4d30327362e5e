"""Each gate of the gate table as rotations about Pauli words, exactly, in the order of time.

A rotation by `angle` about P is exp(-i angle/2 P); about the word of identities it is a phase. A
gate under controls is its rotations under controls, and a rotation under a control is two:

    controlled exp(-i a/2 P) = exp(-i a/4 P) exp(i a/4 Z P)        where the control is at 1

so a Toffoli gate becomes seven, by pi/4 or its negative, as it has seven T gates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.gates import Gate, shape_of
from diastase_mlir.passes.circuits.values import Number, multiply, negate
from diastase_runtime.gate_table import word_of

Row = tuple[tuple[str, float, int | None], ...]
"""Words on the targets, with angles: so many times a parameter of the gate, or a number."""


def _fixed(*rotations: tuple[str, float]) -> Row:
    return tuple((word, angle, None) for word, angle in rotations)


def _sum(parameter: int, text: str) -> Row:
    """Words that commute, with multiples of one parameter: `XY -1/2, YX 1/2`."""
    pairs = (term.split() for term in text.split(","))
    return tuple((word, _number(factor), parameter) for word, factor in pairs)


def _number(text: str) -> float:
    numerator, _, denominator = text.partition("/")
    return float(numerator) / float(denominator or 1)


_DOUBLE = (
    "XXXY -1/8, XXYX -1/8, XYXX 1/8, XYYY -1/8, YXXX 1/8, YXYY -1/8, YYXY 1/8, YYYX 1/8"
)  # fmt: skip
_OUTSIDE = (
    "IIZZ {0}1/8, IZIZ {1}1/8, IZZI {1}1/8, ZIIZ {1}1/8, ZIZI {1}1/8, ZZII {0}1/8, ZZZZ {0}1/8, "
    "IIII {1}7/8"
)  # fmt: skip

_ROWS: dict[str, Row] = {
    "Identity": (),
    "Hadamard": _fixed(("Z", pi / 2), ("X", pi / 2), ("Z", pi / 2), ("I", -pi)),
    "PauliX": _fixed(("X", pi), ("I", -pi)),
    "PauliY": _fixed(("Y", pi), ("I", -pi)),
    "PauliZ": _fixed(("Z", pi), ("I", -pi)),
    "S": _fixed(("Z", pi / 2), ("I", -pi / 2)),
    "T": _fixed(("Z", pi / 4), ("I", -pi / 4)),
    "SX": _fixed(("X", pi / 2), ("I", -pi / 2)),
    "SWAP": _fixed(("XX", -pi / 2), ("YY", -pi / 2), ("ZZ", -pi / 2), ("II", pi / 2)),
    "ISWAP": _fixed(("XX", -pi / 2), ("YY", -pi / 2)),
    "SISWAP": _fixed(("XX", -pi / 4), ("YY", -pi / 4)),
    "ECR": _fixed(("ZX", pi / 2), ("XI", pi), ("II", -pi)),
    "RX": _sum(0, "X 1"),
    "RY": _sum(0, "Y 1"),
    "RZ": _sum(0, "Z 1"),
    "PhaseShift": _sum(0, "Z 1, I -1"),
    "Rot": (("Z", 1.0, 0), ("Y", 1.0, 1), ("Z", 1.0, 2)),
    "U2": (("Z", 1.0, 1), ("Y", pi / 2, None), ("Z", 1.0, 0), ("I", -1.0, 0), ("I", -1.0, 1)),
    "U3": (("Z", 1.0, 2), ("Y", 1.0, 0), ("Z", 1.0, 1), ("I", -1.0, 1), ("I", -1.0, 2)),
    "IsingXX": _sum(0, "XX 1"),
    "IsingYY": _sum(0, "YY 1"),
    "IsingZZ": _sum(0, "ZZ 1"),
    "IsingXY": _sum(0, "XX -1/2, YY -1/2"),
    "PSWAP": (
        *_fixed(("XX", -pi / 2), ("YY", -pi / 2), ("ZZ", -pi / 2), ("II", pi / 2)),
        *_sum(0, "ZZ 1, II -1"),
    ),
    "CPhaseShift00": _sum(0, "IZ -1/2, ZI -1/2, ZZ -1/2, II -1/2"),
    "SingleExcitation": _sum(0, "XY -1/2, YX 1/2"),
    "SingleExcitationPlus": _sum(0, "XY -1/2, YX 1/2, ZZ -1/2, II -1/2"),
    "SingleExcitationMinus": _sum(0, "XY -1/2, YX 1/2, ZZ 1/2, II 1/2"),
    "FermionicSWAP": _sum(0, "XX 1/2, YY 1/2, IZ 1/2, ZI 1/2, II -1"),
    "DoubleExcitation": _sum(0, _DOUBLE),
    "DoubleExcitationPlus": _sum(0, f"{_DOUBLE}, {_OUTSIDE.format('', '-')}"),
    "DoubleExcitationMinus": _sum(0, f"{_DOUBLE}, {_OUTSIDE.format('-', '')}"),
    "OrbitalRotation": _sum(0, "IXZY -1/2, IYZX 1/2, XZYI -1/2, YZXI 1/2"),
}


@dataclass(frozen=True)
class Rotation:
    """exp(-i angle/2 P), P a letter for each position among the gate's bits, I included."""

    word: str
    angle: Number


def rotations_of(gate: Gate) -> list[Rotation] | None:
    """The rotations that a gate is; None if it is not known. Angles may be computed here."""
    shape = shape_of(gate)
    row = _row(shape.name, len(shape.targets))
    if row is None:
        return None
    parameters, size = gate.parameters, len(gate.bits)
    rotations = [
        Rotation(_spread(word, shape.targets, size), _angle(factor, place, parameters))
        for word, factor, place in row
    ]
    for position, value in shape.controls:
        rotations = [under for one in rotations for under in _controlled(one, position, value)]
    return rotations


def _row(name: str, targets: int) -> Row | None:
    if name == "MultiRZ":
        return (("Z" * targets, 1.0, 0),)
    word = word_of(name)
    if word is not None:
        return ((word, 1.0, 0),)
    inverse = name.removeprefix("Adjoint(").removesuffix(")")
    row = _ROWS.get(inverse)
    if row is None or inverse == name:
        return row
    return tuple((word, -angle, place) for word, angle, place in reversed(row))


def _angle(factor: float, place: int | None, parameters: Sequence[ir.Value]) -> Number:
    if place is None:
        return factor
    angle: Number = parameters[place]
    if factor == -1.0:
        return negate(angle)
    return angle if factor == 1.0 else multiply(factor, angle)


def _spread(word: str, targets: Sequence[int], size: int) -> str:
    letters = ["I"] * size
    for letter, target in zip(word, targets, strict=True):
        letters[target] = letter
    return "".join(letters)


def _controlled(rotation: Rotation, position: int, value: bool) -> Iterator[Rotation]:
    """(1 - Z)/2 of the control at 1, (1 + Z)/2 at 0, times P."""
    half = multiply(0.5, rotation.angle)
    word = f"{rotation.word[:position]}Z{rotation.word[position + 1 :]}"
    yield Rotation(rotation.word, half)
    yield Rotation(word, negate(half) if value else half)
