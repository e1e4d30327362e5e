"""The rest of `jax.scipy`: signals, images, interpolation, integrals, optimisation, clusters."""

import jax
import jax.numpy as jnp
import jax.scipy.integrate
from jax.scipy import ndimage, signal
from jax.scipy.cluster.vq import vq
from jax.scipy.interpolate import RegularGridInterpolator
from jax.scipy.optimize import minimize
from jax.scipy.spatial.transform import Rotation

from classical_200.rows import family, normal, row, spread, uniform


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def minimum(x):
    return minimize(rosenbrock, x, method="BFGS", options={"maxiter": 30}).fun


def interpolated(values, x, y, points):
    return RegularGridInterpolator((x, y), values)(points)


def k_means(centres, points):
    """Ten steps of Lloyd's algorithm."""

    def step(_, centres):
        code, _ = vq(points, centres)
        sums = jax.ops.segment_sum(points, code, centres.shape[0])
        counts = jax.ops.segment_sum(jnp.ones_like(points[:, 0]), code, centres.shape[0])
        return sums / jnp.maximum(counts, 1)[:, None]

    return jax.lax.fori_loop(0, 10, step, centres)


def turned(x, v):
    return Rotation.from_quat(x).apply(v)


SIGNALS = family(
    "jax.scipy.signal",
    row(
        "cache f64 forward alone",
        "fftconvolve",
        lambda x, k: signal.fftconvolve(x, k, mode="same"),
        normal(50_000),
        normal(1000),
    ),
    row(
        "large f32 forward alone",
        "convolve2d",
        lambda x, k: signal.convolve2d(x, k, mode="same"),
        normal(1000, 1000),
        normal(5, 5),
    ),
    row(
        "small f64 gradient loop",
        "convolve",
        lambda x, k: signal.convolve(x, k, mode="same"),
        normal(50),
        normal(5),
    ),
    row(
        "cache f32 gradient alone",
        "correlate2d",
        lambda x, k: signal.correlate2d(x, k, mode="valid"),
        normal(200, 200),
        normal(3, 3),
    ),
    row(
        "large f64 forward alone", "welch", lambda x: signal.welch(x, nperseg=512)[1], normal(10**6)
    ),
    row(
        "cache f64 forward alone", "stft", lambda x: signal.stft(x, nperseg=256)[2], normal(50_000)
    ),
    row("cache f32 forward alone", "detrend", signal.detrend, normal(100, 1000)),
)
OTHERS = family(
    "jax.scipy: images, integrals, optimisation, clusters, rotations",
    row(
        "large f64 forward alone",
        "map_coordinates",
        lambda x, i, j: ndimage.map_coordinates(x, [i, j], order=1),
        normal(1000, 1000),
        uniform(10**6, high=998),
        uniform(10**6, high=998),
    ),
    row(
        "cache f32 gradient alone",
        "map_coordinates",
        lambda x, i, j: ndimage.map_coordinates(x, [i, j], order=1, mode="nearest"),
        normal(200, 200),
        uniform(20_000, high=198),
        uniform(20_000, high=198),
    ),
    row(
        "cache f64 forward alone",
        "RegularGridInterpolator",
        interpolated,
        normal(50, 50),
        spread(0, 1, 50),
        spread(0, 1, 50),
        uniform(20_000, 2),
    ),
    row(
        "large f32 gradient alone",
        "integrate.trapezoid",
        lambda y: jax.scipy.integrate.trapezoid(y, dx=0.1, axis=0),
        normal(1000, 1000),
    ),
    row("small f64 forward loop", "minimize: BFGS", minimum, uniform(4), times=10, tolerance=1e-5),
    row("cache f64 forward loop", "k-means", k_means, normal(16, 8), normal(5000, 8), whole=True),
    row("small f32 gradient loop", "Rotation.apply", turned, normal(4), normal(20, 3)),
    row(
        "cache f64 forward alone",
        "map_coordinates, 3-D",
        lambda x, i, j, k: ndimage.map_coordinates(x, [i, j, k], order=1),
        normal(30, 30, 30),
        uniform(20_000, high=28),
        uniform(20_000, high=28),
        uniform(20_000, high=28),
    ),
)
ROWS = SIGNALS + OTHERS
