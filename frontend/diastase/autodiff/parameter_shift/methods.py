"""Derivatives of QNodes by their `diff_method`: from shifted runs, or the exact rule.

In: an equation of a derivative (`primitives.qnode_derivatives`). Out: the rule that says what
replaces it. For `parameter-shift`, `finite-diff`, `spsa`, and `hadamard` with shots, with the
parameters p of the operations that a run executes, each with terms (coefficient, shift),

    D f(x)[v] = sum over p of (sum over terms of coefficient * f(x; p + shift)) * D p(x)[v]

plus what results owe to x directly (`observable_derivatives`). Shifted runs are QNodes of the same
method, and what is summed is classical code (`formula`), so JAX differentiates it to any order.
`hadamard` without shots gives the exact derivative, by an auxiliary wire, in all its modes; so does
the exact rule, with its derivative wire. What PennyLane refuses with this method is refused.

The trap: shifts are right only for results that are averages over the state, as `tracing` makes
sure by what QNodes of these methods return; a difference of finite shifts does not ask for that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal, Var

from diastase.autodiff.parameter_shift.formula import Formula, Node
from diastase.jaxprs.evaluate import Values, gradient_of, paired, replaced
from diastase.primitives.define import Role, has_role
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.qnode_derivatives import Operands, Positions, inexact_positions
from diastase.primitives.quantum import allocate_p, is_register, touches_register
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import equations_in

Rule = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]
Directions = Sequence[tuple[Positions, Values]]


def rule_of_method(exact: Rule, name: str, params: Mapping[str, Any]) -> Rule:
    """The rule of an equation with this name; `exact`: that of a QNode without a method."""
    if name not in _SHIFTS:
        return exact
    if not any(part.primitive is allocate_p for part in params["jaxpr"].jaxpr.eqns):
        raise NoDerivativeError(
            construct=f"QNode {params['name']}",
            reason=f"it runs in Python, on {params['device']}, and its circuit is not known here",
            span=_ours_at(params["jaxpr"]),
        )
    method, options = params.get("differentiation") or (None, ())
    if method is not None and ("mode", "exact") not in options:
        return _SHIFTS[name]
    if method is not None:
        _refuse_parts(params["jaxpr"], method)
    needs_wires = name == "qnode_tangent" or len(params["directions"]) > 0
    if params["num_wires"] is None and needs_wires and _gives_averages(params["jaxpr"]):
        return partial(_exactly_by_shifts, _SHIFTS[name])
    return exact


def _exactly_by_shifts(rule: Rule, operands: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Of averages: where derivative wires cannot be added, to a number of wires that is traced."""
    return rule(operands, {**params, "differentiation": ("parameter-shift", ())})


def _ours_at(closed: Any) -> Any:
    """The line of the first equation of a body that has one."""
    spans = (span_of(equation.source_info) for equation in closed.jaxpr.eqns)
    return next((span for span in spans if span is not None), None)


# --- from shifted runs ----------------------------------------------------------------------------


def _tangent(operands: Values, params: Mapping[str, Any]) -> Values:
    """What stands in the place of a `qnode_tangent` equation."""
    node, given, directions = _read(operands, params)
    return _derivative(node, given.values, directions)


def _cotangent(operands: Values, params: Mapping[str, Any]) -> Values:
    """What stands in the place of a `qnode_cotangent` equation."""
    node, given, directions = _read(operands, params)
    wanted = params["wanted"]
    if not directions:
        return _gradient(node, given.values, wanted, given.cotangents)

    def total(*moved: Any) -> Any:
        values = replaced(given.values, wanted, moved)
        return paired(given.cotangents, _derivative(node, values, directions))

    return gradient_of(total, [given.values[position] for position in wanted])


_SHIFTS: Mapping[str, Rule] = {"qnode_tangent": _tangent, "qnode_cotangent": _cotangent}


def _read(operands: Values, params: Mapping[str, Any]) -> tuple[Node, Operands, Directions]:
    given = Operands.read(operands, params)
    node = Node.of(params)
    _refuse_parts(node.body, node.method)
    return node, given, list(zip(params["directions"], given.directions, strict=True))


def _derivative(node: Node, values: Values, directions: Directions) -> Values:
    """D^k f(x)[v1, ..., vk], by the first one, differentiated."""
    *before, (positions, entries) = directions
    if not before:
        return _along(node, values, positions, entries)

    def along(*moved: Any) -> Values:
        return _derivative(node, replaced(values, positions, moved), before)

    primals = tuple(values[position] for position in positions)
    return list(jax.jvp(lambda *m: tuple(along(*m)), primals, tuple(entries))[1])


def _along(node: Node, values: Values, positions: Positions, entries: Values) -> Values:
    formula = Formula.of(node, positions)
    rows = formula.rows(values, _flat)
    primals = tuple(values[position] for position in positions)

    def total(*moved: Any) -> Any:
        return formula.weighted(replaced(values, positions, moved), rows)

    avals = [node.body.out_avals[p] for p in inexact_positions(node.body.out_avals)]
    _, change = jax.jvp(total, primals, tuple(entries))
    changes = _unflat(change, avals)
    if not formula.has_direct:
        return changes
    found = formula.direct_tangent(values, entries)
    return [one + other for one, other in zip(changes, found, strict=True)]


def _gradient(node: Node, values: Values, wanted: Positions, cotangents: Values) -> Values:
    """The gradient of cotangents . f."""
    formula = Formula.of(node, wanted)
    rows = formula.rows(values, lambda results: paired(cotangents, results)[None])

    def total(*moved: Any) -> Any:
        return jnp.sum(formula.weighted(replaced(values, wanted, moved), rows))

    found = gradient_of(total, [values[position] for position in wanted])
    if not formula.has_direct:
        return found
    direct = formula.direct_gradient(values, cotangents)
    return [one + other for one, other in zip(found, direct, strict=True)]


def _flat(results: Values) -> Any:
    """All results, one after the other."""
    return jnp.concatenate([jnp.ravel(result) for result in results])


def _unflat(vector: Any, avals: Sequence[Any]) -> list[Any]:
    """The results of these types in a vector."""
    found, start = list[Any](), 0
    total = sum(aval.size for aval in avals)
    vector = jnp.broadcast_to(vector, (total,))  # where nothing is shifted there is one zero
    for aval in avals:
        part = jax.lax.slice_in_dim(vector, start, start + aval.size).reshape(aval.shape)
        if not jnp.issubdtype(aval.dtype, jnp.complexfloating):
            part = jnp.real(part)
        found.append(part.astype(aval.dtype))
        start += aval.size
    return found


# --- what has no such derivatives -----------------------------------------------------------------


def _refuse_parts(closed: ClosedJaxpr, method: str) -> None:
    """Refuse outcomes in the middle, and states where only averages have derivatives."""
    for equation in equations_in(closed):
        reason = _REFUSED.get((method, equation.primitive.name)) or _REFUSED.get(
            ("", equation.primitive.name)
        )
        if reason is not None:
            construct, why = reason
            raise NoDerivativeError(
                construct=construct,
                reason=why.format(method=method),
                span=span_of(equation.source_info),
            )


def _gives_averages(closed: ClosedJaxpr) -> bool:
    """Whether all inexact results of a body are averages over its state, or sums of such."""
    averages, others = set[Any](), set[Any]()
    for equation in closed.jaxpr.eqns:
        name = equation.primitive.name
        inputs = [atom for atom in equation.invars if not isinstance(atom, Literal)]
        count = sum(atom in averages for atom in inputs)
        made = [each for each in equation.outvars if not is_register(each)]
        if touches_register(equation) and not has_role(equation, Role.CONTROL_FLOW):
            (averages if has_role(equation, Role.AVERAGE) else others).update(made)
        elif any(atom in others for atom in inputs):
            others.update(made)
        elif count:
            linear = name in _SUMS or (count == 1 and name in _PRODUCTS)
            linear = linear and (name != "div" or inputs[0] in averages)
            (averages if linear else others).update(made)
    return not any(atom in others for atom in closed.jaxpr.outvars if isinstance(atom, Var))


_SUMS = (
    "add", "sub", "neg", "convert_element_type", "reshape", "squeeze", "broadcast_in_dim",
    "reduce_sum", "concatenate", "real", "imag",
)  # fmt: skip
_PRODUCTS = ("mul", "div")


_STATE = (
    "qml.state",
    "diff_method={method!r} is for what hardware could measure, and a state is not: use 'backprop'",
)
_VARIANCE = (
    "qml.var",
    "diff_method='hadamard' has no variances, as in PennyLane: use 'parameter-shift'",
)
_REFUSED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("", "measure"): (
        "measure",
        "an outcome jumps, and what follows it depends on it; averages over outcomes have "
        "derivatives: without shots, mcm_method='deferred' or 'tree-traversal'",
    ),
    ("", "uniform"): (
        "a classical shadow",
        "its recipes are drawn in the circuit: differentiate qml.expval with shots instead",
    ),
    ("parameter-shift", "state"): _STATE,
    ("hadamard", "state"): _STATE,
    ("hadamard", "var_pauli"): _VARIANCE,
    ("hadamard", "var_matrix"): _VARIANCE,
}
