"""Compiled QNodes with transforms, against the same QNodes uncompiled."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from diastase import qjit

Check = Callable[..., None]


@pytest.fixture
def same_uncompiled() -> Check:
    """Compile and call a function, and call it; compare structures, shapes and values."""

    def check(function: Callable[..., Any], *arguments: Any, tolerance: float = 1e-10) -> None:
        found = qjit(lambda *values: function(*values))(*arguments)
        expected = function(*arguments)
        leaves, tree = jax.tree_util.tree_flatten(found)
        expected_leaves, expected_tree = jax.tree_util.tree_flatten(expected)
        assert tree == expected_tree
        for leaf, wanted in zip(leaves, expected_leaves, strict=True):
            assert leaf.shape == np.shape(wanted)
            np.testing.assert_allclose(leaf, wanted, atol=tolerance)

    return check
