"""Pauli words on numbered qubits, and Clifford rotations as what they do to words.

A word is a pair of bit masks, X^x Z^z up to a power of i; those that are rotated about are
Hermitian, so what is left is a sign. Masks are Python's integers: any number of qubits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

LETTERS = {(1, 0): "X", (1, 1): "Y", (0, 1): "Z"}


@dataclass(frozen=True)
class Pauli:
    """i^power X^x Z^z, where bit q of the masks says what is on qubit q."""

    x: int
    z: int
    power: int = 0
    """Modulo 4; a Y on a qubit is i X Z."""

    @staticmethod
    def of(letters: str, qubits: tuple[int, ...]) -> "Pauli":
        """A word of X, Y, Z and I, a letter for each qubit."""
        x = z = power = 0
        for letter, qubit in zip(letters, qubits, strict=True):
            x |= (letter in "XY") << qubit
            z |= (letter in "YZ") << qubit
            power += letter == "Y"
        return Pauli(x, z, power % 4)

    def __mul__(self, other: "Pauli") -> "Pauli":
        exchanged = (self.z & other.x).bit_count()
        power = (self.power + other.power + 2 * exchanged) % 4
        return Pauli(self.x ^ other.x, self.z ^ other.z, power)

    def times_i(self, power: int) -> "Pauli":
        """Multiplied by a power of i."""
        return Pauli(self.x, self.z, (self.power + power) % 4)

    def commutes_with(self, other: "Pauli") -> bool:
        """Whether two words commute; if not, they anticommute."""
        return ((self.x & other.z).bit_count() + (self.z & other.x).bit_count()) % 2 == 0

    @property
    def support(self) -> int:
        """The qubits that it acts on, as a mask."""
        return self.x | self.z

    @property
    def is_negative(self) -> bool:
        """The sign of a Hermitian word."""
        return (self.power - (self.x & self.z).bit_count()) % 4 == 2

    @property
    def without_sign(self) -> "Pauli":
        """The word of letters alone."""
        return self.times_i(2) if self.is_negative else self

    @property
    def key(self) -> tuple[int, int]:
        """The word without its sign."""
        return self.x, self.z

    def letters(self) -> Iterator[tuple[int, str]]:
        """Qubits that it acts on, with their letters, in the order of the qubits."""
        rest = self.support
        while rest:
            qubit = (rest & -rest).bit_length() - 1
            yield qubit, LETTERS[self.x >> qubit & 1, self.z >> qubit & 1]
            rest &= rest - 1


class Frame:
    """Clifford rotations C1, …, Ck that have been passed by: what a word that comes next becomes.

    With C = Ck … C1, to rotate about Q after them is to rotate about C* Q C before them. Images of
    X and Z of each qubit are kept, so a rotation costs the length of its word, however many were
    passed.
    """

    def __init__(self) -> None:
        self._images: dict[tuple[int, str], Pauli] = {}

    def image(self, word: Pauli) -> Pauli:
        """C* Q C, with its sign."""
        found = Pauli(0, 0, word.power)
        for qubit, letter in word.letters():
            if letter in "XY":
                found = found * self._image(qubit, "X")
            if letter in "YZ":
                found = found * self._image(qubit, "Z")
        return found

    def pass_by(self, word: Pauli, quarter_turns: int) -> None:
        """One more rotation, about a word by so many times pi/2."""
        if quarter_turns % 4 == 0:
            return
        about = self.image(word)
        for qubit, letter in word.letters():
            for generator in "XZ":
                if generator != letter:
                    image = self._image(qubit, generator)
                    turned = image if quarter_turns % 2 == 0 else about * image
                    self._images[qubit, generator] = turned.times_i(quarter_turns)

    def _image(self, qubit: int, generator: str) -> Pauli:
        found = self._images.get((qubit, generator))
        return Pauli.of(generator, (qubit,)) if found is None else found
