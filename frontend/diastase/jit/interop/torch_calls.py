"""Calls of compiled functions with tensors of PyTorch's, and their derivatives by its autograd.

A function that is called with tensors gives tensors; memory is shared both ways (DLPack). Where one
of them requires a gradient, the call is a node of PyTorch's graph, whose derivative is a program of
its own (`pull_backs`). That one is called with tensors, too, so orders nest.

The trap: for complex numbers PyTorch's gradients are the conjugates of JAX's cotangents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jax
import numpy as np
from autograd.extend import Box
from jax.core import Tracer
from pennylane.numpy import tensor as pennylane_tensor

from diastase.jit.interop.pull_backs import pull_back
from diastase.jit.stages.shared_memory import is_foreign, is_tensor, shared
from diastase.tracing.argument_errors import UnsupportedArgumentError
from diastase.tracing.signatures import Call
from diastase_mlir.jax_compat import is_extended
from diastase_toolchain.lazy_import import LazyModule

torch: Any = LazyModule("torch")


@dataclass
class _Node:
    """One call: what is called, with which arrays, and the structure of what it gives."""

    run: Callable[..., Any]
    compiled: Any
    call: Call
    arrays: Sequence[Any]
    in_tree: Any
    out_tree: Any = None
    leaves: list[Any] = field(default_factory=list[Any])
    """The arguments, without the tensors."""

    def results(self) -> tuple[Any, ...]:
        """Run it; the results as tensors."""
        arguments = jax.tree_util.tree_unflatten(self.in_tree, self.arrays)
        args, kwargs = self.call.merge(*arguments)
        arrays, self.out_tree = jax.tree_util.tree_flatten(self.run(*args, **kwargs))
        return tuple(map(_as_tensor, arrays))


def call_with_tensors(
    run: Callable[..., Any], compiled: Any, call: Call, leaves: Sequence[Any],
    arrays: Sequence[Any], tree: Any,
) -> Any:  # fmt: skip
    """Call a compiled function, by `run`, with arrays on the memory of tensors among its leaves."""
    compiled.programs.made.refuse_if_replaced(compiled.signature.name)
    node = _Node(run, compiled, call, arrays, tree)
    is_trained = any(is_tensor(leaf) and leaf.requires_grad for leaf in leaves)
    is_node = is_trained and torch.is_grad_enabled()
    _refuse_lost(compiled.signature.name, leaves, is_node)
    results = _function().apply(node, *leaves) if is_node else node.results()
    return jax.tree_util.tree_unflatten(node.out_tree, results)


def _refuse_lost(function: str, leaves: Sequence[Any], is_node: bool) -> None:
    """Refuse what a gradient or tangent would be lost of without a word."""
    for place, leaf in enumerate(leaves):
        if is_tensor(leaf):
            if torch.autograd.forward_ad.unpack_dual(leaf).tangent is None:
                continue
            kind, instead = "Tensor with a tangent", "use diastase.jvp inside of the function"
        elif is_node and isinstance(leaf, Tracer | Box | pennylane_tensor):
            kind = f"{type(leaf).__name__}, beside a Tensor that requires a gradient"
            instead = "let one package differentiate: pass tensor.detach(), or tensors alone"
        else:
            continue
        raise UnsupportedArgumentError(
            function=function, argument=str(place), type=kind, instead=instead
        )


@cache
def _function() -> Any:
    """A compiled function as a function of PyTorch's autograd; a class, made once."""
    name, base = "Compiled", torch.autograd.Function
    methods = {"forward": staticmethod(_forward), "backward": staticmethod(_backward)}
    return type(name, (base,), methods)


def _forward(ctx: Any, node: _Node, *leaves: Any) -> Any:
    """Flat arguments to flat results."""
    results = node.results()
    ctx.node = node
    node.arrays = ()
    node.leaves = [None if is_tensor(leaf) else _kept(leaf) for leaf in leaves]
    ctx.save_for_backward(*filter(is_tensor, leaves))
    integers = [each for each in results if is_tensor(each) and not _is_inexact(each)]
    ctx.mark_non_differentiable(*integers)
    return results


def _backward(ctx: Any, *cotangents: Any) -> Any:
    """Cotangents of the results to those of the arguments; None for what needs none."""
    node, tensors = ctx.node, iter(ctx.saved_tensors)
    leaves = [next(tensors) if leaf is None else leaf for leaf in node.leaves]
    wanted = [place for place, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
    program = pull_back(node.compiled, node.call, node.in_tree, tuple(wanted))
    found = program(leaves, _vector(cotangents))
    gradients: list[Any] = [None] * len(leaves)
    for place, gradient in zip(wanted, found, strict=True):
        gradients[place] = gradient.conj() if gradient.is_complex() else gradient
    return None, *gradients


def _kept(leaf: Any) -> Any:
    """An argument as it is now: `backward` may come after its memory has been written to."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    return np.array(shared(leaf)) if is_foreign(leaf) else leaf


def _as_tensor(result: Any) -> Any:
    """A result as a tensor on its memory; keys of random numbers as they are."""
    if not isinstance(result, jax.Array) or isinstance(result, Tracer) or is_extended(result.dtype):
        return result
    return torch.from_dlpack(result)


def _is_inexact(tensor: Any) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _vector(cotangents: Sequence[Any]) -> Any:
    """All inexact cotangents in one vector, as `pull_backs` has the results."""
    parts = [torch.zeros(0, dtype=torch.float64)]
    for each in cotangents:
        if not is_tensor(each) or not _is_inexact(each):
            continue
        halves = (each.real, each.imag) if each.is_complex() else (each,)
        parts += [half.reshape(-1).double() for half in halves]
    return torch.cat(parts)
