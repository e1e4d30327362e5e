"""How a QNode is to be differentiated: `diff_method` and `gradient_kwargs`, resolved.

In: a QNode, and whether it has shots. Out: the parameter `differentiation` of its equation, a pair
of a method and its options, or None where derivatives are exact:

    exact               `best`, `adjoint`, `backprop` (and `device`), without shots
    parameter-shift     by its name; `best` with shots
    finite-diff, spsa, hadamard
    refused             the reason why there is no derivative: diff_method=None, exact with shots

Options are those of PennyLane's gradient transforms, with their defaults, as sorted plain pairs, so
that programs can still be told apart by their text. Where nothing is differentiated nothing of it
matters: no method is refused before.
"""

import inspect
from typing import Any

import pennylane as qml

from diastase.tracing.quantum_errors import InvalidSettingError
from diastase_mlir import user_span

Differentiation = tuple[str, tuple[tuple[str, Any], ...]]

OUTCOMES: Differentiation = (
    "refused",
    (
        ("at", "measure"),
        ("reason", "an outcome jumps, and what follows it depends on it; without `measure`, there "
         "is a derivative"),
    ),
)  # fmt: skip
"""Of a circuit with outcomes in its middle."""

_EXACT = ("best", "adjoint", "backprop", "device")
_TRANSFORMS = {
    "parameter-shift": "param_shift",
    "finite-diff": "finite_diff",
    "spsa": "spsa_grad",
    "hadamard": "hadamard_grad",
}
_ABOUT_TAPES = frozenset({"argnum", "f0", "fallback_fn", "gradient_recipes", "broadcast"})
"""Options that say how PennyLane makes tapes, or need its tapes."""
_HARMLESS = frozenset({"broadcast", "validate_params", "fallback_fn", "aux_wire", "device_wires"})


def differentiation_of(qnode: qml.QNode, name: str, has_shots: bool) -> Differentiation | None:
    """How the results of a call are differentiated; None for exactly."""
    method = _method(qnode.diff_method, name)
    if method is None:
        return ("refused", (("reason", "diff_method=None"),))
    if method not in _TRANSFORMS:
        if not has_shots:
            return None
        if method != "best":
            reason = f"diff_method={method!r} is exact, and the QNode has shots: "
            return ("refused", (("reason", f"{reason}use 'parameter-shift' or 'best'"),))
        method = "parameter-shift"
    if method == "hadamard" and has_shots:
        reason = "diff_method='hadamard' is for QNodes without shots here: use 'parameter-shift'"
        return ("refused", (("reason", reason),))
    given = getattr(qnode, "gradient_kwargs", None) or {}
    return (method, _options(method, name, dict(given)))


def needs_averages(differentiation: Differentiation | None) -> bool:
    """Whether a QNode's body must return averages over the state only."""
    return differentiation is not None and differentiation[0] == "parameter-shift"


def parameter_of(differentiation: Differentiation | None) -> dict[str, Any]:
    """The parameter of a QNode's equation; there is none where derivatives are exact."""
    return {} if differentiation is None else {"differentiation": differentiation}


def _method(given: Any, name: str) -> str | None:
    """A method by its name; PennyLane's transforms stand for theirs."""
    if given is None or given in (*_EXACT, *_TRANSFORMS):
        return given
    for method, transform in _TRANSFORMS.items():
        if given is getattr(qml.gradients, transform):
            return method
    methods = ", ".join((*_EXACT, *_TRANSFORMS))
    raise InvalidSettingError(
        qnode=name,
        setting=f"diff_method={given!r}",
        reason=f"the methods are {methods}, None",
        span=user_span(),
    )


def _options(method: str, name: str, given: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The options of a method, with PennyLane's defaults."""
    transform = getattr(qml.gradients, _TRANSFORMS[method])
    signature = inspect.signature(transform.tape_transform)
    known = {
        parameter.name: parameter.default
        for parameter in list(signature.parameters.values())[1:]
        if parameter.name not in _ABOUT_TAPES
    }
    for option, value in given.items():
        if option in _HARMLESS:
            continue
        if option not in known:
            reason = f"diff_method={method!r} has the options {', '.join(known)}"
            raise InvalidSettingError(
                qnode=name,
                setting=f"gradient_kwargs {option}={value!r}",
                reason=reason,
                span=user_span(),
            )
    found = {**known, **{option: value for option, value in given.items() if option in known}}
    return tuple(sorted((key, _plain(value)) for key, value in found.items() if key in _READ))


_READ = frozenset(
    {"h", "approx_order", "n", "strategy", "shifts", "num_directions", "sampler", "sampler_rng"}
)
"""Options that change results."""


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value
