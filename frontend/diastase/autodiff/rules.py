"""All rules of derivatives and batches: `(primitive, transformation)` -> rule.

Imported when the first of them is needed, all at once. JAX's own loops and branches, and
`jax.checkpoint`, have rules of ours where they need them (`install_rules`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from diastase.autodiff import mcm_branches
from diastase.autodiff.control_flow import (
    batching,
    derivative_equations,
    jvp_rules,
    lax_control_flow,
    linearize,
)
from diastase.autodiff.lanes import rules as lane_rules
from diastase.autodiff.tangents import (
    gate_rules,
    measurement_rules,
    mixed_gate_rules,
    mixed_measurement_rules,
)
from diastase.primitives import qnode_derivatives
from diastase.primitives.define import Rule

_JVPS = gate_rules, measurement_rules, jvp_rules, mcm_branches
_OF_DENSITY_MATRICES = {**mixed_gate_rules.RULES, **mixed_measurement_rules.RULES}


def _by_register(pure: Rule | None, mixed: Rule) -> Rule:
    """The rule of an operation or a measurement, which is another one on a density matrix."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        register: Any = jax.typeof(primals[0])
        own = mixed if pure is None or register.mixed else pure
        return own(primals, tangents, **params)

    return rule


_OF_STATE_VECTORS = {name: rule for module in _JVPS for name, rule in module.RULES.items()}

RULES: Mapping[tuple[str, str], Rule] = {
    **qnode_derivatives.RULES,
    **linearize.RULES,
    **batching.RULES,
    **lane_rules.RULES,
    **derivative_equations.RULES,
    **lax_control_flow.RULES,
    **{(name, "jvp"): rule for name, rule in _OF_STATE_VECTORS.items()},
    **{
        (name, "jvp"): _by_register(_OF_STATE_VECTORS.get(name), rule)
        for name, rule in _OF_DENSITY_MATRICES.items()
    },
}
