"""PennyLane's transforms applied to a tape with tracers.

Out: the tapes to run, and the function from their results to the result of the first tape.

The traps: a transform that has to know a traced number fails in the middle of JAX; here the error
gets the transform's name. And one that compares wires takes two tracers for different wires, though
they may have the same value when the program runs: refused, unless there is nothing to compare or
the transform is known to look at no wire twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pennylane.tape import QuantumScript

from diastase.capture.device_errors import UnsupportedTransformError
from diastase.capture.pennylane_compat import (
    apply_transform,
    is_traced_wire,
    making_operators,
    transform_name,
)
from diastase.capture.regions import quantum_scope
from diastase.quantum.operators.decompositions import DATA_DEPENDENT
from diastase.quantum.settings.gradient_options import TRANSFORMS
from diastase_mlir import user_span

PostProcessing = Callable[[Sequence[Any]], Any]

LOCAL = frozenset(
    "add_noise batch_input batch_params broadcast_expand combine_global_phases decompose "
    "fold_global fold_global_tape mitigate_with_zne remove_barrier "
    "split_to_single_terms unitary_to_rot".split()
)
"""Transforms that treat each operator for itself, so that they need not compare wires."""


@dataclass(frozen=True)
class Transformed:
    """What becomes of a tape."""

    tapes: Sequence[QuantumScript]
    postprocess: PostProcessing
    is_information: bool
    """Whether the tapes are not run: what is asked for is made of them themselves."""


def transformed(qnode: str, tape: Any, transforms: Sequence[Any]) -> Transformed:
    """Apply transforms in their order."""
    tapes: Sequence[Any] = (tape,)
    steps: list[tuple[str, PostProcessing]] = []
    names = [transform_name(transform) for transform in transforms]
    for name, transform in zip(names, transforms, strict=True):
        _refuse(qnode, name, transform, tapes)
        with making_operators(), quantum_scope(None):
            tapes, step = _named(qnode, name, lambda: apply_transform(transform, tapes))  # noqa: B023
        steps.append((name, step))

    def postprocess(results: Sequence[Any]) -> Any:
        for name, step in reversed(steps):
            with making_operators(), quantum_scope(None):
                results = _named(qnode, name, lambda: step(tuple(results)))  # noqa: B023
        return results[0]

    informs = any(transform.is_informative for transform in transforms)
    return Transformed(tapes, postprocess, informs)


def _named(qnode: str, name: str, function: Callable[[], Any]) -> Any:
    """Call a part of a transform; where it has to know a traced number, say whose fault it is."""
    try:
        return function()
    except DATA_DEPENDENT as error:
        reason = "decides by values that are traced"
        raise UnsupportedTransformError(qnode=qnode, transform=name, reason=reason) from error


def _refuse(qnode: str, name: str, transform: Any, tapes: Sequence[Any]) -> None:
    reason, always = None, True
    if transform.tape_transform is None:
        raise UnsupportedTransformError(
            qnode=qnode, transform=name, reason="is a pass of Catalyst's, in MLIR", always=True,
            instead=f"one of ours is asked for by @diastase.passes.apply_pass({name!r})",
            span=user_span(),
        )  # fmt: skip
    if transform.classical_cotransform is not None:
        reason = _instead_of_gradient(name)
    elif name not in LOCAL and any(map(_compares_traced_wires, tapes)):
        reason, always = "compares wires, and some are traced", False
    if reason is not None:
        raise UnsupportedTransformError(
            qnode=qnode, transform=name, reason=reason, always=always, span=user_span()
        )


def _instead_of_gradient(name: str) -> str:
    """What to do in the place of a transform that gives derivatives by the arguments."""
    methods = {transform: method for method, transform in TRANSFORMS.items()}
    if name in methods:
        method = f"diff_method={methods[name]!r}"
        return f"gives a Jacobian: use jax.jacobian of the QNode, with {method}"
    return "gives derivatives by the arguments: use jax.jacobian or jax.hessian of the QNode"


def _compares_traced_wires(tape: Any) -> bool:
    """Whether a tape has a traced wire and another one, which may be the same."""
    return len(tape.wires) > 1 and any(map(is_traced_wire, tape.wires))
