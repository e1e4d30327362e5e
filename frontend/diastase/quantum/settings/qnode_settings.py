"""Everything that a QNode and its call say beside the quantum function, resolved in one place.

In: a QNode and the keywords of one call. Out: `QNodeSettings`, by which `call_qnode` chooses how
the function is run, and the keywords that are the function's own.

Shots come from, in PennyLane's order: `qml.set_shots` or the QNode itself, `shots=` of the call
(which PennyLane has deprecated and still honours), the device. Their number may be traced.

Amplitudes are complex64 where the device asks for it, as lightning's do (`c_dtype=np.complex64`),
or the program (`qjit(precision="single")`). States and density matrices are then complex64 and
probabilities float32; what is summed up in double precision stays float64, as in lightning.

The trap: a value that PennyLane would only refuse when it executes must be refused here; a compiled
program never gets there.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane import measurements
from pennylane.measurements import Shots

from diastase.capture.context import Folding, current_settings
from diastase.capture.pennylane_compat import shots_of_call
from diastase.capture.quantum_errors import InvalidSettingError, UnsupportedReturnError
from diastase.primitives.quantum import AbstractRegister
from diastase.quantum.settings.circuit_passes import Steps, steps_of
from diastase.quantum.settings.diff_method import Differentiation, differentiation_of
from diastase.quantum.settings.methods import (
    Method,
    automatic_by,
    gives_standard_errors,
    method_of,
    trajectories_of,
)
from diastase.quantum.settings.noise_models import Noise, noise_of_device
from diastase_mlir import user_span
from diastase_mlir.jax_compat import abstract_value, is_symbolic

McmMethod = Literal["one-shot", "single-branch-statistics", "deferred", "tree-traversal"]
PostselectMode = Literal["hw-like", "fill-shots"]

MCM_METHODS: tuple[McmMethod, ...] = get_args(McmMethod)
POSTSELECT_MODES: tuple[PostselectMode, ...] = get_args(PostselectMode)


@dataclass(frozen=True)
class QNodeSettings:
    """What was asked of one call of a QNode."""

    qnode: str
    """The name of the quantum function."""
    device: Any
    shots: Shots
    """Numbers, or traced scalars."""
    mcm_method: McmMethod
    postselect_mode: PostselectMode
    steps: Steps
    """PennyLane's transforms of the tape, and the compiler's passes on the circuit."""
    method: Method
    """By which it is simulated, and why."""
    automatic: str
    """Who says that another method is taken where it fits the circuit."""
    trajectories: int
    """How many of them are averaged where there are no shots, if it is by trajectories."""
    standard_errors: bool = False
    """Whether results come with their standard errors."""
    single: bool = False
    """Whether amplitudes are in single precision."""
    sweeps: bool = False
    """Whether derivatives are to be found by sweeps alone, which outcomes do not have."""
    differentiation: Differentiation | None = None
    """How it is differentiated; None for exactly."""
    folding: Folding | None = None
    """How its circuit is made longer; None for not at all."""
    noise: Noise | None = ()
    """What is added to each operation; None where the device adds what only PennyLane can add."""

    @property
    def is_mixed(self) -> bool:
        """Whether the register is a density matrix."""
        return self.method.name == "density"

    @property
    def is_analytic(self) -> bool:
        """Whether results are exact: no shots were asked for."""
        return not self.shots

    @property
    def total_shots(self) -> Any:
        """How many shots all partitions have together; asked for only where there are any."""
        assert not self.is_analytic
        return self.shots.total_shots


def resolve_settings(
    qnode: qml.QNode, kwargs: dict[str, Any]
) -> tuple[QNodeSettings, dict[str, Any]]:
    """The settings of a call, and the keywords that the quantum function takes."""
    name = getattr(qnode.func, "__name__", "qnode")
    method = method_of(qnode)
    remaining = dict(kwargs)
    shots = _shots(name, qnode, remaining)
    settings = QNodeSettings(
        qnode=name,
        device=qnode.device,
        shots=shots,
        mcm_method=_mcm_method(name, qnode.execute_kwargs.get("mcm_method"), shots, method),
        postselect_mode=_postselect_mode(name, qnode.execute_kwargs.get("postselect_mode")),
        steps=steps_of(qnode),
        method=method,
        automatic=automatic_by(qnode),
        trajectories=trajectories_of(qnode),
        standard_errors=gives_standard_errors(qnode),
        single=_is_single(qnode.device),
        sweeps=qnode.diff_method == "adjoint",
        differentiation=differentiation_of(qnode, name, bool(shots)),
        folding=_folding(),
        noise=noise_of_device(qnode.device),
    )
    _check_standard_errors(settings)
    return settings, remaining


def _check_standard_errors(settings: QNodeSettings) -> None:
    """Refuse them where results are no averages over trajectories."""
    reasons = (
        (settings.method.name != "trajectories", f"the method is {settings.method.name}"),
        (not settings.is_analytic, "the QNode has shots"),
        (bool(settings.steps.transforms), "PennyLane's transforms want results alone"),
    )
    for holds, reason in reasons:
        if settings.standard_errors and holds:
            why = f"{reason}; averages of trajectories without shots have them"
            raise _invalid(settings.qnode, "standard_errors=True", why)


def _shots(name: str, qnode: qml.QNode, kwargs: dict[str, Any]) -> Shots:
    given: Any = shots_of_call(qnode, kwargs)
    try:
        shots: Any = Shots(given)
    except ValueError as error:
        raise _invalid(name, f"shots={given!r}", str(error)) from error
    for count in (copies.shots for copies in shots.shot_vector):
        if isinstance(count, Tracer) and not jnp.issubdtype(count.dtype, jnp.integer):
            reason = f"traced shots are an integer, not {count.aval.str_short()}"
            raise _invalid(name, "shots", reason)
    total = shots.total_shots
    if isinstance(total, int) and total >= 2**63:
        raise _invalid(name, f"shots={given!r}", "programs count shots with 64 bits")
    return shots


def _mcm_method(name: str, given: Any, shots: Shots, method: Method) -> McmMethod:
    """Density matrices are averages over all that may happen, outcomes included."""
    if given is None and not shots:
        return "deferred" if method.name == "density" else "single-branch-statistics"
    if given is None:
        return "one-shot"
    if given not in MCM_METHODS:
        reason = f"the methods are {', '.join(MCM_METHODS)}"
        raise _invalid(name, f"mcm_method={given!r}", reason)
    if given == "single-branch-statistics" and method.name == "trajectories":
        reason = "each trajectory has outcomes of its own: leave it out, or use one-shot"
        raise _invalid(name, f"mcm_method={given!r}", reason)
    if given == "one-shot" and not shots:
        reason = "that method needs shots, and the QNode has none"
        raise _invalid(name, f"mcm_method={given!r}", reason)
    return given


def _postselect_mode(name: str, given: Any) -> PostselectMode:
    if given is None:
        return "hw-like"
    if given == "pad-invalid-samples":
        reason = "results have their own sizes in compiled programs, so nothing is padded"
        raise _invalid(name, f"postselect_mode={given!r}", f"{reason}: use hw-like")
    if given not in POSTSELECT_MODES:
        reason = f"the modes are {', '.join(POSTSELECT_MODES)}"
        raise _invalid(name, f"postselect_mode={given!r}", reason)
    return given


def _is_single(device: Any) -> bool:
    """Whether a QNode on this device that is called now is to have complex64 amplitudes."""
    asked = getattr(device, "c_dtype", None)
    return current_settings().single or (asked is not None and np.dtype(asked) == np.complex64)


def _folding() -> Folding | None:
    """A scale of 1 is no folding."""
    folding = current_settings().folding
    return None if folding is None or folding.scale == 1 else folding


def _invalid(name: str, setting: str, reason: str) -> InvalidSettingError:
    return InvalidSettingError(qnode=name, setting=setting, reason=reason, span=user_span())


# --- results -------------------------------------------------------------------------------------


_NARROW: dict[type, Any] = {
    measurements.ProbabilityMP: jnp.float32,
    measurements.DensityMatrixMP: jnp.complex64,
}
"""Results that are computed in double precision of any state, and the types that they then have."""


def in_precision_of(register: Any, process: Any, value: Any) -> Any:
    """Give the value of a measurement the type that it has in the register's precision."""
    kind = abstract_value(register)
    narrow = _NARROW.get(type(process))
    if narrow is None or not isinstance(kind, AbstractRegister) or not kind.single:
        return value
    return value.astype(narrow)


def classical_result(leaf: Any, qnode: str) -> jax.Array:
    """A leaf of what a QNode returned that is no measurement process, as an array."""
    numbers = np.generic | bool | int | float | complex
    if isinstance(leaf, jax.Array | np.ndarray | numbers) or is_symbolic(leaf):
        return jnp.asarray(leaf)
    hint = "a QNode returns measurements, outcomes and arrays, in any pytree"
    raise UnsupportedReturnError(
        function=f"the QNode {qnode}", value=repr(leaf), hint=hint, span=user_span()
    )
