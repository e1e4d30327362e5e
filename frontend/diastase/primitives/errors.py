"""Errors about derivatives and batches that there are not."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax

from diastase_runtime.errors import CompileError, DiastaseError, DifferentiableCompileError


class NotTransformableError(CompileError, NotImplementedError):
    """A construct of diastase under a JAX transformation for which it has no rule (yet).

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import cond, debug_assert, qjit, vmap
        >>> def checked(x):
        ...     cond(x > 0)(lambda: debug_assert(x < 5, "too large"))()
        ...     return x
        >>> qjit(vmap(checked))(jnp.ones(3))
        Traceback (most recent call last):
        ...
        diastase.primitives.errors.NotTransformableError: Not differentiable or batchable here: ...

    """

    title: ClassVar[str] = "Not differentiable or batchable here"
    message: ClassVar[str] = "{construct} has no {transformation} rule: {reason}"
    label: ClassVar[str] = "transformed here"
    construct: str
    transformation: str
    reason: str


class TransformationUseError(DiastaseError, TypeError, ValueError):
    """`jax.grad`, `jax.jvp`, `jax.vmap`, … inside of a program, of what they do not take.

    The message is JAX's: a gradient of more than a number, an integer argument, axes or sizes that
    do not fit. A rule that is given by hand and returns other types than it must is among them.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from diastase import qjit
        >>> qjit(jax.grad(lambda x: 2 * x))(jnp.ones(2))
        Traceback (most recent call last):
        ...
        diastase.primitives.errors.TransformationUseError: A transformation that does not fit: ...

    """

    title: ClassVar[str] = "A transformation that does not fit"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "used here"
    what: str


class NoDerivativeError(NotTransformableError, DifferentiableCompileError):
    """A QNode is differentiated, and by its `diff_method` something in it has no derivative.

    Outcomes and samples jump, so no method has a derivative of them: return an expectation value, a
    variance or probabilities. An observable or a state that is not to be differentiated is kept out
    by `jax.lax.stop_gradient` on the arguments that it depends on.

    Example:
        >>> import pennylane as qml
        >>> from diastase import grad, qjit
        >>> @qml.set_shots(10)
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(x):
        ...     qml.RX(x, 0)
        ...     return qml.sample(wires=0)
        >>> qjit(grad(lambda x: circuit(x).sum() * 1.0))(0.1)
        Traceback (most recent call last):
        ...
        diastase.primitives.errors.NoDerivativeError: Not differentiable: ...

    """

    title: ClassVar[str] = "Not differentiable"
    message: ClassVar[str] = "{construct} has no derivative: {reason}"
    label: ClassVar[str] = "is differentiated"
    transformation: str = "jvp"


def undifferentiable(values: Sequence[Any], error: Callable[[], Exception]) -> Sequence[Any]:
    """The values, for which somebody who differentiates by them gets an error.

    Integers have no derivatives that JAX could ask for, so it would take zeros for what is computed
    of values by way of integers.
    """

    @jax.custom_jvp
    def unmoved(*values: Any) -> Any:
        return values

    @unmoved.defjvp
    def _(*_: Any) -> Any:
        raise error()

    return unmoved(*values) if values else ()
