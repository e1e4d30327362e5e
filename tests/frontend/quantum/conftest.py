"""Compiled circuits against the same circuits run by PennyLane on default.qubit."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from diastase import qjit

Check = Callable[..., None]


@pytest.fixture
def same_as_pennylane() -> Check:
    """Compile and call a function; run it uncompiled; compare results and their types."""

    def check(function: Callable[..., Any], *arguments: Any, tolerance: float = 1e-10) -> None:
        found = qjit(lambda *values: function(*values))(*arguments)
        expected = function(*arguments)
        leaves, tree = jax.tree_util.tree_flatten(found)
        expected_leaves, expected_tree = jax.tree_util.tree_flatten(expected)
        assert tree == expected_tree
        for leaf, wanted in zip(leaves, expected_leaves, strict=True):
            assert leaf.shape == np.shape(wanted)
            # PennyLane gives complex expectation values for products on overlapping wires.
            real = leaf.ndim == 0 and abs(np.imag(wanted)) < tolerance
            assert leaf.dtype == np.asarray(np.real(wanted) if real else wanted).dtype
            np.testing.assert_allclose(leaf, wanted, atol=tolerance)

    return check
