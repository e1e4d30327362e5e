"""The body of a few elements of a batch, from that of one.

In: the body of an element, a jaxpr with one QNode. Out: a function of the operands of the whole
batch, whose elements are groups of `lanes` elements of before; or None, where elements stay
apart: their registers are too large to gain from it, or something in them has no rule for lanes
(`rules`), or must run once for each element (callbacks, random numbers of other kinds).

The last axis of the batch is cut into groups, the last of which is filled up; its lanes that stand
for no element are never active. An element draws what it would draw alone: lanes know its number.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.control_flow.batching import with_axes
from diastase.autodiff.control_flow.predication import active, where_active
from diastase.autodiff.lanes.rules import RULES
from diastase.capture.context import current_settings
from diastase.jaxprs.dependence import lasting
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.batching import Mapped, batch_sizes, element_avals, parallel_map_p
from diastase.primitives.define import PRIMITIVES, Role, has_role
from diastase.primitives.errors import NotTransformableError
from diastase.primitives.lanes import lanes_allocate_p
from diastase.primitives.quantum import AbstractRegister
from diastase_mlir.jax_compat import (
    BatchAxis,
    batched,
    equations_in,
    set_elements_of,
    trace_to_jaxpr,
    while_p,
    with_jaxprs,
)
from diastase_mlir.rerolling import operations_p, with_runs_of_gates

_LEAST_LANES = 8
"""The numbers of a vector."""
_FEWEST = 4
"""Elements that are worth a vector."""
_LEAST_GATES = 4
"""In a row, from which on they are one operation: each by itself has loops of its own for its
parameters, which LLVM compiles."""
_MOST_ARRAYS = 64
"""Numbers for each lane that operations take, and operations without any: they are written out in
a body, and each has loops of its own, which LLVM compiles; those of an element alone have none."""

_NUMBER = ShapedArray((), np.dtype(np.int64))
Equation = Any


set_elements_of(AbstractRegister, lambda register: register.update(shape=()))


@dataclass(frozen=True)
class _Sizes:
    """How large lane registers are."""

    wires: int
    """At most."""
    lanes: int
    """At most, where the size of the batch is known, and else."""
    unknown_lanes: int
    numbers: int
    """Amplitudes, at most, unless eight lanes have more."""
    groups: int
    """So many at least there are to be, for threads, if it costs no lanes of a vector."""


_ON_PROCESSOR = _Sizes(wires=9, lanes=64, unknown_lanes=64, numbers=1 << 10, groups=16)
"""With more wires eight registers are far larger than the first-level cache: nothing is gained."""
_ON_GPU = _Sizes(wires=12, lanes=1 << 17, unknown_lanes=256, numbers=1 << 24, groups=1)
"""As many as there are: each gate is a launch for all of them. 256 MiB of amplitudes."""


def _sizes() -> _Sizes:
    compiler = current_settings().compiler
    return _ON_GPU if compiler is not None and compiler.on_gpu else _ON_PROCESSOR


@dataclass(frozen=True)
class _Register:
    """The one register that an element has."""

    num_wires: int
    qnode: str


@dataclass(frozen=True)
class Groups:
    """A batch whose elements go together."""

    lanes: int
    compute: Callable[..., Sequence[Any]]
    """From the operands of the batch to its results."""


def in_groups(jaxpr: ClosedJaxpr, avals: Sequence[Any], mapped: Mapped) -> Groups | None:
    """How to compute a batch, whose operands have these types; None: elements stay apart."""
    register = _register_of(jaxpr)
    if register is None:
        return None
    *others, number = batch_sizes(avals, mapped)
    lanes = _lanes(register.num_wires, others, number)
    if lanes is None:
        return None
    jaxpr = _with_runs(jaxpr)
    if _arrays_of_operations(jaxpr) > _MOST_ARRAYS:
        return None
    by_lane = [flags[-1] for flags in mapped]
    types = element_avals(avals, mapped)
    try:
        group = _group(jaxpr, register, types, by_lane, lanes)
    except NotTransformableError:
        return None

    def whole(*operands: Any) -> Sequence[Any]:
        groups = (number + lanes - 1) // lanes
        values = [
            _cut(operand, sum(flags) - 1, groups, lanes) if flags[-1] else operand
            for operand, flags in zip(operands, mapped, strict=True)
        ]
        starts = jnp.arange(groups, dtype=jnp.int64) * lanes
        leading = jnp.arange(math.prod(others), dtype=jnp.int64).reshape(*others, 1) * number
        all_axes = (True,) * len(mapped[0])
        found = parallel_map_p.bind(
            *group.captured,
            leading + starts,
            jnp.broadcast_to(number - starts, (*others, groups)),
            *values,
            jaxpr=group.jaxpr,
            mapped=(*group.unmapped(len(all_axes)), all_axes, all_axes, *mapped),
        )
        return [_joined(result, len(others), groups * lanes, number) for result in found]

    return Groups(lanes, whole)


@dataclass(frozen=True)
class _Group:
    """`[*captured, first, number left, *operands] -> results`, all with an axis for the lanes."""

    jaxpr: ClosedJaxpr
    captured: Sequence[Any]

    def unmapped(self, axes: int) -> Mapped:
        """The flags of what it captures."""
        return tuple((False,) * axes for _ in self.captured)


def _lanes(num_wires: int, others: Sequence[Any], number: Any) -> int | None:
    """How many registers go together, if that is worth it."""
    sizes = _sizes()
    most = max(_LEAST_LANES, min(sizes.lanes, sizes.numbers >> num_wires))
    if not isinstance(number, int):
        return min(sizes.unknown_lanes, most)
    if number < _FEWEST:
        return None
    if sizes.groups == 1:
        # As few groups as there can be, all of them alike, of whole vectors.
        groups = -(-number // most)
        return -(-number // (groups * _LEAST_LANES)) * _LEAST_LANES
    elements = number * math.prod(size for size in others if isinstance(size, int))
    return max(_LEAST_LANES, 1 << max(min(most, elements // sizes.groups), 1).bit_length() - 1)


def _cut(array: Any, axis: int, groups: Any, lanes: int) -> Any:
    """The array, filled up with zeros, with an axis for groups and one for lanes."""
    shape = array.shape
    if shape[axis] != groups * lanes:
        missing = (*shape[:axis], groups * lanes - shape[axis], *shape[axis + 1 :])
        # Keys of random numbers have zeros, too, but are not padded with any.
        array = jnp.concatenate([array, jnp.zeros(missing, array.dtype)], axis)
    return array.reshape(*shape[:axis], groups, lanes, *shape[axis + 1 :])


def _joined(array: Any, axis: int, filled: Any, number: Any) -> Any:
    shape = array.shape
    flat = array.reshape(*shape[:axis], filled, *shape[axis + 2 :])
    return flat if filled == number else flat[(slice(None),) * axis + (slice(number),)]


def _group(
    jaxpr: ClosedJaxpr,
    register: _Register,
    types: Sequence[Any],
    by_lane: Sequence[bool],
    lanes: int,
) -> _Group:
    """The body of a group."""
    axis = BatchAxis(name=object(), size=lanes, spmd_name=None, _ema=None)
    dims = [0 if flag else None for flag in by_lane]

    def body(first: Any, left: Any, *operands: Any) -> Sequence[Any]:
        own = lanes_allocate_p.bind(
            first, num_wires=register.num_wires, lanes=lanes, qnode=register.qnode
        )
        flags = jnp.arange(lanes) < left
        (own,) = where_active(flags, [own])
        with active(axis, flags):
            results, found = batched(axis, _element, [own, *operands], [0, *dims])
        return with_axes(axis, results, found, [True] * len(found))

    def _element(own: Any, *operands: Any) -> Sequence[Any]:
        def qnode(equation: Equation, *operands: Any) -> Sequence[Any]:
            return evaluated(equation.params["jaxpr"], operands, instead)

        instead: Mapping[str, Any] = {
            "qnode": qnode,
            "inlined": qnode,
            "allocate_qubits": lambda *_: [own],
        }
        return evaluated(jaxpr, operands, instead)

    avals = [_NUMBER, _NUMBER] + [
        aval.update(shape=(lanes, *aval.shape)) if flag else aval
        for aval, flag in zip(types, by_lane, strict=True)
    ]
    closed, captured = trace_to_jaxpr(body, avals, "lanes")
    return _Group(closed, captured)


# --- what fits ------------------------------------------------------------------------------------


def _register_of(jaxpr: ClosedJaxpr) -> _Register | None:
    """The register of an element whose equations all have a form for lanes."""
    equations = list(equations_in(jaxpr))
    made = [each for each in equations if each.primitive.name == "allocate_qubits"]
    if len(made) != 1 or made[0] not in list(_outside_of_control_flow(jaxpr)):
        return None
    params = made[0].params
    wires = params["num_wires"]
    plain = not (params.get("single") or params.get("mixed") or params.get("derivative_wires"))
    if not plain or wires is None or not 1 <= wires <= _sizes().wires:
        return None
    fits = all(_has_form(each, wires) for each in equations)
    return _Register(wires, params["qnode"]) if fits else None


def _outside_of_control_flow(jaxpr: ClosedJaxpr) -> Sequence[Equation]:
    found: list[Equation] = []
    for equation in jaxpr.jaxpr.eqns:
        found.append(equation)
        if has_role(equation, Role.INLINED):
            found += _outside_of_control_flow(equation.params["jaxpr"])
    return found


def _has_form(equation: Equation, num_wires: int) -> bool:
    """Whether an equation can be for several elements."""
    name = equation.primitive.name
    if name not in PRIMITIVES:
        return not equation.effects and "callback" not in name and _ends_in_all_lanes(equation)
    if name == "check_wires":
        wires = equation.params["wires"]
        known = all(wire is not None and 0 <= wire < num_wires for wire in wires)
        return known and len(set(wires)) == len(wires)
    if name == "allocate_qubits" or (name, "vmap_of_axis") in RULES:
        return True
    return has_role(equation, Role.CONTROL_FLOW, Role.CLASSICAL, Role.INLINED)


def _ends_in_all_lanes(equation: Equation) -> bool:
    """Whether what is JAX's own ends where an element does not come, which it is not told.

    JAX's `while` goes on until the last lane is through, whatever that lane has in it. Our loops
    are predicated, but not in jaxprs that JAX batches by itself.
    """
    inside = equations_in(equation.params)
    return equation.primitive is not while_p and not any(
        has_role(each, Role.CONTROL_FLOW) for each in inside
    )


# --- gates in a row -------------------------------------------------------------------------------


def _with_runs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The body with one equation (`rerolling`) for gates that follow each other, at any depth."""
    inner = closed.jaxpr
    equations = [*map(_runs_inside, with_runs_of_gates(inner, lasting, _LEAST_GATES))]
    same = len(equations) == len(inner.eqns) and all(map(is_, equations, inner.eqns))
    return closed if same else closed.replace(jaxpr=inner.replace(eqns=equations))


def _runs_inside(equation: Equation) -> Equation:
    if not has_role(equation, Role.CONTROL_FLOW, Role.INLINED):
        return equation
    params = with_jaxprs(equation.params, _with_runs)
    return equation if params is equation.params else equation.replace(params=params)


def _arrays_of_operations(jaxpr: ClosedJaxpr) -> int:
    return sum(
        max(1, len(equation.invars) - 1)
        for equation in equations_in(jaxpr)
        if equation.primitive is operations_p or has_role(equation, Role.OPERATION)
    )
