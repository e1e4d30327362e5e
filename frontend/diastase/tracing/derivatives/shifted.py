"""Derivatives of QNodes from shifted runs: the methods `parameter-shift`, `finite-diff`, `spsa`.

For the parameters p of the operations that a run executes, each with terms (coefficient, shift),

    D f(x)[v] = sum over p of (sum over terms of coefficient * f(x; p + shift)) * D p(x)[v]

plus what results owe to x directly (`direct`). Shifted runs are QNodes of the same method, and what
is summed is classical code, so JAX differentiates the formula to any order. All runs of a
derivative are one loop, also where only the program knows how many there are.

The trap: it is right only for results that are averages over the state, as `tracing` makes sure by
what QNodes of these methods return; a difference of finite shifts does not ask for that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase.errors import NoDerivativeError, NotTransformableError
from diastase.primitives.derivatives import Operands, Positions, inexact_positions
from diastase.primitives.quantum import qnode_p
from diastase.tracing.derivatives import shift_rules
from diastase.tracing.derivatives.activity import Activity
from diastase.tracing.derivatives.direct import with_state_fixed
from diastase.tracing.derivatives.shifted_runs import (
    Counts,
    Perturbs,
    Rule,
    Rules,
    Shifts,
    Weighted,
    head_of,
    longest,
)
from diastase.tracing.derivatives.simultaneous import directions_of
from diastase.tracing.derivatives.walks import ALLOCATED, Walk, walked
from diastase.tracing.resizing import dimension_table
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_internals import is_symbolic, trace_to_jaxpr

Equation = Any
Values = Sequence[Any]


def tangent_by_shifts(operands: Values, params: Mapping[str, Any]) -> Values:
    """What stands in the place of a `qnode_tangent` equation."""
    given = Operands.read(operands, dict(params))
    directions = list(zip(params["directions"], given.directions, strict=True))
    node = _Node.of(params)
    return node.derivative(given.values, directions)


def cotangent_by_shifts(operands: Values, params: Mapping[str, Any]) -> Values:
    """What stands in the place of a `qnode_cotangent` equation."""
    given = Operands.read(operands, dict(params))
    directions = list(zip(params["directions"], given.directions, strict=True))
    node, wanted = _Node.of(params), params["wanted"]
    if not directions:
        return node.gradient(given.values, wanted, given.cotangents)

    def paired(*moved: Any) -> Any:
        values = _replaced(given.values, wanted, moved)
        return _paired(given.cotangents, node.derivative(values, directions))

    return _pulled_back(paired, [given.values[position] for position in wanted])


@dataclass(frozen=True)
class _Node:
    """A QNode, by the parameters of its equation."""

    body: ClosedJaxpr
    params: Mapping[str, Any]
    method: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "_Node":
        method, options = params["differentiation"]
        own = {
            name: value
            for name, value in params.items()
            if name not in ("jaxpr", "wanted", "directions")
        }
        return cls(params["jaxpr"], own, method, dict(options))

    def run(self, jaxpr: ClosedJaxpr, *operands: Any) -> list[Any]:
        """A run of another body; its results."""
        return qnode_p.bind(*operands, **{**self.params, "jaxpr": jaxpr})

    def derivative(self, values: Values, directions: Sequence[tuple[Positions, Values]]) -> Values:
        """D^k f(x)[v1, ..., vk], by the first one, differentiated."""
        *before, (positions, entries) = directions
        if not before:
            return self._along(values, positions, entries)

        def along(*moved: Any) -> Values:
            return self.derivative(_replaced(values, positions, moved), before)

        primals = tuple(values[position] for position in positions)
        return list(jax.jvp(lambda *m: tuple(along(*m)), primals, tuple(entries))[1])

    def _along(self, values: Values, positions: Positions, entries: Values) -> Values:
        formula = _Formula.of(self, positions)
        rows = formula.rows(values, lambda results: _flat(results))
        primals = tuple(values[position] for position in positions)

        def total(*moved: Any) -> Any:
            return formula.weighted(_replaced(values, positions, moved), rows)

        avals = [self.body.out_avals[p] for p in inexact_positions(self.body.out_avals)]
        _, change = jax.jvp(total, primals, tuple(entries))
        changes = _unflat(change, avals)
        if not formula.has_direct:
            return changes
        found = formula.direct_tangent(values, entries)
        return [one + other for one, other in zip(changes, found, strict=True)]

    def gradient(self, values: Values, wanted: Positions, cotangents: Values) -> Values:
        """The gradient of cotangents . f."""
        formula = _Formula.of(self, wanted)
        rows = formula.rows(values, lambda results: _paired(cotangents, results)[None])

        def total(*moved: Any) -> Any:
            return jnp.sum(formula.weighted(_replaced(values, wanted, moved), rows))

        found = _pulled_back(total, [values[position] for position in wanted])
        if not formula.has_direct:
            return found
        direct = formula.direct_gradient(values, cotangents)
        return [one + other for one, other in zip(found, direct, strict=True)]


Rows = tuple[Any, Any]
"""Results of all runs, a row for each (and rows of zeros after them); of the run without shifts."""


@dataclass(frozen=True)
class _Formula:
    """The derivative of a QNode by some of its operands, as a sum over runs."""

    node: _Node
    positions: Positions
    rules: Rules
    head: ClosedJaxpr
    has_direct: bool
    """Whether results depend on the operands past the state."""

    @classmethod
    def of(cls, node: _Node, positions: Positions) -> "_Formula":
        _refuse(node)
        activity = Activity()
        flags = [position in positions for position in range(len(node.body.in_avals))]
        results = activity.within(node.body, flags)
        rules = Rules(node.method, activity, _rule_of(node))
        return cls(node, positions, rules, head_of(node.body), any(results))

    # --- the runs ---------------------------------------------------------------------------------

    def rows(self, values: Values, read: Callable[[Values], Any]) -> Rows:
        """Make all runs; `read`: from the inexact results of a run to a vector."""
        number = self._count(values)
        if isinstance(number, int) and number == 0:
            return None, None
        padding = longest(self.node.body, self.rules)
        if self.node.method == "spsa":
            return self._simultaneous(values, read, number, padding), None
        jaxpr, captured = self._shifted(lambda run: Shifts(self.rules, run), _INDEX)

        def row(run: Any) -> Any:
            return read(self._inexact(self.node.run(jaxpr, *captured, run, *values)))

        found = self._each(row)(jnp.arange(number))
        base = None
        if self.node.method == "finite-diff":
            base = read(self._inexact(self.node.run(self.node.body, *values)))
        return _padded(found, padding), base

    def _each(self, row: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """All runs: at the same time, or one after the other where each draws shots."""
        return partial(jax.lax.map, row) if _draws(self.node.body) else jax.vmap(row)

    def _simultaneous(
        self, values: Values, read: Callable[[Values], Any], number: Any, padding: int
    ) -> Any:
        """All parameters at once, in random directions: the derivative by each, estimated."""
        options = self.node.options
        zeros = ShapedArray((number,), np.dtype(np.float64))
        jaxpr, captured = self._shifted(lambda shifts: Perturbs(self.rules, shifts), zeros)
        terms = shift_rules.finite_differences(dict(options))

        def estimate(direction: Any) -> Any:
            total: Any = 0.0
            for coefficient, shift in terms:
                operands = [*captured, shift * direction, *values]
                result = read(self._inexact(self.node.run(jaxpr, *operands)))
                total = total + coefficient * result
            inverse = jnp.where(direction == 0, 0.0, 1 / jnp.where(direction == 0, 1.0, direction))
            return inverse[:, None] * total[None, :]

        found = sum(map(estimate, directions_of(options, number)))
        return _padded(found / options["num_directions"], padding)

    def _shifted(self, visitor: Callable[[Any], Any], aval: Any) -> tuple[ClosedJaxpr, list[Any]]:
        body = self.node.body

        def shifted(how: Any, *values: Any) -> Sequence[Any]:
            return walked(body, values, Walk(ALLOCATED), visitor(how))

        return trace_to_jaxpr(shifted, [aval, *body.in_avals], "derivative")

    def _inexact(self, results: Values) -> list[Any]:
        return [results[position] for position in inexact_positions(self.node.body.out_avals)]

    def _count(self, values: Values) -> Any:
        """The number of runs, as a size."""
        walk = Walk()
        walked(self.head, values, walk, Counts(self.rules))
        if isinstance(walk.position, int):
            return walk.position
        return dimension_table().size(walk.position)

    # --- the classical part -----------------------------------------------------------------------

    def weighted(self, values: Values, rows: Rows) -> Any:
        """The sum of all parameters, with weights from the rows."""
        results, base = rows
        if results is None:
            return jnp.zeros(1)
        walk = Walk(total=jnp.zeros(results.shape[1:], results.dtype))
        visitor = Weighted(self.rules, results, base)
        walked(self.head, values, walk, visitor)
        visitor.settle(walk)
        return walk.total

    def direct_tangent(self, values: Values, entries: Values) -> Values:
        """What results change past the state, along the entries."""

        def change(*operands: Any) -> Sequence[Any]:
            own, along = operands[: len(values)], operands[len(values) :]
            primals = tuple(own[position] for position in self.positions)
            return jax.jvp(self._fixed(own), primals, tuple(along))[1]

        return self._in_region(change, [*values, *entries])

    def direct_gradient(self, values: Values, cotangents: Values) -> Values:
        """The gradient past the state."""

        def gradient(*operands: Any) -> Sequence[Any]:
            own, weights = operands[: len(values)], operands[len(values) :]
            primals = [own[position] for position in self.positions]
            fixed = self._fixed(own)
            return _pulled_back(lambda *moved: _paired(weights, fixed(*moved)), primals)

        return self._in_region(gradient, [*values, *cotangents])

    def _fixed(self, values: Values) -> Callable[..., tuple[Any, ...]]:
        """Results as a function of what is differentiated by, with the state fixed."""
        live = with_state_fixed(self.node.body, self.rules.activity, values)
        return lambda *moved: tuple(live(*_replaced(values, self.positions, moved)))

    def _in_region(self, function: Callable[..., Sequence[Any]], operands: Values) -> Values:
        avals = [jax.typeof(operand) for operand in operands]
        jaxpr, captured = trace_to_jaxpr(function, avals, "derivative")
        return self.node.run(jaxpr, *captured, *operands)


_INDEX = ShapedArray((), np.dtype(np.int64))


def _rule_of(node: _Node) -> Callable[[Equation, int], Rule]:
    if node.method == "finite-diff":
        terms = shift_rules.finite_differences(dict(node.options))
        base = sum(coefficient for coefficient, shift in terms if shift == 0)
        own = Rule(tuple(term for term in terms if term[1] != 0), base)
        return lambda equation, number: own
    if node.method == "spsa":
        return lambda equation, number: Rule(((1.0, 0.0),))
    return partial(_parameter_shift, node)


def _parameter_shift(node: _Node, equation: Equation, number: int) -> Rule:
    params = equation.params
    controls = len(params["control_values"])
    wires = len(params["wires"]) - controls
    name = params["name"]
    shifts = node.options.get("shifts")
    given = (name, params["num_parameters"], number, wires, controls > 0)
    terms = shift_rules.parameter_shifts(*given, shifts)
    if terms is None:
        raise NoDerivativeError(
            construct=name,
            reason="it has no shift rule: use diff_method='adjoint', 'backprop' or 'finite-diff'",
            span=span_of(equation.source_info),
        )
    return Rule(terms)


def _refuse(node: _Node) -> None:
    """What no method of this file has derivatives of."""
    refuse_parts(node.body, node.method)


def refuse_parts(closed: ClosedJaxpr, method: str) -> None:
    """Refuse outcomes in the middle, and states where only averages have derivatives."""
    for equation in closed.jaxpr.eqns:
        reason = _REFUSED.get((method, equation.primitive.name)) or _REFUSED.get(
            ("", equation.primitive.name)
        )
        if reason is not None:
            construct, why = reason
            raise NoDerivativeError(
                construct=construct,
                reason=why.format(method=method),
                span=span_of(equation.source_info),
            )
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, ClosedJaxpr):
                    refuse_parts(part, method)


_STATE = (
    "qml.state",
    "diff_method={method!r} is for what hardware could measure, and a state is not: use 'backprop'",
)
_VARIANCE = (
    "qml.var",
    "diff_method='hadamard' has no variances, as in PennyLane: use 'parameter-shift'",
)
_REFUSED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("", "measure"): (
        "measure",
        "an outcome jumps, and what follows it depends on it; without `measure` there is a "
        "derivative",
    ),
    ("parameter-shift", "state"): _STATE,
    ("hadamard", "state"): _STATE,
    ("hadamard", "var_pauli"): _VARIANCE,
    ("hadamard", "var_matrix"): _VARIANCE,
}


def _draws(closed: ClosedJaxpr) -> bool:
    return any(
        equation.primitive.name in ("sample", "uniform")
        or any(_draws(part) for part in equation.params.values() if isinstance(part, ClosedJaxpr))
        for equation in closed.jaxpr.eqns
    )


# --- vectors of results ---------------------------------------------------------------------------


def _flat(results: Values) -> Any:
    return jnp.concatenate([jnp.ravel(result) for result in results])


def _unflat(vector: Any, avals: Sequence[Any]) -> list[Any]:
    found, start = list[Any](), 0
    total = sum(aval.size for aval in avals)
    vector = jnp.broadcast_to(vector, (total,))  # where nothing is shifted there is one zero
    for aval in avals:
        part = jax.lax.slice_in_dim(vector, start, start + aval.size).reshape(aval.shape)
        if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
            part = jnp.real(part)
        found.append(part.astype(aval.dtype))
        start += aval.size
    return found


def _padded(rows: Any, count: int) -> Any:
    """Rows of zeros after a number of others that is not known: so no slice is too long."""
    if not is_symbolic(rows.shape[0]):
        return rows
    return jnp.concatenate([rows, jnp.zeros((count, *rows.shape[1:]), rows.dtype)])


def _paired(cotangents: Values, results: Values) -> Any:
    """Re(cotangents . results)."""
    terms = [
        jnp.real(jnp.sum(cotangent * result))
        for cotangent, result in zip(cotangents, results, strict=True)
    ]
    return sum(terms, jnp.float64(0))


def _replaced(values: Values, positions: Positions, moved: Values) -> list[Any]:
    changed = list(values)
    for position, value in zip(positions, moved, strict=True):
        changed[position] = value
    return changed


def _pulled_back(function: Callable[..., Any], primals: Values) -> list[Any]:
    """The gradient of a real function; element by element where it cannot go backwards."""
    try:
        _, pull_back = jax.vjp(function, *primals)
        return list(pull_back(jnp.float64(1)))
    except (NotTransformableError, ValueError):  # a loop
        pass
    return [
        _by_element(partial(_at, function, primals, number), primal)
        for number, primal in enumerate(primals)
    ]


def _at(function: Callable[..., Any], primals: Values, number: int, entry: Any) -> Any:
    def of_one(value: Any) -> Any:
        return function(*_replaced(primals, (number,), [value]))

    return jax.jvp(of_one, (primals[number],), (entry,))[1]


def _by_element(along: Callable[[Any], Any], primal: Any) -> Any:
    aval = jax.typeof(primal)

    def element(row: Any) -> Any:
        entry = row.reshape(aval.shape)
        if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
            return along(entry)
        return along(entry) - 1j * along(1j * entry)

    unit = jnp.eye(aval.size, dtype=aval.dtype)
    return jax.lax.map(element, unit).reshape(aval.shape).astype(aval.dtype)
