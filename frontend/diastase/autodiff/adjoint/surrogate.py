"""How many numbers g has for a region: one for each real parameter of each executed operation.

`exact_length` is the number itself, where no value of the program decides it. `bounded_length` is a
number that it does not exceed, nor does any stretch of operations in it, executed or not.

The operations of a region, in stretches: what the surrogate makes of them.

A *stretch* is operations that follow each other with no control flow between them. It is one
equation on vectors of parameters (`rerolling`): thousands of gates written out leave a few
equations. What a region does between stretches is kept as it is.

The classical surrogate of a circuit: what its derivatives by parameters mean for its arguments.

A sweep gives the derivative g of the loss by each parameter of each executed operation. Here the
same program runs with its register taken away, and each operation replaced by "add g . parameters":

    total = sum over executed operations of g . parameters(x)

With g held fixed, the gradient of `total` by x is the gradient of the loss. It is an ordinary
classical program: loops, branches and all that happens to parameters on their way come for free.
Operations take what is theirs from g in the order of execution; `Cursor` says where we are. Those
of a stretch (`gate_segments`) are taken together, and a region's are added up at its end.

The trap: only the gradient of `total` is meant.

What the operations of a region add to the surrogate's total, all at once: `g . parameters`.

Parameters are elements of a few vectors (`gate_segments`). Their derivatives g are put into the
places of these, so there are as many equations as there are vectors, not as there are operations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase.capture.control_flow.branches import share_captured
from diastase.capture.regions import Region
from diastase.jaxprs.constant_folding import simplified
from diastase.jaxprs.control_flow import known_range, known_trips
from diastase.jaxprs.dependence import lasting
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register_aval, touches_register
from diastase_mlir.jax_compat import (
    closed_jaxprs_in,
    equations_in,
    evaluate_equation,
    rebuilt,
    select_inputs,
    trace_to_jaxpr,
)
from diastase_mlir.rerolling import (
    LEAST_ALIKE,
    Places,
    join_positions,
    put_into_places,
    register_operations,
    rerolled,
)

Equation = Any


def length_of_operation(equation: Equation) -> int:
    """How many numbers g has for an operation."""
    name, params = equation.primitive.name, equation.params
    if name == "gate":
        return params["num_parameters"]
    if name == "global_phase":
        return 1
    return 2 * equation.invars[1].aval.size if params.get("differentiated", False) else 0


def exact_length(closed: ClosedJaxpr) -> int | None:
    """The number for one execution of a region; None where it is not known."""
    return _sum(closed, exact_length_of)


def exact_length_of(equation: Equation) -> int | None:
    """The number for one execution of an equation; None where it is not known."""
    if not has_role(equation, Role.CONTROL_FLOW):
        return length_of_operation(equation)
    lengths = [exact_length(region) for region in closed_jaxprs_in(equation.params)]
    if None in lengths or not any(lengths):
        return None if None in lengths else 0
    match equation.primitive.name:
        case "for_loop":
            trips = known_trips(equation)
            return None if trips is None else trips * sum(map(int, filter(None, lengths)))
        case "switch":
            return lengths[0] if len(set(lengths)) == 1 else None
        case _:
            return None


def bounded_length(closed: ClosedJaxpr) -> int | None:
    """A number that is never too small; None where there is none."""
    return _sum(closed, _bounded_length_of)


def longest_turn(closed: ClosedJaxpr) -> int:
    """The number for a region in which no loop goes round more than once, at least."""
    return sum(map(length_of_operation, equations_in(closed)))


def _bounded_length_of(equation: Equation) -> int | None:
    if not has_role(equation, Role.CONTROL_FLOW):
        return length_of_operation(equation)
    lengths = [bounded_length(region) for region in closed_jaxprs_in(equation.params)]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths) or not any(known):
        return 0 if len(known) == len(lengths) else None
    if equation.primitive.name == "for_loop":
        trips = known_trips(equation)
        return None if trips is None else max(trips, 1) * sum(known)
    return max(known) if equation.primitive.name == "switch" else None


def _sum(closed: ClosedJaxpr, length: Callable[[Equation], int | None]) -> int | None:
    total = 0
    for equation in closed.jaxpr.eqns:
        more = length(equation)
        if more is None:
            return None
        total += more
    return total


def in_stretches(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The region with one equation, `operations`, for each stretch."""
    inner = closed.jaxpr
    runs = list(register_operations(inner.eqns, _is_operation))
    joins = join_positions(inner.eqns, LEAST_ALIKE)
    equations = rerolled(inner.eqns, inner.outvars, runs, _parameters, lasting, joins=joins)
    return rebuilt(closed, inner.invars, equations, inner.outvars)


def _is_operation(equation: Equation) -> bool:
    return has_role(equation, Role.RECORDED)


def _parameters(equation: Equation) -> Sequence[Any]:
    """What g has numbers for: scalars, or one array."""
    length = length_of_operation(equation)
    is_array = has_role(equation, Role.OF_ARRAY)
    return equation.invars[1 : 1 + (min(length, 1) if is_array else length)]


@dataclass(frozen=True)
class Taken:
    """A stretch that was executed, from a number of g on: one known now, or a traced one."""

    start: Any
    places: Places
    operands: Sequence[Any]

    @property
    def count(self) -> int:
        """How many numbers g has for it."""
        return len(self.places.operands)


def total_of(weights: Any, taken: Sequence[Taken]) -> Any:
    """What stretches add."""
    values, firsts, size = list[Any](), dict[int, int](), 0
    windows, targets, sources, count = list[Any](), list[np.ndarray](), list[np.ndarray](), 0
    for entry in taken:
        for operand in entry.operands:
            if id(operand) not in firsts:
                firsts[id(operand)] = size
                values.append(_real_numbers(operand))
                size += values[-1].size
        owners, elements = entry.places.operands, entry.places.elements
        starts = np.array([firsts[id(operand)] for operand in entry.operands], int)
        known = np.flatnonzero(owners >= 0)
        targets.append(starts[owners[known]] + elements[known])
        sources.append(count + known)
        windows.append(_window(weights, entry))
        count += entry.count
    if not values:
        return np.float64(0)
    pieces = [(np.concatenate(targets), np.concatenate(sources))]
    shares = put_into_places(size, pieces, lax.concatenate(windows, 0))
    return lax.reduce_sum(lax.mul(shares, lax.concatenate(values, 0)), (0,))


def _window(weights: Any, entry: Taken) -> Any:
    """The numbers of g for a stretch."""
    if isinstance(entry.start, int):
        return lax.slice(weights, (entry.start,), (entry.start + entry.count,))
    start = [jnp.asarray(entry.start, jnp.int64)]
    return lax.dynamic_slice(weights, start, (entry.count,), allow_negative_indices=False)


def _real_numbers(value: Any) -> Any:
    """Parameters; of a complex array the real and the imaginary part of each element."""
    value = jnp.asarray(value)
    if jnp.iscomplexobj(value):
        value = jnp.stack([jnp.real(value), jnp.imag(value)], axis=-1)
    return jnp.ravel(value).astype(jnp.float64)


@dataclass
class Cursor:
    """How far we are in g, and what has been taken of it; stands for the register."""

    weights: Any
    """g: f64[N], and at least as many zeros after that as any stretch of operations needs."""
    start: Any
    """Where the next stretch of operations begins: a number until control flow is met."""
    total: Any
    _taken: list[Taken] = field(default_factory=list)

    def take(self, places: Places, operands: Sequence[Any]) -> None:
        """The operations of a stretch."""
        entry = Taken(self.start, places, operands)
        if entry.count:
            self._taken.append(entry)
            self.start = _moved(self.start, entry.count)

    def settled(self) -> tuple[Any, Any]:
        """Position and total, with all that was taken."""
        if self._taken:
            self.total = lax.add(self.total, total_of(self.weights, self._taken))
            self._taken = []
        return self.start, self.total


def _moved(start: Any, count: int) -> Any:
    return start + count if isinstance(start, int) else lax.add(start, np.int64(count))


def run_surrogate(region: ClosedJaxpr, operands: Sequence[Any], cursor: Cursor) -> list[Any]:
    """Evaluate a region in stretches with the cursor for its register: its classical results."""
    inputs = region.jaxpr.invars
    registers = dict.fromkeys(
        (variable for variable in inputs if is_register_aval(variable.aval)), cursor
    )
    given = iter(operands)
    values = [registers[variable] if variable in registers else next(given) for variable in inputs]
    names = {e.primitive.name for e in region.jaxpr.eqns if touches_register(e)}
    results = evaluated(region, values, dict.fromkeys(names, _stepping(cursor)))
    return [result for result in results if not isinstance(result, Cursor)]


def _stepping(cursor: Cursor) -> Callable[..., Sequence[Any]]:
    """What is done for an equation that may act on the register."""

    def step(equation: Equation, *operands: Any) -> Sequence[Any]:
        if not any(isinstance(operand, Cursor) for operand in operands):
            if equation.primitive.name == "allocate_qubits":
                return [cursor]
            return evaluate_equation(equation, operands)
        classical = [operand for operand in operands if not isinstance(operand, Cursor)]
        if equation.primitive.name == "operations":
            cursor.take(equation.params["places"], classical)
            return [cursor]
        return _CONTROL_FLOW[equation.primitive.name](equation, classical, cursor)

    return step


# --- control flow: position and total are carried where the register was --------------------------


def _region(
    closed: ClosedJaxpr, weights: Any, leading: int, indices: tuple[int, int] | None = None
) -> Region:
    """`[*captured, *leading operands, position, total, *carry] -> [position, total, *carry]`.

    `indices`: what the last of the leading operands lies in, where it is the index of a loop.
    """
    avals = [
        variable.aval for variable in closed.jaxpr.invars if not is_register_aval(variable.aval)
    ]
    state = [
        ShapedArray((), np.dtype(np.int64)),
        ShapedArray((), np.dtype(np.float64)),
    ]

    inside = in_stretches(closed)

    def body(*arguments: Any) -> Sequence[Any]:
        position, total = arguments[leading : leading + 2]
        cursor = Cursor(weights, position, total)
        rest = [*arguments[:leading], *arguments[leading + 2 :]]
        results = run_surrogate(inside, rest, cursor)
        return [*cursor.settled(), *results]

    jaxpr, captured = trace_to_jaxpr(body, [*avals[:leading], *state, *avals[leading:]], "gradient")
    ranges = {} if indices is None else {len(captured) + leading - 1: indices}
    return Region(simplified(jaxpr, ranges), tuple(captured), leading=leading)


def _state(cursor: Cursor) -> list[Any]:
    """What a construct begins with: it has a sum of its own."""
    return [jnp.asarray(cursor.start, jnp.int64), jnp.float64(0)]


def _state_avals(values: Sequence[Any]) -> list[Any]:
    return [jax.typeof(value) for value in values]


def _classical_avals(equation: Equation) -> list[Any]:
    return [aval for aval in equation.params["result_avals"] if not is_register_aval(aval)]


def _continue(equation: Equation, cursor: Cursor, results: Sequence[Any]) -> list[Any]:
    count = exact_length_of(equation)
    cursor.start = results[0] if count is None else _moved(cursor.start, count)
    cursor.total = lax.add(cursor.total, results[1])
    return [cursor, *results[2:]]


def _for_loop(equation: Equation, operands: Sequence[Any], cursor: Cursor) -> Sequence[Any]:
    params = equation.params
    count = params["body_nconsts"]
    region = _region(params["body_jaxpr"], cursor.weights, count + 1, known_range(equation))
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
    return _continue(equation, cursor, results)


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
    return _continue(equation, cursor, results)


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
    return _continue(equation, cursor, results)


_CONTROL_FLOW: Mapping[str, Callable[[Equation, Sequence[Any], Cursor], Sequence[Any]]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
