"""Compiled circuits against the same circuits run by PennyLane."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

from diastase import qjit

Check = Callable[..., None]


def pairs_of_leaves(found: Any, expected: Any) -> Iterator[tuple[Any, Any]]:
    """Leaves of two results, which must have the same structure and shapes."""
    leaves, tree = jax.tree_util.tree_flatten(found)
    expected_leaves, expected_tree = jax.tree_util.tree_flatten(expected)
    assert tree == expected_tree
    for leaf, wanted in zip(leaves, expected_leaves, strict=True):
        assert leaf.shape == np.shape(wanted)
        yield leaf, wanted


@pytest.fixture
def same_as_pennylane() -> Check:
    """Compile and call a function; run it uncompiled; compare results and their types."""

    def check(function: Callable[..., Any], *arguments: Any, tolerance: float = 1e-10) -> None:
        found = qjit(lambda *values: function(*values))(*arguments)
        for leaf, wanted in pairs_of_leaves(found, function(*arguments)):
            # PennyLane gives complex expectation values for products on overlapping wires.
            real = leaf.ndim == 0 and abs(np.imag(wanted)) < tolerance
            assert leaf.dtype == np.asarray(np.real(wanted) if real else wanted).dtype
            np.testing.assert_allclose(leaf, wanted, atol=tolerance)

    return check


@pytest.fixture
def same_uncompiled() -> Check:
    """Compile and call a function, and call it (or another); compare structures and values."""

    def check(
        function: Callable[..., Any],
        *arguments: Any,
        tolerance: float = 1e-10,
        wanted: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        found = qjit(lambda *values: function(*values), **options)(*arguments)
        for leaf, other in pairs_of_leaves(found, (wanted or function)(*arguments)):
            np.testing.assert_allclose(leaf, other, atol=tolerance)

    return check
