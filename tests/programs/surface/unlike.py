"""Calls that are refused, with the error that they raise; and random numbers equal bit for bit."""

from collections.abc import Mapping

from diastase_mlir.errors import UnsupportedTypeError
from diastase_runtime.errors import DiastaseError

REFUSED: Mapping[str, type[DiastaseError]] = {
    # JAX multiplies its missing scales as numbers of 8 bits, which no program of ours holds.
    "jax.lax.scaled_dot": UnsupportedTypeError,
}

TOLERANCES: Mapping[str, float] = {
    "jax.nn.dot_product_attention": 1e-6,  # its softmax is of float32
    "jax.scipy.linalg.pascal": 1e-5,  # exponentials of logarithms of factorials, in float32
}

EQUAL_SAMPLES = {
    f"jax.random.{name}" for name in ("uniform", "choice", "permutation", "rademacher")
}
"""Numbers that are not rounded on their way from the bits; others pass through functions such as
`erf_inv`, whose last digit depends on how XLA contracts multiplications and additions."""
