"""What is left out of programs changes no bit of their results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxpr_as_fun

from diastase import for_loop, qjit
from diastase.capture.context import new_context
from diastase.jaxprs.constant_folding import simplified
from diastase.jaxprs.loop_reversal import counters, sums

FLOATS = jnp.array([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf])
LARGEST = np.iinfo(np.int64).max


def chosen(x):
    return lax.select(lax.lt(jnp.int32(0), jnp.int32(3)), x, -x)


PROGRAMS = {
    "times one": (lambda x: x * 1.0, 0),
    "times ones": (lambda x: lax.mul(jnp.ones(7), x), 1),  # the ones, which nobody reads
    "plus nothing": (lambda x: x + 0.0, 1),
    "plus minus nothing": (lambda x: x + -0.0, 1),
    "known choice": (chosen, 0),
    "all of it": (lambda x: lax.slice(x, (0,), (7,), (1,)), 0),
    "there and back": (lambda x: x.reshape(7, 1).reshape(1, 7).reshape(7), 0),
    "to another shape": (lambda x: x.reshape(7, 1), 1),
    "unread": (lambda x: (jnp.sin(x), x)[1], 0),
    "wraps around": (lambda x: x + (lax.add(jnp.int64(LARGEST), jnp.int64(1)) // 2**62), None),
    "rounded": (lambda x: x * lax.mul(jnp.float64(0.1), jnp.float64(3.0)), 1),
    "other type": (lambda x: x.astype(jnp.float32).astype(jnp.float64), 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_bit_stays(name):
    function, count = PROGRAMS[name]
    closed = jax.make_jaxpr(function)(FLOATS)
    with new_context(None):
        shorter = simplified(closed)
    (before,), (after,) = jaxpr_as_fun(closed)(FLOATS), jaxpr_as_fun(shorter)(FLOATS)
    assert np.asarray(before).tobytes() == np.asarray(after).tobytes()
    if count is not None:
        names = [equation.primitive.name for equation in shorter.jaxpr.eqns]
        assert len([name for name in names if name != "broadcast_in_dim"]) <= count, names


def body(function, *values):
    """A loop's body without constants; what is carried begins at input 1."""
    return jax.make_jaxpr(function)(jnp.int64(0), *values)


def test_what_a_loop_carries():
    """Integers that count, and sums that nothing else reads."""
    whole, number = jnp.int64(3), jnp.float64(0.5)
    counting = body(lambda i, a, b, c, d: (a + 2 + 3, a + 1, c * 2, d), whole, whole, whole, whole)
    assert counters(counting, 1) == {0: 5, 3: 0}
    adding = body(
        lambda i, a, b, c, d: (a + jnp.sin(d), b + b * 2, (c + d) + i * d, d + a),
        number, number, number, number,
    )  # fmt: skip
    assert sums(adding, 1) == {2}


def test_a_loop_that_counts_and_adds():
    """Integers that wrap around, a sum of the loop, a sum that the loop reads."""

    def total(x, start, count):
        def step(i, carry):
            place, all_of_it, read = carry
            weight = (place % 7).astype(jnp.float64) + place.astype(jnp.float64) * 1e-3
            return place + np.int8(100), all_of_it + jnp.sin(x * weight), read + read * x + i

        return step, (start, jnp.float64(1), x)

    def ours(x, start, count):
        step, carry = total(x, start, count)
        _, one, other = for_loop(0, count, 1)(lambda i, *carry: step(i, carry))(*carry)
        return one * other

    def plain(x, start, count):
        step, carry = total(x, start, count)
        for i in range(count):
            carry = step(i, carry)
        return carry[1] * carry[2]

    x, start = jnp.float64(0.3), jnp.int8(5)
    compiled = qjit(jax.value_and_grad(ours))
    for count in (0, 1, 6):
        np.testing.assert_allclose(
            compiled(x, start, count), jax.value_and_grad(plain)(x, start, count), rtol=1e-12
        )


def test_a_choice_of_no_case():
    """A number that names no case is left to the program; it was a raw IndexError."""

    def program(x):
        @for_loop(0, 2, 1)
        def loop(_, y):
            return jnp.sin(lax.select_n(jnp.int32(5), y, 2 * y, 3 * y))

        return loop(x)

    assert np.isfinite(qjit(jax.grad(program))(0.3))
