"""JAX's own loops and branches inside programs, where they are taken for ours, beside plain JAX."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax import lax
from jax.scipy import special

from diastase import cond, for_loop, qjit, while_loop

X = jnp.array([0.7, 0.3, -0.4])
BATCH = jnp.stack([X, X * 0.5])


def agree(ours, plain):
    for got, wanted in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        assert np.shape(got) == np.shape(wanted)
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def times_a_sum(values, number):
    """`values * number * sin(values[0])`, by way of an array of that size."""
    return values * jnp.sum(jnp.sin(jnp.ones(number) * values[0]))


def times_a_number(values, number):
    return values * number * jnp.sin(values[0])


def loops(grow):
    """Functions of `(x, n)` that compute sizes in `grow`, if that is `times_a_sum`."""

    def of_while(x, n):
        step = lambda s: (s[0] + 1, grow(s[1], s[0] + 1))  # noqa: E731
        return lax.while_loop(lambda s: s[0] < n, step, (jnp.int64(0), x))[1]

    def nested(x, n):
        def inner(i, c):
            return lax.cond(i > 1, lambda c: grow(c, i + 1), jnp.sin, c)

        return lax.scan(lambda c, k: (lax.fori_loop(0, 3, inner, c) * k, None), x, jnp.arange(n))[0]

    return {
        "scan": lambda x, n: lax.scan(
            lambda c, i: (grow(c, i + 1), c[1] * i), x, jnp.arange(n), reverse=True
        ),
        "while_loop": of_while,
        "nested": nested,
        "cond": lambda x, n: lax.cond(
            x[0] > 0.0, lambda x: grow(x, jnp.int64(x[0] * 4) * n), jnp.cos, x
        ),
    }


def derivatives(function, n):
    def total(x):
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(function(x, n)))

    return lambda x: (
        jax.value_and_grad(total)(x),
        jax.jvp(total, (x,), (x,)),
    )


def test_sizes_computed_inside():
    def rows(f, n):
        return jax.vmap(jax.grad(lambda x: jnp.sum(f(x, n)[0])))

    ours = loops(times_a_sum)

    @qjit
    def program(x, batch, n):
        return {name: derivatives(f, n)(x) for name, f in ours.items()}, rows(ours["scan"], n)(
            batch
        )

    plain = loops(times_a_number)
    # In plain JAX a reverse derivative takes a number of iterations that is known.
    plain["while_loop"] = lambda x, n: lax.fori_loop(0, n, lambda i, c: times_a_number(c, i + 1), x)
    for n in (3, 0):
        found, batched = program(X, BATCH, n)
        agree(found, {name: derivatives(f, n)(X) for name, f in plain.items()})
        agree(batched, rows(plain["scan"], n)(BATCH))


def test_while_loops_of_a_batch_and_of_equal_constants():
    """In reverse through `vmap`; and constants that are one value, of which one has no tangent."""

    def own_trips(row, n):
        step = lambda s: (s[0] + 1, jnp.sin(s[1] * row[0]) + s[0] * row[1])  # noqa: E731
        return lax.while_loop(lambda s: s[0] < n, step, (jnp.int64(0), row))[1]

    def masked(row, n):
        def step(i, c):
            return jnp.where(i < n, jnp.sin(c * row[0]) + i * row[1], c)

        return lax.fori_loop(0, 4, step, row)

    def of_all(loop, trips):
        over_both = lambda b: jax.vmap(jax.vmap(loop, (0, None)), (None, 0))(b, trips)  # noqa: E731
        return jax.grad(lambda batch: jnp.sum(over_both(batch) ** 2))

    def twice_the_same(loop, x):
        still = lax.stop_gradient(x)
        return loop(lambda c: jnp.sin(c) * still * x) + loop(lambda c: jnp.cos(c) * x * still)

    def by_while(x, step):
        return lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, step(s[1])), (0, x))[1]

    trips = jnp.array([0, 4, 1])

    @qjit
    def program(batch, trips, x):
        ours = lambda x: jnp.sum(twice_the_same(lambda step: by_while(x, step), x))  # noqa: E731
        return of_all(own_trips, trips)(batch), jax.grad(ours)(x)

    plain = lambda x: jnp.sum(twice_the_same(lambda step: step(step(x)), x))  # noqa: E731
    agree(program(BATCH, trips, X), (of_all(masked, trips)(BATCH), jax.grad(plain)(X)))


def test_loops_and_branches_that_some_elements_do_not_run():
    """A loop of ours in them asks which do, anew where a body is traced anew."""

    def up(value):
        return while_loop(lambda p: p < 4)(lambda p: p + 1.0)(value)

    def ways(known):
        return {
            "scan": lambda x, v: lax.scan(lambda c, _: (up(v), None), 0.0, x)[0],
            "while": lambda x, v: lax.while_loop(lambda c: c < 1, lambda c: c + up(v), 0.0),
            "cond": lambda x, v: lax.cond(known, lambda: up(v), lambda: 1.0),
            "checkpoint": lambda x, v: jax.checkpoint(lambda y: up(v) + 0 * y)(1.0),
        }

    def of_row(way, x):
        v = jnp.sum(x)
        outside = cond(v > 3.0)(lambda: 2.0)
        outside.otherwise(lambda: way(x, v))

        def turn(i, later, now):  # what is carried belongs to the batch from the second time on
            inside = cond(v + 0.0 * i > 3.0)(lambda: 2.0)
            inside.otherwise(lambda: way(x, v))
            return now, inside()

        return outside(), for_loop(0, 2, 1)(turn)(0.0, 0.0)[0]

    @qjit
    def program(rows, known):
        return {name: jax.vmap(partial(of_row, way))(rows) for name, way in ways(known).items()}

    rows = np.array([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [0.5, 0.5, 0.75]])
    wanted = np.array([2.0, 4.6, 4.75])
    agree(program(rows, True), dict.fromkeys(ways(True), (wanted, wanted)))


def test_loops_in_branches_are_not_run_for_other_elements():
    """For which they may not end: `exp1` has a fraction for large numbers, and a sum for small."""

    def halves(n):
        def until_odd(s):
            return lax.while_loop(lambda s: s[0] % 2 == 0, lambda s: (s[0] // 2, s[1] + 1), s)

        inner = lambda n: lax.fori_loop(0, 2, lambda _, s: until_odd(s), (n, 0))  # noqa: E731
        return lax.cond(n > 0, inner, lambda n: (n, -1), n)

    numbers = np.array([12, 0, 7, -4])
    agree(qjit(jax.vmap(halves))(numbers), (np.array([3, 0, 7, -4]), np.array([2, -1, 0, -1])))
    some = np.array([1e-37, 1.1754942e-38, 1e-45, 1.0, 3.0], np.float32)
    for function, exact in ((special.exp1, scipy.special.exp1), (special.expi, scipy.special.expi)):
        for x in (some, -some):
            np.testing.assert_allclose(qjit(function)(x), exact(x), rtol=3e-6)
