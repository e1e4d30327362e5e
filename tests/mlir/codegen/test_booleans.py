"""Booleans in memory are bytes."""

import numpy as np
import pytest
from jax import numpy as jnp

from diastase import qjit
from diastase_mlir.codegen.booleans import with_booleans_as_bytes

_BEFORE = """\
  %4 = load i1, ptr %3, align 1
  %5 = load i8, ptr %3, align 1, !noalias !1
  store i1 %4, ptr %2, align 1, !noalias !1
  store i1 true, ptr %2, align 1
  store i1 false, ptr %2, align 1
  store i16 %6, ptr %2, align 2
"""
_AFTER = """\
  %byte.4 = load i8, ptr %3, align 1, !range !{i8 0, i8 2}
  %4 = trunc nuw i8 %byte.4 to i1
  %5 = load i8, ptr %3, align 1, !noalias !1
  %stored.0 = zext i1 %4 to i8
  store i8 %stored.0, ptr %2, align 1, !noalias !1
  store i8 1, ptr %2, align 1
  store i8 0, ptr %2, align 1
  store i16 %6, ptr %2, align 2
"""


def test_loads_and_stores_are_of_bytes() -> None:
    assert with_booleans_as_bytes(_BEFORE) == _AFTER


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_are_vectors(axis: int) -> None:
    @qjit
    def both(x):
        return x.any(axis=axis), x.all(axis=axis)

    for share in (0.0, 0.01, 0.99, 1.0):
        x = np.random.default_rng(0).uniform(size=(70, 130)) < share
        some, every = both(x)
        np.testing.assert_array_equal(some, x.any(axis=axis))
        np.testing.assert_array_equal(every, x.all(axis=axis))
    assert "x i8>" in both.llvm_ir
    assert "load i1" not in both.llvm_ir
    assert "store i1" not in both.llvm_ir


def test_what_is_chosen_by_stored_booleans_is_computed_in_vectors() -> None:
    @qjit
    def where(condition, x):
        return jnp.where(condition, x, -x).sum(1)

    rng = np.random.default_rng(1)
    condition, x = rng.uniform(size=(40, 90)) < 0.5, rng.integers(-99, 99, (40, 90))
    np.testing.assert_array_equal(where(condition, x), np.where(condition, x, -x).sum(1))
    assert "x i8>" in where.llvm_ir
