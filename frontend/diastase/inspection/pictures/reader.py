"""What is known while a circuit is read: words for values, and how much of them is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase.inspection.pictures.items import Wire
from diastase.inspection.pictures.labels import Matrices
from diastase.inspection.pictures.rules import RULES
from diastase.inspection.pictures.words import Words


@dataclass(frozen=True)
class Reading:
    """How a circuit is read."""

    decimals: int | None = 2
    """Of numbers; None: parameters are left out."""
    unroll: bool = False
    """Whether the arguments' values are known, and what follows from them is drawn."""


class Reader:
    """Reads the equations of one circuit, in order."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.words = Words(reading.decimals, RULES)
        self.matrices = Matrices()
        self.size = 0
        """Of the register."""
        self._outcomes = 0

    def next_outcome(self) -> str:
        """A name for the outcome of a measurement."""
        self._outcomes += 1
        return f"m{self._outcomes - 1}"

    def wires(self, equation: Any, wires: Sequence[int | None]) -> tuple[Wire, ...]:
        """Known wires, and the words for others, which are the last operands."""
        traced = iter(equation.invars[len(equation.invars) - list(wires).count(None) :])
        return tuple(self._wire(next(traced)) if wire is None else wire for wire in wires)

    def _wire(self, atom: Any) -> Wire:
        value = self.words.value(atom)
        return self.words.text(atom) if value is None else int(value)

    def parameters(self, atoms: Sequence[Any]) -> tuple[str, ...]:
        """Numbers with so many decimals, and the words for others."""
        decimals = self.reading.decimals
        return () if decimals is None else tuple(self._parameter(atom, decimals) for atom in atoms)

    def _parameter(self, atom: Any, decimals: int) -> str:
        value: Any = self.words.value(atom)
        if value is None or value.shape:
            return self.words.text(atom)
        return f"{float(value.real):.{decimals}f}"

    def name_results(self, equation: Any, name: str) -> None:
        """What an equation gives is called this."""
        for variable in equation.outvars:
            self.words.name(variable, name)
