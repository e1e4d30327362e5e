"""The derivative of a QNode by some of its operands, as a sum over runs.

`rows` makes all runs, in one loop, also where only the program knows how many there are; with their
results held fixed, `weighted` is the classical program whose derivatives are those by operations,
and `direct_...` are those of what results owe to operands past the state.

`spsa` shifts all parameters at once, into random directions. With PennyLane's option `sampler_rng`
a number, directions are PennyLane's, drawn while tracing, the same for each call; so are those of a
`sampler` of the user's. Otherwise each call draws its own signs, from the call's random numbers,
which `seed` makes the same again.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr
from pennylane.gradients import spsa_grad

from diastase.autodiff.parameter_shift.observable_derivatives import with_state_fixed
from diastase.autodiff.parameter_shift.parameters import Rules
from diastase.autodiff.parameter_shift.runs import (
    Counts,
    Perturbs,
    Shifts,
    Tests,
    Weighted,
    head_of,
    longest,
)
from diastase.autodiff.parameter_shift.shift_rules import finite_differences
from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.circuit_interpreter import ALLOCATED, Visitor, Walk, walked
from diastase.jaxprs.dependence import Activity
from diastase.jaxprs.evaluate import Values, gradient_of, paired, replaced
from diastase.primitives.define import any_draws
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.qnode_derivatives import Positions, inexact_positions
from diastase.primitives.quantum import qnode_p
from diastase.primitives.sampling import uniform_p
from diastase_mlir import user_span
from diastase_mlir.jax_compat import is_symbolic, trace_to_jaxpr

Rows = tuple[Any, Any]
"""Results of all runs, a row for each (and rows of zeros after them); of the run without shifts."""
_INDEX = ShapedArray((), np.dtype(np.int64))
_transform: Any = spsa_grad.tape_transform
_SIGNS_OF_PENNYLANE = inspect.signature(_transform).parameters["sampler"].default
"""Signs that are drawn while tracing."""


@dataclass(frozen=True)
class Node:
    """A QNode, by the parameters of its equation."""

    body: ClosedJaxpr
    params: Mapping[str, Any]
    method: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Node":
        """The QNode of an equation of a derivative."""
        method, options = params["differentiation"]
        own = {
            name: value
            for name, value in params.items()
            if name not in ("jaxpr", "wanted", "directions")
        }
        return cls(params["jaxpr"], own, method, dict(options))

    def run(self, jaxpr: ClosedJaxpr, *operands: Any, more_wires: int = 0) -> list[Any]:
        """A run of another body; its inexact results."""
        params: dict[str, Any] = {**self.params, "jaxpr": jaxpr}
        if params["num_wires"] is not None:
            params["num_wires"] += more_wires
        results = qnode_p.bind(*operands, **params)
        return [results[position] for position in inexact_positions(self.body.out_avals)]


@dataclass(frozen=True)
class Formula:
    """The derivative by some operands."""

    node: Node
    positions: Positions
    rules: Rules
    head: ClosedJaxpr
    has_direct: bool
    """Whether results depend on the operands past the state."""

    @classmethod
    def of(cls, node: Node, positions: Positions) -> "Formula":
        """The formula for a body whose parts all have derivatives."""
        activity = Activity()
        flags = [position in positions for position in range(len(node.body.in_avals))]
        results = activity.within(node.body, flags)
        rules = Rules.of(node.method, node.options, activity, node.body)
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
        visitor, more_wires = (Tests, 1) if self.rules.tests else (Shifts, 0)
        jaxpr, captured = self._changed(partial(visitor, self.rules), _INDEX)

        def row(run: Any) -> Any:
            return read(self.node.run(jaxpr, *captured, run, *values, more_wires=more_wires))

        found = self._each(row)(jnp.arange(number))
        base = None
        if self.node.method == "finite-diff":
            base = read(self.node.run(self.node.body, *values))
        return _padded(found, padding), base

    def _each(self, row: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """All runs: at the same time, or one after the other where each draws shots."""
        return partial(jax.lax.map, row) if any_draws(self.node.body) else jax.vmap(row)

    def _simultaneous(
        self, values: Values, read: Callable[[Values], Any], number: Any, padding: int
    ) -> Any:
        """All parameters at once, in random directions: the derivative by each, estimated."""
        options = self.node.options
        zeros = ShapedArray((number,), np.dtype(np.float64))
        jaxpr, captured = self._changed(partial(Perturbs, self.rules), zeros)
        terms = finite_differences(options)

        def estimate(direction: Any) -> Any:
            total: Any = 0.0
            for coefficient, shift in terms:
                result = read(self.node.run(jaxpr, *captured, shift * direction, *values))
                total = total + coefficient * result
            inverse = jnp.where(direction == 0, 0.0, 1 / jnp.where(direction == 0, 1.0, direction))
            return inverse[:, None] * total[None, :]

        found = sum(map(estimate, _spsa_directions(options, number)))
        return _padded(found / options["num_directions"], padding)

    def _changed(
        self, visitor: Callable[[Any], Visitor], aval: Any
    ) -> tuple[ClosedJaxpr, list[Any]]:
        body = self.node.body

        def changed(how: Any, *values: Any) -> Sequence[Any]:
            return walked(body, values, Walk(ALLOCATED), visitor(how))

        return trace_to_jaxpr(changed, [aval, *body.in_avals], "derivative")

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
            return gradient_of(lambda *moved: paired(weights, fixed(*moved)), primals)

        return self._in_region(gradient, [*values, *cotangents])

    def _fixed(self, values: Values) -> Callable[..., tuple[Any, ...]]:
        """Results as a function of what is differentiated by, with the state fixed."""
        live = with_state_fixed(self.node.body, self.rules.activity, values)
        return lambda *moved: tuple(live(*replaced(values, self.positions, moved)))

    def _in_region(self, function: Callable[..., Sequence[Any]], operands: Values) -> Values:
        avals = [jax.typeof(operand) for operand in operands]
        jaxpr, captured = trace_to_jaxpr(function, avals, "derivative")
        return qnode_p.bind(*captured, *operands, **{**self.node.params, "jaxpr": jaxpr})


def _padded(rows: Any, count: int) -> Any:
    """Rows of zeros after a number of others that is not known: so no slice is too long."""
    if not is_symbolic(rows.shape[0]):
        return rows
    return jnp.concatenate([rows, jnp.zeros((count, *rows.shape[1:]), rows.dtype)])


# --- the directions of SPSA -----------------------------------------------------------------------


def _spsa_directions(options: Mapping[str, Any], number: Any) -> Sequence[Any]:
    """As many directions as were asked for, each with an element for each parameter."""
    count, sampler, seed = options["num_directions"], options["sampler"], options["sampler_rng"]
    if sampler in (None, _SIGNS_OF_PENNYLANE) and seed is None:
        return [_signs(number) for _ in range(count)]
    if not isinstance(number, int):
        raise NoDerivativeError(
            construct="a QNode with diff_method='spsa'",
            reason="sampler and sampler_rng draw while tracing, and only the program knows how "
            "many parameters there are",
            span=user_span(),
        )
    draw = _SIGNS_OF_PENNYLANE if sampler is None else sampler
    generator = np.random.default_rng(seed)
    indices = list(range(number))
    return [
        jnp.asarray(np.asarray(draw(indices, number, turn, rng=generator), np.float64))
        for turn in range(count)
    ]


def _signs(number: Any) -> Any:
    def sign(_: Any) -> Any:
        return jnp.where(uniform_p.bind() < 0.5, -1.0, 1.0)

    return jax.lax.map(sign, jnp.arange(number))
