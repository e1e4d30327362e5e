"""Activations, layers and initialisers: `jax.nn`."""

import jax
import jax.numpy as jnp

from classical_200.rows import family, integers, normal, repeated, row


def layer_norm(x):
    """Normalise rows."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5)


def batch_norm(x, scale, shift):
    """Normalise columns."""
    return jax.nn.standardize(x, axis=0) * scale + shift


def mlp(first, second, third, x):
    x = jax.nn.relu(x @ first)
    x = jnp.tanh(x @ second)
    return jax.nn.log_softmax(x @ third)


def training(w, x, y):
    """Logistic regression by gradient descent."""

    def loss(w):
        return -(jax.nn.log_softmax(x @ w) * y).sum(1).mean()

    return repeated(lambda w: w - 0.1 * jax.grad(loss)(w), 100)(w)


def attention(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def orthogonal_rows(x):
    return jax.nn.initializers.orthogonal()(jax.random.key(0), x.shape, x.dtype) @ x.T


def glorot(x):
    return x @ jax.nn.initializers.glorot_uniform()(jax.random.key(1), x.shape[::-1], x.dtype)


ACTIVATIONS = family(
    "jax.nn: activations",
    row("large f32 forward alone", "gelu 1e6", jax.nn.gelu, normal(10**6)),
    row(
        "large f64 gradient alone",
        "gelu, exact",
        lambda x: jax.nn.gelu(x, approximate=False),
        normal(10**6),
    ),
    row("cache f32 gradient loop", "silu", jax.nn.silu, normal(50_000)),
    row(
        "small f64 forward loop",
        "softplus, mish",
        lambda x: jax.nn.softplus(x) + jax.nn.mish(x),
        normal(100),
    ),
    row(
        "large f32 forward alone",
        "elu, selu, celu",
        lambda x: jax.nn.elu(x) + jax.nn.selu(x) + jax.nn.celu(x),
        normal(10**6),
    ),
    row(
        "cache f64 forward alone",
        "log_sigmoid, squareplus",
        lambda x: jax.nn.log_sigmoid(x) + jax.nn.squareplus(x),
        normal(100_000),
    ),
    row(
        "small f32 gradient alone",
        "leaky_relu, hard_tanh",
        lambda x: jax.nn.leaky_relu(x) * jax.nn.hard_tanh(x),
        normal(200),
    ),
    row(
        "cache f32 forward alone",
        "glu, relu6",
        lambda x: jax.nn.relu6(jax.nn.glu(x)),
        normal(300, 300),
    ),
)
LAYERS = family(
    "jax.nn: layers",
    row("large f32 forward alone", "softmax 1000²", jax.nn.softmax, normal(1000, 1000)),
    row("large f64 gradient alone", "softmax 1000²", jax.nn.softmax, normal(1000, 1000)),
    row("small f64 forward loop", "softmax 10", jax.nn.softmax, normal(10)),
    row(
        "cache f64 forward alone",
        "logsumexp of rows",
        lambda x: jax.nn.logsumexp(x, 1),
        normal(300, 300),
    ),
    row(
        "large f64 forward alone",
        "one-hot",
        lambda i: jax.nn.one_hot(i, 100),
        integers(20_000, high=100, dtype="int32"),
    ),
    row("large f64 forward alone", "layer norm", layer_norm, normal(1000, 1000)),
    row("cache f32 gradient loop", "layer norm", layer_norm, normal(200, 256)),
    row(
        "cache f32 gradient alone",
        "batch norm",
        batch_norm,
        normal(500, 100),
        normal(100),
        normal(100),
    ),
    row(
        "cache f32 gradient alone",
        "attention",
        attention,
        normal(2, 64, 4, 32),
        normal(2, 64, 4, 32),
        normal(2, 64, 4, 32),
    ),
    row(
        "large f32 forward alone",
        "attention",
        attention,
        normal(4, 256, 8, 64),
        normal(4, 256, 8, 64),
        normal(4, 256, 8, 64),
    ),
    row(
        "large f32 gradient alone",
        "MLP, by its weights",
        mlp,
        normal(784, 256, scale=0.05),
        normal(256, 128, scale=0.05),
        normal(128, 10, scale=0.05),
        normal(256, 784),
    ),
    row(
        "cache f64 gradient loop",
        "logistic regression",
        training,
        normal(50, 10),
        normal(200, 50),
        normal(200, 10),
        whole=True,
    ),
    row(
        "small f32 gradient alone",
        "cross entropy",
        cross_entropy,
        normal(16, 10),
        integers(16, high=10, dtype="int32"),
    ),
    row(
        "cache f32 forward alone",
        "initializers: orthogonal",
        orthogonal_rows,
        normal(64, 64),
        by_dtype=False,
    ),
    row(
        "large f64 forward alone",
        "initializers: glorot_uniform",
        glorot,
        normal(500, 1000),
        by_dtype=False,
    ),
)
ROWS = ACTIVATIONS + LAYERS
