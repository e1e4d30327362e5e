"""What Python's constructs give in converted functions, beside what they give in Python.

The functions of one group are one program: each is compiled once, with the others.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import AutoGraphError, qjit
from diastase.capture.tracer_errors import TracedIndexError
from diastase_runtime.errors import InvalidValueError

TABLE = np.array([3.0, 1.0, -4.0, 1.0, 5.0])


def methods(x):
    class Model:
        scale = 2.0

        def __init__(self):
            self.weights = jnp.array([1.0, 2.0, 3.0])
            self.__private = 3.0

        def act(self, x):
            if x > 0:
                return x * self.scale
            return -x

        def __call__(self, x):
            total = self.__private
            for w in self.weights:
                total += self.act(w * x)
            return total

        @classmethod
        def of(cls, x):
            return cls.scale if x > 0 else 0.0

    class Special(Model):
        def act(self, x):
            if x < 1:
                return super().act(x)
            return super().act(x) + 1

    return Model()(x) + Special()(x) + Model.of(x)


def climbs(a, b, step=1.0):
    while a < b:
        a = a + step
    return a


def calls(x):
    scale = 3.0

    def inner(y, z=2.0, *, w=1.0):
        if y > z:
            return y * w * scale
        return z

    total = inner(x) + inner(x, 1.0) + inner(x, w=5.0) + inner(z=4.0, y=x)
    by_four = functools.partial(climbs, b=4.0)
    functions = [lambda y: y if y > 0 else -y, lambda y: (y if y > 1 else 0.0) if y > -1 else 2.0]
    return (
        total
        + by_four(x)
        + functools.partial(climbs, x, step=2.0)(5.0)
        + sum(function(x) for function in functions)
    )


def doubled_twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        result = function(*args)
        if result > 2:
            return result
        return result * 10

    return wrapper


@doubled_twice
def decorated(x):
    if x > 0:
        return x
    return x * 2


def numbers(count):
    yield from (2 * k for k in range(count))


def generators(x):
    for v in numbers(4):
        x = x + v
    return x + sum(v for v in numbers(3))


def breaks(x):
    i = 0
    while True:
        x = x / 2
        i += 1
        if x < 1:
            break
        if i > 3:
            break
    total = 0.0
    for k in range(10):
        if x * k % 2 < 1:
            continue
        total += k
        if total > 12:
            break
    else:
        total = -1.0
    return x + i + total


def first_negative(xs):
    for i, v in enumerate(xs):
        if v < 0:
            return i
    return -1


def nested(xs):
    total = 0.0
    for i in range(xs.shape[0]):
        for j in range(i + 1):
            if j == 2:
                break
            total += xs[i] * xs[j]
    return total


def item_assignment(xs):
    xs[1:3] = 7.0
    xs[-1] += 2
    xs[0], xs[1] = xs[1], xs[0]
    for i in range(len(xs)):
        if xs[i] > 2:
            xs[i] -= 1
        else:
            xs[i] **= 2
    return xs


def items_of_a_matrix(xs):
    table = np.zeros((2, 3))
    for i in range(2):
        for j in range(3):
            table[i, j] = i * 10 + j + xs[0]
    table[0][1] = 100.0
    return table


def containers(x):
    parts = {"a": x, "b": [1.0, 2.0]}
    if x > 1:
        parts["a"] = 5.0
        parts["b"][0] = 3.0
    else:
        parts["a"] = 1.0
    same = values = [x, 0.0, 1.0]
    if x > 1:
        values[1] = 4.0
    values[2] = 7.0
    return parts, same, [x * i if x > i else 0.0 for i in range(4)]


def built_in(x):
    numbers = [x * i for i in range(3)]
    return (
        int(x), float(int(x)), bool(x > 0), abs(x), sum(numbers), max(numbers), min(x, 3.0),
        max(x, 1.0, 5.0), any([x > 1, x < -7]), all([x > 1, x > 2]), 0 < x < 1,
    )  # fmt: skip


def iterables(n):
    total = 0.0
    for a, (i, b) in zip(jnp.arange(4.0), enumerate([1.0, 2.0, 3.0]), strict=False):
        total += a * b + i
    for r in reversed(range(n)):
        total = total * 2 + r
    for wire, angle in [(0, 0.5), (1, 0.7)]:
        total += wire * angle
    for v in reversed([1.0, 2.0]):
        total = total * 2 + v
    for k in range(n, 0, -2):
        total += k
    return total


def assigned_in_one_branch(x):
    if x > 1:
        y = x
    if x > 1:
        return y
    return 0.0


def last_of_a_loop(n):
    for i in range(n):
        y = i * 2
    return y


def best_of(x):
    best = x
    a, b = 0.0, x
    for i in range(4):
        a, b = b, a + b
        best = x * i if x * i > best else best
    return best, a, b


GROUPS = [
    ([methods, calls, decorated, generators, breaks, containers, built_in, best_of], (1.5,)),
    ([methods, calls, decorated, generators, breaks, containers, built_in, best_of], (-2.0,)),
    ([first_negative, nested, item_assignment, items_of_a_matrix], (TABLE,)),
    ([first_negative, nested, item_assignment, items_of_a_matrix], (abs(TABLE),)),
    ([iterables, last_of_a_loop], (5,)),
    ([assigned_in_one_branch, breaks], (2.0,)),
]


def _copied(arguments):
    return [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]


@functools.cache
def _program(*functions):
    def all_of_them(*arguments):
        return [function(*arguments) for function in functions]

    return qjit(all_of_them, autograph=True)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("functions", "arguments"), GROUPS, ids=range(len(GROUPS)))
def test_as_in_python(functions, arguments):
    found = _program(*functions)(*map(jnp.asarray, arguments))
    expected = [function(*_copied(arguments)) for function in functions]
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other)


def test_what_python_leaves_undefined_is_an_error_when_the_program_runs():
    with pytest.raises(InvalidValueError, match="'y' is read before it has a value") as caught:
        qjit(last_of_a_loop, autograph=True)(0)
    assert caught.value.span.text == "return y"


def test_raise_and_assert_are_made_where_the_program_comes_to_them():
    def function(x):
        if x < 0:
            raise ValueError("negative")
        assert x < 100, "too large"
        return jnp.sqrt(x)

    root = qjit(function, autograph=True)
    assert root(4.0) == 2
    with pytest.raises(ValueError, match="ValueError: negative"):
        root(-1.0)
    with pytest.raises(AssertionError, match="too large"):
        root(400.0)
    assert qjit(function, autograph=True, disable_assertions=True)(400.0) == 20


def test_changes_while_tracing_are_undone():
    seen = []

    @qjit(autograph=True)
    def f(x):
        for i in range(3):
            seen.append(i)
        return x

    with pytest.warns(UserWarning, match="converted for loop failed"):
        f(1.0)
    assert seen == [0, 1, 2]

    @qjit(autograph=True)
    def g(x):
        if x > 0:
            seen.append(1)
        return x

    with pytest.raises(AutoGraphError, match="seen is changed in code that may run many times"):
        g(1.0)
    assert seen == [0, 1, 2]


def test_a_loop_that_cannot_be_unrolled_says_why():
    with pytest.raises(TracedIndexError):
        qjit(lambda n: [i for i in range(n)], autograph=True)(3)
