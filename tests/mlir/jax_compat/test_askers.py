"""A cache of JAX's compares sizes as keys: nobody is asked, a miss is right for every size."""

import operator
from typing import Any

import pytest

from diastase_mlir.jax_compat.symbolic import comparison
from diastase_mlir.jax_compat.symbolic.dimensions import SizeScope


class Key(tuple):  # compared in C, as the keys of a cache are
    name = "add"


def test_the_cache_of_type_rules_asks_nobody():
    class Decider:
        def must_be_equal(self, left, right):
            pytest.fail(f"asked whether {left} == {right}")

        equal = at_least = compared = must_be_equal

    decider: Any = Decider()
    scope = SizeScope()
    one, other = Key([scope.symbol("d1")]), Key([scope.symbol("d2")])
    look_up = comparison._type_rule(operator.eq)
    with comparison.answering(decider):
        assert not look_up(one, other)
        assert look_up(one, Key(one))
