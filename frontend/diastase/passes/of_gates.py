"""Passes that leave out gates, or write them with fewer."""

from typing import Any

from diastase.passes.decorators import applied


def cancel_inverses(qnode: Any) -> Any:
    """Remove gates that are followed by their inverse on the same qubits.

    Self-inverse gates, `S` and its adjoint and the like, opposite angles (numbers, or the negative
    of the same traced value), constant matrices.

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
        ... @passes.cancel_inverses
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.S(0)
        ...     qml.Hadamard(0)
        ...     qml.Hadamard(0)
        ...     return qml.state()
        >>> print(qml.draw(circuit)())
        0: ──S─┤  State

    """
    return applied("cancel_inverses", qnode)


def merge_rotations(qnode: Any) -> Any:
    """Join rotations of one kind that follow each other on the same qubits; drop those by zero.

    Angles, in radians, may be traced. Two `Rot` are joined where their angles are known, or the sum
    of angles is enough: else those of the product would have no derivative at some points.

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
        ... @passes.merge_rotations
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(x):
        ...     qml.RX(x, 0)
        ...     qml.RX(0.5, 0)
        ...     return qml.state()
        >>> print(qml.draw(circuit)(0.1))
        0: ──RX(x + 0.5)─┤  State

    """
    return applied("merge_rotations", qnode)


def combine_global_phases(qnode: Any) -> Any:
    """Join global phases into one for each loop body, branch and circuit.

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
        ... @passes.combine_global_phases
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(x):
        ...     qml.GlobalPhase(x)
        ...     qml.X(0)
        ...     qml.GlobalPhase(0.5)
        ...     return qml.state()
        >>> print(qml.draw(circuit)(0.1))
        0: ──X──GlobalPhase(x + 0.5)─┤  State

    """
    return applied("combine_global_phases", qnode)


def disentangle_cnot(qnode: Any) -> Any:
    """Replace CNOTs on qubits that are known to be in |0>, |1>, |+> or |-> by local gates.

    The basis states of Liu, Bello and Zhou, "Relaxed Peephole Optimization", arXiv:2012.07711.

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
        ... @passes.disentangle_cnot
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     qml.X(0)
        ...     qml.CNOT([0, 1])
        ...     return qml.state()
        >>> print(qml.draw(circuit)())
        0: ──X─┤  State
        1: ──X─┤  State

    """
    return applied("disentangle_cnot", qnode)


def disentangle_swap(qnode: Any) -> Any:
    """Replace SWAPs on qubits that are known to be in |0>, |1>, |+> or |-> by fewer gates.

    The basis states of Liu, Bello and Zhou, "Relaxed Peephole Optimization", arXiv:2012.07711.

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
        ... @passes.disentangle_swap
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     qml.X(0)
        ...     qml.SWAP([0, 1])
        ...     return qml.state()
        >>> print(qml.draw(circuit)())
        0: ──X──X─┤  State
        1: ──X────┤  State

    """
    return applied("disentangle_swap", qnode)


def loop_boundary(qnode: Any) -> Any:
    """Cancel or join gates at the end of a loop's body with those at its start.

    The first and the last of all stay, before and after the loop.

    Args:
        qnode: what it is applied to, a QNode.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.

    Example:
        >>> import pennylane as qml
        >>> from diastase import for_loop, passes, qjit
        >>> @qjit
        ... @passes.loop_boundary
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(n):
        ...     @for_loop(0, n, 1)
        ...     def loop(i):
        ...         qml.Hadamard(0)
        ...         qml.T(0)
        ...         qml.Hadamard(0)
        ...     loop()
        ...     return qml.state()
        >>> qml.specs(circuit)(3).resources.gate_types
        {'Hadamard': 2, 'T': n}

    """
    return applied("loop_boundary", qnode)


def parity_synth(qnode: Any) -> Any:
    """Write CNOTs and rotations about Z with fewer CNOTs, where there are such.

    Amy, Azimzadeh and Mosca, arXiv:1712.01859.

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
        ... @passes.parity_synth
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit(x):
        ...     for angle in (x, 0.5):
        ...         qml.CNOT([0, 1])
        ...         qml.RZ(angle, 1)
        ...         qml.CNOT([0, 1])
        ...     return qml.state()
        >>> qml.specs(circuit)(0.1).resources.gate_types
        {'CNOT': 2, 'RZ': 1}

    """
    return applied("parity_synth", qnode)
