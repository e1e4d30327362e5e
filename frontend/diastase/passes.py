"""Passes on circuits: decorators of QNodes, and what a pass of one's own is written with.

    @qjit
    @diastase.passes.merge_rotations        # runs second
    @diastase.passes.cancel_inverses        # runs first
    @qml.qnode(device)
    def circuit(x): ...

The QNode stays what it is in Python: passes do nothing outside of compiled functions. `qml.draw`
and `f.mlir` of the compiled function show what they made of it.
`docs/adding-a-pass.md` shows how to write a pass of one's own; what that takes is imported here
when it is asked for. `values` has arithmetic on angles, which may be known only when the program
runs.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pennylane as qml

import diastase_mlir
from diastase.namespace.lazy_names import public_names, unknown_name
from diastase.quantum.settings.circuit_passes import with_passes
from diastase_mlir.diagnostics import user_span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.resources import ppm
    from diastase.quantum.passes import plugins, table
    from diastase.quantum.passes.plugins import Pass, PassPlugin
    from diastase_mlir import Circuit, Gate, New, gate_before, register_pass
    from diastase_mlir import circuit_values as values
    from diastase_mlir.passes import circuits
else:
    circuits = LazyModule("diastase_mlir.passes.circuits")
    plugins = LazyModule("diastase.quantum.passes.plugins")
    table = LazyModule("diastase.quantum.passes.table")
    ppm = LazyModule("diastase.inspection.resources.ppm")

Decorator = Callable[[Any], Any]


def pipeline(pass_pipeline: "Mapping[str, Mapping[str, Any]] | Sequence[Pass]") -> Decorator:
    """Apply several passes in order: names, each with its options, or a list of `Pass`.

    >>> from diastase.passes import pipeline
    >>> simplified = pipeline({"cancel_inverses": {}, "merge_rotations": {}})
    """
    return _decorator("pipeline", plugins.read_pipeline(pass_pipeline))


def apply_pass(name: str, *flags: str, **options: Any) -> Decorator:
    """Apply a pass by its name, one of a user's own, say; a flag is an option that is True.

    `ValueError` (`UnknownPassError`) where there is no pass of that name, `TypeError`
    (`NotAQNodeError`) where something else than a QNode is decorated.
    """
    return _decorator(name, (table.pass_call(name, {**dict.fromkeys(flags, True), **options}),))


def apply_pass_plugin(path: str | Path, name: str, *flags: str, **options: Any) -> Decorator:
    """Apply a pass that a plugin registers: a Python file, a package's folder, or an entry point.

    `ValueError` (`PassPluginError`) for anything else, a library of MLIR's among it.
    """
    return _decorator(name, (plugins.PassPlugin(path, name, *flags, **options).call,))


def cancel_inverses(qnode: Any) -> Any:
    """Remove gates that are followed by their inverse on the same qubits.

    `TypeError` (`NotAQNodeError`) for anything but a QNode, as of all these decorators.
    """
    return _apply("cancel_inverses", qnode)


def merge_rotations(qnode: Any) -> Any:
    """Join rotations of one kind that follow each other on the same qubits; drop those by zero."""
    return _apply("merge_rotations", qnode)


def combine_global_phases(qnode: Any) -> Any:
    """Join global phases into one for each loop body, branch and circuit."""
    return _apply("combine_global_phases", qnode)


def disentangle_cnot(qnode: Any) -> Any:
    """Replace CNOTs on qubits that are known to be in |0>, |1>, |+> or |-> by local gates.

    The basis states of Liu, Bello and Zhou, "Relaxed Peephole Optimization", arXiv:2012.07711.
    """
    return _apply("disentangle_cnot", qnode)


def disentangle_swap(qnode: Any) -> Any:
    """Replace SWAPs on qubits that are known to be in |0>, |1>, |+> or |-> by fewer gates.

    The basis states of Liu, Bello and Zhou, "Relaxed Peephole Optimization", arXiv:2012.07711.
    """
    return _apply("disentangle_swap", qnode)


def loop_boundary(qnode: Any) -> Any:
    """Cancel or join gates at the end of a loop's body with those at its start."""
    return _apply("loop_boundary", qnode)


def parity_synth(qnode: Any) -> Any:
    """Write CNOTs and rotations about Z with fewer CNOTs (Amy et al., arXiv:1712.01859)."""
    return _apply("parity_synth", qnode)


# --- rotations about Pauli words, and measurements of them ----------------------------------------
#
# Litinski, "A Game of Surface Codes", arXiv:1808.02892. `NotImplementedError`
# (`UnsuitableCircuitError`) for circuits that a pass cannot take.


def to_ppr(qnode: Any) -> Any:
    """Write each gate as rotations about Pauli words; of Clifford+T, by multiples of pi/4."""
    return _apply("to_ppr", qnode)


def commute_ppr(qnode: Any = None, *, max_pauli_size: int = 0) -> Any:
    """Move Clifford rotations behind all others, up to the next measurement.

    `max_pauli_size`: words do not become longer than this by it; 0 for any length.
    """
    return _given("commute_ppr", qnode, max_pauli_size=max_pauli_size)


def merge_ppr_ppm(qnode: Any = None, *, max_pauli_size: int = 0) -> Any:
    """Move Clifford rotations behind measurements, too; leave them out where nobody sees them."""
    return _given("merge_ppr_ppm", qnode, max_pauli_size=max_pauli_size)


def reduce_t_depth(qnode: Any) -> Any:
    """Join rotations about equal words, and put the others into few layers that commute.

    Zhang and Chen, arXiv:1903.12456.
    """
    return _apply("reduce_t_depth", qnode)


def ppr_to_ppm(
    qnode: Any = None,
    *,
    decompose_method: str = "pauli-corrected",
    avoid_y_measure: bool = False,
) -> Any:
    """Measure Pauli words, with auxiliary qubits, in the place of rotations by multiples of pi/4.

    `decompose_method`: how T gates are corrected, "pauli-corrected", "auto-corrected" or
    "clifford-corrected". `avoid_y_measure`: take a state |Y> instead of a measurement of Y.
    """
    return _given(
        "ppr_to_ppm", qnode, decompose_method=decompose_method, avoid_y_measure=avoid_y_measure
    )


def ppm_compilation(
    qnode: Any = None,
    *,
    decompose_method: str = "pauli-corrected",
    avoid_y_measure: bool = False,
    max_pauli_size: int = 0,
) -> Any:
    """`to_ppr`, `commute_ppr`, `merge_ppr_ppm` and `ppr_to_ppm`, one after the other."""
    return _given(
        "ppm_compilation", qnode, decompose_method=decompose_method,
        avoid_y_measure=avoid_y_measure, max_pauli_size=max_pauli_size,
    )  # fmt: skip


def decompose_arbitrary_ppr(qnode: Any) -> Any:
    """Rotate one auxiliary qubit about Z where a word is rotated about by any other angle."""
    return _apply("decompose_arbitrary_ppr", qnode)


def ppr_to_mbqc(qnode: Any) -> Any:
    """Write rotations and measurements of words in Hadamard, S, CNOT, RZ, and measurements of Z."""
    return _apply("ppr_to_mbqc", qnode)


# --- of measurements ------------------------------------------------------------------------------


def split_non_commuting(qnode: Any = None, *, grouping_strategy: Any = "default") -> Any:
    """Run the circuit for each group of measurements that commute (PennyLane's transform).

    `grouping_strategy`: "default", "qwc", "wires", or None for a run for each term. With shots,
    each group has as many as the QNode. Here and below, a decorator without a QNode.
    """
    return _given("split_non_commuting", qnode, grouping_strategy=grouping_strategy)


def split_to_single_terms(qnode: Any) -> Any:
    """Measure each term of a sum by itself, in the same run (PennyLane's transform)."""
    return _apply("split_to_single_terms", qnode)


def diagonalize_measurements(
    qnode: Any = None,
    *,
    supported_base_obs: Any = ("PauliZ", "Identity"),
    to_eigvals: bool = False,
) -> Any:
    """Turn observables into those of the supported bases, by gates before they are measured.

    `supported_base_obs`: some of PauliX, PauliY, PauliZ, Hadamard and Identity, by name or class.
    `to_eigvals`: measure wires, and give their outcomes the observable's values.
    `NotImplementedError` (`UnsupportedTransformError`) for measurements that do not commute.
    """
    return _given(
        "diagonalize_measurements", qnode, supported_base_obs=supported_base_obs,
        to_eigvals=to_eigvals,
    )  # fmt: skip


def measurements_from_samples(qnode: Any) -> Any:
    """Compute all results of one set of samples of bits; `ValueError` of a QNode without shots."""
    return _apply("measurements_from_samples", qnode)


# --- into other gates -----------------------------------------------------------------------------


def graph_decomposition(
    qnode: Any = None,
    *,
    gate_set: Any,
    fixed_decomps: Any = None,
    alt_decomps: Any = None,
    num_work_wires: int | None = 0,
    minimize_work_wires: bool = False,
) -> Any:
    """Make the circuit of the gates of a set, as cheaply as PennyLane's graph finds.

    `gate_set`: names or classes, or a dictionary from them to costs; global phases are free.
    `fixed_decomps` and `alt_decomps`: rules of one's own (`qml.register_resources`).
    `ValueError` (`GateSetError`) for an operator that the set cannot express.
    """
    return _given(
        "graph_decomposition", qnode, gate_set=gate_set, fixed_decomps=fixed_decomps,
        alt_decomps=alt_decomps, num_work_wires=num_work_wires,
        minimize_work_wires=minimize_work_wires,
    )  # fmt: skip


def ions_decomposition(qnode: Any) -> Any:
    """Make the circuit of RX, RY and MS, the gates of trapped ions.

    MS(theta) is exp(-i theta/2 XX), PennyLane's `IsingXX`. A CNOT takes one of them (Maslov, New
    J. Phys. 19, 023035, 2017).
    """
    return _apply("ions_decomposition", qnode)


def gridsynth(qnode: Any = None, *, epsilon: float = 1e-4, ppr_basis: bool = False) -> Any:
    """Replace `RZ` and `PhaseShift` by Clifford gates and T, each within `epsilon`.

    In operator norm, global phase included, by Ross and Selinger, arXiv:1403.2975. Angles that are
    known only when the program runs are looked up by Python then. `ppr_basis`: by rotations about
    Pauli words instead. `ValueError` (`ApproximationError`) where nothing is near enough.
    """
    return _given("gridsynth", qnode, epsilon=epsilon, ppr_basis=ppr_basis)


def _given(name: str, qnode: Any, **options: Any) -> Any:
    """A pass with options of a QNode, or, without one, a decorator."""
    decorate = _decorator(name, (table.pass_call(name, options),))
    return decorate if qnode is None else decorate(qnode)


def ppm_specs(fn: Any, /, *args: Any, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Count rotations and measurements of Pauli words in a compiled function, after its passes.

    `args`: those of a call, or their types; without any, the types of the last call. The result has
    a dictionary for each circuit, named by its QNode and a number (`circuit_0`), with the keys
    `logical_qubits`; `pi2_ppr`, `pi4_ppr`, `pi8_ppr`, `arbitrary_ppr`, rotations by half their
    angle (`pi8` is not in the Clifford group), with `max_weight_pi8`, … and `depth_pi8_ppr`, …;
    `num_of_ppm` and `depth_ppm`, measurements. What a circuit has not is left out. Numbers are
    ints, or expressions in the names of arguments, as those of `qml.specs`.

    A depth is the number of layers of commuting operations of that kind, each as early as possible
    (D. Litinski, "A Game of Surface Codes", arXiv:1808.02892). `TypeError`
    (`NotCompiledFunctionError`) for what is not compiled.
    """
    return ppm.ppm_specs_of(fn, *args, **kwargs)


def _apply(name: str, qnode: Any) -> Any:
    return _decorator(name, (table.pass_call(name, {}),))(qnode)


def _decorator(name: str, passes: "tuple[circuits.PassCall, ...]") -> Decorator:
    def decorate(qnode: Any) -> Any:
        if not isinstance(qnode, qml.QNode):
            raise circuits.NotAQNodeError(name=name, type=_kind(qnode), span=user_span())
        return with_passes(qnode, passes)

    return decorate


def _kind(value: Any) -> str:
    """What something is, with its name if it has one."""
    name = getattr(value, "__name__", None)
    kind = f"a {type(value).__name__}"
    return f"{kind} ({name})" if name else kind


__all__ = [
    "Circuit",
    "Gate",
    "New",
    "Pass",
    "PassPlugin",
    "apply_pass",
    "apply_pass_plugin",
    "cancel_inverses",
    "combine_global_phases",
    "commute_ppr",
    "decompose_arbitrary_ppr",
    "diagonalize_measurements",
    "disentangle_cnot",
    "disentangle_swap",
    "gate_before",
    "graph_decomposition",
    "gridsynth",
    "ions_decomposition",
    "loop_boundary",
    "measurements_from_samples",
    "merge_ppr_ppm",
    "merge_rotations",
    "parity_synth",
    "pipeline",
    "ppm_compilation",
    "ppm_specs",
    "ppr_to_mbqc",
    "ppr_to_ppm",
    "reduce_t_depth",
    "register_pass",
    "split_non_commuting",
    "split_to_single_terms",
    "to_ppr",
    "values",
]


def __getattr__(name: str) -> Any:
    """What a pass of one's own is written with is imported for those who write one."""
    if name not in __all__:
        raise unknown_name(__name__, name)
    if name in ("Pass", "PassPlugin"):
        return getattr(plugins, name)
    if name == "register_pass":
        return table.register_pass  # which knows the names of the frontend's passes
    return getattr(diastase_mlir, "circuit_values" if name == "values" else name)


__dir__ = public_names(__name__)
