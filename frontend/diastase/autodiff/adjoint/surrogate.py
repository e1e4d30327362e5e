"""The classical surrogate of a circuit: what its derivatives by parameters mean for its arguments.

A sweep gives the derivative g of the loss by each parameter of each executed operation. Here the
same program runs with its register taken away, and each operation replaced by "add g . parameters":

    total = sum over executed operations of g . parameters(x)

With g held fixed, the gradient of `total` by x is the gradient of the loss. It is an ordinary
classical program: loops, branches and all that happens to parameters on their way come for free.
Operations take what is theirs from g in the order of execution (`circuit_interpreter`).

Programs do not grow with the number of gates. Operations that follow each other with no control
flow between them are one equation on vectors of parameters (`rerolling`), a *stretch*; their
derivatives are put into the places of these vectors at once, and a region's are added up at its
end. What else reads parts of inputs has its derivatives put into their places at once, too: JAX
would transpose each of a thousand slices to an array of zeros with the part in it.

The trap: only the gradient of `total` is meant.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Var

from diastase.jaxprs.circuit_interpreter import Visitor, Walk, walked
from diastase.jaxprs.control_flow import known_trips
from diastase.jaxprs.dependence import lasting
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.define import Role, has_role
from diastase.primitives.qnode_derivatives import Positions
from diastase.primitives.quantum import touches_register
from diastase_mlir.jax_compat import closed_jaxprs_in, rebuilt, with_jaxprs
from diastase_mlir.rerolling import (
    LEAST_ALIKE,
    Part,
    Places,
    is_view,
    join_positions,
    numbers_of,
    put_into_places,
    register_operations,
    rerolled,
    viewed,
    whole,
)

Equation = Any


def surrogate_gradient(
    head: Any, values: Sequence[Any], weights: Any, wanted: Positions, more: Any
) -> list[Any]:
    """The gradient of `weights . parameters`, and of what `more` makes of the head's results."""
    inputs = head.jaxpr.invars
    sources = [inputs[position] for position in wanted]
    slicing, region, parts = _without_parts(_in_stretches(head), sources)
    given = dict(zip(inputs, values, strict=True))

    def loss(arguments: Sequence[Any]) -> Any:
        known = given | dict(zip(parts, arguments, strict=True))
        walk, visitor = Walk(total=jnp.float64(0)), _Surrogate(weights)
        operands = [known[variable] for variable in region.jaxpr.invars]
        results = walked(region, operands, walk, visitor)
        visitor.settle(walk)
        return walk.total + more([value for value in results if not isinstance(value, Walk)])

    _, pull_back = jax.vjp(loss, evaluated(slicing, values))
    (found,) = pull_back(jnp.float64(1))
    of_source = {variable: list[tuple[Any, Part, Any]]() for variable in sources}
    for (variable, part), cotangent in zip(parts.items(), found, strict=True):
        of_source[part.root].append((variable, part, cotangent))
    return [_put_together(variable, of_source[variable]) for variable in sources]


def _without_parts(
    closed: ClosedJaxpr, wanted: Collection[Any]
) -> tuple[ClosedJaxpr, ClosedJaxpr, dict[Any, Part]]:
    """What takes parts of some inputs, the rest as a jaxpr of all inputs and these, and the parts.

    An input of which not only parts are read is a part itself, and the first jaxpr gives it, too.
    """
    inputs = closed.jaxpr.invars
    parts = {variable: whole(variable) for variable in inputs if variable in wanted}
    slices, others = list[Any](), list[Any]()
    for equation in closed.jaxpr.eqns:
        if is_view(equation) and equation.invars[0] in parts:
            parts[equation.outvars[0]] = viewed(parts[equation.invars[0]], equation)
            slices.append(equation)
        else:
            others.append(equation)
    read = [atom for equation in others for atom in equation.invars] + closed.jaxpr.outvars
    used = dict.fromkeys(atom for atom in read if isinstance(atom, Var) and atom in parts)
    slicing = rebuilt(closed, inputs, slices, list(used))
    rest = rebuilt(closed, list(dict.fromkeys([*inputs, *used])), others, closed.jaxpr.outvars)
    return slicing, rest, {variable: parts[variable] for variable in used}


def _put_together(variable: Any, parts: Sequence[tuple[Any, Part, Any]]) -> Any:
    """The cotangent of an input, given its parts, each with its variable and its cotangent."""
    aval = variable.aval
    total, places, numbers = None, list[np.ndarray](), list[Any]()
    for own, part, cotangent in parts:
        if own is variable:
            total = cotangent
        else:
            places.append(part.places(cotangent.shape))
            numbers.append(lax.reshape(cotangent, (cotangent.size,)))
    if places:
        targets = np.concatenate(places)
        pieces = [(targets, np.arange(len(targets)))]
        flat = put_into_places(aval.size, pieces, lax.concatenate(numbers, 0))
        own = lax.reshape(flat, aval.shape)
        total = own if total is None else lax.add(total, own)
    return jnp.zeros(aval.shape, aval.dtype) if total is None else total


# --- the sum --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stretch:
    """A stretch that was executed, from a number of g on: one known now, or a traced one."""

    start: Any
    places: Places
    operands: Sequence[Any]

    @property
    def count(self) -> int:
        """How many numbers g has for it."""
        return len(self.places.operands)


class _Surrogate(Visitor):
    """Adds `g . parameters`."""

    def __init__(self, weights: Any) -> None:
        self._weights = weights
        """g: f64[N], and at least as many zeros after that as any stretch needs."""

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """Note a stretch."""
        entry = _Stretch(walk.position, equation.params["places"], operands)
        if entry.count:
            walk.pending.append(entry)
            walk.position = walk.position + entry.count
        return operands

    def settle(self, walk: Walk) -> None:
        """Add all stretches since the last time."""
        if walk.pending:
            walk.total = lax.add(walk.total, _total_of(self._weights, walk.pending))
            walk.pending = []

    def count(self, equation: Equation) -> int | None:
        """Where no value of the program decides it."""
        return _parameters_of(equation)


def _total_of(weights: Any, taken: Sequence[_Stretch]) -> Any:
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


def _window(weights: Any, entry: _Stretch) -> Any:
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


# --- stretches ------------------------------------------------------------------------------------


def _in_stretches(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The region with one equation, `operations`, for each stretch, at any depth."""
    inner = closed.jaxpr
    runs = list(register_operations(inner.eqns, lambda each: has_role(each, Role.RECORDED)))
    joins = join_positions(inner.eqns, LEAST_ALIKE)
    equations = rerolled(inner.eqns, inner.outvars, runs, _parameters, lasting, joins=joins)
    return rebuilt(closed, inner.invars, [*map(_stretches_inside, equations)], inner.outvars)


def _stretches_inside(equation: Equation) -> Equation:
    if not (touches_register(equation) and has_role(equation, Role.CONTROL_FLOW)):
        return equation
    return equation.replace(params=with_jaxprs(equation.params, _in_stretches))


def _parameters(equation: Equation) -> Sequence[Any]:
    """What g has numbers for: scalars, or one array."""
    length = parameters_of_operation(equation)
    is_array = has_role(equation, Role.OF_ARRAY)
    return equation.invars[1 : 1 + (min(length, 1) if is_array else length)]


# --- the number of parameters of executed operations ----------------------------------------------


def number_of_parameters(closed: ClosedJaxpr, bound: bool = False) -> int | None:
    """The length of g for one execution of a region; None where a value of the program decides it.

    `bound`: a number that it does not exceed, nor does any stretch in it, executed or not.
    """
    total = 0
    for equation in closed.jaxpr.eqns:
        more = _parameters_of(equation, bound)
        if more is None:
            return None
        total += more
    return total


def _parameters_of(equation: Equation, bound: bool = False) -> int | None:
    if not has_role(equation, Role.CONTROL_FLOW):
        return parameters_of_operation(equation)
    found = [number_of_parameters(part, bound) for part in closed_jaxprs_in(equation.params)]
    counts = [count for count in found if count is not None]
    name, is_known = equation.primitive.name, len(counts) == len(found)
    if is_known and not any(counts):
        return 0
    if is_known and name == "switch":
        return max(counts) if bound or len(set(counts)) == 1 else None
    trips = known_trips(equation) if is_known and name == "for_loop" else None
    return None if trips is None else max(trips, int(bound)) * sum(counts)


def parameters_of_operation(equation: Equation) -> int:
    """How many real parameters an operation has."""
    name, params = equation.primitive.name, equation.params
    if name == "operations":
        return len(params["places"].operands)
    if name == "gate":
        return params["num_parameters"]
    if name == "global_phase":
        return 1
    return numbers_of(equation.invars[1].aval) if params.get("differentiated", False) else 0
