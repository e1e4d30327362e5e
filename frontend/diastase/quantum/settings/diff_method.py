"""How a QNode is to be differentiated: `diff_method` and `gradient_kwargs`, resolved.

In: a QNode, and whether it has shots. Out: the parameter `differentiation` of its equation, a pair
of a method and its options, or None where derivatives are exact:

    exact               `best`, `adjoint`, `backprop` (and `device`), without shots
    parameter-shift     by its name; `best` with shots
    finite-diff, spsa, hadamard
    refused             the reason why there is no derivative: diff_method=None, exact with shots

Options are those of PennyLane's gradient transforms, with their defaults: kept where they change
results, harmless where they say how PennyLane makes its tapes, or refused with a reason; any other
is an error that lists those that there are. They are sorted plain pairs, so that programs can be
told apart by their text. Where nothing is differentiated nothing of it matters: no method is
refused before; an option that nobody knows is.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pennylane as qml
from pennylane.gradients.finite_difference import finite_diff_coeffs

from diastase.capture.quantum_errors import InvalidSettingError
from diastase_mlir import user_span

Options = tuple[tuple[str, Any], ...]
Differentiation = tuple[str, Options]

OUTCOMES: Differentiation = (
    "refused",
    (
        ("at", "measure"),
        ("reason", "an outcome jumps, and what follows it depends on it; averages over outcomes "
         "have derivatives: without shots, mcm_method='deferred' or 'tree-traversal'"),
    ),
)  # fmt: skip
"""Of a circuit with outcomes in its middle."""

TRANSFORMS = {
    "parameter-shift": "param_shift",
    "finite-diff": "finite_diff",
    "spsa": "spsa_grad",
    "hadamard": "hadamard_grad",
}
"""The methods, by the names of PennyLane's transforms."""

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
    return (method, _options(method, name, given, has_shots))


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


# --- options -------------------------------------------------------------------------------------


_DIFFERENCES = {"h": 1e-7, "approx_order": 1, "n": 1, "strategy": "forward", "argnum": None}
_KEPT: Mapping[str, Mapping[str, Any]] = {
    "parameter-shift": {"shifts": None, "gradient_recipes": None, "argnum": None},
    "finite-diff": _DIFFERENCES,
    "spsa": {
        **_DIFFERENCES, "h": 1e-5, "approx_order": 2, "strategy": "center",
        "num_directions": 1, "sampler": None, "sampler_rng": None,
    },
    "hadamard": {"mode": "standard"},
}  # fmt: skip
_HARMLESS: Mapping[str, tuple[str, ...]] = {
    "parameter-shift": ("broadcast", "fallback_fn"),
    "finite-diff": ("validate_params",),
    "spsa": ("validate_params",),
    "hadamard": ("aux_wire", "device_wires"),
}
_REFUSED = {
    "f0": "a compiled derivative runs the circuit itself",
    "argnum": "all parameters are differentiated by with this method: use jax.lax.stop_gradient",
}
"""Options that are refused where they are not None."""


def _options(method: str, name: str, given: Mapping[str, Any], has_shots: bool) -> Options:
    """The options of a method for the QNode `name`."""
    known = _KEPT[method]
    for option, value in given.items():
        if option in known or option in _HARMLESS[method]:
            continue
        if option not in _REFUSED:
            every = ", ".join((*known, *_HARMLESS[method]))
            reason = f"diff_method={method!r} has the options {every}"
            raise _invalid(name, option, value, reason)
        if value is not None:
            raise _invalid(name, option, value, _REFUSED[option])
    found = {**known, **{option: value for option, value in given.items() if option in known}}
    for option, value in found.items():
        is_valid, reason = _CHECKS.get(option, (None, ""))
        if is_valid is not None and not is_valid(value):
            raise _invalid(name, option, value, reason)
    if method in ("finite-diff", "spsa"):
        _check_differences(name, found)
    if isinstance(found.get("argnum"), int):
        found["argnum"] = (found["argnum"],)
    if method == "hadamard":
        found["mode"] = _mode(name, found["mode"], given, has_shots)
    return tuple(sorted((option, _plain(value)) for option, value in found.items()))


def _mode(name: str, mode: str, given: Mapping[str, Any], has_shots: bool) -> str:
    """`standard` or `direct` with shots; without shots all modes are exact, and `exact`."""
    if not has_shots:
        return "exact"
    if mode in ("reversed", "reversed-direct"):
        reason = "with shots, generators are not measured: use 'standard', 'direct' or 'auto'"
        raise _invalid(name, "mode", mode, reason)
    if mode == "auto":
        return "direct" if given.get("aux_wire") is None else "standard"
    return mode


def _check_differences(name: str, found: Mapping[str, Any]) -> None:
    try:
        finite_diff_coeffs(found["n"], found["approx_order"], found["strategy"])
    except (ValueError, TypeError) as error:
        option = "strategy" if "strategy" in str(error).lower() else "approx_order"
        raise _invalid(name, option, found[option], str(error)) from error


def _is_step(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return bool(is_number and value != 0)


def _is_count(value: Any) -> bool:
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return bool(is_number and value > 0)


def _is_seed(value: Any) -> bool:
    return value is None or isinstance(value, int | np.integer | np.random.Generator)


def _are_positions(value: Any) -> bool:
    numbers = [value] if isinstance(value, int) else value
    return numbers is None or all(isinstance(each, int) and each >= 0 for each in numbers)


def _is_of_each(value: Any) -> bool:
    kinds = (list, tuple, np.ndarray)
    return value is None or (
        isinstance(value, kinds) and all(each is None or isinstance(each, kinds) for each in value)
    )


_MODES = ("standard", "reversed", "direct", "reversed-direct", "auto")
_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "h": (_is_step, "it is a number, and not zero"),
    "num_directions": (_is_count, "it is a positive integer"),
    "sampler_rng": (_is_seed, "it is an integer, a generator of NumPy, or None"),
    "argnum": (_are_positions, "it is a number, or a list of numbers, of parameters"),
    "shifts": (_is_of_each, "it has a tuple or None for each parameter"),
    "gradient_recipes": (_is_of_each, "it has a tuple or None for each parameter"),
    "mode": (lambda mode: mode in _MODES, f"it is one of {', '.join(_MODES)}"),
}


def _plain(value: Any) -> Any:
    """Arrays and lists as tuples."""
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_plain(each) for each in value)
    return value.item() if isinstance(value, np.generic) else value


def _invalid(name: str, option: str, value: Any, reason: str) -> InvalidSettingError:
    return InvalidSettingError(
        qnode=name,
        setting=f"gradient_kwargs {option}={value!r}",
        reason=reason,
        span=user_span(),
    )
