"""Derivatives of loops and branches as equations, until tracing is over.

There is one primitive, `control_derivative`; its parameter `what` says which function it is:

    Construct        f: an equation of control flow                   [*x] -> [*results]
    TangentOf        f'(x) v, linear in v                             [*x, *v] -> found
    CotangentOf      ct . f'(x), linear in ct                         [*x, *ct] -> wanted
    JvpOf            f(x) and f'(x) v                                 [*x, *v] -> [*results, *found]
    BatchOf          f of each element of a batch                     [*x] -> [*results]

where f is any of these, so there are derivatives of any order. `v` has entries for the operands
in `wanted`, `ct` for the results in `found`. What they compute is known to the layer above
(`autodiff`), which puts it in the place of each equation when tracing is over.

So all that JAX keeps for the backward pass is a construct's operands, whatever happens inside of
it: a loop in a loop may go round a number of times that differs from one iteration of the outer to
the next. And no size that a derivative needs inside is ever seen by JAX, which copies the bodies of
its own loops without regard to where a size is defined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.qnode_derivatives import inexact_positions, is_inexact
from diastase_mlir.jax_compat import BatchAxis, Zero

Positions = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Construct:
    """An equation of control flow: the name of its primitive, its parameters, its result types."""

    name: str
    settings: Mapping[str, Any]
    result_avals: tuple[Any, ...]

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The types of its results, given those of its operands."""
        return list(self.result_avals)


@dataclass(frozen=True, eq=False)
class TangentOf:
    """The tangents of the results in `found`, given those of the operands in `wanted`."""

    function: "Function"
    wanted: Positions
    found: Positions

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The types of its results, given those of its operands."""
        avals = self.function.results(operands[: len(operands) - len(self.wanted)])
        return [_tangent_aval(avals[position]) for position in self.found]


@dataclass(frozen=True, eq=False)
class CotangentOf:
    """The gradient by the operands in `wanted`, given cotangents of the results in `found`."""

    function: "Function"
    wanted: Positions
    found: Positions

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The types of its results, given those of its operands."""
        return [_tangent_aval(operands[position]) for position in self.wanted]


@dataclass(frozen=True, eq=False)
class JvpOf:
    """The results, then the tangents of those that are inexact."""

    function: "Function"
    wanted: Positions

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The types of its results, given those of its operands."""
        avals = self.function.results(operands[: len(operands) - len(self.wanted)])
        return [*avals, *(_tangent_aval(aval) for aval in avals if is_inexact(aval))]


@dataclass(frozen=True, eq=False)
class BatchOf:
    """Each element of a batch: operands have its axis where `dims` says, all results at `place`."""

    function: "Function"
    axis: BatchAxis
    dims: tuple[int | None, ...]
    place: int

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The types of its results, given those of its operands."""
        of_element = [
            aval if dim is None else _with_shape(aval, [*aval.shape[:dim], *aval.shape[dim + 1 :]])
            for aval, dim in zip(operands, self.dims, strict=True)
        ]
        place, size = self.place, self.axis.size
        return [
            _with_shape(aval, [*aval.shape[:place], size, *aval.shape[place:]])
            for aval in self.function.results(of_element)
        ]


def _with_shape(aval: Any, shape: Sequence[Any]) -> Any:
    return aval.update(shape=tuple(shape))


Function = Construct | TangentOf | CotangentOf | JvpOf | BatchOf


def _tangent_aval(aval: Any) -> Any:
    return aval.to_tangent_aval().strip_weak_type()


def _abstract_eval(*operands: Any, what: Function) -> tuple[Sequence[Any], set[Any]]:
    return what.results(operands), set()


def along(
    what: Function, operands: Sequence[Any], tangents: Sequence[Any], found: Positions
) -> Any:
    """The tangents of the results in `found`, all others zeros; some of the given may be zeros."""
    avals = what.results([jax.typeof(value) for value in operands])
    changes: list[Any] = [Zero(aval.to_tangent_aval()) for aval in avals]
    wanted = active_positions(operands, [type(tangent) is not Zero for tangent in tangents])
    if wanted and found:
        entries = (tangents[position] for position in wanted)
        derivative = TangentOf(what, wanted, found)
        results = control_derivative_p.bind(*operands, *entries, what=derivative)
        for position, result in zip(found, results, strict=True):
            changes[position] = result
    return changes


def active_positions(operands: Sequence[Any], nonzeros: Sequence[bool]) -> Positions:
    """The operands that have derivatives, of those whose tangents are not zero."""
    return tuple(
        position
        for position, (value, nonzero) in enumerate(zip(operands, nonzeros, strict=True))
        if nonzero and is_inexact(jax.typeof(value))
    )


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, what: Function) -> Any:
    wanted = active_positions(primals, [type(tangent) is not Zero for tangent in tangents])
    entries = (tangents[position] for position in wanted)
    found = control_derivative_p.bind(*primals, *entries, what=JvpOf(what, wanted))
    avals = what.results([jax.typeof(value) for value in primals])
    results, rest = found[: len(avals)], iter(found[len(avals) :])
    changes = [next(rest) if is_inexact(aval) else Zero(aval.to_tangent_aval()) for aval in avals]
    return results, changes


def _linearise(nonzeros: Sequence[bool], *operands: Any, what: Function) -> Any:
    results = control_derivative_p.bind(*operands, what=what)
    found = inexact_positions([jax.typeof(result) for result in results])

    def linear(kept: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        return along(what, kept, tangents, found)

    return results, [position in found for position in range(len(results))], operands, linear


control_derivative_p = define_primitive(
    "control_derivative",
    Role.EXPANDED,
    construct="the derivative of control flow",
    abstract_eval=_abstract_eval,
    has_effects=True,
    rules={"jvp": _jvp, "linearise": _linearise},
    provided_rules=("transpose", "vmap_of_axis"),
)
