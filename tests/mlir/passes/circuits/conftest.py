"""Circuits with and without passes: the same results, and what gates are left."""

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, qjit

OPERATION = re.compile(
    r'quantum\.gate "(.*?)"|quantum\.(unitary|global_phase|check_wires|measure)\b'
)

Transformed = Callable[..., list[str]]


def operations(text: str) -> list[str]:
    """The gates and the like of a module, as they stand in it."""
    return [name or other for name, other in OPERATION.findall(text)]


def when(predicate: Any, yes: Callable[[], Any], no: Callable[[], Any] = lambda: None) -> None:
    """A branch for its gates only."""

    @cond(predicate)
    def branch() -> None:
        yes()

    @branch.otherwise
    def otherwise() -> None:
        no()

    branch()


@pytest.fixture(name="operations")
def operations_fixture() -> Any:
    """The gates and the like of a module, as they stand in it."""
    return operations


@pytest.fixture(name="when")
def when_fixture() -> Any:
    """A branch for its gates only."""
    return when


@pytest.fixture
def left_by() -> Transformed:
    """Apply passes to a function's circuit and compare results with PennyLane; what is left."""

    def check(passes: Any, function: Any, *arguments: Any, wires: int = 3) -> list[str]:
        names = [passes] if isinstance(passes, str) else passes
        pipeline = passes if isinstance(passes, dict) else {name: {} for name in names}
        device = qml.device("default.qubit", wires=wires)
        compiled = qjit(qml.QNode(function, device), circuit_transform_pipeline=pipeline)
        found = compiled(*arguments)
        expected = qml.QNode(function, device)(*arguments)
        for leaf, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf, wanted, atol=1e-12)
        return operations(compiled.mlir)

    return check
