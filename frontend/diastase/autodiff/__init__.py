"""Derivatives of programs: rules of our primitives, and circuits for derivatives of QNodes.

JAX differentiates the program; what it asks of a QNode is recorded as one equation
(`primitives.qnode_derivatives`). `expand_derivatives` puts circuits in their place when tracing is
over. Nothing of it is imported before a program is differentiated.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr

from diastase.capture.context import current_context
from diastase.primitives.batching import is_batched
from diastase.primitives.define import Role, Rule, has_role, provide_rules
from diastase_mlir.jax_compat import (
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
from diastase_mlir.jax_compat.x64 import in_64_bits, runs_in_64_bits
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.autodiff import lower_derivatives
    from diastase.autodiff.control_flow import (
        batching,
        derivative_batches,
        jvp_rules,
        lax_control_flow,
        linearize,
    )
    from diastase.autodiff.qnode import mcm_branches, simplify
    from diastase.autodiff.tangents import gate_rules, measurement_rules
    from diastase.primitives import qnode_derivatives
else:
    qnode_derivatives = LazyModule("diastase.primitives.qnode_derivatives")
    batching = LazyModule("diastase.autodiff.control_flow.batching")
    jvp_rules = LazyModule("diastase.autodiff.control_flow.jvp_rules")
    derivative_batches = LazyModule("diastase.autodiff.control_flow.derivative_batches")
    lower_derivatives = LazyModule("diastase.autodiff.lower_derivatives")
    gate_rules = LazyModule("diastase.autodiff.tangents.gate_rules")
    lax_control_flow = LazyModule("diastase.autodiff.control_flow.lax_control_flow")
    measurement_rules = LazyModule("diastase.autodiff.tangents.measurement_rules")
    mcm_branches = LazyModule("diastase.autodiff.qnode.mcm_branches")
    linearize = LazyModule("diastase.autodiff.control_flow.linearize")
    simplify = LazyModule("diastase.autodiff.qnode.simplify")

__all__ = ["expand_derivatives", "install_rules"]


@cache
def provided_rules() -> Mapping[tuple[str, str], Rule]:
    """The rules that primitives promise: `(primitive, transformation)` -> rule."""
    tables = (
        gate_rules.RULES,
        measurement_rules.RULES,
        jvp_rules.RULES,
        mcm_branches.RULES,
    )
    jvps = {(name, "jvp"): rule for table in tables for name, rule in table.items()}
    more = {**linearize.RULES, **batching.RULES, **derivative_batches.RULES}
    return {**qnode_derivatives.RULES, **more, **jvps}


def install_rules() -> None:
    """Have our primitives differentiated from now on."""
    provide_rules(provided_rules)
    for primitive in (while_p, scan_p, cond_p):
        _differentiate_as_ours(primitive)
    set_linearisation(
        checkpoint_p,
        runs_in_64_bits(lambda *args, **params: linearize.checkpoint(*args, **params)),
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
    never = not (provided_rules.cache_info().currsize or is_batched())
    if never:
        return closed
    with in_64_bits():
        expanded = lower_derivatives.expand_derivatives(closed)
        return closed if expanded is closed else simplify.simplified(expanded)
