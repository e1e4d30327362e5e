"""How often each operation is applied, by the name that PennyLane has for it.

Keys of a count:

    ("gate", name)          operations, measurements in the midst of the circuit among them
    ("size", wires)         the same, by number of wires
    ("operations",)         all of them
    ("unitary",)            those that are gates: all but measurements and prepared states
    ("measured",)           measurements in the midst of the circuit
    ("pauli", kind)         rotations and measurements of Pauli words (`pauli_products`)
    ("weight", kind, k)     those of them on k qubits
    ("circuits",)           registers that are allocated
    ("qubits",)             their qubits

Where nobody knows which of several branches is taken, each key has the largest count of any branch
(the policy "upper"), the smallest, or the average by weights. So bounds are tight for each key, and
the sum of two of them may not be.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase.inspection.resources.gate_names import operation_name, operation_size
from diastase.inspection.resources.interpretation.choices import Choices, Unknown
from diastase.inspection.resources.interpretation.exact import (
    Number,
    expanded,
    largest,
    smallest,
    summed,
)
from diastase.inspection.resources.interpretation.regions import Operation
from diastase.inspection.resources.interpretation.values import VARYING
from diastase.inspection.resources.pauli_products import kind_of, word_of
from diastase.primitives.define import Role, has_role

Key = tuple[Any, ...]
Counts = dict[Key, Number]


class Counter:
    """Adds up what is applied."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def start(self) -> Counts:
        """No operation."""
        return {}

    def operate(self, effect: Counts, operation: Operation) -> None:
        """One more."""
        if operation.equation.primitive.name == "allocate_qubits":
            self.follow(effect, {("circuits",): 1, ("qubits",): self._qubits(operation)})
        for key in keys_of(operation):
            effect[key] = effect.get(key, 0) + 1

    def _qubits(self, operation: Operation) -> Number:
        """The qubits of a register; their number may be an operand."""
        known = operation.equation.params["num_wires"]
        number = operation.operands[0].number if known is None else known
        return self._choices.number("wires") if number in (None, VARYING) else number

    def follow(self, effect: Counts, other: Counts) -> None:
        """Add the counts of a region."""
        for key, count in other.items():
            effect[key] = expanded(effect.get(key, 0) + count)

    def repeated(self, effect: Counts, count: Number) -> Counts:
        """Each as many times."""
        return _mapped(effect, lambda each: expanded(each * count))

    def summed(self, effect: Counts, index: Number, count: Number) -> Counts:
        """The sum of each over the index."""
        return _mapped(effect, lambda each: summed(each, index, count))

    def joined(self, effects: Sequence[Counts], branch: Unknown) -> Counts:
        """A bound for each, or its average."""
        keys = dict.fromkeys(key for effect in effects for key in effect)
        columns = {key: [effect.get(key, 0) for effect in effects] for key in keys}
        if self._choices.policy == "upper":
            return {key: largest(column) for key, column in columns.items()}
        if self._choices.policy == "lower":
            return {key: smallest(column) for key, column in columns.items()}
        weights = self._choices.weights(branch)
        return {
            key: expanded(sum(w * c for w, c in zip(weights, column, strict=True)))
            for key, column in columns.items()
        }


def _mapped(counts: Counts, function: Callable[[Number], Number]) -> Counts:
    """Counts in which many are equal, each different one computed once."""
    done: dict[Number, Number] = {}
    for count in counts.values():
        if count not in done:
            done[count] = function(count)
    return {key: done[count] for key, count in counts.items() if done[count] != 0}


def keys_of(operation: Operation) -> list[Key]:
    """What an operation counts as."""
    equation = operation.equation
    name = operation_name(equation)
    if name is None:
        return []
    keys: list[Key] = [("gate", name), ("size", operation_size(equation)), ("operations",)]
    word = word_of(equation)
    if has_role(equation, Role.GATE):
        keys.append(("unitary",))
    if has_role(equation, Role.OUTCOME):
        keys.append(("measured",))
    if word is not None:
        kind = kind_of(operation)
        keys += [("pauli", kind), ("weight", kind, len(word))]
    return keys
