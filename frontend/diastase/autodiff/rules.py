"""All rules of derivatives and batches: `(primitive, transformation)` -> rule.

Imported when the first of them is needed, all at once. JAX's own loops and branches, and
`jax.checkpoint`, have rules of ours where they need them (`install_rules`).
"""

from collections.abc import Mapping

from diastase.autodiff import mcm_branches
from diastase.autodiff.control_flow import (
    batching,
    derivative_equations,
    jvp_rules,
    lax_control_flow,
    linearize,
)
from diastase.autodiff.tangents import gate_rules, measurement_rules
from diastase.primitives import qnode_derivatives
from diastase.primitives.define import Rule

_JVPS = gate_rules, measurement_rules, jvp_rules, mcm_branches

RULES: Mapping[tuple[str, str], Rule] = {
    **qnode_derivatives.RULES,
    **linearize.RULES,
    **batching.RULES,
    **derivative_equations.RULES,
    **lax_control_flow.RULES,
    **{(name, "jvp"): rule for module in _JVPS for name, rule in module.RULES.items()},
}
