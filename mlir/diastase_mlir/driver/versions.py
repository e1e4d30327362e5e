"""The versions of the packages that lower programs: part of every key in the cache."""

import sys
from functools import cache
from importlib.metadata import version

import jax

from diastase_mlir.jax_compat import jaxlib_version


@cache
def lowering_versions() -> str:
    """The versions of JAX, jaxlib and the MLIR bindings, and of PennyLane where it is loaded."""
    # Attributes where there are any: `version` reads and parses a file, 1 ms the first time.
    pennylane = getattr(sys.modules.get("pennylane"), "__version__", "")  # not ours to import
    return " ".join([jax.__version__, jaxlib_version(), version("torch-mlir"), pennylane])
