"""How deep a circuit is: the longest chain of operations that have to wait for each other.

What waits for what is said by lanes (`max_plus`). In `ByWires` a lane is a wire, and operations on
one wait for each other: the depth that PennyLane computes of a tape. In `ByWords` a lane is a Pauli
word on certain wires: rotations and measurements of words wait only for those that they do not
commute with, so the depth is the number of layers of commuting operations when each is done as
early as possible (D. Litinski, "A Game of Surface Codes", arXiv:1808.02892, section 1.1); other
gates are between them, and belong to no layer. In both, what depends on an outcome waits for the
measurement.

The trap: lanes are found on the way, and an operation in a loop has to wait for those that a later
one opens. So `longest_chain` goes through a circuit until no lane is new.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diastase.inspection.resources import max_plus
from diastase.inspection.resources.gate_names import operation_name
from diastase.inspection.resources.interpretation.choices import Choices, Unknown
from diastase.inspection.resources.interpretation.exact import Number, contains, is_known, summed
from diastase.inspection.resources.interpretation.regions import Operation, VarietyError
from diastase.inspection.resources.interpretation.values import VARYING
from diastase.inspection.resources.lengths import Length, longest, number_of
from diastase.inspection.resources.pauli_products import kind_of, word_of

Lane = Hashable
_BEGINNING: Lane = "beginning"


@dataclass
class Chains:
    """How operations of a region follow each other."""

    matrix: max_plus.Matrix
    is_bound: bool = False
    """Whether some may be shorter than the matrix says; for a lower bound of branches, in each."""


class Layers(ABC):
    """Follows chains of operations."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.lanes: dict[Lane, int] = {_BEGINNING: 0}

    @abstractmethod
    def place(self, operation: Operation) -> tuple[Iterable[Lane], Iterable[Lane], int, bool]:
        """The lanes that an operation waits for, those that wait for it, and how long it takes.

        Last, whether it may be less than that.
        """

    def start(self) -> Chains:
        """No operation."""
        return Chains(max_plus.identity(len(self.lanes)))

    def operate(self, effect: Chains, operation: Operation) -> None:
        """One more link."""
        reads, writes, length, is_bound = self.place(operation)
        outcomes = operation.equation.outvars[1:]
        sources = [0, *map(self._lane, (*reads, *operation.after))]
        targets = list(map(self._lane, (*writes, *outcomes)))
        if not targets:
            return
        effect.is_bound |= is_bound
        effect.matrix = matrix = self._fitting(effect.matrix)
        made = max_plus.maximum([matrix[[source]] for source in sources])
        made = max_plus.lengthened(made, length)
        if made.dtype == object:
            effect.matrix = matrix = matrix.astype(object)
        for target in targets:
            matrix[target] = max_plus.maximum([matrix[[target]], made])[0]

    def follow(self, effect: Chains, other: Chains) -> None:
        """What comes after the last ones."""
        later, earlier = self._fitting(other.matrix), self._fitting(effect.matrix)
        effect.matrix = max_plus.product(later, earlier)
        effect.is_bound |= other.is_bound

    def repeated(self, effect: Chains, count: Number) -> Chains:
        """A chain of chains."""
        if is_known(count):
            return Chains(max_plus.power(effect.matrix, int(count)), effect.is_bound)
        matrix, start = max_plus.symbolic_power(effect.matrix, count)
        is_exact = start == 0 or (start is not None and not self._is_lower)
        return Chains(matrix, effect.is_bound or not is_exact)

    def summed(self, effect: Chains, index: Number, count: Number) -> Chains:
        """At most as long as the longest chain of each."""
        lengths = max_plus.ways(effect.matrix)
        if not any(contains(number_of(length), index) for length in set(lengths)):
            return self.repeated(effect, count)
        total = Length.of(summed(number_of(longest(lengths)), index, count))
        return Chains(max_plus.spread(effect.matrix, total), is_bound=True)

    def joined(self, effects: Sequence[Chains], branch: Unknown) -> Chains:
        """The longest chains, or for a lower bound the shortest."""
        matrices = [self._fitting(effect.matrix) for effect in effects]
        is_bound = any(effect.is_bound for effect in effects)
        if self._is_lower:
            return Chains(max_plus.minimum(matrices), is_bound)
        differ = any(not np.array_equal(matrices[0], matrix) for matrix in matrices[1:])
        return Chains(max_plus.maximum(matrices), is_bound or differ)

    @property
    def _is_lower(self) -> bool:
        return self._choices.policy == "lower"

    def _lane(self, lane: Lane) -> int:
        return self.lanes.setdefault(lane, len(self.lanes))

    def _fitting(self, matrix: max_plus.Matrix) -> max_plus.Matrix:
        size = len(self.lanes)
        return matrix if len(matrix) == size else max_plus.grown(matrix, size)


class ByWires(Layers):
    """Operations on a wire wait for each other."""

    def place(self, operation: Operation) -> tuple[Iterable[Lane], Iterable[Lane], int, bool]:
        """The lanes of its wires; all, where it may be any wire, or acts on none in particular."""
        equation = operation.equation
        number = equation.params.get("num_wires")
        if equation.primitive.name == "allocate_qubits":
            return (), [("wire", wire) for wire in range(number or 0)], 0, False
        if operation_name(equation) is None:
            return (), (), 0, False
        wires = _known_wires(operation)
        if wires is None or not wires:
            lanes = [lane for lane in self.lanes if isinstance(lane, tuple) and lane[0] == "wire"]
        else:
            lanes = [("wire", wire) for wire in wires]
        return lanes, lanes, 1, wires is None


class ByWords(Layers):
    """Pauli words that commute do not wait for each other; `kinds` make a layer."""

    def __init__(self, choices: Choices, kinds: Collection[str]) -> None:
        super().__init__(choices)
        self._kinds = kinds

    def place(self, operation: Operation) -> tuple[Iterable[Lane], Iterable[Lane], int, bool]:
        """The lane of its word; of another gate, that of its wires."""
        equation = operation.equation
        if operation_name(equation) is None:
            return (), (), 0, False
        wires, word = _known_wires(operation), word_of(equation)
        own: Any = (None, None)
        if wires is not None:
            controlled = equation.params.get("control_values", ())
            letters = "" if word is None or controlled else word
            own = (frozenset(wires), frozenset(zip(wires, letters, strict=False)))
        self._lane(own)
        lanes = [lane for lane in self.lanes if isinstance(lane, tuple) and _conflict(own, lane)]
        counts = word is not None and kind_of(operation) in self._kinds
        return lanes, [own], int(counts), wires is None


def _conflict(one: Any, other: Any) -> bool:
    """Whether two operations may not change places: words that anticommute, gates on one wire."""
    (wires, word), (others, their) = one, other
    if wires is None or others is None:
        return True
    shared = wires & others
    if not shared:  # what names no wires acts on all
        return not (wires and others)
    if not (word and their):
        return True
    mine, theirs = dict(word), dict(their)
    return sum(mine[wire] != theirs[wire] for wire in shared) % 2 == 1


def _known_wires(operation: Operation) -> tuple[int, ...] | None:
    """The wires of an operation; None where one may be any."""
    wires = operation.wires
    if any(wire is VARYING for wire in wires):
        raise VarietyError
    return tuple(map(int, wires)) if all(map(is_known, wires)) else None
