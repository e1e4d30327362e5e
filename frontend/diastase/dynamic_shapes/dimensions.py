"""Sizes known only at run time: from integer tracers to symbolic dimensions.

A `DimensionTable` belongs to one trace. `of(tracer)` gives the size that an integer tracer is:
an expression over symbols that follows the tracer's defining equations through sums, products,
minima, maxima, `//` and `%`, so that `jnp.ones(n + 1) + jnp.ones(1 + n)` is an addition of equal
types; anything else becomes a symbol of its own, bound to the tracer's variable.

What may be assumed about a symbol (rules that every decision of JAX over sizes goes by):

    B1  Nothing, unless B2 or B3 applies: `n` may be negative, `n + 5` is no less than anything.
    B2  The size of an axis of an argument is at least 0.
    B3  A size in use has been checked: `assert_size` is recorded before, and raises at run time
        if it is negative. If the check stands in the trace that defines all of the size's
        symbols, it precedes whatever else they are used for: `n - 3` in use teaches `n >= 3`.

A comparison that these cannot decide becomes an assumption of the program
(`diastase.dynamic_shapes.assumptions`); JAX's own (every symbol is at least 1) would give wrong
results for empty arrays.

The trap: integers of fewer than 32 bits and unsigned ones wrap around where symbols do not, so
their arithmetic is never followed.
"""

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer, max_dim, min_dim
from jax.extend.core import Var

from diastase.dynamic_shapes.assumptions import Assumptions, Symbol, innermost
from diastase.dynamic_shapes.errors import MappedSizeError
from diastase.primitives.checks import assert_size
from diastase_mlir.jax_compat import (
    SizeScope,
    current_trace,
    dimension_symbols,
    enclosing_traces,
    evaluate_dimension,
    is_recorded,
    is_recorded_variable,
    is_symbolic,
    literal_value,
    lower_bound,
    recorded_in,
    recording_trace,
    tracer_equation,
    tracer_trace,
    tracer_variable,
    unwrap_tracer,
)
from diastase_mlir.program import DimensionBindings

Operator = Callable[[Any, Any], Any]

_LONGEST_DERIVATION = 100
"""Equations followed back from a size; beyond, a symbol (Python's recursion is limited)."""

_ARITHMETIC: Mapping[str, Operator] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max_dim,
    "min": min_dim,
}
"""Primitives of two operands through which a size is followed."""

_UNCHANGED = frozenset({"convert_element_type", "copy", "copy_p", "stop_gradient"})
"""Primitives that hand on their operand; a narrowing conversion is excluded by its type."""


def is_size_like(value: Any) -> bool:
    """Whether a value is an integer scalar that only a tracer knows."""
    return isinstance(value, Tracer) and is_integer_scalar(value)


def is_integer_scalar(value: Any) -> bool:
    """Whether a value, or a type, is an integer without axes."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "shape", None) != ():
        return False
    return jnp.issubdtype(dtype, jnp.integer)


def _does_not_wrap(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jnp.signedinteger) and value.dtype.itemsize >= 4


class DimensionTable:
    """The symbols of one trace and what their expressions are."""

    def __init__(self, answers: Mapping[str, bool] | None = None) -> None:
        self.scope = SizeScope()
        self.symbols: dict[str, Symbol] = {}
        self.assumptions = Assumptions(self.scope, self.symbols, answers or {})
        self.expressions: dict[Var, Any] = {}
        """What is known of integer scalars: `n`, `n + 1`, a symbol."""
        self._divisions: dict[Var, _Division] = {}
        self._values: dict[Var, tuple[str, ...]] = {}
        self._axes: dict[Var, list[tuple[str, int]]] = {}
        self._arguments: dict[Var, _Argument] = {}
        self._solved: dict[str, Any] = {}
        self._fixes_sizes = False
        self._checked: set[tuple[Any, Any]] = set()
        """Sizes, each with the trace in which its check stands."""
        # A variable stands in the jaxpr only as long as its tracer lives.
        self._alive: list[Any] = []

    def bindings(self) -> DimensionBindings:
        """Where the symbols are defined, for the compiler."""
        axes = {variable: tuple(pairs) for variable, pairs in self._axes.items()}
        return DimensionBindings(dict(self._values), axes, dict(self._solved))

    def of(self, value: Any) -> Any:
        """The number or the expression that an integer scalar is; nothing is checked (B1)."""
        return self._of(value, _LONGEST_DERIVATION)

    def size(self, value: Any) -> Any:
        """The size that a value is, checked to be no less than 0 (B3)."""
        size = self.of(value)
        if is_symbolic(size) and lower_bound(size) < 0:
            self._check(size)
        return size

    def demand(self, size: Any, at_least: Any) -> bool:
        """Record the check that `size >= at_least`, and take it to be so."""
        with recorded_in(recording_trace() or current_trace()):
            assert_size(size, at_least)
        return True

    def is_equal(self, size: Any, other: Any) -> bool:
        """Whether two sizes are equal: assumed where it depends on their values."""
        if not (is_symbolic(size) or is_symbolic(other)):
            return size == other
        difference = self.scope.normalised(size - other)
        if not is_symbolic(difference):
            return difference == 0
        if lower_bound(difference) > 0 or lower_bound(-difference) > 0:
            return False
        return self.assumptions.equal(self.scope.normalised(size), self.scope.normalised(other))

    def _check(self, size: Any) -> None:
        if not self.symbols.keys() >= dimension_symbols(size):
            return  # an argument's, about to be defined (B2)
        defining = innermost([self.symbols[name].trace for name in dimension_symbols(size)])
        # Where JAX evaluates, not for an equation, the trace that defines the size has the check.
        traces = enclosing_traces(recording_trace() or defining)
        if not traces or any((size, trace) in self._checked for trace in traces):
            return
        with recorded_in(traces[0]):
            assert_size(size)
        self._checked.add((size, traces[0]))
        if defining is traces[0]:
            self.scope.learn_not_negative(size)

    def note_division(self, result: Any, operator: Operator, left: Any, right: Any) -> None:
        """Remember that `result` is `left // right` or `left % right`.

        JAX records these as a dozen equations, from which they could not be recovered.
        """
        result = unwrap_tracer(result)
        if is_recorded(result) and is_recorded_variable(result):
            self._divisions.setdefault(tracer_variable(result), _Division(operator, left, right))
            self._alive.append(result)

    def new_symbol(self) -> Any:
        """A symbol that nothing defines yet; `name_axes` will say which axis does (B2)."""
        name = self._new_name()
        self.symbols[name] = Symbol(None, name)
        symbol = self.scope.symbol(name)
        self.scope.learn_not_negative(symbol, everywhere=True)
        return symbol

    def is_visible(self, size: Any) -> bool:
        """Whether all symbols of a size are defined where we are now, or outside of it."""
        if not is_symbolic(size):
            return True
        traces = enclosing_traces(current_trace())
        return all(
            any(self.symbols[name].trace is trace for trace in traces)
            for name in dimension_symbols(size)
        )

    def note_argument(self, tracer: Any, words: str, example: Any) -> None:
        """An argument of the program: what the user calls it, its value in the call at hand."""
        self._arguments[tracer_variable(tracer)] = _Argument(words, example)
        self._alive.append(tracer)

    def name_axes(self, tracer: Any, axes: Sequence[tuple[str, int]]) -> None:
        """The sizes of these axes, of an argument or of what a loop gives, define symbols (B2)."""
        variable = tracer_variable(tracer)
        self._axes[variable] = list(axes)
        self._alive.append(tracer)
        argument = self._arguments.get(variable)
        for name, axis in axes:
            if name not in self.symbols:
                self.scope.learn_not_negative(self.scope.symbol(name), everywhere=True)
            trace = tracer_trace(tracer)
            self.symbols[name] = argument.axis(trace, axis) if argument else Symbol(trace, name)

    def named_axes(self, variable: Var) -> Sequence[tuple[str, int]]:
        """The symbols that the sizes of a variable's axes define."""
        return self._axes.get(variable, ())

    def symbols_of(self, variable: Any) -> list[str]:
        """The symbols that a variable, or the size of an axis of it, is the value of."""
        return [*self._values.get(variable, ()), *(name for name, _ in self.named_axes(variable))]

    def defines_symbols(self, variable: Any) -> bool:
        """Whether a variable, or the size of an axis of it, is the value of a symbol."""
        return variable in self._values or variable in self._axes

    def note_copy(self, variable: Var, value: Any) -> None:
        """An equation has been recorded again, elsewhere: `value` is what `variable` was there.

        So it defines the same symbols in that place, which both types are over.
        """
        if not (self.defines_symbols(variable) or variable in self.expressions):
            return
        tracer = unwrap_tracer(value)
        if not (is_recorded(tracer) and is_recorded_variable(tracer)):
            return
        copy = tracer_variable(tracer)
        if copy is variable:
            return
        tables: Any = (self._values, self._axes, self.expressions)
        for known in tables:
            if variable in known:
                known.setdefault(copy, known[variable])
        for name in self.symbols_of(variable):
            self.symbols[name] = replace(self.symbols[name], trace=tracer_trace(tracer))
        self._alive.append(tracer)

    def fix_sizes(self) -> None:
        """From now on a size that an argument gives is the number that it is in the example."""
        self._fixes_sizes = True

    def fixed(self, size: Any) -> Any:
        """A size as a number, which becomes an assumption, if the example gives it."""
        return self.assumptions.fixed(size) if is_symbolic(size) else size

    def solve(self, name: str, expression: Any) -> None:
        """Let a symbol be an expression over sizes of arguments; the caller made sure of >= 0."""
        self._solved[name] = expression
        known = {name: self.symbols[name].example for name in dimension_symbols(expression)}
        values = {name: value for name, value in known.items() if value is not None}
        example = evaluate_dimension(expression, values) if len(values) == len(known) else None
        self.symbols[name] = Symbol(current_trace(), name, True, example)
        self.scope.learn_not_negative(self.scope.symbol(name), everywhere=True)

    def _of(self, value: Any, depth: int) -> Any:
        value = unwrap_tracer(value)
        if not isinstance(value, Tracer):
            return value if is_symbolic(value) else operator.index(value)
        if not is_recorded(value):
            raise MappedSizeError()
        if not is_recorded_variable(value):
            return literal_value(value)
        variable = tracer_variable(value)
        if variable not in self.expressions:
            derived = self._derive(value, depth - 1) if depth and _does_not_wrap(value) else None
            self.expressions[variable] = self._define(value) if derived is None else derived
            self._alive.append(value)
        return self.expressions[variable]

    def _new_name(self) -> str:
        names = map("d{}".format, itertools.count(len(self.symbols)))
        return next(name for name in names if name not in self.symbols)

    def _define(self, tracer: Any) -> Any:
        """A new symbol, whose value the tracer's variable is."""
        name = self._new_name()
        variable, trace = tracer_variable(tracer), tracer_trace(tracer)
        self._values[variable] = (name,)
        argument = self._arguments.get(variable)
        self.symbols[name] = argument.value(trace) if argument else Symbol(trace, name)
        symbol = self.scope.symbol(name)
        return self.fixed(symbol) if argument and self._fixes_sizes else symbol

    def _derive(self, tracer: Any, depth: int) -> Any | None:
        """The expression that a tracer's defining equation gives, if it is one that we follow."""
        division = self._divisions.get(tracer_variable(tracer))
        if division is not None:
            return self._divide(division, depth)
        equation = tracer_equation(tracer)
        if equation is None:
            return None
        name, operands = equation.primitive.name, equation.in_tracers
        if name == "dim_as_value":
            return equation.params["dim"]
        if not all(is_integer_scalar(operand) and _does_not_wrap(operand) for operand in operands):
            return None
        if name in _UNCHANGED:
            return self._of(operands[0], depth)
        if name == "neg":
            return -self._of(operands[0], depth)
        if name not in _ARITHMETIC:
            return None
        left, right = (self._of(operand, depth) for operand in operands)
        return _ARITHMETIC[name](left, right)

    def _divide(self, division: "_Division", depth: int) -> Any | None:
        """A quotient or remainder; a divisor that may be 0 would trap, and is not followed."""
        left, right = self._of(division.left, depth), self._of(division.right, depth)
        if (not is_symbolic(right) and right == 0) or (
            is_symbolic(right) and lower_bound(right) <= 0
        ):
            return None
        return division.operator(left, right)


@dataclass(frozen=True)
class _Argument:
    """An argument of the program."""

    words: str
    example: Any
    """Its value in the call at hand, None where there is none."""

    def value(self, trace: Any) -> Symbol:
        """The symbol that an integer is."""
        example = None if self.example is None else int(self.example)
        return Symbol(trace, self.words, True, example)

    def axis(self, trace: Any, axis: int) -> Symbol:
        """The symbol that the size of an axis is."""
        example = None if self.example is None else int(np.shape(self.example)[axis])
        return Symbol(trace, f"{self.words}.shape[{axis}]", True, example)


@dataclass(frozen=True)
class _Division:
    """Operands of a `//` or `%`, followed only if the result is used as a size."""

    operator: Operator
    left: Any
    right: Any
