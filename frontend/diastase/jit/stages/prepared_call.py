"""The call path: Python values to a program's arguments, its results to `jax.Array`s.

In: the flat, traced arguments of one call, of the types that the program was compiled for (weak
types aside). Out: the results in the pytree that the function returned.

The traps: JAX computes in the background, so an array's data may not be there yet (`np.asarray`
waits); and large results are not copied, so their memory belongs to the arrays from here on.
"""

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray

from diastase.jit.options.options import CountsForm
from diastase.quantum.measurements.counts import Counts, is_counts
from diastase_mlir.jax_compat import (
    ArrayImpl,
    cpu_placement,
    is_extended,
    key_implementation,
    make_array,
    only_one_device,
)
from diastase_runtime import LARGEST_COPIED_RESULT, Executable
from diastase_runtime.abi import ENGINES

_NUMBERS = frozenset((bool, int, float, complex))
_LEAF = jax.tree_util.tree_structure(0)


MANY_ARRAYS = 3
"""Arguments and results, from which on XLA's dispatch is faster, whatever it costs beside them."""


class PreparedCall:
    """One compiled program, ready to be called with flat arguments; safe to share by threads."""

    def __init__(
        self,
        executable: Executable,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        out_tree: Any,
        seed: int | None,
        counts: CountsForm = "dict",
    ) -> None:
        self.executable = executable
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)
        self.num_arrays = len(in_avals) + len(out_avals)
        self._converters = tuple(map(_converter, in_avals))
        self._builders = tuple(map(_builder, out_avals))
        self.in_pytree = _rebuild(out_tree, counts)
        self._only = self._builders[0] if out_tree == _LEAF else None
        """Makes the result where it is one array and nothing around it."""
        self._seed = seed

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program."""
        committed = False
        arguments: list[Any] = []
        for leaf, convert in zip(leaves, self._converters, strict=True):
            if type(leaf) is ArrayImpl:
                committed = committed or leaf.committed
                arguments.append(np.asarray(leaf))
            elif type(leaf) in _NUMBERS:
                arguments.append(leaf)  # the runtime converts it where it lies
            else:
                arguments.append(convert(leaf))
        seed = random.getrandbits(63) if self._seed is None else self._seed
        values = self.executable(arguments, seed)
        if self._only is not None:
            return self._only(values[0], committed)
        return self.in_pytree(
            [build(value, committed) for build, value in zip(self._builders, values, strict=True)]
        )

    def may_be_called_by_xla(self, leaves: Sequence[Any]) -> bool:
        """Whether that saves time for arguments of these types: see `interop.xla.ManyArrays`."""
        artifact = self.executable.artifact
        return (
            self.num_arrays >= MANY_ARRAYS
            and artifact.is_pure
            and all(getattr(artifact, name) is None for name in ENGINES)
            and artifact.threads is None
            and only_one_device()
            and all(map(_is_small_result, self.out_avals))
            and all(map(_is_array_of, leaves, self.in_avals))
        )

    def arrays(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Make the arrays that the program is called with for these arguments."""
        return [convert(leaf) for leaf, convert in zip(leaves, self._converters, strict=True)]


def _is_small_result(aval: ShapedArray) -> bool:
    """Whether a result is a copy anyway, of a type that a custom call of XLA may have."""
    dtype = aval.dtype
    if is_extended(dtype) or dtype == jax.dtypes.float0:
        return False
    return _is_known(aval) and prod(aval.shape) * dtype.itemsize <= LARGEST_COPIED_RESULT


def _is_known(aval: ShapedArray) -> bool:
    """Whether all sizes are numbers."""
    return all(isinstance(size, int) for size in aval.shape)


def _is_array_of(leaf: Any, aval: ShapedArray) -> bool:
    return (
        _is_known(aval)
        and type(leaf) is ArrayImpl
        and leaf.shape == aval.shape
        and leaf.dtype == aval.dtype
    )


def _rebuild(out_tree: Any, counts: CountsForm) -> Callable[[Sequence[Any]], Any]:
    """Make the function from flat results to what the user gets; counts as they are wanted."""
    if not _contains(out_tree, Counts):
        return out_tree.unflatten
    convert = Counts.to_dict if counts == "dict" else Counts.to_arrays

    def rebuild(leaves: Sequence[Any]) -> Any:
        return jax.tree_util.tree_map(
            lambda leaf: convert(leaf) if is_counts(leaf) else leaf,
            out_tree.unflatten(leaves),
            is_leaf=is_counts,
        )

    return rebuild


def _contains(tree: Any, kind: type) -> bool:
    """Whether a pytree has a node of this class."""
    data = tree.node_data()
    return data is not None and (
        data[0] is kind or any(_contains(child, kind) for child in tree.children())
    )


def _converter(aval: ShapedArray) -> Callable[[Any], np.ndarray]:
    """Make the function from an argument of this type to the array that represents it."""
    if is_extended(aval.dtype):
        return lambda key: np.asarray(jax.random.key_data(key))
    dtype = aval.dtype
    return lambda leaf: np.asarray(leaf, dtype)


def _builder(aval: ShapedArray) -> Callable[[np.ndarray, bool], Any]:
    """Make the function from a result, owned by nobody else, to what JAX would return."""
    dtype, weak_type = aval.dtype, aval.weak_type
    sharding, devices = cpu_placement()
    if is_extended(dtype):
        implementation = key_implementation(dtype)
        return lambda value, committed: jax.random.wrap_key_data(
            jax.device_put(value), impl=implementation
        )
    if dtype == jax.dtypes.float0:
        return lambda value, committed: np.zeros(value.shape, dtype)
    if _is_known(aval):
        fixed = ShapedArray(aval.shape, dtype, weak_type=weak_type)
        return lambda value, committed: make_array(fixed, sharding, [value], devices, committed)
    return lambda value, committed: make_array(
        ShapedArray(value.shape, dtype, weak_type=weak_type), sharding, [value], devices, committed
    )
