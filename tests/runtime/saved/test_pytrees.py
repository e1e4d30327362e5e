"""Pytrees without JAX are those of JAX: the same leaves in the same order, and back."""

import json
from collections import namedtuple

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diastase_runtime.saved import pytrees

Point = namedtuple("Point", "x y")

keys = st.text(max_size=3) | st.integers()
trees = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.builds(Point, inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.dictionaries(st.integers() | st.booleans(), inner, max_size=3)
        | st.dictionaries(st.tuples(st.integers(), st.text(max_size=1)), inner, max_size=2)
    ),
    max_leaves=12,
)


@given(trees)
def test_as_jax_does_it(tree):
    leaves = []
    structure = pytrees.flatten(tree, leaves)
    assert leaves == jax.tree.leaves(tree)
    text = json.dumps(pytrees.to_json(structure))
    again = pytrees.from_json(json.loads(text))
    assert again == structure
    assert hash(again) == hash(structure)
    back = pytrees.builder(again)(leaves)
    assert back == tree
    assert str(jax.tree.structure(back)) == str(jax.tree.structure(tree))


static_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
)


@given(static_values)
def test_values_are_read_as_they_were(value):
    data = json.loads(json.dumps(pytrees.value_to_json(value)))
    assert repr(pytrees.value_from_json(data)) == repr(value)


@pytest.mark.parametrize("value", [b"a", 1j, [1], {1: 2}, (1, object()), np.float64(1), str])
def test_values_that_json_has_no_words_for(value):
    with pytest.raises(TypeError):
        pytrees.value_to_json(value)


@pytest.mark.parametrize(
    "data",
    [3, "**", ["tuple"], ["set", []], ["dict", []], ["tuple", 1, []], {}, ["tuple", 3], [None, []]],
)
def test_what_is_no_structure(data):
    with pytest.raises((TypeError, ValueError)):
        pytrees.from_json(data)
