"""What lowering must know of values and primitives of JAX's: PRNG keys, scans, host calls."""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import jax.lib
import numpy as np
from jax.core import eval_context
from jax.extend.random import (
    rbg_prng_impl,
    threefry_prng_impl,
    unsafe_rbg_prng_impl,
)

from diastase_mlir.jax_compat.private import JAX, core, linalg, threefry

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
