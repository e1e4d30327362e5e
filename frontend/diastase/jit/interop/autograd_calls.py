"""Calls of compiled functions with PennyLane's tensors, and their derivatives by autograd.

PennyLane's own optimizers and `qml.grad` work with `pennylane.numpy`: arguments are tensors that
say whether they are to be trained, and autograd differentiates by calling the function with boxes
around them. So, as a QNode does:

- a function that is called with tensors gives tensors, which are trainable if an argument is. (An
  optimizer takes what it computes from them as the next arguments: arrays of JAX would end the
  training without a word.)
- one that is called with boxes becomes a primitive of autograd's. Its derivative is a program of
  its own, compiled at the first call, for JAX's derivative of the same function; called with boxes
  again, that one is differentiated in the same way, so orders nest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import autograd.numpy
import jax
import numpy as np
from autograd.extend import Box, primitive
from autograd.extend import defvjp_argnums as define_pull_back
from pennylane.numpy import tensor

from diastase.jit.dispatch.program_cache import Plan
from diastase.jit.interop.pull_backs import pull_back, vector_of
from diastase.tracing.signatures import Call

anp: Any = autograd.numpy  # its names are made when it is imported, so type checkers know none


def is_boxed(leaves: Sequence[Any]) -> bool:
    """Whether autograd is differentiating by an argument."""
    return any(isinstance(leaf, Box) for leaf in leaves)


def giving_tensors(plan: Plan, leaves: Sequence[Any]) -> Plan:
    """The plan of calls with arguments like these: with tensors among them, one that gives such."""
    if not any(isinstance(leaf, tensor) for leaf in leaves):
        return plan

    def call(leaves: Sequence[Any]) -> Any:
        trainable = any(leaf.requires_grad for leaf in leaves if isinstance(leaf, tensor))
        return jax.tree.map(lambda result: _as_tensor(result, trainable), plan(leaves))

    return call


def _as_tensor(result: Any, trainable: bool) -> Any:
    if not isinstance(result, jax.Array):
        return result
    return tensor(np.array(result), requires_grad=trainable)


def call_boxed(run: Callable[..., Any], compiled: Any, call: Call) -> Any:
    """Call a compiled function, by `run`, with boxes among its arguments."""
    compiled.programs.made.refuse_if_replaced(compiled.signature.name)
    leaves, tree = jax.tree_util.tree_flatten((call.args, call.kwargs))
    results = _Results()

    def vector(*leaves: Any) -> Any:
        args, kwargs = call.merge(*jax.tree_util.tree_unflatten(tree, leaves))
        return results.taken_apart(run(*args, **kwargs))

    def pulled_back(argnums: Sequence[int], ans: Any, leaves: Any, options: Any) -> Any:
        program = pull_back(compiled, call, tree, tuple(argnums))
        return lambda cotangent: program(list(leaves), cotangent)

    differentiable: Any = primitive(vector)
    define_pull_back(differentiable, pulled_back)
    return results.rebuilt(differentiable(*leaves))


@dataclass
class _Results:
    """The results of one call: what can be differentiated as one real vector, and the rest."""

    tree: Any = None
    leaves: list[Any] = field(default_factory=list[Any])

    def taken_apart(self, results: Any) -> Any:
        """The vector."""
        self.leaves, self.tree = jax.tree_util.tree_flatten(results)
        return vector_of(anp, self.leaves)

    def rebuilt(self, vector: Any) -> Any:
        """The results, made of the vector."""
        leaves, start = list(self.leaves), 0

        def taken(leaf: Any) -> Any:
            nonlocal start
            start += leaf.size
            return anp.reshape(vector[start - leaf.size : start], leaf.shape)

        for number, leaf in enumerate(leaves):
            if np.issubdtype(leaf.dtype, np.complexfloating):
                leaves[number] = taken(leaf) + 1j * taken(leaf)
            elif np.issubdtype(leaf.dtype, np.floating):
                leaves[number] = taken(leaf)
        return jax.tree_util.tree_unflatten(self.tree, leaves)
