"""`CountsDict`: counts as a compiled function returns them, for users of PennyLane and of Catalyst.

It is PennyLane's dictionary, from bit strings (or values) to numbers. Catalyst gives a pair of
arrays, all outcomes and how often each was found; so that is what two names get that it is unpacked
into, and what the keys 0 and 1 find, which are no bit strings (decision 0050).

The trap: unpacking asks for an iterator, like a `for` over the keys; which of the two it is stands
in the bytecode of whoever asks. `f(*counts)` may mean either and is refused; but a function in C
has no bytecode, so in `f(*arguments)` it may be `f` that asks, for the keys.
"""

import dis
import gc
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.tracing.quantum_errors import StarredCountsError
from diastase_mlir import user_span

_UNPACK, _STARRED_CALL = dis.opmap["UNPACK_SEQUENCE"], dis.opmap["CALL_FUNCTION_EX"]


class CountsDict(dict[Any, Any]):
    """PennyLane's dictionary of counts, which unpacks into Catalyst's pair of arrays."""

    def __iter__(self) -> Iterator[Any]:
        """The keys; the pair for `outcomes, numbers = counts`."""
        operation, number = _operation(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if operation == _UNPACK and number == 2:
            return iter(self.to_arrays())
        if operation == _STARRED_CALL and not self._is_an_argument():
            raise StarredCountsError(keys=f"the keys {list(self.keys())}", span=user_span())
        return super().__iter__()

    def __missing__(self, key: Any) -> Any:
        """Of bit strings, one of the pair: `circuit()[0]`, `circuit()[1]`."""
        if self._width() is None or not is_place(key):
            raise KeyError(key)
        return self.to_arrays()[key]

    def to_arrays(self) -> tuple[Any, Any]:
        """Catalyst's pair: all outcomes (bit strings as integers), and how often each was found."""
        keys, numbers = list(self.keys()), np.array(list(self.values()), np.int64)
        width = self._width()
        if width is None:
            return jnp.asarray(keys), jnp.asarray(numbers)
        found = [int(key or "0", 2) for key in keys]
        counted = np.bincount(found, numbers, 2**width).astype(np.int64)
        return jnp.arange(2**width), jnp.asarray(counted)

    def _is_an_argument(self) -> bool:
        """Whether a function may iterate that is given the counts themselves: `sorted(*[counts])`.

        Then they stand in the tuple of its arguments. Where a tuple or list of the user's holds
        them, that cannot be told apart.
        """
        return any(type(holder) in (tuple, list) for holder in gc.get_referrers(self))

    def _width(self) -> int | None:
        """The length of the bit strings; None where outcomes are values."""
        first = next(iter(self.keys()), None)
        return len(first) if isinstance(first, str) else None


def is_place(key: Any) -> bool:
    """Whether a key is a place in Catalyst's pair."""
    return type(key) is int and key in (0, 1)


def _operation(frame: FrameType) -> tuple[int, int]:
    """The instruction that a frame is at: its code, and its argument."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at], code[at + 1]


jax.tree_util.register_pytree_node(
    CountsDict,
    lambda counts: (list(counts.values()), tuple(counts.keys())),
    lambda keys, numbers: CountsDict(zip(keys, numbers, strict=True)),
)
