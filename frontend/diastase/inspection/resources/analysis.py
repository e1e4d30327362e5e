"""One circuit analysed: its operations counted, its chains measured, under what is given by name.

A circuit is the body of one call of a QNode. What is known of its operands comes from the program
that calls it (`circuits_of`), in which integer arguments are symbols of their names.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from jax.extend.core import ClosedJaxpr

from diastase.inspection.resources.counts import Counter, Counts
from diastase.inspection.resources.interpretation.choices import Choices, Policy, Unknown
from diastase.inspection.resources.interpretation.exact import Number, shown
from diastase.inspection.resources.interpretation.interpreter import Interpreter
from diastase.inspection.resources.interpretation.regions import Domain
from diastase.inspection.resources.interpretation.values import NOTHING, VARYING, Value
from diastase.inspection.resources.layers import ByWires, ByWords, Chains, Layers
from diastase.inspection.resources.lengths import longest, number_of
from diastase.inspection.resources.max_plus import ways
from diastase.primitives.quantum import is_register_aval


@dataclass(frozen=True)
class Program:
    """A traced program: what its arguments are called."""

    jaxpr: ClosedJaxpr
    names: Sequence[str]
    """One for each flat argument."""
    sizes: Mapping[Any, Sequence[str]]
    """Variables whose values are sizes known at run time, and the symbols of these."""

    def arguments(self, choices: Choices) -> list[Value]:
        """Integers are symbols, or what is given for them; of other arguments nothing is known."""
        return [
            Value(choices.number(name)) if _is_integer(variable.aval) else NOTHING
            for name, variable in zip(self.names, self.jaxpr.jaxpr.invars, strict=True)
        ]


def _is_integer(aval: Any) -> bool:
    return not is_register_aval(aval) and aval.shape == () and aval.dtype.kind in "iu"


@dataclass(frozen=True)
class Depth:
    """A length of chains."""

    number: Number
    is_bound: bool
    """Whether it may be less."""


@dataclass(frozen=True)
class CircuitAnalysis:
    """A circuit, and what is asked of it."""

    program: Program
    circuit: ClosedJaxpr
    """The body; the program calls it, or one like it."""
    choices: Choices = field(default_factory=Choices)

    def given(self, values: Mapping[str, Any], policy: Policy | None = None) -> "CircuitAnalysis":
        """With values for symbols and branches, or another bound."""
        return replace(self, choices=self.choices.but(values, policy))

    def counts(self) -> Counts:
        """How often each operation is applied."""
        counter = Counter(self.choices)
        effect = counter.start()
        self._interpret(counter, effect, *self._called_with())
        return effect

    def _interpret(
        self, domain: Domain[Any], effect: Any, operands: Sequence[Value], sizes: dict[str, Number]
    ) -> None:
        interpreter = Interpreter(domain, self.choices, known_sizes=dict(sizes))
        interpreter.region(self.circuit, operands, effect)

    def depth(self) -> Depth:
        """The depth by wires."""
        return self._longest_chain(ByWires(self.choices))

    def layers(self, kinds: Collection[str]) -> Depth:
        """Layers of commuting rotations and measurements of Pauli words, of these kinds."""
        return self._longest_chain(ByWords(self.choices, kinds))

    @property
    def symbols(self) -> list[str]:
        """The names of arguments that are integers."""
        names = zip(self.program.names, self.program.jaxpr.jaxpr.invars, strict=True)
        return [name for name, variable in names if _is_integer(variable.aval)]

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """The loops and branches that the counts have names for."""
        return tuple(self.choices.unknown.values())

    def _longest_chain(self, layers: Layers) -> Depth:
        called_with = self._called_with()
        while True:
            lanes = len(layers.lanes)
            chains: Chains = layers.start()
            self._interpret(layers, chains, *called_with)
            if len(layers.lanes) == lanes:
                return Depth(number_of(longest(ways(chains.matrix))), chains.is_bound)

    def _called_with(self) -> tuple[list[Value], dict[str, Number]]:
        """What the program calls the circuit with, and the sizes that are known there."""
        found: list[tuple[Sequence[Value], dict[str, Number]]] = []

        def enter(equation: Any, operands: Sequence[Value]) -> bool:
            if equation.params["jaxpr"] is self.circuit:
                found.append((operands, dict(interpreter.known_sizes)))
            return False

        # Loops and branches around the circuit have no names among those inside.
        around = Choices(self.choices.given)
        arguments, counter = self.program.arguments(around), Counter(around)
        interpreter = Interpreter(counter, around, enter, sizes=self.program.sizes)
        interpreter.region(self.program.jaxpr, arguments, {})
        if not found:
            return [NOTHING] * len(self.circuit.in_avals), {}
        names = {one.name for one in around.unknown.values()}
        operands, sizes = found[-1]
        return [one if _is_of(one, names) else NOTHING for one in operands], sizes


def _is_of(value: Value, unknown: Collection[str]) -> bool:
    """Whether a value is the same in all calls of a circuit, and made of arguments."""
    if value.number is None or value.number is VARYING:
        return False
    symbols = getattr(value.number, "free_symbols", ())
    return not any(each.name in unknown for each in symbols)


class Totals(NamedTuple):
    """Of all circuits of a program together, as often as it runs them."""

    circuits: Number
    gates: Number
    measured: Number


def totals_of(program: Program) -> Totals:
    """Count what a program does, at most."""
    choices, effect = Choices(), Counts()
    interpreter = Interpreter(Counter(choices), choices, sizes=program.sizes)
    interpreter.region(program.jaxpr, program.arguments(choices), effect)
    keys = ("circuits",), ("unitary",), ("measured",)
    return Totals(*(shown(effect.get(key, 0)) for key in keys))
