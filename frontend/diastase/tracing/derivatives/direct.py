"""What the results of a circuit owe to its operands past the state: coefficients and matrices.

`with_state_fixed` evaluates a body so that JAX sees only these ways: operations take their
parameters as constants, and what is read from the register is constant, except that an expectation
value is a sum, of the terms' own values with coefficients. So its derivatives, forwards and
backwards, are those that the body has by coefficients and matrices of observables, and by what is
computed classically from them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.errors import NoDerivativeError
from diastase.primitives import measurement
from diastase.primitives.derivatives import inexact_positions, is_inexact
from diastase.tracing.derivatives.activity import Activity, touches_register
from diastase.tracing.derivatives.regions import is_register_aval
from diastase.tracing.derivatives.walks import OPERATIONS, Visitor, Walk, walked
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_internals import evaluate_jaxpr, rebuilt

Equation = Any


def with_state_fixed(
    closed: ClosedJaxpr, activity: Activity, operands: Sequence[Any]
) -> list[Any]:
    """The inexact results of a body."""
    names = {e.primitive.name for e in closed.jaxpr.eqns if touches_register(e)}

    def step(equation: Equation, *values: Any) -> Sequence[Any]:
        if not touches_register(equation):
            return _bound(equation, values)
        active = activity.of(equation)[1:]
        name = equation.primitive.name
        if name in _CONTROL_FLOW:
            return _loop_or_branch(equation, values)
        if name in OPERATIONS or not any(active):
            return _bound(equation, list(map(_stopped, values)))
        return _MEASURED.get(name, _refuse)(equation, values)

    results = evaluate_jaxpr(closed, operands, dict.fromkeys(names, step))
    return [results[position] for position in inexact_positions(closed.out_avals)]


_CONTROL_FLOW = frozenset({"for_loop", "while_loop", "switch"})


def _stopped(value: Any) -> Any:
    aval = jax.typeof(value)
    return jax.lax.stop_gradient(value) if is_inexact(aval) else value


def _bound(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
    primitive = equation.primitive
    with equation.ctx.manager:
        results = primitive.bind(*values, **primitive.get_bind_params(equation.params))
    return results if primitive.multiple_results else [results]


class _Nothing(Visitor):
    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        return operands


def _loop_or_branch(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
    """The register as it is, and its classical results once more, without a register."""
    fixed = _bound(equation, list(map(_stopped, values)))
    if not any(is_inexact(variable.aval) for variable in equation.outvars):
        return fixed
    inputs = list(dict.fromkeys(atom for atom in equation.invars if not hasattr(atom, "val")))
    alone = rebuilt(_EMPTY(), inputs, [equation], equation.outvars)
    known = {
        atom: value
        for atom, value in zip(equation.invars, values, strict=True)
        if not hasattr(atom, "val")
    }
    operands = [known[atom] for atom in inputs if not is_register_aval(atom.aval)]
    live = walked(alone, operands, Walk(), _Nothing())
    return [old if isinstance(new, Walk) else new for old, new in zip(fixed, live, strict=True)]


def _EMPTY() -> ClosedJaxpr:
    return jax.make_jaxpr(lambda: ())()


def _sum_of_words(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
    register, coefficients, *wires = values
    remaining, found = list(wires), list[Any]()
    for word in equation.params["words"]:
        count = sum(wire is None for _, wire in word)
        own, remaining = remaining[:count], remaining[count:]
        one = jnp.ones(1, coefficients.dtype)
        value = measurement.expval_pauli_p.bind(register, one, *own, words=(word,))
        found.append(value)
    return [jnp.dot(coefficients, jnp.stack(found)).astype(equation.outvars[0].aval.dtype)]


def _matrix(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
    register, matrix, *wires = values
    state = measurement.density_matrix_p.bind(register, *wires, wires=equation.params["wires"])
    return [jnp.real(jnp.sum(matrix * state.T)).astype(equation.outvars[0].aval.dtype)]


def _refuse(equation: Equation, values: Sequence[Any]) -> NoReturn:
    raise NoDerivativeError(
        construct="a measurement",
        reason="its observable depends on what is differentiated by, and only expectation values "
        "of sums of Pauli words and of matrices can then be found from shifted runs: "
        "use 'adjoint' or 'backprop', without shots",
        span=span_of(equation.source_info),
    )


_MEASURED: Mapping[str, Callable[[Equation, Sequence[Any]], Sequence[Any]]] = {
    "expval_pauli": _sum_of_words,
    "expval_matrix": _matrix,
}
