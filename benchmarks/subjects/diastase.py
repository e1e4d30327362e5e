"""This repository."""

import importlib.metadata
from functools import partial

from diastase import qjit
from diastase_engine import engine_library, mixed_library, single_library, threads_library
from subjects import pennylane_compilers

compiler = partial(pennylane_compilers.compiler, qjit)


def prepare(program, arguments, **options):
    return pennylane_compilers.prepare(partial(qjit, **options), program, arguments)


def build_once():
    """Build, or find, what is built once per machine: the engines and the thread pool."""
    return [engine_library(), single_library(), mixed_library(), threads_library()]


def versions():
    return {name: importlib.metadata.version(name) for name in ("jax", "pennylane", "llvmlite")}
