"""Derivatives of averages over mid-circuit outcomes: the sum over all strings of outcomes.

An average is  f(x) = sum over strings b of B(x; b) / sum over b of W(x; b),  where B is the circuit
with its outcomes given: each `measure` projects onto the given outcome, and what is measured of the
state that is left, not normalised, is B; W is its norm. All that follows an outcome (branches,
parameters, wires) follows the given one. B is a QNode without outcomes, so it has the derivatives
that others have, by any method. A string may be longer than the outcomes that a branch asks for:
it counts if what is left of it is zero.

In: the equation of all runs (`several_runs`) with its `branches`. Strings are numbers whose first
bit is the first outcome; there are 2^n of them for n measurements, so their number is bounded, and
it must be known while tracing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.tangents.gate_rules import apply_fixed
from diastase.jaxprs.circuit_interpreter import ALLOCATED, Visitor, Walk, walked
from diastase.jaxprs.control_flow import known_trips
from diastase.jaxprs.dependence import Activity
from diastase.primitives.batching import flags_of, several_runs_p
from diastase.primitives.define import Role, Rule, has_role
from diastase.primitives.errors import NoDerivativeError, NotTransformableError
from diastase.primitives.measurement import probs_p
from diastase.primitives.mixed import superoperator_p
from diastase.primitives.quantum import is_register, qnode_p, release_p, touches_register, unitary_p
from diastase.primitives.statevector import project_on_p
from diastase.quantum.operators.gate_operands import is_density_matrix
from diastase.quantum.qnode.repeated_runs import Branches
from diastase.quantum.settings.diff_method import parameter_of
from diastase.quantum.wires import bind_on
from diastase_mlir import into_z
from diastase_mlir.diagnostics import span_of, user_span
from diastase_mlir.jax_compat import (
    closed_jaxprs_in,
    equations_in,
    evaluate_equation,
    forward_derivative,
    trace_to_jaxpr,
)

Equation = Any
Values = Sequence[Any]
MOST_OUTCOMES = 10
_STRING = ShapedArray((), np.dtype(np.int64))
_STATES = np.eye(2, dtype=np.complex128)
_SIGNS = np.array([1, -1])[:, None, None]
_PROJECTORS = (np.diag([1.0, 0, 0, 1]) + _SIGNS * np.diag([1.0, 0, 0, 1])[::-1]) / 2
"""Transfer matrices of the projections onto 0 and 1."""
_FLIPS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], np.complex128)


def _jvp(primals: Values, tangents: Values, **params: Any) -> tuple[Values, Values]:
    branches: Branches | None = params.get("branches")
    if branches is None:
        raise NotTransformableError(
            construct="a QNode whose circuit is run for each shot",
            transformation="jvp",
            reason="an outcome jumps",
            span=user_span(),
        )
    function = _sum_over_strings(branches)
    for axis in reversed(range(len(flags_of(params, len(primals))[0]))):
        has = [0 if flags[axis] else None for flags in flags_of(params, len(primals))]
        function = jax.vmap(function, in_axes=has)
    results = several_runs_p.bind(*primals, **params)
    _, changes = forward_derivative(function, primals, tangents)
    return results, changes


def _sum_over_strings(branches: Branches) -> Callable[..., Values]:
    """The averages, and the other results, as a function of the equation's operands."""
    traced = branches.traced
    if traced.settings.sweeps:
        raise NoDerivativeError(
            construct="measure",
            reason="diff_method='adjoint' is for circuits without outcomes, as in PennyLane: use "
            "'best', 'backprop' or 'parameter-shift'",
            span=_line_of(traced.jaxpr),
        )
    number = 2 ** _most_outcomes(traced.jaxpr)
    body, captured = _with_given_outcomes(traced.jaxpr, branches.count)
    settings = traced.settings
    params = {
        "jaxpr": body,
        "name": settings.qnode,
        "num_wires": traced.num_wires,
        "device": settings.device.name,
        **parameter_of(settings.differentiation),
    }

    def averages(*operands: Any) -> Values:
        own = operands[branches.more :]
        rows = jax.vmap(lambda string: qnode_p.bind(*captured, string, *own, **params))(
            jnp.arange(number)
        )
        total, *sums = [jnp.sum(row, axis=0) for row in rows[: branches.count + 1]]
        return [*(part / total for part in sums), *(row[0] for row in rows[branches.count + 1 :])]

    return averages


class _Given(Visitor):
    """A circuit whose outcomes are those of a string."""

    def __init__(self, string: Any) -> None:
        self._string = string
        self.weight: Any = None
        """The norm of the state in the end; zero if the string is too long."""
        self.counts: Any = None
        """Whether it is not."""

    def apply(self, walk: Walk, equation: Equation, operands: Values) -> None:
        """There is no script of outcomes to follow."""
        if equation.primitive.name != "follow_script":
            super().apply(walk, equation, operands)

    def outcome(self, walk: Walk, equation: Equation, operands: Values) -> Any:
        """The next of the string; what is postselected is not in it."""
        params = equation.params
        if params["postselect"] is not None:
            bit: Any = jnp.int64(params["postselect"])
        else:
            bit = (self._string >> walk.position) & 1
            walk.position = walk.position + 1
        traced = iter(operands)
        wires = [wire if wire is not None else next(traced) for wire in params["wires"]]
        forth, back = into_z(params["word"], wires, params["reset"])
        register = apply_fixed(walk.register, forth)
        register = _projected(register, wires[-1:], bit)
        if params["reset"]:
            flip = jnp.asarray(_FLIPS)[bit]
            register = bind_on(unitary_p, register, wires[-1:], flip, control_values=())
        walk.register = apply_fixed(register, back)
        return bit == 1

    def measure(self, walk: Walk, equation: Equation, operands: Values) -> Values:
        """The norm is measured last."""
        if equation.primitive is release_p:
            norm = jnp.sum(probs_p.bind(walk.register, wires=(0,), size=2))
            self.counts = self._string >> walk.position == 0
            self.weight = jnp.where(self.counts, norm, 0.0)
        return evaluate_equation(equation, operands)


def _projected(register: Any, wires: Sequence[Any], bit: Any) -> Any:
    """What is left of a register where a wire is found to be `bit`; its norm is the probability."""
    if is_density_matrix(register):
        matrix = jnp.asarray(_PROJECTORS)[bit]
        params = {"construct": "measure", "checked": False}
        return bind_on(superoperator_p, register, wires, matrix, **params)
    return bind_on(project_on_p, register, wires, jnp.asarray(_STATES)[bit])


def _with_given_outcomes(body: ClosedJaxpr, count: int) -> tuple[ClosedJaxpr, list[Any]]:
    """`[string, *operands] -> [weight, *averages, *other results]`; the script is left out."""
    is_measured = _measured(body)[:count]

    def given(string: Any, *values: Any) -> Values:
        visitor = _Given(string)
        found = walked(body, [*values, jnp.int64(0)], Walk(ALLOCATED), visitor)
        weighted = [
            jnp.where(visitor.counts, value, 0.0) if measured else visitor.weight * value
            for value, measured in zip(found, is_measured, strict=False)
        ]
        return [visitor.weight, *weighted, *found[count:]]

    return trace_to_jaxpr(given, [_STRING, *body.in_avals[:-1]], "branch")


def _measured(body: ClosedJaxpr) -> list[bool]:
    """For each result, whether it is measured of the state; it may be made of outcomes only."""
    activity = Activity(carries=lambda variable: not is_register(variable), starts=_reads_state)
    return list(activity.within(body, [False] * len(body.in_avals)))


def _reads_state(equation: Equation) -> bool:
    is_other = has_role(equation, Role.OUTCOME, Role.CONTROL_FLOW)
    return touches_register(equation) and not is_other


# --- how many outcomes there are ------------------------------------------------------------------


def _most_outcomes(body: ClosedJaxpr) -> int:
    number = _outcomes(body)
    if number > MOST_OUTCOMES:
        raise NoDerivativeError(
            construct="measure",
            reason=f"the derivative of an average over outcomes is a sum over all strings of them, "
            f"and with {number} measurements there are 2^{number}: {MOST_OUTCOMES} are the most",
            span=_line_of(body),
        )
    return number


def _outcomes(region: ClosedJaxpr) -> int:
    """The most that any run of a region asks for, but for those that are postselected."""
    return sum(map(_outcomes_of, region.jaxpr.eqns))


def _outcomes_of(equation: Equation) -> int:
    name, params = equation.primitive.name, equation.params
    if name == "measure":
        return int(params["postselect"] is None)
    inner = [_outcomes(part) for part in closed_jaxprs_in(equation.params)]
    if not any(inner):
        return 0
    if name == "switch":
        return max(inner)
    turns = known_trips(equation) if name == "for_loop" else None
    if turns is None:
        raise NoDerivativeError(
            construct=f"measure in a {name}",
            reason="the derivative of an average over outcomes is a sum over all strings of them, "
            "and how many turns the loop makes is known only at run time",
            span=span_of(equation.source_info),
        )
    return turns * sum(inner)


def _line_of(body: ClosedJaxpr) -> Any:
    """Where the first measurement was written."""
    measured = (e for e in equations_in(body) if has_role(e, Role.OUTCOME))
    first = next(measured, None)
    return None if first is None else span_of(first.source_info)


RULES: Mapping[str, Rule] = {"several_runs": _jvp}
