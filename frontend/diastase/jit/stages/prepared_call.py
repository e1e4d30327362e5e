"""The call path: Python values to a program's arguments, its results to `jax.Array`s.

In: the flat, traced arguments of one call, of the types that the program was compiled for (weak
types aside). Out: the results in the pytree that the function returned.

The traps: JAX computes in the background, so an array's data may not be there yet (`np.asarray`
waits); and large results are not copied, so their memory belongs to the arrays from here on.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray

from diastase.jit.options.options import CountsForm
from diastase.quantum.measurements.counts import Counts, is_counts
from diastase_mlir.jax_compat import (
    ArrayImpl,
    copying_at_once,
    cpu_placement,
    is_extended,
    key_implementation,
    make_array,
    memory_format,
    only_one_device,
)
from diastase_runtime import LARGEST_COPIED_RESULT, Executable
from diastase_runtime.abi import ENGINES
from diastase_runtime.arrays.frames import Frame
from diastase_runtime.arrays.memref import give_back, memory_of
from diastase_runtime.calls import prepared_call
from diastase_runtime.calls.prepared_call import Taker
from diastase_runtime.loader import Placer

_NUMBERS = frozenset((bool, int, float, complex))
_LEAF = jax.tree_util.tree_structure(0)


LARGEST_COPY = 32768
"""Bytes of a result, up to which JAX's copy takes less time than an object that owns the memory."""

MANY_ARRAYS = 3
"""Arguments and results, from which on XLA's dispatch is faster, whatever it costs beside them."""


class PreparedCall(prepared_call.PreparedCall):
    """One compiled program, called with what JAX takes for arrays; safe to share by threads."""

    def __init__(
        self,
        executable: Executable,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        out_tree: Any,
        seed: int | None,
        counts: CountsForm = "dict",
    ) -> None:
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)
        self.num_arrays = len(in_avals) + len(out_avals)
        self._converters = tuple(map(_converter, in_avals))
        firsts = executable.layout.argument_words
        placers = map(_placer, range(len(in_avals)), firsts, in_avals, self._converters)
        super().__init__(
            executable,
            list(placers),
            list(map(_taker, out_avals)),
            _rebuild(out_tree, counts),
            seed,
            is_one_array=out_tree == _LEAF,
        )

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program."""
        committed = False
        for leaf in leaves:
            if type(leaf) is ArrayImpl and leaf._committed:  # pyright: ignore[reportPrivateUsage]
                committed = True
        return self.run(leaves, committed)

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


def _placer(
    number: int, first: int, aval: ShapedArray, convert: Callable[[Any], np.ndarray]
) -> Placer:
    """Make the function that describes an argument of this type, at its first word of a frame.

    An array of JAX's is described where it lies, if that can be seen: it cannot if it is deleted,
    in several pieces, or laid out in another order. Sizes that are numbers are not compared: the
    key that led to this program did.
    """
    wanted, rank = _format(aval), aval.ndim

    def place(frame: Frame, leaf: Any) -> Any:
        if type(leaf) is not ArrayImpl:
            return frame.place(number, leaf if type(leaf) in _NUMBERS else convert(leaf))
        try:
            view = memoryview(leaf)
        except BufferError:
            return frame.place(number, np.asarray(leaf))
        if view.format != wanted or not view.c_contiguous:
            return frame.place(number, np.asarray(leaf))
        words = frame.words
        words[first] = words[first + 1] = leaf.unsafe_buffer_pointer()
        if frame.shapes[number] != (shape := view.shape):
            if view.ndim != rank:
                return frame.place(number, np.asarray(leaf))  # which says what is wrong
            frame.write_shape(number, shape)  # pyright: ignore[reportArgumentType]
        return view

    return place


def _format(aval: ShapedArray) -> str | None:
    """How the memory of arrays of this type is called; None if it is not seen."""
    dtype = aval.dtype
    return None if is_extended(dtype) or dtype == jax.dtypes.float0 else memory_format(dtype)


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


def _taker(aval: ShapedArray) -> Taker:
    """Make the function that takes a result of this type."""
    dtype, shape = aval.dtype, aval.shape
    if is_extended(dtype) or dtype == jax.dtypes.float0 or not _is_known(aval):
        return _owning(_builder(aval))
    fixed = ShapedArray(shape, dtype, weak_type=aval.weak_type)
    if 0 < prod(shape) * dtype.itemsize <= LARGEST_COPY:
        return _copying(fixed)
    return _owning(_builder(aval))


def _copying(aval: ShapedArray) -> Taker:
    """Let JAX copy a result, and free it; in one function, since most calls have such results."""
    shape, dtype = aval.shape, aval.dtype
    memory_at, view = memory_of(prod(shape) * dtype.itemsize), partial(np.ndarray, shape, dtype)
    sharding, devices = cpu_placement()
    how = copying_at_once()

    def take(reader: Any, words: list[int], own: bool, committed: bool) -> Any:
        first = reader.first
        array = view(memory_at(words[first + 1]))
        try:
            if how is None:
                return make_array(aval, sharding, [array.copy()], devices, committed)
            return make_array(aval, sharding, [array], devices, committed, *how)
        finally:
            give_back(words, first, own)

    return take


def _owning(build: Callable[[np.ndarray, bool], Any]) -> Taker:
    """Let JAX have an array that owns its memory."""
    return lambda reader, words, own, committed: build(reader.take(words, own), committed)


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
