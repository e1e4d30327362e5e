"""What has no derivative by the methods that are for hardware: outcomes in the middle, states.

Refused before runs are recorded, with the line of the construct.
"""

from collections.abc import Mapping
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal, Var

from diastase.primitives.define import Role, has_role
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.quantum import is_register, touches_register
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import equations_in


def refuse_parts(closed: ClosedJaxpr, method: str) -> None:
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


def gives_averages(closed: ClosedJaxpr) -> bool:
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
