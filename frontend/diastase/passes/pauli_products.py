"""Rotations about Pauli words, and measurements of them: passes, and what `ppm_specs` counts.

Litinski, "A Game of Surface Codes", arXiv:1808.02892.
"""

from typing import TYPE_CHECKING, Any

from diastase.passes.decorators import applied, given
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.resources import ppm
else:
    ppm = LazyModule("diastase.inspection.resources.ppm")


def to_ppr(qnode: Any) -> Any:
    """Write each gate as rotations about Pauli words; of Clifford+T, by multiples of pi/4.

    Other gates are rotations by their own angles, traced or not.

    Args:
        qnode: what it is applied to, a QNode.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        UnsuitableCircuitError: a `NotImplementedError`, in a call, for circuits with matrices, and
            what else has no Pauli words.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.Hadamard(0)
        ...     qml.T(0)
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
        0: ──Z(1.57)──X(1.57)──Z(1.57)──Z(0.79)──GlobalPhase(-1.96)─┤  <Z>

    """
    return applied("to_ppr", qnode)


def commute_ppr(qnode: Any = None, *, max_pauli_size: int = 0) -> Any:
    """Move Clifford rotations behind all others, up to the next measurement.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        max_pauli_size: words do not become longer than this by it; 0 for any length.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.commute_ppr
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.Hadamard(0)
        ...     qml.T(0)
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
        0: ──X(0.79)──Z(1.57)──X(1.57)──Z(1.57)──GlobalPhase(-1.96)─┤  <Z>

    """
    return given("commute_ppr", qnode, max_pauli_size=max_pauli_size)


def merge_ppr_ppm(qnode: Any = None, *, max_pauli_size: int = 0) -> Any:
    """Move Clifford rotations behind measurements, too; leave them out where nobody sees them.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        max_pauli_size: words do not become longer than this by it; 0 for any length.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.

    Example:
        >>> import pennylane as qml
        >>> from diastase import measure, passes, qjit
        >>> @qjit
        ... @passes.merge_ppr_ppm
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.S(0)
        ...     qml.T(0)
        ...     return measure(0)
        >>> print(qml.draw(circuit)())
        0: ──Z(0.79)──┤↗m0├──GlobalPhase(-1.18)─┤

    """
    return given("merge_ppr_ppm", qnode, max_pauli_size=max_pauli_size)


def reduce_t_depth(qnode: Any) -> Any:
    """Join rotations about equal words, and put the others into few layers that commute.

    Zhang and Chen, arXiv:1903.12456.

    Args:
        qnode: what it is applied to, a QNode.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.reduce_t_depth
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     qml.T(0)
        ...     qml.T(1)
        ...     qml.T(0)
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
        0: ──Z(1.57)─╭GlobalPhase(-1.18)─┤  <Z>
        1: ──Z(0.79)─╰GlobalPhase(-1.18)─┤

    """
    return applied("reduce_t_depth", qnode)


def ppr_to_ppm(
    qnode: Any = None,
    *,
    decompose_method: str = "pauli-corrected",
    avoid_y_measure: bool = False,
) -> Any:
    """Measure Pauli words, with auxiliary qubits, in the place of rotations by multiples of pi/4.

    The auxiliary qubits, at most two, are wires beyond those of the device, in |0> wherever all
    wires are measured.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        decompose_method: how T gates are corrected, "pauli-corrected", "auto-corrected" or
            "clifford-corrected".
        avoid_y_measure: takes a state |Y> instead of a measurement of Y.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        UnsuitableCircuitError: a `NotImplementedError`, in a call, if the number of wires is known
            only when the program runs.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.ppr_to_ppm
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.S(0)
        ...     return qml.expval(qml.X(0))
        >>> print(qml.draw(circuit)())
           0: ─╭┤Z↗m0├───────────────Z(π if m0 ^ m1 ^ True else 0)─╭GlobalPhase(-0.79)─┤  <X>
        aux0: ─╰┤Y↗m0├──┤X↗m1│  │0⟩────────────────────────────────╰GlobalPhase(-0.79)─┤

    """
    return given(
        "ppr_to_ppm", qnode, decompose_method=decompose_method, avoid_y_measure=avoid_y_measure
    )


def ppm_compilation(
    qnode: Any = None,
    *,
    decompose_method: str = "pauli-corrected",
    avoid_y_measure: bool = False,
    max_pauli_size: int = 0,
) -> Any:
    """Apply `to_ppr`, `commute_ppr`, `merge_ppr_ppm` and `ppr_to_ppm`, one after the other.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        decompose_method: how T gates are corrected, "pauli-corrected", "auto-corrected" or
            "clifford-corrected".
        avoid_y_measure: takes a state |Y> instead of a measurement of Y.
        max_pauli_size: words do not become longer than this by commutation; 0 for any length.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        UnsuitableCircuitError: a `NotImplementedError`, in a call, for circuits with matrices, and
            what else has no Pauli words.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.ppm_compilation
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.T(0)
        ...     return qml.expval(qml.Z(0))
        >>> passes.ppm_specs(circuit)
        {'circuit_0': {'depth_pi2_ppr': 1, 'depth_ppm': 2, 'logical_qubits': 2,
         'max_weight_pi2': 1, 'num_of_ppm': 2, 'pi2_ppr': 1}}

    """
    return given(
        "ppm_compilation", qnode, decompose_method=decompose_method,
        avoid_y_measure=avoid_y_measure, max_pauli_size=max_pauli_size,
    )  # fmt: skip


def decompose_arbitrary_ppr(qnode: Any) -> Any:
    """Rotate one auxiliary qubit about Z where a word is rotated about by any other angle.

    Other than multiples of pi/4, traced angles among them.

    Args:
        qnode: what it is applied to, a QNode.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        UnsuitableCircuitError: a `NotImplementedError`, in a call, if the number of wires is known
            only when the program runs.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.decompose_arbitrary_ppr
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     qml.IsingXX(0.3, [0, 1])
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
           0: ────╭┤X↗m0├───────────────────────────────────────╭X(π if m1 else 0)─┤  <Z>
           1: ────├┤X↗m0├───────────────────────────────────────╰X(π if m1 else 0)─┤
        aux0: ──H─╰┤Z↗m0├──RZ(-0.3 if m0 else 0.3)──┤X↗m1│  │0⟩────────────────────┤

    """
    return applied("decompose_arbitrary_ppr", qnode)


def ppr_to_mbqc(qnode: Any) -> Any:
    """Write rotations and measurements of words in Hadamard, S, CNOT, RZ, and measurements of Z.

    Args:
        qnode: what it is applied to, a QNode.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.ppr_to_mbqc
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     qml.IsingXX(0.3, [0, 1])
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
        0: ──H─╭●───────────╭●──H─┤  <Z>
        1: ──H─╰X──RZ(0.30)─╰X──H─┤

    """
    return applied("ppr_to_mbqc", qnode)


def ppm_specs(fn: Any, /, *args: Any, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Count rotations and measurements of Pauli words in a compiled function, after its passes.

    A depth is the number of layers of commuting operations of one kind, each as early as possible
    (D. Litinski, "A Game of Surface Codes", arXiv:1808.02892).

    Args:
        fn: a compiled function.
        *args: arguments of a call, or their types; without any, the types of the last call.
        **kwargs: the same by name.

    Returns:
        A dictionary for each circuit, named by its QNode and a number (`circuit_0`), with the keys
        `logical_qubits`; `pi2_ppr`, `pi4_ppr`, `pi8_ppr`, `arbitrary_ppr`, rotations by half their
        angle (`pi8` is not in the Clifford group), with `max_weight_pi8`, … and `depth_pi8_ppr`, …;
        `num_of_ppm` and `depth_ppm`, measurements. What a circuit has not is left out. Numbers are
        ints, or expressions in the names of arguments, as those of `qml.specs`.

    Raises:
        NotCompiledFunctionError: a `TypeError`, for what is not compiled.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.to_ppr
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.T(0)
        ...     return qml.expval(qml.Z(0))
        >>> passes.ppm_specs(circuit)
        {'circuit_0': {'depth_pi8_ppr': 1, 'logical_qubits': 1, 'max_weight_pi8': 1, 'pi8_ppr': 1}}

    """
    return ppm.ppm_specs_of(fn, *args, **kwargs)
