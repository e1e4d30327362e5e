"""The one table of named gates: what the compiler may ask of the engine, by number.

Lowering turns a PennyLane name into `code`; the engine's `gate_matrices` is generated from the
same rows. Names, wire order and parameters are PennyLane's; `Adjoint(S)` and the like are rows of
their own where the gate has no parameter to negate. The order of the rows is the numbering: it
may change with any release, as the engine is rebuilt with the compiler (never stored apart).

One family has no rows: `PauliRot[XYZ]`, the rotation about a Pauli word, a letter for each target
wire. `gate_of` finds any gate by its name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Entry = Literal["wires", "array"]


@dataclass(frozen=True)
class Gate:
    """A row: PennyLane's name, the engine's code, numbers of wires (0: any) and parameters."""

    name: str
    code: int
    wires: int
    parameters: int

    @property
    def entry(self) -> Entry:
        """The engine function: `gate`/`controlled_gate` up to two wires, else `gate_on_wires`."""
        return "wires" if self.wires in (1, 2) and self.code < PAULI_ROTATION else "array"

    def arranged(self, wires: Sequence[Any]) -> list[Any]:
        """The target wires in the order in which the engine takes them."""
        word = word_of(self.name)
        if word is None:
            return list(wires)
        return [wire for _, wire in sorted(zip(word, wires, strict=True), key=lambda pair: pair[0])]


PAULI_ROTATION = 1 << 12
"""Codes from here on are rotations about Pauli words: X of them and `Y << LETTER_BITS` added. The
engine takes the wires of X first, then those of Y, then those of Z."""
LETTER_BITS = 6


_ROWS: tuple[tuple[str, int, int], ...] = (
    ("Identity", 1, 0),
    ("Hadamard", 1, 0),
    ("PauliX", 1, 0),
    ("PauliY", 1, 0),
    ("PauliZ", 1, 0),
    ("S", 1, 0),
    ("Adjoint(S)", 1, 0),
    ("T", 1, 0),
    ("Adjoint(T)", 1, 0),
    ("SX", 1, 0),
    ("Adjoint(SX)", 1, 0),
    ("RX", 1, 1),
    ("RY", 1, 1),
    ("RZ", 1, 1),
    ("PhaseShift", 1, 1),
    ("U1", 1, 1),
    ("U2", 1, 2),
    ("U3", 1, 3),
    ("Rot", 1, 3),
    ("CNOT", 2, 0),
    ("CY", 2, 0),
    ("CZ", 2, 0),
    ("CH", 2, 0),
    ("CRX", 2, 1),
    ("CRY", 2, 1),
    ("CRZ", 2, 1),
    ("CRot", 2, 3),
    ("ControlledPhaseShift", 2, 1),
    ("CPhaseShift00", 2, 1),
    ("CPhaseShift01", 2, 1),
    ("CPhaseShift10", 2, 1),
    ("IsingZZ", 2, 1),
    ("IsingXX", 2, 1),
    ("IsingYY", 2, 1),
    ("IsingXY", 2, 1),
    ("SingleExcitation", 2, 1),
    ("SingleExcitationPlus", 2, 1),
    ("SingleExcitationMinus", 2, 1),
    ("FermionicSWAP", 2, 1),
    ("SISWAP", 2, 0),
    ("Adjoint(SISWAP)", 2, 0),
    ("ECR", 2, 0),
    ("SWAP", 2, 0),
    ("ISWAP", 2, 0),
    ("Adjoint(ISWAP)", 2, 0),
    ("PSWAP", 2, 1),
    ("DoubleExcitation", 4, 1),
    ("DoubleExcitationPlus", 4, 1),
    ("DoubleExcitationMinus", 4, 1),
    ("OrbitalRotation", 4, 1),
    ("MultiRZ", 0, 1),
)

GATES: dict[str, Gate] = {
    name: Gate(name, code, wires, parameters)
    for code, (name, wires, parameters) in enumerate(_ROWS)
}
"""Every named gate of the engine, by PennyLane's name."""

_ROTATION = re.compile(r"PauliRot\[([XYZ]+)\]")


def word_of(name: str) -> str | None:
    """The Pauli word of a rotation, by the name of the gate: of `PauliRot[XYZ]`, `XYZ`."""
    found = _ROTATION.fullmatch(name)
    return None if found is None else found[1]


def rotation_about(word: str) -> str:
    """The name of the rotation exp(-i theta/2 P) about a Pauli word, of X, Y and Z alone."""
    return f"PauliRot[{word}]"


@lru_cache(2**12)
def gate_of(name: str) -> Gate | None:
    """A named gate: a row of the table, or a rotation about a Pauli word."""
    word = word_of(name)
    if word is None:
        return GATES.get(name)
    code = PAULI_ROTATION + word.count("X") + (word.count("Y") << LETTER_BITS)
    return Gate(name, code, len(word), 1)


PAULI_CODES = {"X": 1, "Y": 2, "Z": 3}
"""How the letters of Pauli words in observables are written in tables of them."""
_INTO_Z = {"X": ("Hadamard",), "Y": ("Adjoint(S)", "Hadamard"), "Z": ()}

Applied = tuple[str, tuple[Any, ...]]
"""A gate without parameters: its name and its wires."""


def into_z(
    word: str, wires: Sequence[Any], reset: bool = False
) -> tuple[list[Applied], list[Applied]]:
    """Gates that turn a Pauli word on some wires into Z on the last of them, and those back.

    A word of one letter whose wire is `reset` after it has been measured is not turned back.
    """
    forth = [
        (name, (wire,))
        for letter, wire in zip(word, wires, strict=True)
        for name in _INTO_Z[letter]
    ]
    forth += [("CNOT", (wire, wires[-1])) for wire in wires[:-1]]
    back = [("S" if name == "Adjoint(S)" else name, on) for name, on in reversed(forth)]
    return forth, [] if reset else back


FIELD_BITS = 16
"""Of each number in the first word of a row of `gate_run`."""


def run_row(
    gate: Gate,
    site: int,
    wires: Sequence[int],
    controls: Sequence[tuple[int, bool]],
    parameters: Sequence[int],
) -> list[int]:
    """The row of a gate, as `gate_run` reads it."""
    fields = (gate.code, len(wires), len(controls), len(parameters))
    head = sum(number << FIELD_BITS * place for place, number in enumerate(fields))
    row = [head, site, *gate.arranged(wires), *(wire for wire, _ in controls)]
    return [*row, *(int(value) for _, value in controls), *parameters]


WHOLE_FREQUENCY: dict[str, tuple[int, ...]] = {
    "PhaseShift": (0,),
    "U1": (0,),
    "U2": (0, 1),
    "U3": (1, 2),
    "ControlledPhaseShift": (0,),
    "CPhaseShift00": (0,),
    "CPhaseShift01": (0,),
    "CPhaseShift10": (0,),
    "FermionicSWAP": (0,),
    "PSWAP": (0,),
}
"""Parameters p, by position, in which all that a gate pushes is `a + b cos p + c sin p`; in all
others it is `a + b cos(p/2) + c sin(p/2)`. So two shifted evaluations give the exact derivative."""
