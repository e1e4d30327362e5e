"""Type hints compile at decoration; other calls recompile, with a warning."""

from __future__ import annotations

import functools
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase.jit.options.errors import RecompilationWarning

VECTOR = jax.ShapeDtypeStruct((3,), np.float32)
SHAPED = jax.core.ShapedArray((2,), np.dtype(np.int64))


def compiled_with_count(function, **options):
    count = []

    @functools.wraps(function)
    def counted(*args, **kwargs):
        count.append(1)
        return function(*args, **kwargs)

    return qjit(counted, **options), count


def test_hints_are_strings_here():
    def function(x: float): ...

    assert inspect.signature(function).parameters["x"].annotation == "float"


@pytest.mark.parametrize(
    ("hint", "argument"),
    [(int, 3), (float, 1.5), (complex, 1j), (bool, True), (VECTOR, np.ones(3, np.float32)),
     (SHAPED, np.arange(2)), ({"a": float, "b": (VECTOR,)}, {"a": 1.0, "b": (jnp.ones(3, "f4"),)})],
    ids=str,
)  # fmt: skip
def test_compiled_at_decoration(hint, argument):
    def function(x):
        return jax.tree.map(lambda leaf: leaf + 1, x)

    function.__annotations__ = {"x": hint}
    compiled, count = compiled_with_count(function)
    assert len(count) == 1
    ours, theirs = compiled(argument), jax.jit(function)(argument)
    assert len(count) == 1
    for mine, reference in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert mine.aval == reference.aval
        np.testing.assert_array_equal(mine, reference)


def test_no_parameters():
    compiled, count = compiled_with_count(lambda: jnp.ones(2))
    assert len(count) == 1
    np.testing.assert_array_equal(compiled(), [1, 1])
    assert len(count) == 1


@pytest.mark.parametrize("hint", [inspect.Parameter.empty, jax.Array, "nowhere.Type", list, object])
def test_other_hints_wait_for_the_first_call(hint):
    def function(x, y: float):
        return x + y

    if hint is not inspect.Parameter.empty:
        function.__annotations__["x"] = hint
    compiled, count = compiled_with_count(function)
    assert not count
    assert compiled(1, 2.0) == 3


def test_variadic_parameters_wait_for_the_first_call():
    def function(x: float, *xs: float):
        return x + sum(xs)

    compiled, count = compiled_with_count(function)
    assert not count
    assert compiled(1.0, 2.0, 3.0) == 6


def test_other_types_recompile_with_a_warning():
    @qjit
    def compiled(x: float):
        return x + 1

    with pytest.warns(RecompilationWarning, match="did not match declared signature, recompiling"):
        result = compiled(np.ones(3))
    np.testing.assert_array_equal(result, [2, 2, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(np.zeros(3))
        compiled(1.0)
    with pytest.warns(UserWarning, match="recompiling") as caught:
        assert compiled(3j) == 1 + 3j
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("hint", "arguments"),
    [(float, [3, True, np.int32(3), np.array(3), jnp.array(3, jnp.int8), np.float32(3.5)]),
     (int, [True, np.int8(3), np.array(3, np.uint32)]),
     (complex, [3, 1.5, np.array(True)]),
     (VECTOR, [np.arange(3), jnp.arange(3, dtype=jnp.int8), np.ones(3, np.float16)])],
    ids=str,
)  # fmt: skip
def test_what_is_promoted_to_the_declared_type_is_converted(hint, arguments):
    """As in Catalyst: the type of the result says which program it was."""

    def function(x):
        return x * 2

    function.__annotations__ = {"x": hint}
    compiled, count = compiled_with_count(function)
    (declared,) = compiled.trace(hint if hint is VECTOR else hint()).in_avals[0]
    del count[1:]
    for argument in arguments:
        for _ in range(2):
            result = compiled(argument)
            assert (result.dtype, result.weak_type) == (declared.dtype, declared.weak_type)
            np.testing.assert_array_equal(result, np.asarray(argument, declared.dtype) * 2)
    assert len(count) == 1


def test_promotion_inside_of_pytrees_and_transformations():
    def function(x, y: float = 2):
        return x["a"] * y

    function.__annotations__["x"] = {"a": float}
    compiled, count = compiled_with_count(function)
    for result in (compiled({"a": 3}), compiled({"a": np.array(3)}, y=True) * 2):
        assert (result, result.dtype) == (6, np.float64)
    assert len(count) == 1
    np.testing.assert_array_equal(jax.vmap(lambda a: compiled({"a": a}))(jnp.arange(3)), [0, 2, 4])
    with pytest.warns(RecompilationWarning):
        assert compiled({"a": 3}, 1j) == 3j


def test_weak_types_alone_recompile_silently():
    @qjit
    def compiled(x: float):
        return x + np.float32(1)

    assert compiled(1.0).dtype == np.float32
    assert compiled(np.float64(1.0)).dtype == np.float64


def test_keywords_and_defaults_are_put_in_place():
    def function(x: float, y: int = 2, *, z: float = 3.0):
        return x * y + z

    compiled, count = compiled_with_count(function)
    assert compiled(1.0) == 5
    assert compiled(1.0) == 5  # found by what it looks like, which has fewer arguments
    assert compiled(1.0, 3) == 6
    assert compiled(y=3, x=1.0) == 6
    assert compiled(1.0, z=4.0) == 6
    assert len(count) == 1


def test_keywords_are_put_in_place_whatever_their_names():
    compiled, count = compiled_with_count(difference)
    for _ in range(3):
        assert compiled(b=5.0, a=3.0) == 2
        assert compiled(a=3.0, b=5.0) == 2
        assert compiled(5.0, a=3.0) == 2
    assert len(count) == 1


def difference(b: float, a: float):
    return b - a


def test_partial():
    def function(x: float, y: float, z: float):
        return x - y * z

    compiled = qjit(functools.partial(function, 10.0, z=3.0))
    assert compiled.jaxpr is not None
    assert compiled(2.0) == 4
    with pytest.warns(RecompilationWarning):
        assert compiled(2.0, z=4.0) == 2


def test_wrong_number_of_arguments():
    @qjit
    def compiled(x: float):
        return x

    with pytest.raises(TypeError, match="missing"):
        compiled()
    with pytest.raises(TypeError, match="unexpected keyword"):
        compiled(1.0, y=2)


def test_an_error_at_decoration_is_raised_there():
    with pytest.raises(ZeroDivisionError):

        @qjit
        def compiled(x: float):
            return x + 1 // 0
