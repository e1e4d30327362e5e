"""How a QNode is to be differentiated: `diff_method` and `gradient_kwargs`, resolved.

In: a QNode, and whether it has shots. Out: the parameter `differentiation` of its equation, a pair
of a method and its options, or None where derivatives are exact:

    exact               `best`, `adjoint`, `backprop` (and `device`), without shots
    parameter-shift     by its name; `best` with shots
    finite-diff, spsa, hadamard
    refused             the reason why there is no derivative: diff_method=None, exact with shots

Options are those of PennyLane's gradient transforms (`gradient_options`). Where nothing is
differentiated nothing of it matters: no method is refused before; an option that nobody knows is.
"""

from typing import Any

import pennylane as qml

from diastase.capture.quantum_errors import InvalidSettingError
from diastase.quantum.settings.gradient_options import TRANSFORMS, options_of
from diastase_mlir import user_span

Differentiation = tuple[str, tuple[tuple[str, Any], ...]]

OUTCOMES: Differentiation = (
    "refused",
    (
        ("at", "measure"),
        ("reason", "an outcome jumps, and what follows it depends on it; averages over outcomes "
         "have derivatives: without shots, mcm_method='deferred' or 'tree-traversal'"),
    ),
)  # fmt: skip
"""Of a circuit with outcomes in its middle."""

_EXACT = ("best", "adjoint", "backprop", "device")
_METHOD_OF_BEST = "parameter-shift"
"""With shots."""


def differentiation_of(qnode: qml.QNode, name: str, has_shots: bool) -> Differentiation | None:
    """How the results of a call are differentiated; None for exactly."""
    method = _method(qnode.diff_method, name)
    if method is None:
        return ("refused", (("reason", "diff_method=None"),))
    if method not in TRANSFORMS:
        if not has_shots:
            return None
        if method != "best":
            reason = f"diff_method={method!r} is exact, and the QNode has shots: "
            return ("refused", (("reason", f"{reason}use 'parameter-shift' or 'best'"),))
        method = _METHOD_OF_BEST
    given = getattr(qnode, "gradient_kwargs", None) or {}
    return (method, options_of(method, name, given, has_shots))


def needs_averages(differentiation: Differentiation | None) -> bool:
    """Whether a QNode's body must return averages over the state only."""
    return differentiation is not None and differentiation[0] == "parameter-shift"


def is_tested(differentiation: Differentiation | None) -> bool:
    """Whether derivatives are found by Hadamard tests, with shots."""
    return differentiation is not None and (
        differentiation[0] == "hadamard" and dict(differentiation[1]).get("mode") == "standard"
    )


def parameter_of(differentiation: Differentiation | None) -> dict[str, Any]:
    """The parameter of a QNode's equation; there is none where derivatives are exact."""
    return {} if differentiation is None else {"differentiation": differentiation}


def _method(given: Any, name: str) -> str | None:
    """A method by its name; PennyLane's transforms stand for theirs."""
    if given is None or given in (*_EXACT, *TRANSFORMS):
        return given
    for method, transform in TRANSFORMS.items():
        if given is getattr(qml.gradients, transform):
            return method
    methods = ", ".join((*_EXACT, *TRANSFORMS))
    raise InvalidSettingError(
        qnode=name,
        setting=f"diff_method={given!r}",
        reason=f"the methods are {methods}, None",
        span=user_span(),
    )
