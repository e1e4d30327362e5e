"""What the measurements of one circuit need of each shot, and how it is drawn.

Measurements ask a `Requests` for outcomes, values and constants, and get what finds them again
among the `Shots`. A *group* is a set of measurements that look at the same shots. Pauli words share
one as long as they want the same letter on every wire that they have in common (they commute
qubit-wise), and measurements of wires are words of Z; so their results belong together, shot by
shot. Any other observable has a group of its own, with a rotation into its eigenbasis.

`draw` records, group by group: the rotation, `sample`, the rotation back. It gives one vector of
packed outcomes for each group, and one vector for each value of a mid-circuit measurement.

The trap: of two traced wires nobody knows whether they are the same one. A wire that stands in a
group twice would be rotated twice, so wires that may be equal share a group only where nothing is
rotated, for the letter Z.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from diastase.capture.control_flow.loops import trace_for_loop
from diastase.primitives.quantum import check_wires_p, release_p
from diastase.primitives.sampling import sample_p, uniform_p
from diastase.primitives.statevector import copy_register_p
from diastase.quantum.measurements.pauli_basis import Rotation, into_letters
from diastase.quantum.operators.channels import read_wrongly
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.operators.gate_operands import is_density_matrix
from diastase.quantum.qnode.samples import Constant, Outcomes, Packed, Shots
from diastase.quantum.wires import Position, bind_on
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


Draw = Callable[[CircuitScope, Any, Any], Any]
"""From a circuit and the number of shots, as a size and as a value, to an array over the shots."""


class Requests:
    """What the measurements of one circuit need."""

    def __init__(self, scope: CircuitScope, signed: bool = False) -> None:
        self.scope = scope
        self.signed = signed
        """Whether shots may have signs: those of Hadamard tests."""
        self.groups: list[Group] = []
        self.values: list[Any] = []
        """Values of mid-circuit measurements."""
        self._drawn_of: list[Any] = []
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
        if len(wires) > 1 and not all(isinstance(wire, int) for wire in wires):
            self.scope.advance_on(wires, check_wires_p, construct=construct)

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

    def value(self, value: "Any | Draw", of: Any = None) -> int:
        """The number of a value of mid-circuit measurements, or of what `draw` is to draw.

        What is drawn `of` a value that is given is drawn once.
        """
        known = [number for number, other in enumerate(self._drawn_of) if other is of]
        if of is not None and known:
            return known[0]
        self.values.append(value)
        self._drawn_of.append(of)
        return len(self.values) - 1

    def constant(self, value: Any, observable: Any) -> Constant:
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
        packed = [_drawn(group, self.scope, shots, count) for group in self.groups]
        values = [
            value(self.scope, shots, count)
            if callable(value)
            else jnp.broadcast_to(jnp.asarray(value), (shots,))
            for value in self.values
        ]
        return [*packed, *values]

    def shots(self, arrays: Sequence[Any]) -> Shots:
        """The arrays that `draw` gave, and the constants after them, by what was asked for."""
        count, values = len(self.groups), len(self.groups) + len(self.values)
        packed = [
            Packed(array, len(group.wires), group.whole, self.signed)
            for array, group in zip(arrays[:count], self.groups, strict=True)
        ]
        return Shots(packed, list(arrays[count:values]), list(arrays[values:]))


def _drawn(group: Group, scope: CircuitScope, shots: Any, count: Any) -> Any:
    letters = [group.letters[place] for place in range(len(group.wires))]
    rotation = group.rotation or into_letters(letters, group.wires)
    if scope.circuit.readout != 0 and is_density_matrix(scope.register):
        return _drawn_from_copy(group, rotation, scope, shots)
    rotation.forth(scope)
    packed = bind_on(sample_p, scope.register, group.wires, shots=shots)
    rotation.back(scope)
    if scope.circuit.readout != 0:
        packed = _read_wrongly(packed, group, scope, count)
    return packed


def _drawn_from_copy(group: Group, rotation: Rotation, scope: CircuitScope, shots: Any) -> Any:
    """With readout errors, which cannot be taken back: every wire of a copy has its own, once."""
    register = scope.register
    scope.register = copy_register_p.bind(register, blank=False)
    rotation.forth(scope)
    read_wrongly(scope.circuit.readout, scope)
    packed = bind_on(sample_p, scope.register, group.wires, shots=shots)
    release_p.bind(scope.register)
    scope.register = register
    return packed


def _read_wrongly(packed: Any, group: Group, scope: CircuitScope, count: Any) -> Any:
    """With readout errors that are drawn, shot by shot and wire by wire."""
    width = len(group.wires) if group.whole is None else group.whole

    def flip(place: Any, outcomes: Any) -> Any:
        wrong = (uniform_p.bind() < scope.circuit.readout).astype(jnp.int64)
        mask = jnp.left_shift(wrong, place % width)
        shot = place // width
        changed = outcomes[shot] ^ mask
        return jax.lax.dynamic_update_index_in_dim(outcomes, changed, shot, 0)

    return trace_for_loop((0, count * width, 1), flip, (packed,))
