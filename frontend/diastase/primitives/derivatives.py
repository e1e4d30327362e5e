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
(`tracing.derivatives`), so the compiler knows none of them.

Complex numbers follow JAX: the pairing is the real part of ct . y, without conjugation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from diastase.primitives.define import define_primitive
from diastase.primitives.quantum import qnode_for_each, qnode_p

Positions = tuple[int, ...]


def is_inexact(aval: Any) -> bool:
    """Whether values of a type have derivatives."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def inexact_positions(avals: Sequence[Any]) -> Positions:
    """The positions of what has derivatives."""
    return tuple(position for position, aval in enumerate(avals) if is_inexact(aval))


@dataclass(frozen=True)
class Operands:
    """The operands of either primitive, taken apart."""

    values: tuple[Any, ...]
    directions: tuple[tuple[Any, ...], ...]
    cotangents: tuple[Any, ...]

    @classmethod
    def read(cls, operands: Sequence[Any], params: dict[str, Any]) -> "Operands":
        """Take operands apart; those of `qnode_tangent` have no cotangents."""
        count = len(params["jaxpr"].in_avals)
        values, rest = tuple(operands[:count]), tuple(operands[count:])
        directions: list[tuple[Any, ...]] = []
        for positions in params["directions"]:
            directions.append(rest[: len(positions)])
            rest = rest[len(positions) :]
        return cls(values, tuple(directions), rest)


def _tangent_abstract_eval(
    *operands: Any, jaxpr: Any, directions: tuple[Positions, ...], **_: Any
) -> tuple[Sequence[Any], set[Any]]:
    avals = jaxpr.out_avals
    return [avals[position].strip_weak_type() for position in inexact_positions(avals)], set()


def _cotangent_abstract_eval(
    *operands: Any, jaxpr: Any, wanted: Positions, **_: Any
) -> tuple[Sequence[Any], set[Any]]:
    return [jaxpr.in_avals[position].strip_weak_type() for position in wanted], set()


def tangent(
    values: Sequence[Any], directions: Sequence[tuple[Positions, Sequence[Any]]], **params: Any
) -> list[Any]:
    """D^k f(x)[v1, ..., vk]; `params` are those of the `qnode` equation."""
    entries = [entry for _, direction in directions for entry in direction]
    positions = tuple(positions for positions, _ in directions)
    return qnode_tangent_p.bind(*values, *entries, directions=positions, **params)


def cotangent(
    values: Sequence[Any],
    directions: Sequence[tuple[Positions, Sequence[Any]]],
    cotangents: Sequence[Any],
    wanted: Positions,
    **params: Any,
) -> list[Any]:
    """The gradient by the operands in `wanted` of ct . D^k f(x)[v1, ..., vk]."""
    entries = [entry for _, direction in directions for entry in direction]
    positions = tuple(positions for positions, _ in directions)
    return qnode_cotangent_p.bind(
        *values, *entries, *cotangents, directions=positions, wanted=wanted, **params
    )


def active(tangents: Sequence[Any]) -> tuple[Positions, list[Any]]:
    """Which of some tangents are not zero by construction, and these."""
    positions = tuple(
        position
        for position, value in enumerate(tangents)
        if type(value) is not ad.Zero and is_inexact(value)
    )
    return positions, [tangents[position] for position in positions]


def _qnode_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Sequence[Any], Sequence[Any]]:
    results = qnode_p.bind(*primals, **params)
    direction = active(tangents)
    changes: list[Any] = [_zero(result) for result in results]
    if direction[0]:
        found = tangent(primals, [direction], **params)
        for position, value in zip(inexact_positions(results), found, strict=True):
            changes[position] = value
    return results, changes


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
    primals: Sequence[Any], tangents: Sequence[Any], *, directions: Any, **params: Any
) -> tuple[Sequence[Any], Sequence[Any]]:
    given = Operands.read(primals, {**params, "directions": directions})
    moved = Operands.read(tangents, {**params, "directions": directions})
    old = list(zip(directions, given.directions, strict=True))
    results = tangent(given.values, old, **params)
    terms: list[Any] = []
    along = active(moved.values)
    if along[0]:
        terms.append(tangent(given.values, [*old, along], **params))
    for changed in _with_one_moved(directions, old, moved):
        terms.append(tangent(given.values, changed, **params))
    return results, _sum(terms, results)


def _with_one_moved(directions: Any, old: Sequence[Any], moved: Operands) -> Sequence[Any]:
    """The directions with one of them replaced by its tangent, for each that has one."""
    found: list[Any] = []
    for number, (positions, entries) in enumerate(zip(directions, moved.directions, strict=True)):
        kept, values = active(entries)
        if kept:
            places = tuple(positions[position] for position in kept)
            found.append([*old[:number], (places, values), *old[number + 1 :]])
    return found


def _cotangent_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    directions: Any,
    wanted: Positions,
    **params: Any,
) -> tuple[Sequence[Any], Sequence[Any]]:
    given = Operands.read(primals, {**params, "directions": directions})
    moved = Operands.read(tangents, {**params, "directions": directions})
    old = list(zip(directions, given.directions, strict=True))
    results = cotangent(given.values, old, given.cotangents, wanted, **params)
    terms: list[Any] = []
    along = active(moved.values)
    if along[0]:
        more = [*old, along]
        terms.append(cotangent(given.values, more, given.cotangents, wanted, **params))
    for changed in _with_one_moved(directions, old, moved):
        terms.append(cotangent(given.values, changed, given.cotangents, wanted, **params))
    if active(moved.cotangents)[0]:
        changes = list(map(ad.instantiate_zeros, moved.cotangents))
        terms.append(cotangent(given.values, old, changes, wanted, **params))
    return results, _sum(terms, results)


def _undefined(operands: Operands) -> int | None:
    """The direction that an equation is transposed by; None for the cotangents."""
    for number, entries in enumerate(operands.directions):
        if any(map(ad.is_undefined_primal, entries)):
            return number
    return None


def _tangent_transpose(
    cotangents: Sequence[Any], *operands: Any, directions: Any, **params: Any
) -> Sequence[Any]:
    given = Operands.read(operands, {**params, "directions": directions})
    number = _undefined(given)
    assert number is not None, "a derivative is linear in its directions only"
    others = [
        (positions, entries)
        for index, (positions, entries) in enumerate(zip(directions, given.directions, strict=True))
        if index != number
    ]
    known = list(map(ad.instantiate_zeros, cotangents))
    found = cotangent(given.values, others, known, directions[number], **params)
    return _at_direction(given, number, found)


def _at_direction(given: Operands, number: int, found: Sequence[Any]) -> list[Any]:
    """Results for one direction, None for all other operands."""
    results: list[Any] = [None] * len(given.values)
    for index, entries in enumerate(given.directions):
        results += list(found) if index == number else [None] * len(entries)
    return [*results, *[None] * len(given.cotangents)]


def _cotangent_transpose(
    weights: Sequence[Any], *operands: Any, directions: Any, wanted: Positions, **params: Any
) -> Sequence[Any]:
    given = Operands.read(operands, {**params, "directions": directions})
    number = _undefined(given)
    along = (wanted, list(map(ad.instantiate_zeros, weights)))
    old: list[tuple[Positions, Sequence[Any]]]
    old = list(zip(directions, given.directions, strict=True))
    if number is None:
        found = tangent(given.values, [*old, along], **params)
        count = len(operands) - len(given.cotangents)
        return [*[None] * count, *found]
    old[number] = along
    found = cotangent(given.values, old, given.cotangents, directions[number], **params)
    return _at_direction(given, number, found)


qnode_tangent_p = define_primitive(
    "qnode_tangent",
    construct="the derivative of a QNode",
    abstract_eval=_tangent_abstract_eval,
    has_effects=True,
    reaches_compiler=False,
    rules={
        "jvp": _tangent_jvp,
        "transpose": _tangent_transpose,
        "vmap": lambda *args, **params: qnode_for_each(qnode_tangent_p, *args, **params),
    },
)

qnode_cotangent_p = define_primitive(
    "qnode_cotangent",
    construct="the derivative of a QNode",
    abstract_eval=_cotangent_abstract_eval,
    has_effects=True,
    reaches_compiler=False,
    rules={
        "jvp": _cotangent_jvp,
        "transpose": _cotangent_transpose,
        "vmap": lambda *args, **params: qnode_for_each(qnode_cotangent_p, *args, **params),
    },
)

RULES = {("qnode", "jvp"): _qnode_jvp}
"""For `provide_rules`."""
