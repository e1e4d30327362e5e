"""Operators among the arguments and results of functions, which JAX must not take for arrays."""

from typing import Any

import jax
from pennylane.queuing import QueuingManager

from diastase.capture.pennylane_compat.operators import is_operator, is_quantum_object


def withdraw_operators(*arguments: Any) -> None:
    """Operators given to a quantum function are data: it applies them if it wants to.

    PennyLane has applied them when they were made.
    """
    for leaf in jax.tree_util.tree_leaves(arguments, is_leaf=is_quantum_object):
        if is_operator(leaf):
            QueuingManager.remove(leaf)


def without_operators(returned: Any) -> Any:
    """What a quantum function returned, without the operators that it applied.

    `lambda: qml.X(0)` returns nothing that a program could compute with.
    """
    leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
    kept = [None if is_operator(leaf) else leaf for leaf in leaves]
    if leaves and all(leaf is None for leaf in kept):
        return None
    return jax.tree_util.tree_unflatten(tree, kept)
