"""The call path: Python values to a program's arguments, its results to `jax.Array`s.

In: the flat, traced arguments of one call, of the types that the program was compiled for (weak
types aside). Out: the results in the pytree that the function returned.

The trap: JAX computes in the background, and the address of an array says nothing about its data
being there; and results that large are not copied, so the memory belongs to the array from here on.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray

from diastase_mlir.jax_internals import (
    ArrayImpl,
    abstract_value,
    cpu_placement,
    is_extended,
    key_implementation,
    make_array,
)
from diastase_runtime import Executable

LEAF_KEYS: dict[type, Callable[[Any], Hashable]] = {
    **{kind: type for kind in (bool, int, float, complex)},
    ArrayImpl: attrgetter("aval"),
    np.ndarray: attrgetter("shape", "dtype"),
}
"""By class of an argument: what of it decides which program serves it, in the least time."""


def leaf_key(leaf: Any) -> Hashable:
    """What of a leaf decides which program serves it."""
    key = LEAF_KEYS.get(type(leaf))
    return (type(leaf), abstract_value(leaf)) if key is None else key(leaf)


def host_array(leaf: Any, aval: ShapedArray) -> np.ndarray:
    """A leaf as the contiguous numpy array that represents it; not copied where that is possible."""
    if is_extended(aval.dtype):
        leaf = jax.random.key_data(leaf)
        return np.asarray(leaf, order="C")
    return np.asarray(leaf, dtype=aval.dtype, order="C")


def result_builder(aval: ShapedArray) -> Callable[[np.ndarray, bool], Any]:
    """Make the function that turns a result, owned by nobody else, into what JAX would return."""
    sharding, devices = cpu_placement()
    if is_extended(aval.dtype):
        implementation = key_implementation(aval.dtype)
        return lambda value, committed: jax.random.wrap_key_data(
            jax.device_put(value), impl=implementation
        )
    if aval.dtype == jax.dtypes.float0:
        return lambda value, committed: np.zeros(value.shape, jax.dtypes.float0)
    if all(isinstance(size, int) for size in aval.shape):
        fixed = ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)
        return lambda value, committed: make_array(fixed, sharding, [value], devices, committed)
    return lambda value, committed: make_array(
        ShapedArray(value.shape, aval.dtype, weak_type=aval.weak_type),
        sharding, [value], devices, committed,
    )


class PreparedCall:
    """One compiled program, ready to be called with flat arguments; safe to share by threads."""

    def __init__(
        self,
        executable: Executable,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        out_tree: Any,
        seed: int | None,
    ) -> None:
        self._executable = executable
        self._in_avals = tuple(in_avals)
        self._builders = tuple(result_builder(aval) for aval in out_avals)
        self._out_tree = out_tree
        self._seed = seed

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program."""
        committed = False
        arguments: list[np.ndarray] = []
        for leaf, aval in zip(leaves, self._in_avals, strict=True):
            committed = committed or getattr(leaf, "committed", False)
            arguments.append(host_array(leaf, aval))
        seed = random.getrandbits(63) if self._seed is None else self._seed
        values = self._executable(arguments, seed=seed)
        results = [build(v, committed) for build, v in zip(self._builders, values, strict=True)]
        return self._out_tree.unflatten(results)
