"""Derivatives of programs: rules of our primitives, and circuits for derivatives of QNodes.

JAX differentiates the program; what it asks of a QNode is recorded as one equation
(`primitives.qnode_derivatives`). `expand_derivatives` puts circuits in their place when tracing is
over. Nothing of it is imported before a program is differentiated.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr

from diastase.autodiff.control_flow import predication
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
    from diastase.autodiff import lower_derivatives, rules
    from diastase.jaxprs import constant_folding
else:
    rules = LazyModule("diastase.autodiff.rules")
    lower_derivatives = LazyModule("diastase.autodiff.lower_derivatives")
    constant_folding = LazyModule("diastase.jaxprs.constant_folding")

__all__ = ["expand_derivatives", "install_rules"]


@cache
def provided_rules() -> Mapping[tuple[str, str], Rule]:
    """The rules that primitives promise: `(primitive, transformation)` -> rule."""
    return rules.RULES


def install_rules() -> None:
    """Have our primitives differentiated from now on."""
    provide_rules(provided_rules)
    for primitive in (while_p, scan_p, cond_p):
        _differentiate_as_ours(primitive)
    set_linearisation(
        checkpoint_p,
        _rule("checkpoint", "linearise"),
        applies=lambda jaxpr, **_: current_context() is not None and _has_loops(jaxpr),
    )
    set_batching(
        checkpoint_p,
        _rule("checkpoint", "vmap_of_axis"),
        applies=lambda **params: _may_not_be_run("checkpoint", params),
    )


def _rule(name: str, transformation: str) -> Rule:
    """One of our rules for a primitive of JAX's, loaded when it is needed."""
    return runs_in_64_bits(
        lambda *args, **params: provided_rules()[name, transformation](*args, **params)
    )


def _differentiate_as_ours(primitive: Any) -> None:
    """Have JAX's loops and branches taken for ours where they need it (`lax_control_flow`)."""
    name = primitive.name

    def linearised(**params: Any) -> bool:
        return _computes_sizes(**params) or (name == "while" and current_context() is not None)

    def batched(**params: Any) -> bool:
        return _computes_sizes(**params) or _may_not_be_run(name, params)

    set_jvp(primitive, _rule(name, "jvp"), _computes_sizes)
    set_batching(primitive, _rule(name, "vmap_of_axis"), batched)
    set_linearisation(primitive, _rule(name, "linearise"), linearised)


def _computes_sizes(**params: Any) -> bool:
    """Whether any of the jaxprs among these parameters does, at any depth."""
    context = current_context()
    if context is None or not context.dimensions.symbols:
        return False
    return any(map(context.dimensions.defines_symbols, variables_in(params)))


def _may_not_be_run(name: str, params: Mapping[str, Any]) -> bool:
    """Whether a loop in it, or itself, is in a branch or a turn that is not that of all elements.

    JAX runs branches for all elements of a batch, but a loop may end only where it is meant to run:
    ours asks which elements are active (`predication`). And JAX's rules keep what they have traced,
    with what that closes over as constants.
    """
    if current_context() is None:
        return False
    if name == "cond" or predication.is_on():
        return name == "while" or _has_loops(params)
    return False


def _has_loops(within: Any) -> bool:
    """Whether there is control flow inside that JAX cannot take apart."""
    return any(
        has_role(equation, Role.CONTROL_FLOW)
        or equation.primitive.name in ("while", "control_derivative")
        for equation in equations_in(within)
    )


def expand_derivatives(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Put circuits in the place of derivatives of QNodes, and loops in that of batches."""
    never = not (provided_rules.cache_info().currsize or is_batched())
    if never:
        return closed
    with in_64_bits():
        expanded = lower_derivatives.expand_derivatives(closed)
        return closed if expanded is closed else constant_folding.simplified(expanded)
