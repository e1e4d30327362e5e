"""An abstract interpreter of circuits: what every run of a program's equations does, added up.

It goes through a jaxpr with what is known of its numbers (`values`), and tells a `Domain` of each
operation on the register, and of control flow. What the domain makes of a region is an *effect*:
counts of gates (`counts`), or how operations follow each other (`layers`). Here are regions and
branches; `interpreter` adds loops.

The trap: an effect is changed in place, so what may be given up is collected in one of its own.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from diastase.inspection.resources.interpretation.choices import Choices, Unknown
from diastase.inspection.resources.interpretation.exact import Number, is_known
from diastase.inspection.resources.interpretation.values import (
    NOTHING,
    VARYING,
    Value,
    results_of,
    value_of,
)
from diastase.primitives.batching import batch_sizes
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register_aval, touches_register
from diastase_mlir.jax_compat import jaxprs_in

Equation = Any
E = TypeVar("E")

BUDGET = 50_000
"""Equations that an analysis may look at again: a fraction of a second."""


class VarietyError(Exception):
    """A region does something else in each turn of a loop around it."""


class TooLongError(Exception):
    """The budget is spent."""


@dataclass(frozen=True)
class Operation:
    """One operation on the register."""

    equation: Equation
    operands: tuple[Value, ...]
    """Of the classical operands, in order."""
    after: frozenset[Any]
    """Outcomes that must be there before it: of its operands, and of conditions around it."""

    @property
    def wires(self) -> tuple[Number, ...]:
        """Positions; None where nothing is known of one."""
        known = self.equation.params.get("wires", ())
        traced = iter(self.operands[len(self.operands) - sum(wire is None for wire in known) :])
        return tuple(next(traced).number if wire is None else wire for wire in known)


class Domain(Protocol[E]):
    """What is made of the operations of a region."""

    def start(self) -> E:
        """The effect of nothing."""
        ...

    def operate(self, effect: E, operation: Operation) -> None:
        """An operation follows. `VarietyError` where more would have to be known of it."""
        ...

    def follow(self, effect: E, other: E) -> None:
        """A region follows."""
        ...

    def repeated(self, effect: E, count: Number) -> E:
        """A region as many times."""
        ...

    def summed(self, effect: E, index: Number, count: Number) -> E:
        """A region that depends on the symbol `index`, for each value from 0 on."""
        ...

    def joined(self, effects: Sequence[E], branch: Unknown) -> E:
        """One of several regions, and nobody knows which."""
        ...


@dataclass
class Regions(ABC, Generic[E]):
    """One analysis of a program."""

    domain: Domain[E]
    choices: Choices = field(default_factory=Choices)
    enter: Callable[[Equation, Sequence[Value]], bool] = lambda equation, operands: True
    """Whether to go into the body of a QNode."""
    budget: int = BUDGET
    sizes: Mapping[Any, Sequence[str]] = field(default_factory=dict[Any, Sequence[str]])
    """Variables whose values are sizes known at run time, and the symbols of these."""
    known_sizes: dict[str, Number] = field(default_factory=dict[str, Number])
    """What is known of these symbols."""
    repeating: int = 0
    """How many loops around are gone through turn by turn."""

    def region(
        self,
        jaxpr: Jaxpr | ClosedJaxpr,
        operands: Sequence[Value],
        effect: E,
        after: frozenset[Any] = frozenset(),
    ) -> list[Value]:
        """Go through a region: `effect` gets what it does; what is known of its results."""
        known: dict[Any, Value] = {}
        if isinstance(jaxpr, ClosedJaxpr):
            known.update(zip(jaxpr.jaxpr.constvars, map(value_of, jaxpr.consts), strict=True))
            jaxpr = jaxpr.jaxpr
        known.update(zip(jaxpr.invars, operands, strict=True))
        self._note_sizes(jaxpr.invars, operands)

        def read(atom: Any) -> Value:
            return value_of(atom) if isinstance(atom, Literal) else known.get(atom, NOTHING)

        if self.repeating:
            self.budget -= len(jaxpr.eqns)
            if self.budget < 0:
                raise TooLongError
        for equation in jaxpr.eqns:
            given = [read(atom) for atom in equation.invars]
            results = self._equation(equation, given, effect, after)
            known.update(zip(equation.outvars, results, strict=True))
            self._note_sizes(equation.outvars, results)
        return [read(atom) for atom in jaxpr.outvars]

    @abstractmethod
    def loop(
        self, equation: Equation, operands: Sequence[Value], effect: E, after: frozenset[Any]
    ) -> Sequence[Value]:
        """A loop with something of a circuit in it."""

    def _equation(
        self, equation: Equation, operands: Sequence[Value], effect: E, after: frozenset[Any]
    ) -> Sequence[Value]:
        name = equation.primitive.name
        if name == "dim_as_value":
            return [Value(self._size(equation.params["dim"]))]
        if name in ("switch", "cond"):
            return self._switch(equation, operands, effect, after)
        inner = jaxprs_in(equation.params)
        if any(map(_has_circuit, inner)):
            if has_role(equation, Role.CONTROL_FLOW):
                return self.loop(equation, operands, effect, after)
            return self._nested(equation, inner, operands, effect, after)
        if touches_register(equation):
            return self._operation(equation, operands, effect, after)
        return results_of(equation, operands)

    def _operation(
        self, equation: Equation, operands: Sequence[Value], effect: E, after: frozenset[Any]
    ) -> Sequence[Value]:
        classical = tuple(
            operand
            for atom, operand in zip(equation.invars, operands, strict=True)
            if not is_register_aval(atom.aval)
        )
        waits = after.union(*(operand.outcomes for operand in classical))
        if not has_role(equation, Role.MEASUREMENT):
            self.domain.operate(effect, Operation(equation, classical, waits))
        if not has_role(equation, Role.OUTCOME):
            return [NOTHING] * len(equation.outvars)
        return [NOTHING, Value(None, frozenset([equation.outvars[1]]))]

    def _nested(
        self, equation: Equation, inner: Sequence[Jaxpr], operands: Sequence[Value], effect: E,
        after: frozenset[Any],
    ) -> Sequence[Value]:  # fmt: skip
        """The body of a QNode, or another region; as often as it is run."""
        unknown = [NOTHING] * len(equation.outvars)
        if equation.primitive.name == "qnode" and not self.enter(equation, operands):
            return unknown
        turns = self._turns(equation)
        if turns != 1:
            operands, once, effect = [NOTHING] * len(operands), effect, self.domain.start()
            self._nested_once(inner, operands, effect, after)
            self.domain.follow(once, self.domain.repeated(effect, turns))
            return unknown
        results = self._nested_once(inner, operands, effect, after)
        return results if len(results) == len(unknown) else unknown

    def _nested_once(
        self, inner: Sequence[Jaxpr], operands: Sequence[Value], effect: E, after: frozenset[Any]
    ) -> list[Value]:
        """All regions in order; results of a single one that takes the equation's operands."""
        results: list[Value] = []
        for jaxpr in inner:
            fits = len(jaxpr.invars) == len(operands)
            given = operands if fits else [NOTHING] * len(jaxpr.invars)
            results = self.region(jaxpr, given, effect, after)
            results = results if fits and len(inner) == 1 else []
        return results

    def _turns(self, equation: Equation) -> Number:
        """How often a region runs: of a batch, its elements; of JAX's own loops, their turns."""
        params = equation.params
        if "mapped" in params:
            sizes = batch_sizes([atom.aval for atom in equation.invars], params["mapped"])
            return math.prod(map(self._size, sizes))
        if equation.primitive.name == "scan":
            return self._size(params["length"])
        return self.choices.trips(equation) if equation.primitive.name == "while" else 1

    def _size(self, size: Any) -> Number:
        """The length of an axis; a symbol, where it is known at run time."""
        if isinstance(size, int):
            return size
        found = self.known_sizes.get(str(size))
        return self.choices.number(str(size)) if found is None else found

    def _note_sizes(self, variables: Sequence[Any], values: Sequence[Value]) -> None:
        if not self.sizes:
            return
        for variable, value in zip(variables, values, strict=True):
            number = None if value.number is VARYING else value.number
            self.known_sizes.update(dict.fromkeys(self.sizes.get(variable, ()), number))

    def _switch(
        self, equation: Equation, operands: Sequence[Value], effect: E, after: frozenset[Any]
    ) -> Sequence[Value]:
        index, *given = operands
        params = equation.params
        branches = params["branch_jaxprs"] if "branch_jaxprs" in params else params["branches"]
        after = after | index.outcomes
        acts = any(map(_has_circuit, branches))
        if index.number is VARYING and acts:
            raise VarietyError
        which = index.number if is_known(index.number) else None
        unknown = self.choices.branch(equation, len(branches)) if acts and which is None else None
        if unknown is not None:
            which = self.choices.chosen(unknown)
        if which is not None:
            taken = branches[min(max(int(which), 0), len(branches) - 1)]
            results = self.region(taken, given, effect, after)
            return [Value(one.number, one.outcomes | index.outcomes) for one in results]
        effects = [self.domain.start() for _ in branches]
        found = [
            self.region(branch, given, each, after)
            for branch, each in zip(branches, effects, strict=True)
        ]
        if unknown is not None:
            self.domain.follow(effect, self.domain.joined(effects, unknown))
        return [_merged(values, index) for values in zip(*found, strict=True)]


def _merged(values: Sequence[Value], index: Value) -> Value:
    """What is known of a result that one of several branches gives."""
    numbers = [value.number for value in values]
    outcomes = index.outcomes.union(*(value.outcomes for value in values))
    if all(number is numbers[0] or number == numbers[0] for number in numbers):
        return Value(numbers[0], outcomes)
    varies = index.number is VARYING or any(number is VARYING for number in numbers)
    return Value(VARYING if varies else None, outcomes)


def _has_circuit(jaxpr: Any) -> bool:
    """Whether there is anything of a circuit in a region."""
    equations = (jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr).eqns
    return any(
        touches_register(each) or any(map(_has_circuit, jaxprs_in(each.params)))
        for each in equations
    )
