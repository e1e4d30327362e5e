"""What whoever compiles in tests sets before: a cache of their own, and a quick reference."""

import functools
import os
import tempfile
from pathlib import Path

import jax
from jax._src.interpreters import mlir  # noqa: TID251 (of tests alone, and they run without it)


def begin() -> None:
    """Set the environment of this process and of its children, where it does not say already."""
    # Tests neither read nor fill the user's cache. The directory is one for all workers, so that
    # the engine is built once a test run.
    cache = Path(tempfile.gettempdir()) / f"diastase-tests-{os.getuid()}"
    os.environ.setdefault("DIASTASE_CACHE_DIR", str(cache))
    cache.mkdir(mode=0o700, exist_ok=True)
    # XLA serves as the reference only, and compiles thousands of small programs, which was half of
    # the suite's time. Read when its backend starts, where an unknown flag ends the process.
    flags = ["--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"]
    if jax.__version_info__ < (0, 11):
        flags.append("--xla_cpu_use_fusion_emitters=false")
    os.environ.setdefault("XLA_FLAGS", " ".join(flags))
    # JAX makes a context of MLIR for each program and keeps it: a third of the time that it takes
    # to compile an operation, and of a process that compiles thousands most of its memory.
    mlir.make_ir_context = functools.cache(mlir.make_ir_context)
