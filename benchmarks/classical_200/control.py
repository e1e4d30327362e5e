"""Control flow and scans, slices, top-k and other operations of `jax.lax`; `jax.ops`."""

import jax
import jax.numpy as jnp
from jax import lax

from classical_200.rows import family, indices, integers, normal, repeated, row, uniform


def lorenz(state):
    x, y, z = state
    return jnp.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z], state.dtype)


def runge_kutta(f, h):
    def step(y):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return step


def end_of_orbit(y, steps):
    """Differentiable: a scan."""
    step = runge_kutta(lorenz, 1e-4)
    return lax.scan(lambda y, _: (step(y), None), y, None, length=steps)[0]


def kalman(observations):
    """Filter a position and a velocity."""
    a = jnp.array([[1.0, 0.1], [0.0, 1.0]], observations.dtype)
    q, r = 0.01 * jnp.eye(2, dtype=observations.dtype), 0.5

    def step(state, z):
        x, p = state
        x, p = a @ x, a @ p @ a.T + q
        k = p[:, 0] / (p[0, 0] + r)
        x = x + k * (z - x[0])
        p = p - jnp.outer(k, p[0])
        return (x, p), x

    start = jnp.zeros(2, observations.dtype), jnp.eye(2, dtype=observations.dtype)
    return lax.scan(step, start, observations)[1]


def running_statistics(x):
    """Mean and variance so far, one element after another."""

    def step(state, value):
        count, mean, squares = state
        count += 1
        change = value - mean
        mean += change / count
        squares += change * (value - mean)
        return (count, mean, squares), mean

    zero = jnp.zeros((), x.dtype)
    return lax.scan(step, (zero, zero, zero), x)[1]


def rnn(weights, inputs):
    def step(h, x):
        h = jnp.tanh(h @ weights + x)
        return h, h

    return lax.scan(step, jnp.zeros(weights.shape[0], weights.dtype), inputs)[1]


def newton_roots(a):
    """Square roots of each element by a `while_loop` of its own."""

    def root(a):
        def more(state):
            return abs(state * state - a) > 1e-5 * a

        return lax.while_loop(more, lambda x: 0.5 * (x + a / x), a)

    return jax.vmap(root)(a)


def collatz(n):
    def body(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return jax.vmap(lambda n: lax.while_loop(lambda s: s[0] > 1, body, (n, 0))[1])(n)


def branches(x):
    """Which of three is chosen depends on the state."""

    def step(_, x):
        which = (jnp.abs(x.sum() * 100)).astype(jnp.int32) % 3
        return lax.switch(which, [lambda x: x * 0.999, jnp.sin, lambda x: x + 0.01], x)

    return lax.fori_loop(0, 10_000, step, x)


def quaternion_step(q, w):
    """Turn by a small rotation, normalise."""
    a, b, c, d = q
    e, f, g, h = w
    q = jnp.array(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )
    return q / jnp.sqrt((q * q).sum())


def binary_search(values, points):
    """As a user writes it: twenty halvings by `fori_loop` of all points at once."""

    def step(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        right = values[middle] < points
        return jnp.where(right, middle, low), jnp.where(right, high, middle)

    low = jnp.zeros(points.shape, jnp.int32)
    return lax.fori_loop(0, 20, step, (low, low + values.size - 1))[1]


def dynamic_slices(x):
    def step(i, x):
        part = lax.dynamic_slice(x, (i * 7 % 900,), (100,))
        return lax.dynamic_update_slice(x, part * 0.99, (i * 13 % 900,))

    return lax.fori_loop(0, 1000, step, x)


def linear_recurrence(a, b):
    def combine(one, other):
        return one[0] * other[0], one[1] * other[0] + other[1]

    return lax.associative_scan(combine, (a, b))[1]


CONTROL = family(
    "jax.lax: control flow",
    row(
        "small f64 forward loop",
        "RK4 of the Lorenz system, 1e5 steps",
        repeated(runge_kutta(lorenz, 1e-4), 10**5),
        uniform(3),
        whole=True,
        tolerance=1e-6,
    ),
    row(
        "small f64 gradient loop",
        "RK4 of the Lorenz system, 1000 steps",
        jax.grad(lambda y: (end_of_orbit(y, 1000) ** 2).sum()),
        uniform(3),
        whole=True,
    ),
    row(
        "cache f32 forward loop",
        "RK4 of 10,000 Lorenz systems",
        repeated(runge_kutta(lorenz, 1e-3), 50),
        uniform(3, 10_000),
        whole=True,
    ),
    row("small f64 forward loop", "Kalman filter, 5000 steps", kalman, normal(5000), whole=True),
    row(
        "large f64 forward loop",
        "running statistics, 1e6",
        running_statistics,
        normal(10**6),
        whole=True,
    ),
    row(
        "cache f64 gradient loop",
        "RNN, 100 steps",
        jax.grad(lambda w, x: (rnn(w, x) ** 2).mean()),
        normal(64, 64, scale=0.1),
        normal(100, 64),
        whole=True,
    ),
    row(
        "cache f64 forward alone",
        "vmap of while_loop: Newton",
        newton_roots,
        uniform(20_000, low=0.1, high=100),
    ),
    row(
        "large i64 forward alone",
        "vmap of while_loop: Collatz",
        collatz,
        integers(10**5, low=1, high=10**4),
    ),
    row("small f64 forward loop", "switch in a loop", branches, uniform(8), whole=True),
    row(
        "small f32 forward loop",
        "quaternions, 10,000 steps",
        repeated(quaternion_step, 10_000),
        normal(4),
        normal(4, scale=0.5),
        whole=True,
    ),
    row(
        "cache f32 forward loop",
        "binary search",
        binary_search,
        normal(2**16),
        normal(20_000),
        whole=True,
    ),
    row(
        "small f64 forward loop", "dynamic_slice, update", dynamic_slices, normal(1000), whole=True
    ),
    row(
        "cache f64 forward alone",
        "lax.map of norms",
        lambda x: lax.map(lambda r: jnp.sqrt((r * r).sum()), x),
        normal(1000, 64),
    ),
    row(
        "cache f64 forward alone",
        "associative_scan of 4096 3×3 products",
        lambda m: lax.associative_scan(jnp.matmul, m),
        normal(4096, 3, 3, scale=0.5),
    ),
    row(
        "large f64 forward alone",
        "associative_scan of 1e6 sums",
        lambda x: lax.associative_scan(jnp.add, x),
        normal(10**6),
    ),
    row(
        "large f32 gradient alone",
        "associative_scan: recurrence",
        linear_recurrence,
        uniform(10**6),
        normal(10**6),
    ),
)
OPERATIONS = family(
    "jax.lax: operations",
    row("large f32 forward alone", "top_k of rows", lambda x: lax.top_k(x, 10), normal(1000, 1000)),
    row("large f64 forward alone", "top_k", lambda x: lax.top_k(x, 100), normal(10**6)),
    row(
        "cache f64 forward alone",
        "sort_key_val",
        lambda k, v: lax.sort_key_val(k, v)[1],
        normal(50_000),
        normal(50_000),
    ),
    row(
        "cache f32 gradient loop",
        "logistic, rsqrt",
        lambda x: lax.logistic(x) * lax.rsqrt(x * x + 1),
        normal(20_000),
    ),
    row(
        "large f32 forward alone",
        "reduce by a function",
        lambda x: lax.reduce(x, jnp.array(1.0, x.dtype), lambda a, b: a * b + 0.0, (1,)),
        uniform(1000, 1000, low=0.999, high=1.001),
    ),
    row(
        "small f64 gradient loop",
        "dot_general",
        lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))),
        normal(4, 5, 6),
        normal(4, 6, 3),
    ),
    row(
        "large f64 gradient alone",
        "cumsum, clamp",
        lambda x: lax.clamp(-1.0, lax.cumsum(x, reverse=True), 1.0),
        normal(10**6, scale=0.01),
    ),
    row(
        "cache i32 forward alone",
        "clz, population_count",
        lambda x: lax.clz(x) + lax.population_count(x),
        integers(100_000, high=2**30),
    ),
    row(
        "small f32 forward alone",
        "bitcast, nextafter",
        lambda x: lax.nextafter(
            x, lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) ^ 1, jnp.float32)
        ),
        normal(500),
    ),
    row(
        "cache f64 forward alone",
        "igamma, betainc",
        lambda a, x: lax.igamma(a, x) + lax.betainc(a, a + 1, x / 3),
        uniform(20_000),
        uniform(20_000),
    ),
)
SEGMENTS = family(
    "jax.ops",
    row(
        "large f64 forward alone",
        "segment_sum",
        lambda x, i: jax.ops.segment_sum(x, i, 1000),
        normal(10**6),
        indices(10**6, high=1000),
    ),
    row(
        "cache f32 gradient alone",
        "segment_sum of rows",
        lambda x, i: jax.ops.segment_sum(x, i, 100),
        normal(5000, 16),
        indices(5000, high=100),
    ),
    row(
        "cache f64 forward alone",
        "segment_max",
        lambda x, i: jax.ops.segment_max(x, i, 500),
        normal(100_000),
        indices(100_000, high=500),
    ),
    row(
        "small f32 forward loop",
        "segment_prod",
        lambda x, i: jax.ops.segment_prod(x, i, 10),
        uniform(100),
        indices(100, high=10),
    ),
)
ROWS = CONTROL + OPERATIONS + SEGMENTS
