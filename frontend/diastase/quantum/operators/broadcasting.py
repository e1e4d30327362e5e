"""Parameter broadcasting: operators with a batch axis in a parameter, as `qml.RX(angles, 0)`.

The body is traced as it is. If an operator with a batch axis is recorded, the trace is given up,
and the QNode is traced again under `jax.vmap` over the elements of the batch, in which each such
operator takes its element. All results gain a leading axis, as on default.qubit. Elements are
computed in parallel (`primitives.batching`), whatever a body contains: measurements, control flow,
shots; the size of the batch may be known only when the program runs. Operators without a batch axis
are applied for each element, too; mid-circuit measurements are drawn for each by itself.

Classical results that depend neither on the element nor on the circuit gain no axis.

The trap: the quantum function is called twice while tracing.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pennylane.queuing import QueuingManager

from diastase.capture.dynamic_carry import same_size
from diastase.capture.pennylane_compat import describe, with_parameters
from diastase.capture.quantum_errors import BatchSizeError
from diastase_mlir.jax_compat import is_batched


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
    classical: list[Any] = field(default_factory=list[Any])
    """Results that were computed without the circuit."""


_element: ContextVar[_Element | None] = ContextVar("the element of a batch", default=None)


def broadcast(call: Callable[[], Any]) -> Any:
    """The results of a QNode's call, for each element of its batch if it has one."""
    size: Any = None

    of_all: dict[int, Any] = {}

    def of_one(index: Any) -> Any:
        element = _Element(index, size)
        with _tracing(element):
            leaves, tree = jax.tree.flatten(call())
        of_all.clear()
        for place, leaf in enumerate(leaves):
            if any(leaf is value for value in element.classical) and not is_batched(leaf):
                of_all[place] = leaf
        return jax.tree.unflatten(tree, leaves)

    while True:
        try:
            if size is not None:
                leaves, tree = jax.tree.flatten(jax.vmap(of_one)(jnp.arange(size)))
                found = [of_all.get(place, leaf) for place, leaf in enumerate(leaves)]
                return jax.tree.unflatten(tree, found)
            with _tracing(None):
                return call()
        except _BatchFound as found:
            size = found.size


def note_classical(results: Iterable[Any]) -> None:
    """These results of the circuit under way are computed without it."""
    element = _element.get()
    if element is not None:
        element.classical.extend(results)


def element_of(operator: Any) -> Any:
    """The operator for the element of the batch that is being traced.

    A batch of one is for all elements of another; an empty one has none, but they have types.
    """
    size = operator.batch_size
    if size is None:
        return operator
    element = _element.get()
    is_single = same_size(size, 1)
    if element is None or (same_size(element.size, 1) and not is_single):
        raise _BatchFound(size)
    if not is_single and not same_size(size, element.size):
        raise BatchSizeError(operation=describe(operator), size=size, others=element.size)

    def entry(value: Any, rank: int) -> Any:
        if np.ndim(value) == rank:
            return value
        values = jnp.asarray(value)
        if same_size(size, 0):
            return jnp.zeros(values.shape[1:], values.dtype)
        return values[0 if is_single else element.index]

    with QueuingManager.stop_recording():
        return with_parameters(operator, entry, lambda part: part.batch_size is not None)


@contextmanager
def _tracing(element: _Element | None) -> Generator[None]:
    outer = _element.set(element)
    try:
        yield
    finally:
        _element.reset(outer)
