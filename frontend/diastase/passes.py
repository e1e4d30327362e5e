"""Passes on circuits: decorators of QNodes, and what a pass of one's own is written with.

    @qjit
    @diastase.passes.merge_rotations        # runs second
    @diastase.passes.cancel_inverses        # runs first
    @qml.qnode(device)
    def circuit(x): ...

The QNode stays what it is in Python: `qml.draw` shows the circuit as it was written, `f.mlir` of
the compiled function what the passes made of it. Outside of compiled functions they do nothing.
`docs/adding-a-pass.md` shows how to write a pass of one's own; what that takes is imported here
when it is asked for. `values` has arithmetic on angles, which may be known only when the program
runs.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pennylane as qml

import diastase_mlir
from diastase.namespace.lazy_names import public_names, unknown_name
from diastase.quantum.settings.circuit_passes import with_passes
from diastase_mlir.diagnostics import user_span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.resources import ppm
    from diastase_mlir import Circuit, Gate, New, gate_before, register_pass
    from diastase_mlir import circuit_values as values
    from diastase_mlir.passes import circuits
else:
    circuits = LazyModule("diastase_mlir.passes.circuits")
    ppm = LazyModule("diastase.inspection.resources.ppm")

Decorator = Callable[[Any], Any]


def pipeline(pass_pipeline: Mapping[str, Mapping[str, Any]]) -> Decorator:
    """Apply several passes in order: names, each with its options.

    >>> from diastase.passes import pipeline
    >>> simplified = pipeline({"cancel_inverses": {}, "merge_rotations": {}})
    """
    return _decorator("pipeline", circuits.pass_calls(pass_pipeline))


def apply_pass(name: str, *flags: str, **options: Any) -> Decorator:
    """Apply a pass by its name, one of a user's own, say; a flag is an option that is True.

    `ValueError` (`UnknownPassError`) where there is no pass of that name, `TypeError`
    (`NotAQNodeError`) where something else than a QNode is decorated.
    """
    return _decorator(name, (circuits.pass_call(name, {**dict.fromkeys(flags, True), **options}),))


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
    return _decorator(name, (circuits.pass_call(name, {}),))(qnode)


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
    "apply_pass",
    "cancel_inverses",
    "combine_global_phases",
    "disentangle_cnot",
    "disentangle_swap",
    "gate_before",
    "merge_rotations",
    "pipeline",
    "ppm_specs",
    "register_pass",
    "values",
]


def __getattr__(name: str) -> Any:
    """What a pass of one's own is written with is imported for those who write one."""
    if name not in __all__:
        raise unknown_name(__name__, name)
    return getattr(diastase_mlir, "circuit_values" if name == "values" else name)


__dir__ = public_names(__name__)
