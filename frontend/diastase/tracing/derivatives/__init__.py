"""Derivatives of programs: rules of our primitives, and circuits for derivatives of QNodes.

JAX differentiates the program; what it asks of a QNode is recorded as one equation
(`primitives.derivatives`). `expand_derivatives` puts circuits in their place when tracing is over.
Nothing of it is imported before a program is differentiated.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr

from diastase.primitives.batches import is_batched
from diastase.primitives.define import Role, Rule, has_role, provide_rules
from diastase.tracing.context import current_context
from diastase.width import in_64_bits, runs_in_64_bits
from diastase_mlir.jax_internals import (
    checkpoint_p,
    cond_p,
    equations_in,
    scan_p,
    set_batching,
    set_jvp,
    set_linearisation,
    variables_in,
    while_p,
)
from diastase_mlir.lazy_module import LazyModule

if TYPE_CHECKING:
    from diastase.primitives import derivatives
    from diastase.tracing.derivatives import (
        control_flow_batches,
        control_flow_rules,
        derivative_batches,
        expand,
        gate_rules,
        lax_control_flow,
        measurement_rules,
        outcome_branches,
        reverse_rules,
        simplified,
    )
else:
    derivatives = LazyModule("diastase.primitives.derivatives")
    control_flow_batches = LazyModule("diastase.tracing.derivatives.control_flow_batches")
    control_flow_rules = LazyModule("diastase.tracing.derivatives.control_flow_rules")
    derivative_batches = LazyModule("diastase.tracing.derivatives.derivative_batches")
    expand = LazyModule("diastase.tracing.derivatives.expand")
    gate_rules = LazyModule("diastase.tracing.derivatives.gate_rules")
    lax_control_flow = LazyModule("diastase.tracing.derivatives.lax_control_flow")
    measurement_rules = LazyModule("diastase.tracing.derivatives.measurement_rules")
    outcome_branches = LazyModule("diastase.tracing.derivatives.outcome_branches")
    reverse_rules = LazyModule("diastase.tracing.derivatives.reverse_rules")
    simplified = LazyModule("diastase.tracing.derivatives.simplified")

__all__ = ["expand_derivatives", "install_rules"]


@cache
def _rules() -> Mapping[tuple[str, str], Rule]:
    tables = (
        gate_rules.RULES,
        measurement_rules.RULES,
        control_flow_rules.RULES,
        outcome_branches.RULES,
    )
    jvps = {(name, "jvp"): rule for table in tables for name, rule in table.items()}
    more = {**reverse_rules.RULES, **control_flow_batches.RULES, **derivative_batches.RULES}
    return {**derivatives.RULES, **more, **jvps}


def install_rules() -> None:
    """Have our primitives differentiated from now on."""
    provide_rules(_rules)
    for primitive in (while_p, scan_p, cond_p):
        _differentiate_as_ours(primitive)
    set_linearisation(
        checkpoint_p,
        runs_in_64_bits(lambda *args, **params: reverse_rules.checkpoint(*args, **params)),
        applies=lambda jaxpr, **_: current_context() is not None and _has_loops(jaxpr),
    )


def _differentiate_as_ours(primitive: Any) -> None:
    """Have JAX's loops and branches taken for ours where they need it (`lax_control_flow`)."""
    name = primitive.name

    def applies(**params: Any) -> bool:
        return current_context() is not None and _computes_sizes(params)

    def linearised(**params: Any) -> bool:
        return current_context() is not None and (name == "while" or applies(**params))

    jvp = lambda *a, **p: lax_control_flow.jvp_rule(name)(*a, **p)  # noqa: E731
    batch = lambda *a, **p: lax_control_flow.batching_rule(name)(*a, **p)  # noqa: E731
    linearise = lambda *a, **p: lax_control_flow.linearisation_rule(name)(*a, **p)  # noqa: E731
    set_jvp(primitive, runs_in_64_bits(jvp), applies)
    set_batching(primitive, runs_in_64_bits(batch), applies)
    set_linearisation(primitive, runs_in_64_bits(linearise), linearised)


def _computes_sizes(params: Mapping[str, Any]) -> bool:
    """Whether any of the jaxprs among these parameters does, at any depth."""
    context = current_context()
    if context is None or not context.dimensions.symbols:
        return False
    return any(map(context.dimensions.defines_symbols, variables_in(params)))


def _has_loops(jaxpr: Any) -> bool:
    """Whether there is control flow inside that JAX cannot take apart."""
    return any(
        has_role(equation, Role.CONTROL_FLOW)
        or equation.primitive.name in ("while", "control_derivative")
        for equation in equations_in(jaxpr)
    )


def expand_derivatives(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Put circuits in the place of derivatives of QNodes, and loops in that of batches."""
    never = not (_rules.cache_info().currsize or is_batched())
    if never:
        return closed
    with in_64_bits():
        expanded = expand.expand_derivatives(closed)
        return closed if expanded is closed else simplified.simplified(expanded)
