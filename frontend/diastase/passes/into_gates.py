"""Passes that write circuits in other gates."""

from typing import Any

from diastase.passes.decorators import applied, given


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

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        gate_set: names or classes of gates, or a dictionary from them to costs; global phases are
            free.
        fixed_decomps: rules of one's own (`qml.register_resources`), by class of operator, which
            are taken.
        alt_decomps: the same, in lists, which are tried beside PennyLane's.
        num_work_wires: how many wires rules may use beside the operator's; None for as many as they
            ask for.
        minimize_work_wires: prefers few work wires to few gates.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        GateSetError: a `ValueError`, in a call, for an operator that the set cannot express.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.graph_decomposition(gate_set={"RZ", "RY", "CNOT"})
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.Hadamard(0)
        ...     return qml.expval(qml.X(0))
        >>> print(qml.draw(circuit)())
        0: ──RZ(3.14)──RY(1.57)──GlobalPhase(-1.57)─┤  <X>

    """
    return given(
        "graph_decomposition", qnode, gate_set=gate_set, fixed_decomps=fixed_decomps,
        alt_decomps=alt_decomps, num_work_wires=num_work_wires,
        minimize_work_wires=minimize_work_wires,
    )  # fmt: skip


def ions_decomposition(qnode: Any) -> Any:
    """Make the circuit of RX, RY and MS, the gates of trapped ions.

    MS(theta) is exp(-i theta/2 XX), PennyLane's `IsingXX`. A CNOT takes one of them (Maslov, New J.
    Phys. 19, 023035, 2017).

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
        ... @passes.ions_decomposition
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     qml.CNOT([0, 1])
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
        0: ──RY(1.57)─╭IsingXX(1.57)──RX(-1.57)──RY(-1.57)─╭GlobalPhase(0.79)─┤  <Z>
        1: ───────────╰IsingXX(1.57)──RX(-1.57)────────────╰GlobalPhase(0.79)─┤

    """
    return applied("ions_decomposition", qnode)


def gridsynth(qnode: Any = None, *, epsilon: float = 1e-4, ppr_basis: bool = False) -> Any:
    """Replace `RZ` and `PhaseShift` by Clifford gates and T, each within a distance.

    By Ross and Selinger, arXiv:1403.2975. Angles that are known only when the program runs are
    looked up by Python then.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        epsilon: the largest distance in operator norm, global phase included.
        ppr_basis: gives rotations about Pauli words instead.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        ApproximationError: a `ValueError`, in a call, where nothing is near enough.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.gridsynth(epsilon=0.1)
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.RZ(0.3, 0)
        ...     return qml.state()
        >>> qml.specs(circuit)().resources.gate_types
        {'T': 8, 'S': 3, 'Hadamard': 8, 'Adjoint(S)': 1, 'GlobalPhase': 1}

    """
    return given("gridsynth", qnode, epsilon=epsilon, ppr_basis=ppr_basis)
