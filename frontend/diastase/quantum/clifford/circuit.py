"""A stabilizer circuit as it was read: steps, in order; and what stim makes of it.

    Gates     unitary gates of stim's, as many as follow each other
    Noise     Pauli words, each with its probability, a number or a traced scalar
    Measured  a Pauli word, whose outcome is the next bit; with a reset of its wire
    Feedback  a Pauli word that is applied where a measured bit is 1

`Stim` (`instructions`) makes stim's instructions of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diastase.quantum.clifford.gates import Applied
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import stim
else:
    stim = LazyModule("stim")


@dataclass(frozen=True)
class Gates:
    """Unitary gates."""

    circuit: Any


@dataclass(frozen=True)
class Noise:
    """One of some Pauli words, or none of them."""

    words: tuple[str, ...]
    probabilities: tuple[Any, ...]
    wires: tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """A Pauli word, measured."""

    word: str
    wires: tuple[int, ...]
    reset: bool
    bit: int
    """The number of its outcome."""


@dataclass(frozen=True)
class Feedback:
    """A Pauli word that depends on a bit."""

    word: str
    wires: tuple[int, ...]
    bit: int


Step = Gates | Noise | Measured | Feedback


@dataclass
class StabilizerCircuit:
    """Steps on so many wires, from |0...0> on."""

    num_wires: int
    steps: list[Step] = field(default_factory=list)
    num_bits: int = 0

    def gates(self, applied: Sequence[Applied], wires: Sequence[int]) -> None:
        """Apply gates on places among these wires."""
        if not self.steps or not isinstance(self.steps[-1], Gates):
            self.steps.append(Gates(stim.Circuit()))
        (*_, last) = self.steps
        assert isinstance(last, Gates)
        for name, places in applied:
            last.circuit.append(name, [wires[place] for place in places])

    def noise(
        self, words: Sequence[str], probabilities: Sequence[Any], wires: Sequence[int]
    ) -> None:
        """Apply one of the words, or none."""
        self.steps.append(Noise(tuple(words), tuple(probabilities), tuple(wires)))

    def measure(self, word: str, wires: Sequence[int], reset: bool = False) -> int:
        """Measure a Pauli word; the number of the bit."""
        self.steps.append(Measured(word, tuple(wires), reset, self.num_bits))
        self.num_bits += 1
        return self.num_bits - 1

    def feedback(self, word: str, wires: Sequence[int], bit: int) -> None:
        """Apply a word where a bit is 1."""
        self.steps.append(Feedback(word, tuple(wires), bit))

    def copy(self) -> "StabilizerCircuit":
        """A circuit that goes on by itself."""
        steps = list(self.steps)
        if steps and isinstance(steps[-1], Gates):
            steps[-1] = Gates(steps[-1].circuit.copy())
        return StabilizerCircuit(self.num_wires, steps, self.num_bits)
