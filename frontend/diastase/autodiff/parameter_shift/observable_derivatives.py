"""What the results of a circuit owe to its operands past the state: coefficients and matrices.

`with_state_fixed` runs a body, and gives its results as a function of the operands with the state
held fixed: what was read from the register is constant in it, except that an expectation value is a
sum, of the terms' own values with coefficients. So the function's derivatives, forwards and
backwards, are those that the body has by coefficients and matrices of observables, and by what is
computed classically from them. It is classical code; its derivatives are taken in the same region.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal

from diastase.autodiff.adjoint.seeds import means_of_words
from diastase.jaxprs.circuit_interpreter import Visitor, Walk, walked
from diastase.jaxprs.dependence import Activity
from diastase.primitives import measurement
from diastase.primitives.define import Role, has_role
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.qnode_derivatives import inexact_positions, is_inexact
from diastase.primitives.quantum import is_register, touches_register
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import evaluate_equation, evaluate_jaxpr, rebuilt, trace_to_jaxpr

Equation = Any
Live = Callable[..., list[Any]]


def with_state_fixed(closed: ClosedJaxpr, activity: Activity, operands: Sequence[Any]) -> Live:
    """Run a body; its inexact results as a function of operands."""
    names = {each.primitive.name for each in closed.jaxpr.eqns if touches_register(each)}
    recorded: list[Callable[..., Sequence[Any]]] = []

    def evaluate(
        values: Sequence[Any], on_register: Callable[[Equation, Sequence[Any]], Sequence[Any]]
    ) -> list[Any]:
        def step(equation: Equation, *given: Any) -> Sequence[Any]:
            is_quantum = touches_register(equation)
            return (on_register if is_quantum else evaluate_equation)(equation, given)

        return evaluate_jaxpr(closed, values, dict.fromkeys(names, step))

    def run(equation: Equation, given: Sequence[Any]) -> Sequence[Any]:
        results, live = _recorded(equation, given, activity.of(equation)[1:])
        recorded.append(live)
        return results

    def with_live(*values: Any) -> list[Any]:
        remaining = iter(recorded)
        results = evaluate(values, lambda _, given: next(remaining)(*given))
        return [results[position] for position in inexact_positions(closed.out_avals)]

    evaluate(operands, run)
    return with_live


def _recorded(
    equation: Equation, values: Sequence[Any], active: Sequence[bool]
) -> tuple[Sequence[Any], Callable[..., Sequence[Any]]]:
    """Results of an equation on registers, and as a function of operands past the state."""
    results = evaluate_equation(equation, values)
    is_control_flow = has_role(equation, Role.CONTROL_FLOW)
    if is_control_flow and any(is_inexact(variable.aval) for variable in equation.outvars):
        return results, lambda *live: _loop_or_branch(equation, results, live)
    if is_control_flow or has_role(equation, Role.OPERATION) or not any(active):
        return results, lambda *_: results
    return results, _MEASURED.get(equation.primitive.name, _refuse)(equation, values)


def _loop_or_branch(
    equation: Equation, fixed: Sequence[Any], values: Sequence[Any]
) -> Sequence[Any]:
    """The register as it is, and its classical results once more, without a register."""
    known = {
        atom: value
        for atom, value in zip(equation.invars, values, strict=True)
        if not isinstance(atom, Literal)
    }
    empty, _ = trace_to_jaxpr(lambda: [], [], "derivative")
    alone = rebuilt(empty, list(known), [equation], equation.outvars)
    operands = [value for atom, value in known.items() if not is_register(atom)]
    live = walked(alone, operands, Walk(), Visitor())
    return [old if isinstance(new, Walk) else new for old, new in zip(fixed, live, strict=True)]


def _sum_of_words(equation: Equation, values: Sequence[Any]) -> Callable[..., Sequence[Any]]:
    register, _, *wires = values
    means, aval = (
        means_of_words(register, equation.params["words"], wires),
        equation.outvars[0].aval,
    )
    return lambda _, live, *__: [jnp.dot(live, means).astype(aval.dtype)]


def _matrix(equation: Equation, values: Sequence[Any]) -> Callable[..., Sequence[Any]]:
    register, _, *wires = values
    state = measurement.density_matrix_p.bind(register, *wires, wires=equation.params["wires"])
    aval = equation.outvars[0].aval
    return lambda _, live, *__: [jnp.real(jnp.sum(live * state.T)).astype(aval.dtype)]


def _refuse(equation: Equation, values: Sequence[Any]) -> NoReturn:
    raise NoDerivativeError(
        construct="a measurement",
        reason="its observable depends on what is differentiated by, and only expectation values "
        "of sums of Pauli words and of matrices can then be found from shifted runs: "
        "use 'adjoint' or 'backprop', without shots",
        span=span_of(equation.source_info),
    )


_MEASURED: Mapping[str, Callable[[Equation, Sequence[Any]], Callable[..., Sequence[Any]]]] = {
    "expval_pauli": _sum_of_words,
    "expval_matrix": _matrix,
}
