"""Rotations into layers that commute, equal ones joined: fewer T gates, fewer layers of them.

A rotation goes into the earliest layer that it can reach: past others that it commutes with. Where
it meets one about the same word on its way, they are one. What becomes Clifford by it (two T gates
are an S) is moved to the end, which changes words, so all is done again, as long as T gates vanish.

    Zhang and Chen, "Optimizing T gates in Clifford+T circuit as pi/4 rotations around Paulis",
    arXiv:1903.12456; layers as in Litinski, "A Game of Surface Codes", arXiv:1808.02892

A layer's words commute, so a basis of them, at most as many as there are qubits, tells whether
another one commutes with all.
"""

from dataclasses import dataclass, field
from itertools import groupby
from math import pi

from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.pauli_products.paulis import Frame, Pauli
from diastase_mlir.passes.circuits.pauli_products.products import (
    Rotation,
    known_angle,
    products_of,
)
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.segments import Place, Segment, Step, segments
from diastase_mlir.passes.circuits.values import add

_WINDOW = 256
"""Layers that a rotation looks back over, so that time grows with the circuit only."""


@register_pass("reduce_t_depth", built_in=True)
def reduce_t_depth(circuit: Circuit) -> None:
    """Put rotations into as few layers as may be, and join those about equal words."""
    for segment in segments(circuit):
        _reduce(segment)


def _reduce(segment: Segment) -> None:
    with segment.rewritten() as place:
        for kind, run in groupby(products_of(segment), type):
            if kind is Rotation:
                _put_reduced([one for one in run if isinstance(one, Rotation)], place)
                continue
            for one in run:
                step = one if isinstance(one, Step) else one.step
                place.at(step)
                place.keep(step)


def _put_reduced(rotations: list[Rotation], place: Place) -> None:
    place.at(rotations[-1].step)
    layers = _Layers()
    with place.emitting():
        reduced = layers.reduced(rotations)
    place.multiply_by_phase(layers.phase)
    for one in reduced:
        one.put(place)


@dataclass
class _Layer:
    """Rotations about words that commute."""

    rotations: dict[tuple[int, int], Rotation] = field(
        default_factory=dict[tuple[int, int], Rotation]
    )
    _basis: dict[int, Pauli] = field(default_factory=dict[int, Pauli])
    """By the highest of the bits of a word, x behind z."""
    support: int = 0

    def commutes_with(self, word: Pauli) -> bool:
        """Whether a word commutes with all of the layer."""
        if not self.support & word.support:
            return True
        return all(word.commutes_with(other) for other in self._basis.values())

    def put(self, rotation: Rotation) -> None:
        """A rotation about a new word of the layer, or about one that it has, in place of that."""
        word = rotation.word
        if word.key not in self.rotations:
            self._extend(word)
        self.rotations[word.key] = rotation

    def _extend(self, word: Pauli) -> None:
        self.support |= word.support
        while word.support:
            pivot = word.x.bit_length() + _X if word.x else word.z.bit_length()
            other = self._basis.get(pivot)
            if other is None:
                self._basis[pivot] = word
                return
            word = word * other


_X = 1 << 40
"""More than there are qubits."""


@dataclass
class _Layers:
    """All layers of a run of rotations."""

    layers: list[_Layer] = field(default_factory=list[_Layer])
    phase: float = 0.0
    """The state is multiplied by exp(-i phase)."""

    def reduced(self, rotations: list[Rotation]) -> list[Rotation]:
        """Rotations in layers, and Clifford ones behind them."""
        while True:
            others, cliffords = self._without_cliffords(rotations)
            self.layers = []
            for one in others:
                self._put(one)
            rotations = [one for layer in self.layers for one in layer.rotations.values()]
            if all(one.quarter_turns is None for one in rotations):
                break
            rotations += cliffords
        self.layers = []
        for one in cliffords:
            self._put(one)
        return [*rotations, *(one for layer in self.layers for one in layer.rotations.values())]

    def _without_cliffords(
        self, rotations: list[Rotation]
    ) -> tuple[list[Rotation], list[Rotation]]:
        frame = Frame()
        others: list[Rotation] = []
        cliffords: list[Rotation] = []
        for one in rotations:
            turns = one.quarter_turns
            if turns is None:
                others.append(one.about(frame.image(one.word)))
            else:
                frame.pass_by(one.word, turns)
                cliffords.append(one)
        return others, cliffords

    def _put(self, rotation: Rotation) -> None:
        reached: _Layer | None = None
        for layer in reversed(self.layers[-_WINDOW:]):
            found = layer.rotations.get(rotation.word.key)
            if found is not None:
                self._join(layer, found, rotation)
                return
            if not layer.commutes_with(rotation.word):
                break
            reached = layer
        if reached is None:
            reached = _Layer()
            self.layers.append(reached)
        reached.put(rotation)

    def _join(self, layer: _Layer, one: Rotation, other: Rotation) -> None:
        """Two rotations about one word become one, by an angle of at most half a turn if known."""
        angle = add(one.angle, other.angle)
        known = known_angle(angle)
        if known is not None:
            turns = round(known / (2 * pi))
            self.phase += pi * (turns % 2)
            angle = known - 2 * pi * turns
        joined = Rotation(one.step, one.word, angle)
        if joined.quarter_turns == 0:
            del layer.rotations[one.word.key]
        else:
            layer.rotations[one.word.key] = joined
