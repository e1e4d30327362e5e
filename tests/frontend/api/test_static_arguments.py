"""Static arguments: by position and by name, values part of the program."""

import jax
import numpy as np
import pytest

from diastase import qjit


def power(x, n, scale=1.0):
    assert not isinstance(n, jax.core.Tracer)
    result = x
    for _ in range(int(n) - 1):
        result = result * x
    return result * scale


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": [-2]},
        {"static_argnames": "n"},
        {"static_argnames": ("n",)},
        {"static_argnums": 1, "static_argnames": "n"},
    ],
    ids=str,
)
def test_by_position_and_by_name(options):
    compiled = qjit(power, **options)
    assert compiled(2.0, 3) == 8
    assert compiled(2.0, 4) == 16
    assert compiled(2.0, n=5) == 32
    assert compiled(x=2.0, n=3) == 8
    assert compiled(2.0, 3, 10.0) == 80
    assert compiled(2.0, 3, scale=10.0) == 80


def test_several_and_negative():
    compiled = qjit(lambda a, b, c, d: (a + c, b, d), static_argnums=(-1, 1))
    with pytest.raises(TypeError, match="result"):
        compiled(1, "b", 2, "d")
    compiled = qjit(lambda a, b, c, d: a + c + len(b) + len(d), static_argnums=(-1, 1))
    assert compiled(1, "bb", 2, "ddd") == 8
    assert compiled(1, "b", 2, "ddd") == 7


def test_negative_position_with_variadic_arguments():
    compiled = qjit(lambda *xs: xs[0] * len(xs[-1]), static_argnums=-1)
    assert compiled(2, "ab") == 4
    assert compiled(2, 5, "abc") == 6


def test_keyword_only_and_arbitrary_keywords():
    compiled = qjit(lambda x, *, mode, **others: (mode == "a", others), static_argnames="mode")
    assert compiled(1, mode="a", z=3)[0]
    assert not compiled(1, mode="b", z=3)[0]
    compiled = qjit(lambda x, **options: x * options["n"], static_argnames="n")
    assert compiled(2, n=3) == 6
    assert compiled(2, n=4) == 8


@pytest.mark.parametrize(
    "values",
    [
        (1, 1.0, True, np.int64(1)),
        (0.0, -0.0),
        ((1,), (1.0,), (True,)),
        (frozenset({1}), frozenset({True}), frozenset({(1.0,)})),
        ("1", 1, b"1", None),
        (np.float32, np.float64, float),
    ],
    ids=str,
)
def test_equal_values_of_other_types_are_other_programs(values):
    traces = []

    def function(x, value):
        traces.append(value)
        return x

    compiled = qjit(function, static_argnums=1)
    for _ in range(2):
        for value in values:
            compiled(1.0, value)
    assert [repr(value) for value in traces] == [repr(value) for value in values]


def test_by_hash_and_equality():
    class Settings:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other.value

        def __hash__(self):
            return hash(self.value)

    traces = []

    @qjit(static_argnums=0)
    def function(settings, x):
        traces.append(settings)
        return settings.value * x

    assert function(Settings(2), 3) == 6
    assert function(Settings(2), 4) == 8
    assert function(Settings(3), 4) == 12
    assert len(traces) == 2


def test_unhashable():
    compiled = qjit(power, static_argnums=1)
    for call in (lambda: compiled(1.0, [3]), lambda: compiled(1.0, n=[3])):
        with pytest.raises(TypeError, match="static argument n of power is a list"):
            call()
        with pytest.raises(ValueError, match="unhashable"):
            call()


@pytest.mark.parametrize("position", [3, -4])
def test_out_of_range(position):
    with pytest.raises(
        ValueError,
        match=rf"argnum {position} of .* beyond the valid range of \[-3, 3\): power takes 3",
    ):
        qjit(power, static_argnums=position)


def test_unknown_name():
    with pytest.raises(ValueError, match=r"static_argnames has \('m',\)"):
        qjit(power, static_argnames="m")


def test_static_arguments_disable_compilation_at_decoration():
    traces = []

    @qjit(static_argnums=0)
    def function(n: int, x: float):
        traces.append(n)
        return x * n

    assert traces == []
    assert function(3, 2.0) == 6
    assert traces == [3]
