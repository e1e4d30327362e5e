"""What the measurements of one circuit need of each shot, and how it is drawn.

A *group* is a set of measurements that look at the same shots. Pauli words share one as long as
they want the same letter on every wire that they have in common (they commute qubit-wise), and
measurements of wires are words of Z; so their results belong together, shot by shot. Any other
observable has a group of its own, with a rotation into its eigenbasis.

`draw` records, group by group: the rotation, `sample`, the rotation back. It gives one vector of
packed outcomes for each group, and one vector for each value of a mid-circuit measurement.

The trap: of two traced wires nobody knows whether they are the same one, so a group with traced
wires has one letter only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.primitives.quantum import check_wires_p
from diastase.primitives.sampling import sample_p
from diastase.tracing.quantum_scope import CircuitScope
from diastase.tracing.sampling.rotations import Rotation, into_letters
from diastase.tracing.wires import Position, split_positions
from diastase_runtime.abi import MAX_SAMPLED_WIRES

Draw = Callable[[CircuitScope, Any, Any], Any]
"""From a circuit and the number of shots, as a size and as a value, to an array over the shots."""


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
        if any(not isinstance(wire, int) for wire in [*self.wires, *wires]):
            return len({*letters, *self.letters.values()}) == 1
        wanted = dict(zip(wires, letters, strict=True))
        return all(
            wanted.get(wire, self.letters[place]) == self.letters[place]
            for place, wire in enumerate(self.wires)
        )

    def add(self, letters: Sequence[str], wires: Sequence[Position]) -> tuple[int, ...]:
        """Take a word in; the places of its wires."""
        places: list[int] = []
        known = {wire: place for place, wire in enumerate(self.wires) if isinstance(wire, int)}
        for letter, wire in zip(letters, wires, strict=True):
            if isinstance(wire, int) and wire in known:
                places.append(known[wire])
                continue
            places.append(len(self.wires))
            self.letters[len(self.wires)] = letter
            self.wires.append(wire)
        return tuple(places)


@dataclass(frozen=True)
class Outcomes:
    """The outcomes on some wires of a group: what a measurement asked for."""

    group: int
    places: tuple[int, ...]
    """Of the wires among those of the group."""
    whole: bool = False
    """Whether these are all wires of a traced number of them; `places` is empty then."""


@dataclass(frozen=True)
class Constant:
    """An array known now, or the number of a traced one among the constants."""

    value: Any
    number: int = -1


class Requests:
    """What the measurements of one circuit need."""

    def __init__(self, scope: CircuitScope) -> None:
        self.scope = scope
        self.groups: list[Group] = []
        self.values: list[Any] = []
        """Values of mid-circuit measurements."""
        self.constants: list[Any] = []
        """Traced coefficients and eigenvalues: the same for all shots."""
        self.constant_of: list[Any] = []
        """The observable that each belongs to."""

    def word(
        self, letters: Sequence[str], wires: Sequence[Position], construct: str = "an observable"
    ) -> Outcomes:
        """The outcomes of Pauli matrices, one on each wire; `construct` is for errors."""
        self.check(wires, construct)
        for number, group in enumerate(self.groups):
            if group.takes(letters, wires):
                return Outcomes(number, group.add(letters, wires))
        self.groups.append(Group())
        return Outcomes(len(self.groups) - 1, self.groups[-1].add(letters, wires))

    def check(self, wires: Sequence[Position], construct: str) -> None:
        """Check that wires differ, where that is not known: samples of a wire twice are fine."""
        known, traced = split_positions(wires)
        if traced and len(wires) > 1:
            self.scope.advance(check_wires_p, *traced, wires=known, construct=construct)

    def everything(self) -> Outcomes:
        """The outcomes on all wires of a register whose number of wires is traced.

        Its shots are not those of other measurements: where a wire is among them is not known.
        """
        traced = self.scope.wires.traced
        assert traced is not None
        for number, group in enumerate(self.groups):
            if group.whole is not None:
                return Outcomes(number, (), whole=True)
        self.groups.append(Group(whole=traced.number))
        return Outcomes(len(self.groups) - 1, (), whole=True)

    def rotated(self, rotation: Rotation, wires: Sequence[Position]) -> Outcomes:
        """The outcomes on these wires in a basis that is shared with no other measurement."""
        group = Group(rotation=rotation)
        self.groups.append(group)
        return Outcomes(len(self.groups) - 1, group.add("Z" * len(wires), wires))

    def value(self, value: "Any | Draw") -> int:
        """The number of a value of mid-circuit measurements, or of what `draw` is to draw."""
        self.values.append(value)
        return len(self.values) - 1

    def constant(self, value: Any, observable: Any) -> "Constant":
        """Keep an array of an observable's for whoever computes with the shots."""
        if not isinstance(value, Tracer):
            return Constant(value)
        self.constants.append(value)
        self.constant_of.append(observable)
        return Constant(None, len(self.constants) - 1)

    def draw(self, shots: Any, count: Any) -> list[Any]:
        """Record how all of it is found, for so many shots: a vector for each group and value.

        `shots` is their number as a size, `count` as a value.
        """
        packed = [_drawn(group, self.scope, shots) for group in self.groups]
        values = [
            value(self.scope, shots, count)
            if callable(value)
            else jnp.broadcast_to(jnp.asarray(value), (shots,))
            for value in self.values
        ]
        return [*packed, *values]

    def shots(self, arrays: Sequence[Any]) -> "Shots":
        """The arrays that `draw` gave, and the constants after them, by what was asked for."""
        count, values = len(self.groups), len(self.groups) + len(self.values)
        packed = [
            Packed(array, len(group.wires), group.whole)
            for array, group in zip(arrays[:count], self.groups, strict=True)
        ]
        return Shots(packed, list(arrays[count:values]), list(arrays[values:]))


def _drawn(group: Group, scope: CircuitScope, shots: Any) -> Any:
    letters = [group.letters[place] for place in range(len(group.wires))]
    rotation = group.rotation or into_letters(letters, group.wires)
    rotation.forth(scope)
    known, operands = split_positions(group.wires)
    packed = sample_p.bind(scope.register, *operands, wires=known, shots=shots)
    rotation.back(scope)
    return packed


@dataclass(frozen=True)
class Packed:
    """Outcomes of a group: one integer a shot."""

    outcomes: Any
    count: int
    """Number of wires."""
    whole: Any = None
    """The number of wires, of a group of all wires, where it is traced."""

    def index(self, places: Sequence[int]) -> Any:
        """One integer a shot, of the bits at these places only, in this order."""
        parts = [
            _shifted(self.outcomes >> (self.count - end), end - start, len(places) - at)
            for start, end, at in _runs(places)
        ]
        total = parts[0] if parts else jnp.zeros_like(self.outcomes)
        for part in parts[1:]:
            total = total | part
        return total

    def bits_of_all(self) -> Any:
        """A row of the bits of all wires, of a traced number, for each shot."""
        shifts = self.whole - 1 - jnp.arange(self.whole)
        return (self.outcomes[:, None] >> shifts[None, :]) & 1

    def bits(self, places: Sequence[int]) -> Any:
        """A row of bits for each shot."""
        shifts = np.array([self.count - 1 - place for place in places], dtype=np.int64)
        return (self.outcomes[:, None] >> shifts[None, :]) & 1

    def parity(self, places: Sequence[int]) -> Any:
        """For each shot, whether an odd number of these bits is set: 1 or 0."""
        (mask,) = self._masks([places])
        return _parity(self.outcomes, mask)

    def mean_signs(self, words: Sequence[Sequence[int]]) -> Any:
        """The mean of the eigenvalue, 1 or -1, of each Pauli word."""
        masks = self._masks(words)
        if len(masks) == 1:
            return jnp.mean(_signs(self.outcomes, masks[0]))[None]
        return jax.lax.map(lambda mask: jnp.mean(_signs(self.outcomes, mask)), jnp.asarray(masks))

    def sum_of_signs(self, coefficients: Any, words: Sequence[Sequence[int]]) -> Any:
        """For each shot, the eigenvalues of Pauli words, summed with coefficients."""
        masks = self._masks(words)
        if len(masks) == 1:
            return coefficients[0] * _signs(self.outcomes, masks[0])

        def add(total: Any, term: Any) -> tuple[Any, None]:
            coefficient, mask = term
            return total + coefficient * _signs(self.outcomes, mask), None

        start = jnp.zeros(self.outcomes.shape, jnp.float64)
        terms = jnp.asarray(coefficients), jnp.asarray(masks)
        return jax.lax.scan(add, start, terms)[0]

    def _masks(self, words: Sequence[Sequence[int]]) -> np.ndarray:
        """For each word, the bits of its places."""
        masks = [sum(1 << (self.count - 1 - place) for place in places) for places in words]
        return np.array(masks, dtype=np.int64)


def _signs(outcomes: Any, mask: Any) -> Any:
    """1.0 or -1.0: whether an even number of these bits is set."""
    return 1.0 - 2.0 * _parity(outcomes, mask).astype(jnp.float64)


def _parity(outcomes: Any, mask: Any) -> Any:
    return jnp.bitwise_count(outcomes & mask).astype(jnp.int64) & 1


def _runs(places: Sequence[int]) -> list[tuple[int, int, int]]:
    """Places that follow each other, as `(first, last + 1, end among the places)`."""
    runs: list[tuple[int, int, int]] = []
    for at, place in enumerate(places):
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1, at + 1)
        else:
            runs.append((place, place + 1, at + 1))
    return runs


def _shifted(outcomes: Any, width: int, shift: int) -> Any:
    """The lowest `width` bits, moved up."""
    kept = outcomes & np.int64((1 << width) - 1)
    return kept << np.int64(shift) if shift else kept


@dataclass(frozen=True)
class Shots:
    """What was drawn; every array has one element (or row) for each shot."""

    packed: list[Packed]
    values: list[Any]
    constants: list[Any]
    """The same for all shots."""

    @property
    def number(self) -> Any:
        """How many shots there are."""
        arrays = [*(packed.outcomes for packed in self.packed), *self.values]
        return arrays[0].shape[0]

    def only(self, choose: Callable[[Any], Any]) -> "Shots":
        """Some of the shots: `choose` is applied to every array."""
        packed = [replace(each, outcomes=choose(each.outcomes)) for each in self.packed]
        return Shots(packed, [choose(value) for value in self.values], self.constants)

    def constant(self, constant: Constant) -> Any:
        """The array that a constant is."""
        return constant.value if constant.number < 0 else self.constants[constant.number]

    def index(self, outcomes: Outcomes) -> Any:
        """One integer a shot."""
        group = self.packed[outcomes.group]
        return group.outcomes if outcomes.whole else group.index(outcomes.places)

    def count(self, outcomes: Outcomes) -> Any:
        """How many wires there are, where the number is traced."""
        return self.packed[outcomes.group].whole

    def bits(self, outcomes: Outcomes) -> Any:
        """A row of bits for each shot."""
        group = self.packed[outcomes.group]
        return group.bits_of_all() if outcomes.whole else group.bits(outcomes.places)
