"""The classical surrogate of a circuit: what its derivatives by parameters mean for its arguments.

A sweep gives the derivative g of the loss by each parameter of each executed operation. Here the
same program runs with its register taken away, and each operation replaced by "add g . parameters":

    total = sum over executed operations of g . parameters(x)

With g held fixed, the gradient of `total` by x is the gradient of the loss. It is an ordinary
classical program: loops, branches and all that happens to parameters on their way come for free.
Operations take what is theirs from g in the order of execution; `Cursor` says where we are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.tracing.branches import share_captured
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.derivatives.regions import is_register_aval
from diastase.tracing.derivatives.selections import SELECTED, picked
from diastase.tracing.regions import Region
from diastase_mlir.jax_internals import select_inputs, trace_to_jaxpr

Equation = Any


@dataclass
class Cursor:
    """How far we are in g, and what has been added up; stands for the register."""

    weights: Any
    """g: f64[N], and at least as many zeros after that as any stretch of operations needs."""
    start: Any
    """Where the stretch of operations begins that we are in: a number until control flow is met."""
    total: Any
    selected: Callable[[Any, int], None] | None = None
    """Called with the variable of a parameter that is `SELECTED` and its number in g."""
    _pending: list[tuple[int, Any]] = field(default_factory=list)
    _offset: int = 0

    def take(self, parameters: Sequence[Any], variables: Sequence[Any]) -> None:
        """Operations with these parameters: real arrays, whose elements each have a number in g."""
        for parameter, variable in zip(parameters, variables, strict=False):
            if parameter is SELECTED:
                assert self.selected is not None, "selected parameters are outside of control flow"
                self.selected(variable, self.start + self._offset)
                self._offset += 1
            else:
                values = jnp.ravel(parameter)
                self._pending.append((self._offset, values))
                self._offset += values.size

    def settled(self) -> tuple[Any, Any]:
        """Position and total, with all that was taken."""
        if self._pending:
            values = jnp.concatenate([values for _, values in self._pending])
            self.total = self.total + jnp.dot(self._weights_of_stretch(), values)
            self._pending = []
        self.start, self._offset = self.start + self._offset, 0
        return self.start, self.total

    def _weights_of_stretch(self) -> Any:
        if isinstance(self.start, int):
            places = [np.arange(values.size) + offset for offset, values in self._pending]
            return picked(self.weights, self.start + np.concatenate(places))
        start = jnp.asarray(self.start, jnp.int64)
        return jax.lax.dynamic_slice(self.weights, (start,), (self._offset,))


def parameters_of(equation: Equation, operands: Sequence[Any]) -> list[Any] | None:
    """What an operation adds: real arrays in the order of the tape; None where it is no operation.

    `operands` are without the register.
    """
    name, params = equation.primitive.name, equation.params
    if name == "gate":
        return list(operands[: params["num_parameters"]])
    if name == "global_phase":
        return [operands[0]]
    if name in ("unitary", "diagonal", "prepare"):
        if not params.get("differentiated", False):
            return []
        return [jnp.stack([jnp.real(operands[0]), jnp.imag(operands[0])], axis=-1)]
    return [] if name in ("check_wires",) else None


def run_surrogate(closed: ClosedJaxpr, operands: Sequence[Any], cursor: Cursor) -> list[Any]:
    """Evaluate a region with the cursor for its register: its classical results."""
    registers = dict.fromkeys(
        (variable for variable in closed.jaxpr.invars if is_register_aval(variable.aval)), cursor
    )
    given = iter(operands)
    values = [
        registers[variable] if variable in registers else next(given)
        for variable in closed.jaxpr.invars
    ]
    names = {equation.primitive.name for equation in closed.jaxpr.eqns}
    instead: Mapping[str, Any] = {name: _stepping(cursor) for name in names if name in _QUANTUM}
    results = evaluated(closed, values, instead)
    return [result for result in results if not isinstance(result, Cursor)]


def _stepping(cursor: Cursor) -> Callable[..., Sequence[Any]]:
    """What is done for an equation that may act on the register."""

    def step(equation: Equation, *operands: Any) -> Sequence[Any]:
        if not any(isinstance(operand, Cursor) for operand in operands):
            if equation.primitive.name == "allocate_qubits":
                return [cursor]
            params = equation.primitive.get_bind_params(equation.params)
            return equation.primitive.bind(*operands, **params)
        classical = [operand for operand in operands if not isinstance(operand, Cursor)]
        found = parameters_of(equation, classical)
        if found is not None:
            cursor.take(found, equation.invars[1:])
            return [cursor]
        return CONTROL_FLOW[equation.primitive.name](equation, classical, cursor)

    return step


# --- control flow: position and total are carried where the register was --------------------------


def _region(closed: ClosedJaxpr, weights: Any, leading: int) -> Region:
    """`[*captured, *leading operands, position, total, *carry] -> [position, total, *carry]`."""
    avals = [
        variable.aval for variable in closed.jaxpr.invars if not is_register_aval(variable.aval)
    ]
    state = [
        ShapedArray((), np.dtype(np.int64)),
        ShapedArray((), np.dtype(np.float64)),
    ]

    def body(*arguments: Any) -> Sequence[Any]:
        position, total = arguments[leading : leading + 2]
        cursor = Cursor(weights, position, total)
        rest = [*arguments[:leading], *arguments[leading + 2 :]]
        results = run_surrogate(closed, rest, cursor)
        return [*cursor.settled(), *results]

    jaxpr, captured = trace_to_jaxpr(body, [*avals[:leading], *state, *avals[leading:]], "gradient")
    return Region(jaxpr, tuple(captured), leading=leading)


def _state(cursor: Cursor) -> list[Any]:
    position, total = cursor.settled()
    return [jnp.asarray(position, jnp.int64), jnp.asarray(total, jnp.float64)]


def _state_avals(values: Sequence[Any]) -> list[Any]:
    return [jax.typeof(value) for value in values]


def _classical_avals(equation: Equation) -> list[Any]:
    return [aval for aval in equation.params["result_avals"] if not is_register_aval(aval)]


def _continue(cursor: Cursor, results: Sequence[Any]) -> list[Any]:
    cursor.start, cursor.total = results[:2]
    return [cursor, *results[2:]]


def _for_loop(equation: Equation, operands: Sequence[Any], cursor: Cursor) -> Sequence[Any]:
    params = equation.params
    count = params["body_nconsts"]
    region = _region(params["body_jaxpr"], cursor.weights, count + 1)
    state = _state(cursor)
    results = for_loop_p.bind(
        *region.captured, *operands[: count + 3], *state, *operands[count + 3 :],
        **{
            **params,
            "body_jaxpr": region.jaxpr,
            "body_nconsts": len(region.captured) + count,
            "result_avals": (*_state_avals(state), *_classical_avals(equation)),
        },
    )  # fmt: skip
    return _continue(cursor, results)


def _while_loop(equation: Equation, operands: Sequence[Any], cursor: Cursor) -> Sequence[Any]:
    params = equation.params
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    region = _region(params["body_jaxpr"], cursor.weights, count)
    state = _state(cursor)
    test = params["cond_jaxpr"]
    kept = [aval for aval in test.in_avals if not is_register_aval(aval)]
    avals = [*kept[:tested], *_state_avals(state), *kept[tested:]]
    positions = [*range(tested), *range(tested + 2, len(avals))]
    condition = select_inputs(_without_register(test), positions, avals)
    start = tested + count
    results = while_loop_p.bind(
        *operands[:tested], *region.captured, *operands[tested:start], *state, *operands[start:],
        **{
            **params,
            "cond_jaxpr": condition,
            "body_jaxpr": region.jaxpr,
            "body_nconsts": len(region.captured) + count,
            "result_avals": (*_state_avals(state), *_classical_avals(equation)),
        },
    )  # fmt: skip
    return _continue(cursor, results)


def _without_register(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A condition, which never looks at the register, without it."""
    kept = [v for v in closed.jaxpr.invars if not is_register_aval(v.aval)]
    return closed.replace(
        jaxpr=closed.jaxpr.replace(
            invars=kept, debug_info=closed.jaxpr.debug_info.with_unknown_names()
        )
    )


def _switch(equation: Equation, operands: Sequence[Any], cursor: Cursor) -> Sequence[Any]:
    index, *values = operands
    state = _state(cursor)
    regions = [_region(branch, cursor.weights, 0) for branch in equation.params["branch_jaxprs"]]
    shared, regions = share_captured(regions, [*state, *values])
    results = switch_p.bind(
        index,
        *shared,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=(*_state_avals(state), *_classical_avals(equation)),
    )
    return _continue(cursor, results)


CONTROL_FLOW: Mapping[str, Callable[[Equation, Sequence[Any], Cursor], Sequence[Any]]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
OPERATIONS = ("gate", "global_phase", "unitary", "diagonal", "prepare", "check_wires")
_QUANTUM = frozenset({"allocate_qubits", *OPERATIONS, *CONTROL_FLOW})
