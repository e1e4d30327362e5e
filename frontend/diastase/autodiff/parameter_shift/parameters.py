"""The parameters of operations that runs shift, and by which rules.

    a gate's own parameter      f(p + shift)
    an array (a matrix, a       one angle for each Pauli word on its wires (`pauli_words`): three
    diagonal, amplitudes)       for one wire, as many rotations as PennyLane makes of it
    an array in which results   its coordinates (`linear_arrays`); so also by finite differences,
    are linear (a channel)      which need not be small then
    of a Hadamard test          a gate's own parameter, or the angles of its matrix; runs do not
                                shift it, but control words of its generator

The options `shifts`, `gradient_recipes` and `argnum` count, as PennyLane does, the parameters of
gates that are differentiated by, in the order of execution; that is known while tracing only
outside of loops and branches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.parameter_shift import shift_rules
from diastase.autodiff.parameter_shift.linear_arrays import MOST_WIRES, LinearParameters
from diastase.autodiff.parameter_shift.pauli_words import (
    Word,
    Words,
    angles,
    tests_of_angles,
    tests_of_gate,
    turned,
)
from diastase.autodiff.parameter_shift.shift_rules import Rule
from diastase.autodiff.tangents.generators import gate_matrix, has_generator
from diastase.jaxprs.dependence import Activity
from diastase.primitives.define import Role, has_role
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.quantum import gate_p, global_phase_p
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import equations_in

Equation = Any
Values = Sequence[Any]
LARGEST_ARRAY = 3
"""Wires up to which arrays are shifted: 4^3 words."""
_BY_NUMBER = ("shifts", "gradient_recipes", "argnum")
_ONLY_GATES = (
    f"the options {', '.join(_BY_NUMBER)} go by the number of a parameter, and it has none: leave "
    "them out"
)


@dataclass(frozen=True)
class OwnParameters:
    """Parameters of a gate, by their numbers."""

    numbers: tuple[int, ...]
    rules: tuple[Rule, ...]
    """Of each."""
    tests: tuple[Word, ...] = ()
    """What the runs of all of them control, where they are Hadamard tests."""

    def values(self, operands: Values) -> Values:
        """Each as a number, of the operands without the register."""
        return [operands[number] for number in self.numbers]

    def shifted(self, operands: Values, shifts: Values) -> Values:
        """The operands with all of them shifted."""
        changed = list(operands)
        for number, shift in zip(self.numbers, shifts, strict=True):
            changed[number] = changed[number] + shift
        return changed


@dataclass(frozen=True)
class ArrayParameters:
    """The angles of an operation's array."""

    words: Words
    rules: tuple[Rule, ...]
    tests: tuple[Word, ...] = ()
    array: Callable[[Values], Any] = lambda operands: operands[0]

    def values(self, operands: Values) -> Values:
        """The angles."""
        found = angles(self.array(operands), self.words)
        return [found[number] for number in range(len(self.words.bits))]

    def shifted(self, operands: Values, shifts: Values) -> Values:
        """The array, turned."""
        return [turned(operands[0], self.words, jnp.stack(list(shifts))), *operands[1:]]


Parameters = OwnParameters | ArrayParameters | LinearParameters
"""The parameters of an operation that are differentiated by."""


@dataclass(frozen=True)
class Rules:
    """The rules of all parameters of a body."""

    method: str
    activity: Activity
    options: Mapping[str, Any]
    numbers: Mapping[int, int]
    """For the gates of the body, by identity, the number of their first active parameter."""
    _known: dict[int, Parameters | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, method: str, options: Mapping[str, Any], activity: Activity, body: ClosedJaxpr
    ) -> "Rules":
        """The rules of a method with these options."""
        counts = any(options.get(name) is not None for name in _BY_NUMBER)
        return cls(method, activity, options, _numbered(body, activity) if counts else {})

    def active(self, equation: Equation) -> Parameters | None:
        """The parameters of an operation that are differentiated by; None where there are none."""
        key = id(equation)
        if key not in self._known:
            self._known[key] = self._found(equation)
        return self._known[key]

    def _found(self, equation: Equation) -> Parameters | None:
        flags = self.activity.of(equation)[1:]
        if not any(flags) or equation.primitive is global_phase_p:  # nothing that is measured
            return None
        if has_role(equation, Role.OF_ARRAY):
            return self._array(equation)
        if equation.primitive is not gate_p:
            raise NoDerivativeError(
                construct="this operation",
                reason=f"diff_method={self.method!r} shifts the parameters of gates, and it has "
                "none: use 'adjoint' or 'backprop', without shots",
                span=span_of(equation.source_info),
            )
        return self._gate(equation, [number for number, flag in enumerate(flags) if flag])

    def _gate(self, equation: Equation, numbers: Sequence[int]) -> Parameters | None:
        params = equation.params
        controls = params["control_values"]
        wires = len(params["wires"]) - len(controls)
        if self.tests:
            if has_generator(params["name"]):
                rule, tests = tests_of_gate(params["name"], wires, controls)
                return OwnParameters((0,), (rule,), tests)
            words = Words("unitary", wires, bool(controls))
            rules, tests = tests_of_angles(words, controls)
            return ArrayParameters(words, rules, tests, lambda operands: _matrix(params, operands))
        first = self.numbers.get(id(equation), 0)
        kept = list[int]()
        rules = list[Rule]()
        for order, number in enumerate(numbers):
            rule = self._rule(equation, number, first + order)
            if rule is not None:
                kept.append(number)
                rules.append(rule)
        return OwnParameters(tuple(kept), tuple(rules)) if kept else None

    @property
    def tests(self) -> bool:
        """Whether runs are Hadamard tests, with one more wire, rather than shifted."""
        return self.method == "hadamard" and self.options["mode"] == "standard"

    def _rule(self, equation: Equation, number: int, order: int) -> Rule | None:
        """That of a gate's parameter, the `order`-th of all; None: it counts as a constant."""
        place, chosen = order, self.options.get("argnum")
        if chosen is not None:
            if order not in chosen:
                return None
            place = chosen.index(order)
        if self.method in ("finite-diff", "spsa"):
            return self._difference()
        recipe = _of_parameter(self.options, "gradient_recipes", place, equation)
        if recipe is not None:
            return shift_rules.rule_of_recipe(recipe)
        shifts = _of_parameter(self.options, "shifts", place, equation)
        return self._parameter_shift(equation, number, shifts)

    def _difference(self) -> Rule:
        if self.method == "spsa":
            return Rule(((1.0, 0.0),))
        terms = shift_rules.finite_differences(self.options)
        base = sum(coefficient for coefficient, shift in terms if shift == 0)
        return Rule(tuple(term for term in terms if term[1] != 0), base)

    def _parameter_shift(self, equation: Equation, number: int, shifts: Any) -> Rule:
        params = equation.params
        controls = len(params["control_values"])
        wires = len(params["wires"]) - controls
        given = (params["name"], params["num_parameters"], number, wires, controls > 0)
        try:
            terms = shift_rules.parameter_shifts(*given, shifts)
        except ValueError as error:
            raise _no_derivative(equation, params["name"], f"shifts={shifts}: {error}") from error
        if terms is None:
            reason = "it has no shift rule: use diff_method='adjoint', 'backprop' or 'finite-diff'"
            raise _no_derivative(equation, params["name"], reason)
        return Rule(terms)

    def _array(self, equation: Equation) -> Parameters:
        kind, params = equation.primitive.name, equation.params
        controls = params.get("control_values", ())
        wires = len(params["wires"]) - len(controls)
        construct = params.get("construct") or _CONSTRUCTS[kind]
        if kind in MOST_WIRES:
            return self._linear(equation, construct)
        if wires > LARGEST_ARRAY:
            reason = (
                f"on {wires} wires it has {2 ** (2 * wires)} directions that diff_method="
                f"{self.method!r} would shift, and {LARGEST_ARRAY} wires are the most: use "
                "'adjoint' or 'backprop', without shots, or gates"
            )
            raise _no_derivative(equation, construct, reason)
        if any(self.options.get(name) is not None for name in _BY_NUMBER):
            raise _no_derivative(equation, construct, _ONLY_GATES)
        words = Words(kind, wires, bool(controls))
        if self.tests:
            return ArrayParameters(words, *tests_of_angles(words, controls))
        if self.method in ("finite-diff", "spsa"):
            return ArrayParameters(words, (self._difference(),) * len(words.bits))
        rules = [shift_rules.rule_of_word(word == (0, 0), bool(controls)) for word in words.bits]
        return ArrayParameters(words, tuple(rules))

    def _linear(self, equation: Equation, construct: str) -> Parameters:
        kind: Any = equation.primitive.name
        wires, most = len(equation.params["wires"]), MOST_WIRES[kind]
        if self.tests or self.method == "spsa" or self.options.get("n", 1) != 1:
            reason = f"diff_method={self.method!r} {_NOT_LINEAR}"
            raise _no_derivative(equation, construct, reason)
        if wires > most:
            reason = (
                f"diff_method={self.method!r} runs the circuit for each element of its array on "
                f"{most} wires at most, and it is on {wires}: use 'best' or 'backprop', without "
                "shots"
            )
            raise _no_derivative(equation, construct, reason)
        if any(self.options.get(name) is not None for name in _BY_NUMBER):
            raise _no_derivative(equation, construct, _ONLY_GATES)
        return LinearParameters(kind, wires)


_NOT_LINEAR = (
    "shifts parameters of gates, not the strength of a channel nor a density matrix: use 'best' "
    "or 'backprop', without shots, or 'parameter-shift', or 'finite-diff' with n=1"
)


def _matrix(params: Mapping[str, Any], operands: Values) -> Any:
    return gate_matrix(params["name"], operands[: params["num_parameters"]])


_CONSTRUCTS = {
    "unitary": "a gate given by its matrix",
    "diagonal": "a gate given by its diagonal",
    "prepare": "StatePrep",
    "superoperator": "a channel",
    "replace": "QubitDensityMatrix",
}


# --- options that go by the number of a parameter -------------------------------------------------


def _of_parameter(options: Mapping[str, Any], name: str, place: int, equation: Equation) -> Any:
    """What an option says for a parameter."""
    given = options.get(name)
    if given is None:
        return None
    if place >= len(given):
        reason = f"it is parameter {place} of those that are differentiated by, and {name} has "
        raise _no_derivative(equation, equation.params["name"], f"{reason}{len(given)} elements")
    return given[place]


def _numbered(body: ClosedJaxpr, activity: Activity) -> Mapping[int, int]:
    """The number of each gate's first active parameter."""
    found, number = dict[int, int](), 0
    for equation in body.jaxpr.eqns:
        name = equation.primitive.name
        if name == "gate":
            found[id(equation)] = number
            number += sum(activity.of(equation)[1:])
        elif has_role(equation, Role.CONTROL_FLOW):
            if any(_is_active_gate(activity, each) for each in equations_in(equation.params)):
                raise _no_derivative(equation, name, _ONLY_OUTSIDE)
    return found


_ONLY_OUTSIDE = (
    f"the options {', '.join(_BY_NUMBER)} go by the number of a parameter, which is not known "
    "in loops and branches: leave them out"
)


def _is_active_gate(activity: Activity, equation: Equation) -> bool:
    return equation.primitive.name == "gate" and any(activity.of(equation)[1:])


def _no_derivative(equation: Equation, construct: str, reason: str) -> NoDerivativeError:
    """The error, at the line of an equation."""
    return NoDerivativeError(construct=construct, reason=reason, span=span_of(equation.source_info))
