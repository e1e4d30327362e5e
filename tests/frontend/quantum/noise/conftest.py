"""Compiled QNodes on default.mixed, against the same QNodes uncompiled."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from diastase import qjit

Check = Callable[..., None]


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
        expected = (wanted or function)(*arguments)
        leaves, tree = jax.tree_util.tree_flatten(found)
        expected_leaves, expected_tree = jax.tree_util.tree_flatten(expected)
        assert tree == expected_tree
        for leaf, other in zip(leaves, expected_leaves, strict=True):
            assert leaf.shape == np.shape(other)
            np.testing.assert_allclose(leaf, other, atol=tolerance)

    return check
