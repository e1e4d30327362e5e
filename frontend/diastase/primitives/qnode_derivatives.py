"""Derivatives of a QNode as equations: two families, closed under JVP, transposition and `vmap`.

Write f for a QNode's body as a function of its operands x, and D^k f(x)[v1, ..., vk] for its k-th
derivative, which is linear in each direction v and the same for any order of them.

    qnode_tangent    [*x, *v1, ..., *vk]        D^k f(x)[v1, ..., vk], for k >= 1
    qnode_cotangent  [*x, *v1, ..., *vk, *ct]   gradient by x of ct . D^k f(x)[v1, ..., vk]

A direction has entries for some operands only, `directions[j]` lists their positions; the gradient
is given for the operands in `wanted`. Only results of f that are inexact have derivatives, they
alone are results of `qnode_tangent`, and have cotangents, in their order.

Differentiating the first by x adds a direction; transposing it by a direction, given a cotangent,
gives the second without that direction. The second, differentiated by x, gets one more direction;
transposed by `ct` it gives the first with one more, and, as derivatives are symmetric, transposed
by a direction it is itself with the cotangent in that direction's place. So two primitives suffice
for any order and any nesting. Before a program is compiled they are replaced by circuits
(`autodiff`), so the compiler knows none of them.

An equation of a batch is each of its elements' (`primitives.batching`): what is found by
transposing it is added up over the axes that an operand lacks.

Complex numbers follow JAX: the pairing is the real part of ct . y, without conjugation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.primitives.batching import (
    Flags,
    Mapped,
    batched_avals,
    flags_of,
    mapped_parameter,
    one_more_axis,
    over_missing_axes,
)
from diastase.primitives.define import Role, define_primitive
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.quantum import qnode_p
from diastase_mlir.diagnostics import span_of, user_span
from diastase_mlir.jax_compat import equations_in

Positions = tuple[int, ...]


def is_inexact(aval: Any) -> bool:
    """Whether values of a type have derivatives."""
    dtype = getattr(aval, "dtype", None)
    kind = getattr(dtype, "kind", "V")  # NumPy's own types: asked of thousands of variables
    return kind in "fc" or (
        kind == "V" and dtype is not None and jnp.issubdtype(dtype, jnp.inexact)
    )


def inexact_positions(avals: Sequence[Any]) -> Positions:
    """The positions of what has derivatives."""
    return tuple(position for position, aval in enumerate(avals) if is_inexact(aval))


class Direction(NamedTuple):
    """A direction: its entries, for some operands."""

    positions: Positions
    entries: Sequence[Any]
    mapped: Mapped = ()
    """Of a batch: which of its axes each entry has."""


@dataclass(frozen=True)
class Operands:
    """The operands of either primitive, taken apart; or what there is one of for each of them."""

    values: tuple[Any, ...]
    directions: tuple[tuple[Any, ...], ...]
    cotangents: tuple[Any, ...]

    @classmethod
    def read(cls, operands: Sequence[Any], params: Mapping[str, Any]) -> "Operands":
        """Take operands apart; those of `qnode_tangent` have no cotangents."""
        count = len(params["jaxpr"].in_avals)
        values, rest = tuple(operands[:count]), tuple(operands[count:])
        directions: list[tuple[Any, ...]] = []
        for positions in params["directions"]:
            directions.append(rest[: len(positions)])
            rest = rest[len(positions) :]
        return cls(values, tuple(directions), rest)


@dataclass(frozen=True)
class Point:
    """An equation of either primitive: its operands, with the flags of a batch, and directions."""

    given: Operands
    mapped: Operands
    directions: list[Direction]
    params: dict[str, Any]
    """Those of the `qnode` equation, and the flags of its operands."""

    @classmethod
    def read(cls, operands: Sequence[Any], params: Mapping[str, Any]) -> "Point":
        """Take an equation apart."""
        given = Operands.read(operands, params)
        mapped = Operands.read(flags_of(params, len(operands)), params)
        directions = list(map(Direction, params["directions"], given.directions, mapped.directions))
        own = {name: value for name, value in params.items() if name not in _OF_DERIVATIVES}
        return cls(given, mapped, directions, {**own, **mapped_parameter(mapped.values)})

    @property
    def axes(self) -> int:
        """How many axes the batch has."""
        return len(self.mapped.values[0])

    def along(self, tangents: Sequence[Any]) -> Direction:
        """The direction of tangents of the QNode's own operands."""
        return _along(tangents, self.mapped.values)

    def full(self, values: Sequence[Any]) -> Mapped:
        """Flags of values that have all axes of the batch, as results do."""
        return ((True,) * self.axes,) * len(values)


_OF_DERIVATIVES = frozenset({"directions", "wanted", "mapped"})


def _tangent_abstract_eval(
    *operands: Any, jaxpr: Any, directions: tuple[Positions, ...], **params: Any
) -> tuple[Sequence[Any], set[Any]]:
    avals = jaxpr.out_avals
    found = [avals[position].strip_weak_type() for position in inexact_positions(avals)]
    return batched_avals(found, operands, params), set()


def _cotangent_abstract_eval(
    *operands: Any, jaxpr: Any, wanted: Positions, **params: Any
) -> tuple[Sequence[Any], set[Any]]:
    found = [jaxpr.in_avals[position].strip_weak_type() for position in wanted]
    return batched_avals(found, operands, params), set()


def _flat(
    values: Sequence[Any], directions: Sequence[Direction], params: dict[str, Any]
) -> tuple[list[Any], list[Flags]]:
    """All operands but cotangents, and their flags; `params` are those of the `qnode` equation."""
    mapped = list(flags_of(params, len(values)))
    operands = list(values)
    for positions, entries, flags in directions:
        operands += entries
        mapped += flags or ((),) * len(positions)
    return operands, mapped


def tangent(values: Sequence[Any], directions: Sequence[Direction], **params: Any) -> list[Any]:
    """D^k f(x)[v1, ..., vk]; `params` are those of the `qnode` equation."""
    operands, mapped = _flat(values, directions, params)
    positions = tuple(direction.positions for direction in directions)
    params |= mapped_parameter(tuple(mapped))
    return qnode_tangent_p.bind(*operands, directions=positions, **params)


def cotangent(
    values: Sequence[Any],
    directions: Sequence[Direction],
    cotangents: Sequence[Any],
    wanted: Positions,
    flags: Mapped = (),
    **params: Any,
) -> list[Any]:
    """The gradient by the operands in `wanted` of ct . D^k f(x)[v1, ..., vk].

    `flags` are those of the cotangents. Of a batch, it is that of each element.
    """
    operands, mapped = _flat(values, directions, params)
    mapped += flags or ((),) * len(cotangents)
    positions = tuple(direction.positions for direction in directions)
    params |= mapped_parameter(tuple(mapped))
    return qnode_cotangent_p.bind(
        *operands, *cotangents, directions=positions, wanted=wanted, **params
    )


def active(tangents: Sequence[Any]) -> tuple[Positions, list[Any]]:
    """Which of some tangents are not zero by construction, and these."""
    positions = tuple(
        position
        for position, value in enumerate(tangents)
        if type(value) is not ad.Zero and is_inexact(jax.typeof(value))  # may be a Python number
    )
    return positions, [tangents[position] for position in positions]


def _along(tangents: Sequence[Any], mapped: Mapped) -> Direction:
    positions, entries = active(tangents)
    return Direction(positions, entries, tuple(mapped[position] for position in positions))


def refuse_stateful(construct: str, closed: ClosedJaxpr) -> None:
    """Refuse what is run again for its derivative, and would be given other values then."""
    place = _place_of(closed.jaxpr, "io_callback", with_results=True)
    if place is not None:
        reason = f"{construct} is run again for its derivative, and would be given other values: "
        reason += "call it before, and pass the values in"
        raise NoDerivativeError(construct="io_callback", reason=reason, span=span_of(place))


def _qnode_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Sequence[Any], Sequence[Any]]:
    results = qnode_p.bind(*primals, **params)
    direction = _along(tangents, flags_of(params, len(primals)))
    method, options = params.get("differentiation") or (None, ())
    if direction.positions and params["jaxpr"].effects:
        refuse_stateful(f"QNode {params['name']}", params["jaxpr"])
    if direction.positions and method == "refused":
        _refuse(params["name"], params["jaxpr"], **dict(options))
    changes: list[Any] = [_zero(result) for result in results]
    if direction.positions:
        found = tangent(primals, [direction], **params)
        for position, value in zip(inexact_positions(results), found, strict=True):
            changes[position] = value
    return results, changes


def _refuse(name: str, jaxpr: Any, *, reason: str, at: str | None = None) -> NoReturn:
    """An error with the line of the first equation `at`, where there is such a reason."""
    place = None if at is None else _place_of(jaxpr.jaxpr, at)
    construct = f"QNode {name}" if at is None else at
    span = user_span() if place is None else span_of(place)
    raise NoDerivativeError(construct=construct, reason=reason, span=span)


def _place_of(jaxpr: Any, primitive: str, with_results: bool = False) -> Any:
    """Where the first equation of a primitive was written, at any depth; None without one."""
    for equation in equations_in(jaxpr):
        if equation.primitive.name == primitive and (equation.outvars or not with_results):
            return equation.source_info
    return None


def _zero(result: Any) -> ad.Zero:
    return ad.Zero(jax.typeof(result).to_tangent_aval())


def _sum(terms: Sequence[Sequence[Any]], zeros: Sequence[Any]) -> list[Any]:
    """Terms, each a list of results, added up; zeros where there are none."""
    if not terms:
        return [_zero(zero) for zero in zeros]
    total = list(terms[0])
    for term in terms[1:]:
        total = [ad.add_jaxvals(old, new) for old, new in zip(total, term, strict=True)]
    return total


def _tangent_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Sequence[Any], Sequence[Any]]:
    at, moved = Point.read(primals, params), Operands.read(tangents, params)
    results = tangent(at.given.values, at.directions, **at.params)
    terms: list[Any] = []
    along = at.along(moved.values)
    if along.positions:
        terms.append(tangent(at.given.values, [*at.directions, along], **at.params))
    for changed in _with_one_moved(at.directions, moved):
        terms.append(tangent(at.given.values, changed, **at.params))
    return results, _sum(terms, results)


def _with_one_moved(old: Sequence[Direction], moved: Operands) -> Sequence[list[Direction]]:
    """The directions with one of them replaced by its tangent, for each that has one."""
    found: list[list[Direction]] = []
    for number, (direction, entries) in enumerate(zip(old, moved.directions, strict=True)):
        kept, values, flags = _along(entries, direction.mapped)
        if kept:
            places = tuple(direction.positions[position] for position in kept)
            changed = Direction(places, values, flags)
            found.append([*old[:number], changed, *old[number + 1 :]])
    return found


def _cotangent_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, wanted: Positions, **params: Any
) -> tuple[Sequence[Any], Sequence[Any]]:
    at, moved = Point.read(primals, params), Operands.read(tangents, params)
    values, flags = at.given.values, at.mapped.cotangents

    def gradient(directions: Sequence[Direction], cotangents: Sequence[Any]) -> list[Any]:
        return cotangent(values, directions, cotangents, wanted, flags, **at.params)

    results = gradient(at.directions, at.given.cotangents)
    terms: list[Any] = []
    along = at.along(moved.values)
    if along.positions:
        terms.append(gradient([*at.directions, along], at.given.cotangents))
    for changed in _with_one_moved(at.directions, moved):
        terms.append(gradient(changed, at.given.cotangents))
    if active(moved.cotangents)[0]:
        changes = list(map(ad.instantiate_zeros, moved.cotangents))
        terms.append(gradient(at.directions, changes))
    return results, _sum(terms, results)


def _undefined(operands: Operands) -> int | None:
    """The direction that an equation is transposed by; None for the cotangents."""
    for number, entries in enumerate(operands.directions):
        if any(map(ad.is_undefined_primal, entries)):
            return number
    return None


def _tangent_transpose(cotangents: Sequence[Any], *operands: Any, **params: Any) -> Sequence[Any]:
    at = Point.read(operands, params)
    number = _undefined(at.given)
    assert number is not None, "a derivative is linear in its directions only"
    others = [*at.directions[:number], *at.directions[number + 1 :]]
    known, wanted = list(map(ad.instantiate_zeros, cotangents)), at.directions[number].positions
    flags = at.full(known)
    found = cotangent(at.given.values, others, known, wanted, flags, **at.params)
    return _at_direction(at, number, found)


def _at_direction(at: Point, number: int, found: Sequence[Any]) -> list[Any]:
    """Results for one direction, None for all other operands."""
    results: list[Any] = [None] * len(at.given.values)
    for index, direction in enumerate(at.directions):
        count = len(direction.positions)
        results += _fitted(found, direction.mapped) if index == number else [None] * count
    return [*results, *[None] * len(at.given.cotangents)]


def _fitted(found: Sequence[Any], mapped: Mapped) -> list[Any]:
    """What was found for each element of a batch, for operands that have these of its axes."""
    return [over_missing_axes(value, flags) for value, flags in zip(found, mapped, strict=True)]


def _cotangent_transpose(
    weights: Sequence[Any], *operands: Any, wanted: Positions, **params: Any
) -> Sequence[Any]:
    at = Point.read(operands, params)
    number = _undefined(at.given)
    known = list(map(ad.instantiate_zeros, weights))
    along = Direction(wanted, known, at.full(known))
    if number is None:
        found = tangent(at.given.values, [*at.directions, along], **at.params)
        count = len(operands) - len(at.given.cotangents)
        return [*[None] * count, *_fitted(found, at.mapped.cotangents)]
    directions = [*at.directions[:number], along, *at.directions[number + 1 :]]
    cts, by = at.given.cotangents, at.directions[number].positions
    found = cotangent(at.given.values, directions, cts, by, at.mapped.cotangents, **at.params)
    return _at_direction(at, number, found)


qnode_tangent_p = define_primitive(
    "qnode_tangent",
    Role.CIRCUIT,
    Role.EXPANDED,
    construct="the derivative of a QNode",
    abstract_eval=_tangent_abstract_eval,
    has_effects=True,
    rules={
        "jvp": _tangent_jvp,
        "transpose": _tangent_transpose,
        "vmap_of_axis": lambda *args, **params: one_more_axis(qnode_tangent_p, *args, **params),
    },
)

qnode_cotangent_p = define_primitive(
    "qnode_cotangent",
    Role.CIRCUIT,
    Role.EXPANDED,
    construct="the derivative of a QNode",
    abstract_eval=_cotangent_abstract_eval,
    has_effects=True,
    rules={
        "jvp": _cotangent_jvp,
        "transpose": _cotangent_transpose,
        "vmap_of_axis": lambda *args, **params: one_more_axis(qnode_cotangent_p, *args, **params),
    },
)

RULES = {("qnode", "jvp"): _qnode_jvp}
"""For `provide_rules`."""
