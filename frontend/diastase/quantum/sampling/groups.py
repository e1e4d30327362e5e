"""Which measurements look at the same shots.

A *group* is a set of measurements that do. Pauli words share one as long as they want the same
letter on every wire that they have in common (they commute qubit-wise), and measurements of wires
are words of Z; so their results belong together, shot by shot. Any other observable has a group of
its own, with a rotation into its eigenbasis.

The trap: of two traced wires nobody knows whether they are the same one. A wire that stands in a
group twice would be rotated twice, so wires that may be equal share a group only where nothing is
rotated, for the letter Z.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase.quantum.measurements.rotations import Rotation
from diastase.quantum.wires.wires import Position
from diastase_runtime.abi import MAX_SAMPLED_WIRES


@dataclass(eq=False)
class Group:
    """Measurements that share their shots."""

    letters: dict[int, str] = field(default_factory=dict)
    """The basis of each wire, by its place among `wires`."""
    wires: list[Position] = field(default_factory=list)
    rotation: Rotation | None = None
    """Of a group of one measurement."""
    whole: Any = None
    """How many wires there are, of a group of all wires in their order, whose number is traced."""

    def takes(self, letters: Sequence[str], wires: Sequence[Position]) -> bool:
        """Whether a Pauli word can share these shots."""
        if self.rotation is not None or self.whole is not None:
            return False
        if len(self.wires) + len(wires) > MAX_SAMPLED_WIRES:
            return False
        if not self.wires:
            return True
        own = dict(zip(map(_identity, self.wires), self.letters.values(), strict=True))
        wanted = dict(zip(map(_identity, wires), letters, strict=True))
        if any(own.get(wire, letter) != letter for wire, letter in wanted.items()):
            return False
        fresh = [wire for wire in wires if _identity(wire) not in own]
        may_meet = any(not isinstance(wire, int) for wire in [*self.wires, *fresh])
        return not fresh or not may_meet or {*own.values(), *letters} == {"Z"}

    def add(self, letters: Sequence[str], wires: Sequence[Position]) -> tuple[int, ...]:
        """Take a word in; the places of its wires."""
        places: list[int] = []
        known = {_identity(wire): place for place, wire in enumerate(self.wires)}
        for letter, wire in zip(letters, wires, strict=True):
            if _identity(wire) in known:
                places.append(known[_identity(wire)])
                continue
            places.append(len(self.wires))
            self.letters[len(self.wires)] = letter
            self.wires.append(wire)
        return tuple(places)


def _identity(wire: Position) -> int | tuple[int]:
    """What tells wires apart: numbers by value, traced ones by which value they are."""
    return wire if isinstance(wire, int) else (id(wire),)
