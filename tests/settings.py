"""What whoever compiles in tests sets before: a cache of their own, and a quick reference."""

import os
import tempfile
from pathlib import Path

import jax


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
