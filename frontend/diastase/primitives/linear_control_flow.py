"""Derivatives of loops and branches as equations, until tracing is over or they are differentiated.

Write f for a construct of control flow as a function of its operands x:

    control_tangent    [*x, *v]     f'(x) v, for the results in `found`
    control_cotangent  [*x, *ct]    ct . f'(x), for the operands in `wanted`

`v` has entries for the operands in `wanted`, `ct` for the results in `found`. Each is linear in its
last operands, and the transpose of the other. Both hold on to the operands only, whatever happens
inside of the construct: so a loop in a loop may go round a number of times that differs from one
iteration of the outer to the next. `construct` is the primitive's name, `settings` its parameters
as pairs. The compiler knows neither of them (`tracing.derivatives`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.interpreters import ad

from diastase.primitives.define import define_primitive
from diastase_mlir.jax_internals import Zero

Settings = tuple[tuple[str, Any], ...]
Positions = tuple[int, ...]


def _tangent_abstract_eval(
    *_: Any, settings: Settings, found: Positions, **__: Any
) -> tuple[Sequence[Any], set[Any]]:
    avals = dict(settings)["result_avals"]
    return [avals[position].to_tangent_aval().strip_weak_type() for position in found], set()


def _cotangent_abstract_eval(
    *operands: Any, wanted: Positions, **_: Any
) -> tuple[Sequence[Any], set[Any]]:
    return [operands[position].to_tangent_aval().strip_weak_type() for position in wanted], set()


def _tangent_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    wanted: Positions,
    found: Positions,
    **params: Any,
) -> Sequence[Any]:
    count = len(operands) - len(wanted)
    known = list(map(ad.instantiate_zeros, cotangents))
    results = control_cotangent_p.bind(
        *operands[:count], *known, wanted=wanted, found=found, **params
    )
    return [*[None] * count, *results]


def _cotangent_transpose(
    weights: Sequence[Any],
    *operands: Any,
    wanted: Positions,
    found: Positions,
    **params: Any,
) -> Sequence[Any]:
    count = len(operands) - len(found)
    known = list(map(ad.instantiate_zeros, weights))
    results = control_tangent_p.bind(
        *operands[:count], *known, wanted=wanted, found=found, **params
    )
    return [*[None] * count, *results]


_PROVIDED = ("jvp", "vmap_of_axis", "linearise")

control_tangent_p = define_primitive(
    "control_tangent",
    construct="the derivative of control flow",
    abstract_eval=_tangent_abstract_eval,
    has_effects=True,
    reaches_compiler=False,
    rules={"transpose": _tangent_transpose},
    provided_rules=_PROVIDED,
)

control_cotangent_p = define_primitive(
    "control_cotangent",
    construct="the derivative of control flow",
    abstract_eval=_cotangent_abstract_eval,
    has_effects=True,
    reaches_compiler=False,
    rules={"transpose": _cotangent_transpose},
    provided_rules=_PROVIDED,
)


def linear_part(
    construct: str,
    settings: Mapping[str, Any],
    operands: Sequence[Any],
    tangents: Sequence[Any],
    found: Positions,
) -> list[Any]:
    """Tangents of all results of a construct, those not in `found` zeros."""
    avals = settings["result_avals"]
    changes: list[Any] = [Zero(aval.to_tangent_aval()) for aval in avals]
    wanted = tuple(
        position for position, tangent in enumerate(tangents) if type(tangent) is not Zero
    )
    if wanted and found:
        results = control_tangent_p.bind(
            *operands,
            *(tangents[position] for position in wanted),
            construct=construct,
            settings=tuple(settings.items()),
            wanted=wanted,
            found=found,
        )
        for position, result in zip(found, results, strict=True):
            changes[position] = result
    return changes
