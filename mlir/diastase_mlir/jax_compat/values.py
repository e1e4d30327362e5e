"""Values of JAX's: their types, arrays in and out of calls, PRNG keys, constants.

`jax.device_put` is public and takes 30 us for a scalar; what it ends in takes 3 us. The settings
under which JAX would trace anew, the type of a value in one step, and the array that stands for a
PRNG key have no public name.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
import jax.lib
import numpy as np
from jax.api_util import shaped_abstractify
from jax.core import ShapedArray, eval_context
from jax.extend.backend import backends
from jax.extend.random import (
    rbg_prng_impl,
    threefry_prng_impl,
    unsafe_rbg_prng_impl,
)
from jax.lax import convert_element_type_p

from diastase_mlir.jax_compat.private import JAX, config, core, linalg, threefry, tree_util


class _NoClass:
    """Of no array: then all of them go the longer way."""


ArrayImpl: Any = JAX.or_else("jax._src.array:ArrayImpl", _NoClass)
"""The concrete class of arrays: `type(x) is ArrayImpl` excludes tracers and key arrays."""

trace_context = config.trace_context
"""All settings of JAX that change what a function traces to, as a hashable tuple."""


def jit_is_disabled() -> bool:
    """Whether `jax.disable_jit` is in force: the user wants to see the operations one by one."""
    return jax.config.jax_disable_jit  # type: ignore[attr-defined]


abstract_value = shaped_abstractify
"""The type of a value as JAX sees it; of a `ShapeDtypeStruct`, too."""

structure_differences = tree_util.equality_errors_pytreedef
"""`(path, expected, given, explanation)` for each place in which two pytree structures differ."""


def _put(_: Any, sharding: Any, values: Sequence[Any], __: Any, committed: bool) -> Any:
    return jax.device_put(values[0], sharding if committed else None)


_fast = JAX.or_else(
    "jax._src.lib:xla_client",
    SimpleNamespace(batched_device_put=_put, batched_block_until_ready=jax.block_until_ready),
)
make_array: Callable[..., Any] = _fast.batched_device_put
"""`(aval, sharding, [value], [device], committed) -> jax.Array`, aligned ones uncopied."""


@cache
def copying_at_once() -> tuple[Any, ...] | None:
    """What else `make_array` takes to copy memory that is free again when the call is over."""
    sharding, devices = cpu_placement()
    aval, value = ShapedArray((1,), np.dtype(np.uint8)), np.zeros(1, np.uint8)
    try:
        how = (False, _fast.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL)
        make_array(aval, sharding, [value], devices, False, *how)
    except (AttributeError, TypeError):
        return None
    return how


@cache
def memory_format(dtype: np.dtype[Any]) -> str | None:
    """How Python calls the type of an array's memory; None where it cannot see that memory.

    `memoryview(array)` waits for the array and keeps it; `array.unsafe_buffer_pointer()` says where
    it is. Both together take half the time of `np.asarray(array)`.
    """
    sharding, devices = cpu_placement()
    with jax.enable_x64(True):  # else a sample of 64 bits would be one of 32
        sample = make_array(ShapedArray((1,), dtype), sharding, [np.ones(1, dtype)], devices, False)
    try:
        is_there = sample.unsafe_buffer_pointer() == np.asarray(sample).ctypes.data
        view = memoryview(sample)
        return view.format if is_there and view.itemsize == dtype.itemsize else None
    except (AttributeError, BufferError, TypeError):
        return None


wait_for: Callable[[Any], None] = _fast.batched_block_until_ready
"""Return when all of a list of arrays are there; raises where one failed."""


def of_type(value: Any, aval: Any) -> Any:
    """The same array, of a type that is weak or not; within a trace."""
    return convert_element_type_p.bind(
        value, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None
    )


def nans_are_looked_for() -> bool:
    """Whether JAX looks at each result for numbers that are none (`jax.debug_nans`)."""
    settings: Any = jax.config
    return settings.jax_debug_nans or settings.jax_debug_infs


@cache
def cpu_placement() -> tuple[Any, list[Any]]:
    """Sharding and device of arrays that live in the host's memory."""
    device = jax.devices("cpu")[0]
    return jax.sharding.SingleDeviceSharding(device), [device]


@cache
def only_one_device() -> bool:
    """Whether every array of this process lives in the host's memory, in one piece."""
    found = backends()
    return list(found) == ["cpu"] and found["cpu"].device_count() == 1


_GENERATORS = (threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl)
"""JAX's own; users may add others."""


def jaxlib_version() -> str:
    """The version of jaxlib, which `jax` may have several of."""
    return jax.lib.__version__


def physical_aval(aval: Any) -> Any:
    """The array that represents a value of an extended dtype (PRNG keys); others unchanged."""
    dtype = getattr(aval, "dtype", None)
    return aval if dtype is None or not is_extended(dtype) else core.physical_aval(aval)


def _itself(array: np.ndarray) -> Any:
    return array


as_constant = JAX.or_else("jax._src.dtypes:canonicalize_value", _itself)
"""What JAX makes of each NumPy array among operands: one object is one constant."""


def is_extended(dtype: Any) -> bool:
    """Whether a dtype is represented by another array (PRNG keys)."""
    return not isinstance(dtype, np.dtype)


def key_implementation(dtype: Any) -> Any:
    """The PRNG implementation of a key dtype; `jax.random.key_impl` wants an array."""
    return dtype._impl


def name_of_generator(value: Any) -> str | None:
    """The name of one of JAX's own PRNG implementations; None for anything else."""
    if not isinstance(value, type(threefry_prng_impl)):
        return None
    return value.name if value in _GENERATORS else None


def threefry2x32(*words: Any) -> Any:
    """The generator of JAX's default keys, rounds unrolled; public only rolled, in XLA's form."""
    return tuple(threefry._threefry2x32_lowering(*words, use_rolled_loops=False))


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a `scan` are constants, and how many are carried, out of its parameters.

    From jax 0.12 on, the parameter `ft_in` says which operands are which; no numbers are given.
    """
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    constants, carry, _ = params["ft_in"].unpack()
    return len(constants), len(carry)


def eager() -> AbstractContextManager[None]:
    """Evaluate JAX primitives now, whatever is being traced in this thread.

    The public `jax.ensure_compile_time_eval` refuses values that belong to no trace.
    """
    return eval_context()


def determinant_of_few_rows(matrix: Any) -> Any:
    """JAX's formula for two or three rows."""
    return {2: linalg._det_2x2, 3: linalg._det_3x3}[matrix.shape[-1]](matrix)


def log_determinant_of_few_rows(matrix: Any) -> Any:
    """JAX's formula (sign and logarithm) for one or two rows."""
    return linalg._slogdet_small(matrix)
