"""Syntax that is easily converted to something else, against Python."""

import contextlib

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import measure, qjit, while_loop


def generators_inside(x):
    def multiples(n, offset=2):
        for i in range(n):
            if i == 1:
                continue
            if i > 5:
                return
            yield x * i + offset

    def more():
        nonlocal total
        yield from multiples(3)
        total = total + start
        yield total

    start = x if x > 0 else 1.0
    total = 0.0
    for value in multiples(4):
        total += value
    return list(more()), total


def values_that_exceptions_carry(x):
    y, z = 0.0, 0.0
    try:
        if x > 0:
            y = 5.0
        raise KeyError("a")
        y = 7.0
    except (KeyError, ValueError) as error:
        z = y + len(str(error))
    with contextlib.suppress(IndexError):
        if x > 0:
            z += 1
        [][1]
        z = 7.0
    for letter in "ab":
        try:
            if x > 0:
                y += 1.0
            {}[letter]
        except KeyError:
            continue
        finally:
            z += y
        y = 50.0
    return y, z


def membership(x):
    found = x in (1.0, 2.0, 3.0), x not in [1.0, 2.0], x in {2.0: 1, 7.0: 2}, x in range(4)
    found += x in range(-3, 9, 5), x in range(8, -9, -3), x + 0.5 in range(4), x in range(3000)
    parameters = {"w": x, 1: 2.0}
    found += "w" in parameters, "v" in parameters, 1 in parameters, x in parameters.values()
    found += ("w", x) in parameters.items(), (x, 1) in [(2.0, 1), (1.0, 1)], (1, x) in [(2, x)]
    found += None in (x, None), "a" in ["a", x], "b" in ["a", x], x in [None, "a"], [x] in ([1.0],)
    found += x in (x, "a"), x in (1.0, "a", 2.0), (x,) in {(2.0,): 1}
    count = 0
    for i in range(5):
        if i in (1, 3):
            count += i
    return found, 2.0 in (x, 1.0), "a" in "abc", 1 in [2], 3.0 in jnp.arange(2) + x, count


def operands_of_chains(x):
    calls = []

    def noted(value):
        calls.append(value)
        return value

    known = noted(1) < noted(2) < noted(3), noted(5) < noted(2) < noted(3)
    count = len(calls)
    return known, count, -3 < noted(x) <= 2 != noted(5), len(calls) - count


def bodies_of_nothing_but_text(x):
    def nothing():
        """Do nothing."""

    def stub(): ...

    y: float
    nothing()
    stub()
    if x > 0:
        y = x
    else:
        y = 1.0
    z: float = 0.0
    for _ in range(3):
        z += y
    return z


PROGRAMS = [
    generators_inside, values_that_exceptions_carry, membership, operands_of_chains,
    bodies_of_nothing_but_text,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    compiled = qjit(program, autograph=True)
    for x in (2.0, -2.0):
        found, expected = compiled(x), program(np.float64(x))
        np.testing.assert_equal(*map(_plain, (found, expected)))


def _plain(value):
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return np.asarray(value).item()


def test_a_measurement_in_a_chain_is_made_once():
    @qjit(autograph=True)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        if 0 <= measure(0) < 1:
            qml.X(0)
        return qml.expval(qml.Z(0))

    circuit()
    assert str(circuit.jaxpr).count("= measure[") == 1


def test_lambdas_in_decorators_and_defaults():
    @qjit(autograph=True)
    def f(x):
        @while_loop(lambda v: v < 10)
        def doubled(v):
            return v * 2 if v > 0 else v + 5

        def halved(v, by=lambda v: 2 if v > 0 else 4):
            return v / by(v)

        return doubled(x), halved(x)

    assert f(2.0) == (16.0, 1.0)
    assert f(-2.0) == (12.0, -0.5)


def test_lambdas_are_found_in_their_line():
    absolute, other = (lambda y: y if y > 0 else -y), (lambda y: y * 5 if y > 0 else -y)
    inner = (lambda a: lambda b: b if b > a else a)(1.0)
    outer = lambda a: (lambda b: b if b > a else a)(2.0)  # noqa: E731
    several = lambda x: (x > 0  # noqa: E731
                         and x < 3) or x == 7  # fmt: skip
    default = lambda x, y=(lambda z: z if z > 0 else 5.0): y(x)  # noqa: E731
    for function in (absolute, other, inner, outer, several, default, lambda x: x):
        compiled = qjit(function, autograph=True)
        assert [compiled(x) for x in (-2.0, 2.5, 7.0)] == [function(x) for x in (-2.0, 2.5, 7.0)]
