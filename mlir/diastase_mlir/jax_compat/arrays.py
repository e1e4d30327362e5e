"""Calls: arguments in, arrays out.

`jax.device_put` is public and takes 30 us for a scalar; what it ends in takes 3 us. The settings
under which JAX would trace anew, and the type of a value in one step, have no public name.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
from jax.api_util import shaped_abstractify
from jax.extend.backend import backends
from jax.lax import convert_element_type_p

from diastase_mlir.jax_compat.private import JAX, config, tree_util


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
