"""The private names of PennyLane that we use and the functions in it that we replace: all of them.

A patch does nothing unless this thread is tracing one of our programs. Attributes of PennyLane's
objects (`operator._wires`, `qnode._compile_pipeline`) are not listed: `make canary` finds those
that change. `restore_former_jax`: names of `jax.core` that JAX has dropped, or will, and PennyLane
0.45 still calls.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from jax import core
from jax.extend.core import TraceTag, concrete_or_error, set_current_trace, take_current_trace

from diastase.capture.context import is_tracing
from diastase_mlir.jax_compat import is_concrete
from diastase_toolchain.private_api import Need, Patch, PrivateApi

CIRCUITS = "circuits"
OPERATORS_AS_DATA = "operators as arguments and results"
TRACED_COEFFICIENTS = "observables with traced coefficients"
TRACED_WIRES = "wires known only at run time"
SHOTS_OF_CALLS = "shots of a single call"

_NEEDS = (
    Need(
        "qml.adjoint and qml.ctrl of operators",
        "the public functions come back to the compiler that is active, which is ours",
        {
            "pennylane.ops.op_math.adjoint": "create_adjoint_op",
            "pennylane.ops.op_math.controlled": "create_controlled_op",
        },
    ),
    Need(
        "qml.pauli_measure outside of our tracing",
        "PennyLane dispatches it to no compiler",
        {"pennylane.ops.mid_measure.pauli_measure": "_pauli_measure_impl"},
    ),
    Need(
        OPERATORS_AS_DATA,
        "`jax.tree` takes an operator apart, and is not told what for",
        {
            "pennylane.operation": "Operator._flatten Operator._unflatten",
            "pennylane.measurements": "MeasurementProcess._flatten MeasurementProcess._unflatten",
        },
    ),
    Need(
        SHOTS_OF_CALLS,
        "which shots go before which is PennyLane's to say",
        {"pennylane": "QNode._get_shots"},
    ),
    Need(
        "qml.snapshots",
        "the transform that is replaced by one into tapes has no public name",
        {"pennylane.debugging.snapshot": "_add_snapshot_tags"},
    ),
    Need(
        "figures of compiled circuits",
        "`use_style` sets a style for good, and nothing says which one is in use",
        {"pennylane.drawer.style": "_set_style"},
    ),
    Need(
        "qml.specs of compiled functions",
        "what it calls a measurement has no public name",
        {"pennylane.resource.resource": "_mp_to_str"},
    ),
    Need(
        "diastase among PennyLane's compilers",
        "it finds compilers by the metadata of packages; a checkout on a path has none",
        {"pennylane.compiler.compiler": "AvailableCompilers _refresh_compilers"},
    ),
)

_TRACED_NUMBERS = "PennyLane computes with coefficients as if it knew them"

_PATCHES = {
    "qnode_calls": Patch(
        CIRCUITS,
        "PennyLane offers compilers no way to take over a call of a QNode",
        ["pennylane:QNode.__call__"],
        "self",
    ),
    "recording": Patch(
        "errors about operators that nobody records",
        "an operator that is applied outside of a circuit leaves no trace",
        ["pennylane.queuing:QueuingManager.append"],
    ),
    "pauli_measure": Patch(
        "qml.pauli_measure",
        "PennyLane dispatches it to no compiler",
        ["pennylane.ops.mid_measure.pauli_measure:_pauli_measure_impl"],
        "wires pauli_word postselect",
    ),
    "compilers": Patch(
        "diastase among PennyLane's compilers",
        "PennyLane looks for compilers again, and finds what the metadata says",
        ["pennylane.compiler.compiler:_refresh_compilers"],
        "",
    ),
    "compiler_version": Patch(
        "diastase under the name of Catalyst",
        "there is no package `pennylane-catalyst` whose version could be asked for",
        ["pennylane.compiler.qjit_api:_check_compiler_version"],
        "name",
    ),
    "wires": Patch(
        TRACED_WIRES, "PennyLane compares and hashes wires", ["pennylane.wires:_process"], "wires"
    ),
    "permute": Patch(
        "qml.Permute of wires known only at run time",
        "it compares its labels before anybody else sees them",
        ["pennylane:Permute.__init__"],
        "self permutation wires id | self permutation wires",
    ),
    "kraus_matrices": Patch(
        "errors about Kraus matrices that are none",
        "PennyLane computes with them before it looks at them",
        ["pennylane:QubitChannel.__init__"],
        "self K_list wires id | self K_list wires",
    ),
    "device": Patch(
        "a traced number of wires",
        "PennyLane makes a `range` of the number",
        ["pennylane:device", "pennylane.devices.device_constructor:device"],
        "name",
    ),
    "draw": Patch(
        "qml.draw of compiled functions",
        "PennyLane draws what they were compiled from: loops unrolled, and no passes",
        ["pennylane:draw", "pennylane.drawer:draw"],
    ),
    "draw_mpl": Patch(
        "qml.draw_mpl of compiled functions",
        "PennyLane draws what they were compiled from: loops unrolled, and no passes",
        ["pennylane:draw_mpl", "pennylane.drawer:draw_mpl"],
    ),
    "specs": Patch(
        "qml.specs of compiled functions",
        "PennyLane knows Catalyst's class only",
        ["pennylane:specs", "pennylane.resource:specs"],
    ),
    "scaled_combination": Patch(
        TRACED_COEFFICIENTS,
        _TRACED_NUMBERS,
        ["pennylane.ops:LinearCombination.__mul__", "pennylane.ops:LinearCombination.__rmul__"],
    ),
    "sum_of_combinations": Patch(
        TRACED_COEFFICIENTS,
        _TRACED_NUMBERS,
        ["pennylane.ops:LinearCombination.__add__", "pennylane.ops:LinearCombination.__radd__"],
    ),
    "product_of_combinations": Patch(
        TRACED_COEFFICIENTS, _TRACED_NUMBERS, ["pennylane.ops:LinearCombination.__matmul__"]
    ),
    "scaled_matrix": Patch(
        TRACED_COEFFICIENTS,
        _TRACED_NUMBERS,
        ["pennylane:SparseHamiltonian.__mul__", "pennylane:SparseHamiltonian.__rmul__"],
    ),
    "shifted": Patch(
        TRACED_COEFFICIENTS,
        _TRACED_NUMBERS,
        ["pennylane.operation:Operator.__add__", "pennylane.operation:Operator.__radd__"],
    ),
    "combination": Patch(
        TRACED_COEFFICIENTS,
        "known and traced coefficients make no array",
        ["pennylane.ops:LinearCombination.__init__"],
    ),
    "hermitian": Patch(
        TRACED_COEFFICIENTS,
        "a nested list with traced numbers makes no array",
        ["pennylane:Hermitian.__init__"],
    ),
    "words_of_sums": Patch(
        "fast sums of observables",
        "PennyLane adds each coefficient to 0.0 again for each term of a sum",
        ["pennylane.ops:Sum._build_pauli_rep"],
        "self",
    ),
}

PENNYLANE = PrivateApi("pennylane", "0.45", _NEEDS, _PATCHES)


def patch_while_tracing(point: str, rule: Callable[..., Any]) -> None:
    """Let `rule(original, *arguments)` take the place of a function while this thread is tracing.

    Everywhere else it is PennyLane's own.
    """

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            return rule(original, *args, **kwargs) if is_tracing() else original(*args, **kwargs)

        return call

    PENNYLANE.patch(point, guarded)


# The first two, for every tracer, are gone with jax 0.12; the others, what traces are made with (in
# metric tensors of PennyLane's own on JAX arrays), with 0.10.
_FORMER = {
    "is_concrete": is_concrete,
    "concrete_or_error": concrete_or_error,
    "TraceTag": TraceTag,
    "set_current_trace": set_current_trace,
    "take_current_trace": take_current_trace,
}


def restore_former_jax() -> None:
    """Put back into `jax.core` what is gone; `hasattr` would warn of those to go."""
    for name, value in _FORMER.items():
        core.__dict__.setdefault(name, value)
