"""What has no derivative by the methods that are for hardware: outcomes in the middle, states.

Refused before runs are recorded, with the line of the construct.
"""

from collections.abc import Mapping

from jax.extend.core import ClosedJaxpr

from diastase.errors import NoDerivativeError
from diastase_mlir.diagnostics import span_of


def refuse_parts(closed: ClosedJaxpr, method: str) -> None:
    """Refuse outcomes in the middle, and states where only averages have derivatives."""
    for equation in closed.jaxpr.eqns:
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
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, ClosedJaxpr):
                    refuse_parts(part, method)


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
    ("parameter-shift", "state"): _STATE,
    ("hadamard", "state"): _STATE,
    ("hadamard", "var_pauli"): _VARIANCE,
    ("hadamard", "var_matrix"): _VARIANCE,
}
