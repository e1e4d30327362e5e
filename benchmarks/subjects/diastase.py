"""This repository."""

import importlib.metadata
from functools import partial

from diastase import qjit
from diastase_mlir.kernels import engine_library
from subjects import pennylane_compilers

prepare = partial(pennylane_compilers.prepare, qjit)
compiler = partial(pennylane_compilers.compiler, qjit)


def build_once():
    """Build what is built once per machine: the state-vector engine."""
    engine_library()


def versions():
    return {name: importlib.metadata.version(name) for name in ("jax", "pennylane", "llvmlite")}
