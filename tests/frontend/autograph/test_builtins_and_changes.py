"""Python's functions and changes of lists and objects in converted functions, against Python's."""

# ruff: noqa: B905, UP018, RUF017 (argument forms are what is tested)

import functools
import warnings

import jax
import numpy as np
import pytest

from diastase import disable_autograph, qjit
from diastase.autograph.staging import mutations
from diastase.autograph.staging.errors import AutoGraphWarning
from diastase.capture.tracer_errors import TracedIndexError

TABLE = [1.5, -2.0, 4.0, 0.5]


class Counter:
    def __init__(self):
        self.count, self.seen = 0, []

    def add(self, value=1):
        self.count += value
        self.seen.append(self.count)
        return self.count


def argument_forms(x):
    """All forms of the arguments of what is replaced, without a traced value in them."""
    pairs = dict(zip("abc", enumerate(reversed([1, 2, 3]), start=5), strict=True))
    return (
        [*range(3), *range(1, 3), *range(5, 1, -2), len("abc"), len({1: 2}), len(())],
        [int(), int("10"), int("10", 2), int("10", base=2), int(-2.7), float(), float("2.5")],
        [bool(), bool("a"), bool([]), float(3), int(True)],
        [complex(), complex("1+2j"), complex(1, 2), complex(real=1, imag=0), complex(imag=2)],
        [min(2, 1), min([3, 2]), min([], default=7), min("bca", "ab", key=len) == "ab"],
        [max(2, 1), max({3, 2}), max((), default=7), max([1, -5], key=abs), max(1, -5, key=abs)],
        [any([0, 1]), any(()), any(v for v in [0]), all([0, 1]), all(()), all(v for v in [1])],
        [sum([1, 2]), sum([1, 2], 3), sum([1, 2], start=3), sum((v for v in [1]), start=2)],
        sum([[1], [2]], []),
        [*enumerate([4, 5]), *enumerate([4], 2), *enumerate(iterable=[4], start=3)],
        [*zip(), *zip([1, 2], (3, 4)), *zip([1], [2], strict=True), *zip([1, 2], [3])],
        [*reversed([1, 2]), *reversed(range(3)), *reversed({5: 1})],
        [next(zip([1], [2])), next(reversed([1, 2])), next(enumerate([7])), next(zip([]), 4)],
        pairs,
        x,
    )


def iterators(x):
    """Items that are taken are gone."""
    pairs = enumerate([x, 2.0, 3.0, 4.0])
    first = next(pairs)
    rest = [v for _, v in pairs]
    again = [v for _, v in pairs]
    numbers = zip([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    total = 0.0
    for a, b in numbers:
        total += a * b * x
    for _ in numbers:
        total += 100.0
    backwards = reversed([x, 2.0])
    skipped = next(backwards)
    for v in backwards:
        total += 1000 * v
    return first, rest, again, total, skipped, next(numbers, 3.0)


def taken_one_by_one(x):
    items = enumerate([5.0, 6.0, 7.0])
    for _ in range(3):
        x = x + next(items)[1]
    return x


def traced_forms(x):
    """Traced values in what is replaced."""
    values = x * np.array([1.0, -2.0, 3.0])
    return (
        complex(x, 2.0), complex(real=x), complex(1.0, imag=x), complex(x), int(x), float(x),
        max(values), min(values, default=5.0), max([x], default=1.0), max([x, 2.0], default=1.0),
        sum(values), sum(values, 1.0), sum(values, start=2.0), sum([x, 1.0], start=x),
        any(values > 2), all(values > 2), any([x > 1]), min(x, 1.0, 2), bool(x),
        [v for _, v in enumerate(values, 1)], [v for v in reversed(values)],
    )  # fmt: skip


def appended(x):
    out, counter = [], Counter()
    for i in range(3):
        out.append(i)
        counter.add()
        x = x + TABLE[i]
    return x, len(out), counter.count, counter.seen


def items_in_place(x):
    found, rows, growing = {"sum": x, "count": 0}, [0] * 4, [1.0, x]
    for v in np.array(TABLE):
        if v > x:
            found["count"] += 1
            found["sum"] = found["sum"] + v
    for i in range(4):
        rows[2] += i
    while growing[0] < 4:
        growing[0] += 1
        if growing[1] > 3:
            break
    return found, rows, growing


def iterator_of_python(x):
    items, squares = iter(TABLE), (v * v for v in TABLE)
    for _ in range(3):
        x = x + next(items) * next(squares, 50.0)
    return x


def popped_by_the_condition(x):
    stack = [0, 1, 2, 3]
    while stack.pop() > 0:
        x = x + 1
    return x, stack


def failed_inside(x):
    counts = {"outer": 0, "inner": 0}
    for i in range(3):
        counts["outer"] += 1
        for j in range(2):
            counts["inner"] += 1
            x = x + TABLE[i + j]
    return x, counts


PROGRAMS = [
    argument_forms, iterators, taken_one_by_one, traced_forms, appended, items_in_place,
    iterator_of_python, popped_by_the_condition, failed_inside,
]  # fmt: skip


@pytest.mark.parametrize("x", [2.5, -1.5])
def test_as_in_python(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AutoGraphWarning)
        found = _program()(x)
    expected = [function(np.float64(x)) for function in PROGRAMS]
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other)


@functools.cache
def _program():
    return qjit(lambda x: [function(x) for function in PROGRAMS], autograph=True)


def test_how_far_a_loop_with_break_has_taken_an_iterator_is_known_to_the_program_only():
    @qjit(autograph=True)
    def f(x):
        items = enumerate([1.0, 2.0, 3.0])
        for _, v in items:
            if v > x:
                break
        return next(items)

    with pytest.raises(TracedIndexError, match="the position of an iterator"):
        f(1.5)


def test_a_decorator_around_a_function_without_autograph_is_converted():
    def positive(function):
        @functools.wraps(function)
        def run(x):
            y = function(x)
            return y if y > 0 else -y

        return run

    @positive
    @disable_autograph
    def twice(x):
        for _ in range(2):
            x = x * TABLE[1]
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error", AutoGraphWarning)
        assert qjit(lambda x: twice(x), autograph=True)(-3.0) == 12


def test_changes_that_may_go_unseen_are_said(monkeypatch):
    monkeypatch.setattr(mutations, "_LIMIT", 50)
    rows = [[k] for k in range(100)]

    @qjit(autograph=True)
    def f(x):
        if x > 0:
            return x + len(rows)
        return x

    with pytest.warns(AutoGraphWarning, match="more than 50 lists and objects can be reached"):
        assert f(1.0) == 101


def test_a_call_in_a_block_without_autograph_does_not_decide_for_later_ones():
    @qjit(autograph=True)
    def f(x):
        for _ in range(3):
            x = x * 2
        return x

    with disable_autograph:
        assert f(1.0) == 8.0
        assert "for_loop[" not in str(f.jaxpr)
    assert f(1.0) == 8.0
    assert "for_loop[" in str(f.jaxpr)
