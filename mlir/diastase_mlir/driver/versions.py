"""The versions of the packages that lower programs: part of every key in the cache."""

import sys
from functools import cache
from importlib.metadata import version

import jax

from diastase_mlir.jax_compat import jaxlib_version


def lowering_versions() -> str:
    """The versions of JAX, jaxlib and the MLIR bindings, and of PennyLane where it is loaded."""
    # Asked anew each time: PennyLane is not ours to import, and may be loaded later than we are.
    pennylane = getattr(sys.modules.get("pennylane"), "__version__", "")
    return " ".join([jax.__version__, jaxlib_version(), _bindings_version(), pennylane])


@cache
def _bindings_version() -> str:
    return version("torch-mlir")  # reads and parses a file, 1 ms
