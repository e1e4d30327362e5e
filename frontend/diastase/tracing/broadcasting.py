"""Parameter broadcasting: operators with a batch axis in a parameter, as `qml.RX(angles, 0)`.

The body is traced as it is. If an operator with a batch axis is recorded, the trace is given up,
and the QNode is traced again under `jax.vmap` over the elements of the batch, in which each such
operator takes its element. All results gain a leading axis, as on default.qubit. Elements are
computed in parallel (`primitives.batches`), whatever a body contains: measurements, control flow,
shots; the size of the batch may be known only when the program runs. Operators without a batch axis
are applied for each element, too; mid-circuit measurements are drawn for each by itself.

The trap: the quantum function is called twice while tracing, and all that it returns gains the
axis, classical values included, since an outcome cannot be told from any other traced value.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pennylane import ops
from pennylane.ops.functions import bind_new_parameters
from pennylane.queuing import QueuingManager

from diastase.tracing.pennylane import describe
from diastase.tracing.quantum_errors import BatchSizeError
from diastase.tracing.resizing import same_size


class _BatchFound(BaseException):
    """An operator has a batch axis, and its circuit is not being traced for a single element.

    Not an `Exception`: no handler of the user's, around a loop in a quantum function, is meant.
    """

    def __init__(self, size: Any):
        super().__init__(size)
        self.size = size


@dataclass(frozen=True)
class _Element:
    """Which element of the batch the circuit under way is traced for."""

    index: Any
    size: Any


class _Elements(threading.local):
    def __init__(self) -> None:
        self.stack: list[_Element | None] = []


_elements = _Elements()


def broadcast(call: Callable[[], Any]) -> Any:
    """The results of a QNode's call, for each element of its batch if it has one."""
    try:
        with _tracing(None):
            return call()
    except _BatchFound as found:
        size = found.size

    def of_one(index: Any) -> Any:
        with _tracing(_Element(index, size)):
            return call()

    return jax.vmap(of_one)(jnp.arange(size))


def element_of(operator: Any) -> Any:
    """The operator for the element of the batch that is being traced."""
    size = operator.batch_size
    if size is None:
        return operator
    element = _elements.stack[-1] if _elements.stack else None
    if element is None:
        raise _BatchFound(size)
    if not same_size(size, element.size):
        raise BatchSizeError(operation=describe(operator), size=size, others=element.size)
    parameters = [
        parameter if np.ndim(parameter) == rank else jnp.asarray(parameter)[element.index]
        for parameter, rank in zip(operator.data, _ranks(operator), strict=True)
    ]
    with QueuingManager.stop_recording():
        return bind_new_parameters(operator, parameters)


def _ranks(operator: Any) -> tuple[int, ...]:
    """How many axes each parameter has without a batch; PennyLane does not say for products."""
    if isinstance(operator, ops.CompositeOp):
        return tuple(rank for operand in operator.operands for rank in _ranks(operand))
    if isinstance(operator, ops.Exp | ops.SProd):
        return (0, *_ranks(operator.base))
    if isinstance(operator, ops.SymbolicOp):
        return _ranks(operator.base)
    return operator.ndim_params


@contextmanager
def _tracing(element: _Element | None) -> Generator[None]:
    _elements.stack.append(element)
    try:
        yield
    finally:
        _elements.stack.pop()
