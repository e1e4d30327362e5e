"""A QNode's value and its gradient by one run, where a program has both.

JAX asks for them apart: `y = qnode(x)` where the function is evaluated, and `g = gradient(x, ct)`
where it goes back. What a sweep goes back from is a run, which gives `y`, too. So

    y, g1 = gradient(x, 1) with the results    in the place of the first
    g = ct * g1                                in the place of the second, and of more such

where the result is one real number; `ct` may depend on `y`, as in the gradient of a square. Of
several results the gradient moves up only if their cotangents do not depend on them. A value that
nobody reads is not computed.

The trap: only an exact gradient that is found by a sweep (`parts_of`) has the run; values of
shifted runs, and of draws, are others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Var

from diastase.autodiff.adjoint.parts import parts_of
from diastase.primitives.batching import flags_of
from diastase.primitives.control_flow import inlined_p
from diastase.primitives.define import Role, has_role
from diastase.primitives.qnode_derivatives import is_inexact
from diastase_mlir.jax_compat import is_symbolic, needed_equations, source_context, trace_to_jaxpr

Equation = Any
Changes = dict[int, list[Equation]]
"""What stands in the place of equations."""
HasSweep = Callable[[Mapping[str, Any]], bool]
"""Whether the gradient with these parameters is found by the exact rule."""


@dataclass(frozen=True)
class _Run:
    """An equation of a QNode, and the equations of gradients by the same operands."""

    position: int
    equation: Equation
    gradients: list[int]


def with_shared_runs(equations: Sequence[Equation], closed: ClosedJaxpr, exact: HasSweep) -> Any:
    """The equations of a jaxpr, with fewer runs of circuits."""
    if not any(equation.primitive.name == "qnode_cotangent" for equation in equations):
        return equations
    changed: Changes = {}
    read = {atom for equation in equations for atom in equation.invars if isinstance(atom, Var)}
    read.update(atom for atom in closed.jaxpr.outvars if isinstance(atom, Var))
    for run in _runs(equations, exact):
        if not read.intersection(run.equation.outvars):
            changed[run.position] = []
        elif _is_one_number(run.equation):
            changed |= _scaled(run, equations)
        else:
            moved = _moved_up(run, equations)
            if changed.keys().isdisjoint(moved):  # else another run has moved some of them already
                changed |= moved
    return [
        new
        for position, equation in enumerate(equations)
        for new in changed.get(position, [equation])
    ]


def _runs(equations: Sequence[Equation], exact: HasSweep) -> list[_Run]:
    """All QNodes with gradients by the same operands."""
    runs: list[_Run] = []
    for position, equation in enumerate(equations):
        name = equation.primitive.name
        if name == "qnode" and not equation.effects:
            runs.append(_Run(position, equation, []))
        elif name == "qnode_cotangent" and not equation.params["directions"]:
            same = (run for run in runs if _is_of(equation, run.equation))
            run = next(same, None)
            if run is not None:
                run.gradients.append(position)
    return [
        run
        for run in runs
        if run.gradients
        and parts_of(run.equation.params["jaxpr"]) is not None
        and exact(equations[run.gradients[0]].params)
    ]


def _is_of(gradient: Equation, run: Equation) -> bool:
    """Whether a gradient is of this equation's QNode, at its operands."""
    if gradient.params["jaxpr"] is not run.params["jaxpr"]:
        return False
    count = len(run.invars)
    flags = flags_of(gradient.params, len(gradient.invars))
    same = flags[:count] == flags_of(run.params, count)
    return same and all(map(_same, gradient.invars[:count], run.invars))


def _same(atom: Any, other: Any) -> bool:
    if isinstance(atom, Literal) and isinstance(other, Literal):
        aval: Any = atom.aval
        both_numbers = aval == other.aval and not aval.shape
        return both_numbers and np.asarray(atom.val).tobytes() == np.asarray(other.val).tobytes()
    return atom is other


def _is_one_number(run: Equation) -> bool:
    avals = run.params["jaxpr"].out_avals
    return len(avals) == 1 and not avals[0].shape and jnp.issubdtype(avals[0].dtype, np.floating)


# --- one real number ------------------------------------------------------------------------------


def _scaled(run: _Run, equations: Sequence[Equation]) -> Changes:
    """The gradient for the cotangent 1 beside the value; multiples of it where gradients were."""
    first = equations[run.gradients[0]]
    alike = [
        position
        for position in run.gradients
        if equations[position].params["wanted"] == first.params["wanted"]
    ]
    found = [Var(variable.aval) for variable in first.outvars]
    aval = run.equation.params["jaxpr"].out_avals[0].strip_weak_type()
    one: Any = Literal(np.ones((), aval.dtype), aval)
    count = len(run.equation.invars)
    params = {**first.params, "with_results": True}
    if "mapped" in first.params:
        flags = first.params["mapped"][:count]
        params["mapped"] = (*flags, (False,) * len(flags[0]))
    shared = first.replace(
        invars=[*run.equation.invars, one],
        outvars=[*run.equation.outvars, *found],
        params=params,
    )
    multiples = {position: [_multiple(equations[position], found)] for position in alike}
    return {run.position: [shared], **multiples}


def _multiple(gradient: Equation, found: Sequence[Any]) -> Equation:
    """The gradient as a multiple of that for the cotangent 1."""
    weight = gradient.invars[-1]
    flags = flags_of(gradient.params, len(gradient.invars))[-1]

    def scale(weight: Any, *entries: Any) -> Sequence[Any]:
        sizes = iter(weight.shape)
        shape = [next(sizes) if flag else 1 for flag in flags]
        return [
            (jnp.reshape(weight, [*shape, *[1] * (entry.ndim - len(shape))]) * entry).astype(
                entry.dtype
            )
            for entry in entries
        ]

    operands = [weight, *found]
    with source_context(gradient.source_info):
        jaxpr, _ = trace_to_jaxpr(scale, [atom.aval for atom in operands], "gradient")
    return gradient.replace(
        primitive=inlined_p, invars=operands, params={"jaxpr": jaxpr}, effects=set(jaxpr.effects)
    )


# --- several results ------------------------------------------------------------------------------


def _moved_up(run: _Run, equations: Sequence[Equation]) -> Changes:
    """The first gradient in the place of the run, and what its cotangents are computed by."""
    position, gradient = run.gradients[0], equations[run.gradients[0]]
    if not all(map(is_inexact, run.equation.params["jaxpr"].out_avals)):
        return {}
    cotangents = gradient.invars[len(run.equation.invars) :]
    before = _before(run, equations[run.position + 1 : position], cotangents)
    if before is None:
        return {}
    shared = gradient.replace(
        outvars=[*run.equation.outvars, *gradient.outvars],
        params={**gradient.params, "with_results": True},
    )
    moved = {run.position + 1 + offset: list[Equation]() for offset in before}
    earlier = [equations[place] for place in moved]
    return {run.position: [*earlier, shared], position: [], **moved}


def _before(run: _Run, between: Sequence[Equation], cotangents: Sequence[Any]) -> list[int] | None:
    """Which equations after a run compute these cotangents; None if they cannot come before it."""
    needed, read = needed_equations(between, cotangents, lambda _: False)
    if not read.isdisjoint(run.equation.outvars) or any(map(_has_its_place, needed)):
        return None
    earlier = set(map(id, needed))
    return [offset for offset, equation in enumerate(between) if id(equation) in earlier]


def _has_its_place(equation: Equation) -> bool:
    is_circuit = has_role(equation, Role.CIRCUIT)
    return bool(equation.effects) or is_circuit or _has_sizes(equation)


def _has_sizes(equation: Equation) -> bool:
    """Whether types have symbols, which equations before this one may define."""
    atoms = [*equation.invars, *equation.outvars]
    return any(is_symbolic(size) for atom in atoms for size in getattr(atom.aval, "shape", ()))
