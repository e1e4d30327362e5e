"""Windows, pools, convolutions, and networks of them: `jax.lax`."""

import jax
import jax.numpy as jnp
from jax import lax

from classical_200.rows import family, normal, row

_NHWC = ("NHWC", "HWIO", "NHWC")
_NWC = ("NWC", "WIO", "NWC")


def average_pool(x):
    """2×2, channels last."""
    return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4


def max_pool(x, size=3):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, 2, 2, 1), "VALID")


def conv(x, w, strides=(1, 1), padding="SAME", **more):
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=_NHWC, **more)


def conv1d(x, w):
    return lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=_NWC)


def depthwise(x, w):
    return conv(x, w, feature_group_count=x.shape[-1])


def cnn(x, first, second):
    """3×3, 1→16→32 channels, channels last, float32."""
    x = average_pool(jax.nn.relu(conv(x, first)))
    return average_pool(jax.nn.relu(conv(x, second)))


def box_sum(x):
    return lax.reduce_window(x, 0.0, lax.add, (5, 5), (1, 1), "SAME")


def running_max(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (7,), (1,), "SAME")


def conv3d(x, w):
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME")


POOLS = family(
    "jax.lax: windows",
    row(
        "large f32 gradient alone",
        "average pool 2×2 (64, 28, 28, 16)",
        average_pool,
        normal(64, 28, 28, 16),
    ),
    row(
        "large f32 forward alone",
        "max pool 3×3 stride 2 (16, 64, 64, 32)",
        max_pool,
        normal(16, 64, 64, 32),
    ),
    row(
        "large f64 forward alone",
        "max pool 3×3 stride 2 (16, 64, 64, 32)",
        max_pool,
        normal(16, 64, 64, 32),
    ),
    row("large f64 forward alone", "reduce_window add 5×5, 1024²", box_sum, normal(1024, 1024)),
    row(
        "cache f32 gradient alone", "max pool 2×2", lambda x: max_pool(x, 2), normal(8, 28, 28, 16)
    ),
    row("cache f64 forward loop", "running maximum", running_max, normal(20_000)),
    row("small f64 gradient loop", "box sum", box_sum, normal(20, 20)),
    row(
        "cache f32 forward alone",
        "cumulative: cummax, cumlogsumexp",
        lambda x: lax.cummax(x, 1) + lax.cumlogsumexp(x, 1),
        normal(300, 300),
    ),
    row("small f32 forward alone", "average pool 2×2", average_pool, normal(1, 8, 8, 4)),
)
CONVOLUTIONS = family(
    "jax.lax: convolutions",
    row(
        "large f32 forward alone",
        "CNN forward 3×3, 1→16→32 channels NHWC",
        cnn,
        normal(32, 28, 28, 1),
        normal(3, 3, 1, 16, scale=0.3),
        normal(3, 3, 16, 32, scale=0.1),
    ),
    row(
        "large f32 gradient alone",
        "CNN, by its weights",
        lambda first, second, x: cnn(x, first, second),
        normal(3, 3, 1, 16, scale=0.3),
        normal(3, 3, 16, 32, scale=0.1),
        normal(32, 28, 28, 1),
    ),
    row(
        "large f32 forward alone",
        "conv_transpose stride 2",
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
        normal(8, 28, 28, 32),
        normal(3, 3, 32, 16, scale=0.1),
    ),
    row(
        "large f32 forward alone",
        "conv1d 64→64",
        conv1d,
        normal(8, 2000, 64),
        normal(5, 64, 64, scale=0.1),
    ),
    row(
        "large f32 forward alone",
        "dilated 3×3",
        lambda x, w: conv(x, w, rhs_dilation=(2, 2)),
        normal(8, 32, 32, 32),
        normal(3, 3, 32, 32, scale=0.1),
    ),
    row(
        "large f64 forward alone",
        "conv NCHW",
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        normal(8, 3, 64, 64),
        normal(16, 3, 3, 3),
    ),
    row(
        "cache f64 gradient alone",
        "strided conv, by images",
        lambda x, w: conv(x, w, strides=(2, 2)),
        normal(4, 32, 32, 8),
        normal(3, 3, 8, 16),
    ),
    row(
        "cache f32 forward alone",
        "depthwise conv",
        depthwise,
        normal(4, 28, 28, 32),
        normal(3, 3, 1, 32),
    ),
    row(
        "cache f64 forward loop",
        "conv 3×3, 4→4",
        conv,
        normal(1, 32, 32, 4),
        normal(3, 3, 4, 4, scale=0.1),
        times=20,
    ),
    row("small f64 gradient loop", "conv1d 2→2", conv1d, normal(1, 20, 2), normal(3, 2, 2)),
    row(
        "cache f32 forward alone", "conv3d", conv3d, normal(1, 2, 20, 20, 20), normal(4, 2, 3, 3, 3)
    ),
    row(
        "small f32 forward alone",
        "conv_general_dilated_patches",
        lambda x: lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME"),
        normal(1, 2, 8, 8),
    ),
)
ROWS = POOLS + CONVOLUTIONS
