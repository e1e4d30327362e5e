"""Assumptions: questions about sizes that only their values can answer.

Python code, the user's or JAX's, asks while tracing whether `n >= 2` or `m == n`. The sizes of the
call that made us trace give the answer (where there is no call, or none of its arguments gives
the value, sizes are taken to be large, and such that must be equal to be so). The answer holds
for these sizes only: it becomes an `Assumption` of the program.

    A1  An assumption over sizes that the arguments give is checked when the program starts.
    A2  Any other is checked by an equation `assume`, in the trace that defines the innermost of
        its symbols, hence wherever these symbols have a value from there on.
    A3  What is assumed is learnt: `n >= 2` decides `n >= 1`, and assuming `m == n` makes arrays of
        these sizes have equal types.
    A4  A question is asked once; `answers` has those that the values at hand do not give, found
        when an earlier program for the same function ran into a check of A2.

`x.shape[0] < 20` in the user's code has a value in each iteration of a loop that resizes `x`; an
answer while tracing would hold in one. So a question about a size that is no argument's is recorded
as a comparison of numbers, a traced boolean (`compared`), and the question is remembered: if Python
needs its truth (`if`), it is answered as any other, by an assumption.

The trap: nothing is assumed that need not be. An operation that is right for every size beats an
answer that is right for some, since each failed check is another compilation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jax.core import Tracer

from diastase.dynamic_shapes.errors import UndecidableDimensionError
from diastase.primitives.checks import assume
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import (
    COMPARISONS,
    SizeScope,
    current_trace,
    dimension_symbols,
    enclosing_traces,
    evaluate_dimension,
    is_recorded,
    is_recorded_variable,
    is_symbolic,
    recorded_in,
    tracer_equation,
    tracer_variable,
    unwrap_tracer,
)
from diastase_mlir.program import Assumption, Comparison

_LARGE = 1_000_000
"""What a size is taken to be whose value is not known; each symbol is another large number."""

_NEGATED: Mapping[Comparison, Comparison] = {">=": "<", "<": ">=", "==": "!=", "!=": "=="}
_MIRRORED: Mapping[Comparison, str] = {">=": "<=", "<": ">", "==": "==", "!=": "!="}
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Symbol:
    """What is known of a dimension symbol."""

    trace: Any
    """In which it is defined."""
    words: str
    """What the user calls it, if it is an argument or its size: `n`, `x.shape[0]`; or its name."""
    is_argument: bool = False
    example: int | None = None
    """Its value in the call for which we trace."""


@dataclass
class Assumptions:
    """The assumptions of one trace; the `Decider` of what JAX asks."""

    scope: SizeScope
    symbols: Mapping[str, Symbol]
    answers: Mapping[str, bool] = field(default_factory=dict)
    """By question: what to answer, whatever the example says."""
    made: list[Assumption] = field(default_factory=list)
    _answered: dict[str, bool] = field(default_factory=dict)
    _questions: dict[Any, tuple[Any, str, Any]] = field(default_factory=dict)
    """By variable: the comparison that a traced boolean is."""
    # A variable is a key only as long as its tracer lives.
    _alive: list[Any] = field(default_factory=list)

    def compared(self, left: Any, comparison: str, right: Any) -> Any | None:
        """A comparison in the user's code as a traced boolean.

        None if the arguments answer it, or where it cannot be recorded.
        """
        if all(self.symbols[name].is_argument for name in {*_names(left), *_names(right)}):
            return None
        result = COMPARISONS[comparison](jnp.asarray(left), jnp.asarray(right))
        variable = _variable(result)
        if variable is None:
            return None
        self._questions[variable] = left, comparison, right
        self._alive.append(result)
        return result

    def truth(self, value: Any) -> bool | None:
        """The answer to the question that a traced boolean is, None if it is something else."""
        variable = _variable(value)
        if variable in self._questions:
            left, comparison, right = self._questions[variable]
            return _ANSWERS[comparison](self, left, right)
        equation = None if variable is None else tracer_equation(unwrap_tracer(value))
        if equation is None or equation.primitive.name not in _CONNECTIVES:
            return None
        parts = [self.truth(operand) for operand in equation.in_tracers]
        if any(part is None for part in parts):
            return None
        return _CONNECTIVES[equation.primitive.name](parts)

    def undo(self) -> Callable[[], None]:
        """What forgets all that is assumed from here on, for a trace that is given up.

        Where an assumption has been recorded in a trace that goes on, it does nothing.
        """
        made, answered, knowledge = len(self.made), dict(self._answered), self.scope.knowledge()

        def forget() -> None:
            if all(self._is_given_up(assumption) for assumption in self.made[made:]):
                del self.made[made:]
                self._answered = answered
                self.scope.go_back_to(knowledge)

        return forget

    def _is_given_up(self, assumption: Assumption) -> bool:
        """Whether no trace that goes on has a check of an assumption."""
        if assumption.at_start:
            return True
        names = {*_names(assumption.left), *_names(assumption.right)}
        recorded_in = innermost([self.symbols[name].trace for name in names])
        return all(recorded_in is not trace for trace in enclosing_traces(current_trace()))

    def at_least(self, left: Any, right: Any) -> bool:
        """Whether `left >= right`, from now on."""
        question = f"{left} >= {right}"
        if question not in self._answered:
            holds = self.answers.get(question, self._number(left) >= self._number(right))
            at_start = self._assume(left, ">=" if holds else "<", right, question)
            learnt = left - right if holds else right - left - 1
            self.scope.learn_not_negative(learnt, everywhere=at_start)
            self._answered[question] = holds
        return self._answered[question]

    def equal(self, left: Any, right: Any) -> bool:
        """Whether `left == right`, from now on."""
        question = f"{left} == {right}"
        if question not in self._answered:
            holds = self.answers.get(question, self._number(left) == self._number(right))
            at_start = self._assume(left, "==" if holds else "!=", right, question)
            if holds:
                self.scope.learn_equal(left, right, everywhere=at_start)
            self._answered[question] = holds
        return self._answered[question]

    def must_be_equal(self, left: Any, right: Any) -> bool:
        """The same, where a different answer raises: assumed unless the sizes at hand differ."""
        left, right = self.scope.normalised(left), self.scope.normalised(right)
        if not is_symbolic(left - right):
            return left - right == 0
        holds = self._number(left) == self._number(right)
        if not self._is_known(left - right):  # `n` and `m`, but not `n` and `2 * n`
            holds = holds or _names(left) != _names(right)
        return self.answers.get(f"{left} == {right}", holds) and self._take_as_equal(left, right)

    def broadcast(self, sizes: Sequence[Any]) -> None:
        """Assume what makes these sizes of one axis fit each other: equal sizes, or 1."""
        sizes = [self.scope.normalised(size) for size in sizes]
        different = [size for size in sizes if is_symbolic(size) or size != 1]
        numbers = {str(size): self._number(size) for size in different if self._is_known(size)}
        if len(set(numbers.values()) - {1}) == 1 and 1 in numbers.values():
            for size in different:
                if numbers.get(str(size)) == 1:
                    self.must_be_equal(size, 1)
            different = [size for size in different if numbers.get(str(size)) != 1]
        for size in different[1:]:
            self.must_be_equal(different[0], size)

    def fixed(self, size: Any) -> Any:
        """The number that a size is in the call at hand, assumed from now on; itself if unknown."""
        if self._is_known(size) and self.must_be_equal(size, self._number(size)):
            return self._number(size)
        return size

    def _take_as_equal(self, left: Any, right: Any) -> bool:
        self._answered[f"{left} == {right}"] = True
        at_start = self._assume(left, "==", right, f"{left} == {right}")
        self.scope.learn_equal(left, right, everywhere=at_start)
        return True

    # --- values at hand --------------------------------------------------------------------------

    def _is_known(self, expression: Any) -> bool:
        return all(self.symbols[name].example is not None for name in _names(expression))

    def _number(self, expression: Any) -> int:
        """What an expression is in the call at hand."""
        if not is_symbolic(expression):
            return int(expression)
        values: dict[str, int] = {}
        for name in _names(expression):
            example = self.symbols[name].example
            stand_in = _LARGE + 7919 * list(self.symbols).index(name)
            values[name] = stand_in if example is None else example
        try:
            return evaluate_dimension(expression, values)
        except ZeroDivisionError:
            raise UndecidableDimensionError(
                comparison=f"the size {self._words(expression)} is a division by zero",
                span=user_span(),
            ) from None

    # --- records ---------------------------------------------------------------------------------

    def _assume(self, left: Any, comparison: Comparison, right: Any, question: str) -> bool:
        """Record an assumption; whether it is checked at the start, hence holds everywhere."""
        if not is_symbolic(left):
            text = f"{self._words(right)} {_MIRRORED[comparison]} {self._words(left)}"
        else:
            text = f"{self._words(left)} {comparison} {self._words(right)}"
        known = [self.symbols[name] for name in {*_names(left), *_names(right)}]
        assumption = Assumption(
            number=len(self.made),
            left=left,
            right=right,
            comparison=comparison,
            text=text,
            question=question,
            span=user_span(),
            at_start=all(symbol.is_argument for symbol in known),
        )
        if not assumption.at_start:
            trace = innermost([symbol.trace for symbol in known])
            if trace is None:
                asked = f"{text} is about sizes of different loops or branches"
                raise UndecidableDimensionError(comparison=asked, span=assumption.span)
            with recorded_in(trace):
                assume(assumption)
        self.made.append(assumption)
        return assumption.at_start

    def _words(self, expression: Any) -> str:
        """An expression over what the user calls the arguments."""
        return _SYMBOL.sub(
            lambda match: self.symbols[match[0]].words if match[0] in self.symbols else match[0],
            str(expression),
        )


def _names(expression: Any) -> set[str]:
    return dimension_symbols(expression) if is_symbolic(expression) else set()


def innermost(traces: Sequence[Any]) -> Any:
    """The trace that all of these are, or enclose; None if they are apart."""
    for trace in traces:
        around = enclosing_traces(trace)
        if all(any(other is outer for outer in around) for other in traces):
            return trace
    return None


_ANSWERS: Mapping[str, Callable[[Assumptions, Any, Any], bool]] = {
    ">=": lambda assumed, left, right: assumed.at_least(left, right),
    "<": lambda assumed, left, right: not assumed.at_least(left, right),
    "<=": lambda assumed, left, right: assumed.at_least(right, left),
    ">": lambda assumed, left, right: not assumed.at_least(right, left),
    "==": lambda assumed, left, right: assumed.equal(left, right),
    "!=": lambda assumed, left, right: not assumed.equal(left, right),
}

_CONNECTIVES: Mapping[str, Callable[[Any], bool]] = {
    "and": all,
    "or": any,
    "not": lambda parts: not parts[0],
    "convert_element_type": all,  # of one: `&` promotes to a common type, here to the same one
}


def _variable(value: Any) -> Any | None:
    value = unwrap_tracer(value)
    if not isinstance(value, Tracer) or not is_recorded(value) or not is_recorded_variable(value):
        return None
    return tracer_variable(value)
