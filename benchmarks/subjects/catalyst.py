"""Catalyst, with lightning.qubit."""

import importlib.metadata
from functools import partial

from catalyst import qjit

from subjects import pennylane_compilers

prepare = partial(pennylane_compilers.prepare, qjit)
compiler = partial(pennylane_compilers.compiler, qjit)


def versions():
    names = ("pennylane-catalyst", "pennylane-lightning", "jax")
    return {name: importlib.metadata.version(name) for name in names}
