"""Passes on measurements: which are made in which run, and by which gates before."""

from typing import Any

from diastase.passes.decorators import applied, given


def split_non_commuting(qnode: Any = None, *, grouping_strategy: Any = "default") -> Any:
    """Run the circuit for each group of measurements that commute (PennyLane's transform).

    With shots, each group has as many as the QNode.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        grouping_strategy: "default", "qwc", "wires", or None for a run for each term.

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
        ... @passes.split_non_commuting
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     return qml.expval(qml.X(0)), qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)())
        circuit:
        0: ─┤  <X>
        <BLANKLINE>
        circuit:
        0: ─┤  <Z>

    """
    return given("split_non_commuting", qnode, grouping_strategy=grouping_strategy)


def split_to_single_terms(qnode: Any) -> Any:
    """Measure each term of a sum by itself, in the same run (PennyLane's transform).

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
        ... @passes.split_to_single_terms
        ... @qml.qnode(qml.device("lightning.qubit", wires=2))
        ... def circuit():
        ...     return qml.expval(qml.X(0) + 2 * qml.Z(1))
        >>> print(qml.draw(circuit)())
        0: ─┤  <X>
        1: ─┤  <Z>

    """
    return applied("split_to_single_terms", qnode)


def diagonalize_measurements(
    qnode: Any = None,
    *,
    supported_base_obs: Any = ("PauliZ", "Identity"),
    to_eigvals: bool = False,
) -> Any:
    """Turn observables into those of the supported bases, by gates before they are measured.

    Args:
        qnode: what it is applied to, a QNode; without it, a decorator is made.
        supported_base_obs: some of PauliX, PauliY, PauliZ, Hadamard and Identity, by name or class.
        to_eigvals: measures wires, and gives their outcomes the observable's values.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled; without
        `qnode`, a decorator.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        UnsupportedTransformError: a `NotImplementedError`, in a call, for measurements that do not
            commute.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.diagonalize_measurements
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     return qml.expval(qml.X(0))
        >>> print(qml.draw(circuit)())
        0: ──RY(-1.57)─┤  <Z>

    """
    return given(
        "diagonalize_measurements", qnode, supported_base_obs=supported_base_obs,
        to_eigvals=to_eigvals,
    )  # fmt: skip


def measurements_from_samples(qnode: Any) -> Any:
    """Compute all results of one set of samples of bits.

    Args:
        qnode: what it is applied to, a QNode.

    Returns:
        A QNode, with circuits that have been through the pass where they are compiled.

    Raises:
        NotAQNodeError: a `TypeError`, for anything but a QNode.
        NeedsShotsError: a `ValueError`, in a call, for a QNode without shots.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.measurements_from_samples
        ... @qml.set_shots(10)
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     return qml.expval(qml.Z(0)), qml.probs()
        >>> circuit()
        (Array(1., dtype=float64), Array([1., 0.], dtype=float64))

    """
    return applied("measurements_from_samples", qnode)
