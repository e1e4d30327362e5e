"""This repository."""

import importlib.metadata
from functools import partial

from diastase import qjit
from diastase_mlir.kernels import engine_library, threads_library
from subjects import pennylane_compilers

prepare = partial(pennylane_compilers.prepare, qjit)
compiler = partial(pennylane_compilers.compiler, qjit)


def build_once():
    """Build, or find, what is built once per machine: the engine and the thread pool."""
    return [engine_library(), threads_library()]


def versions():
    return {name: importlib.metadata.version(name) for name in ("jax", "pennylane", "llvmlite")}
