"""`jax.nn`."""

import jax
import jax.numpy as jnp
from jax import nn

from programs.matrix.runner import Program

PROGRAMS = {
    "rectifiers": lambda x: (
        nn.relu(x),
        nn.relu6(x),
        nn.leaky_relu(x),
        nn.elu(x),
        nn.celu(x),
        nn.selu(x),
    ),
    "sigmoids": lambda x: (
        nn.sigmoid(x),
        nn.log_sigmoid(x),
        nn.hard_sigmoid(x),
        nn.hard_tanh(x),
        nn.sparse_sigmoid(x),
        nn.tanh(x),
    ),
    "smooth": lambda x: (
        nn.gelu(x),
        nn.gelu(x, approximate=False),
        nn.silu(x),
        nn.mish(x),
        nn.softplus(x),
        nn.hard_silu(x),
    ),
    "more": lambda x: (
        nn.soft_sign(x),
        nn.squareplus(x),
        nn.sparse_plus(x),
        nn.hard_swish(x),
        nn.swish(x),
        nn.log1mexp(abs(x) + 1),
    ),
    "softmax": lambda a: (nn.softmax(a), nn.softmax(a, axis=1), nn.log_softmax(a)),
    "softmax of the dynamic axis": lambda x, a: (
        nn.softmax(x + 0),
        nn.softmax(a, axis=0),
        nn.log_softmax(x),
    ),
    "standardize": lambda a: (nn.standardize(a), nn.standardize(a, axis=0)),
    "logsumexp": lambda a, x: (
        nn.logsumexp(a, axis=1, keepdims=True),
        nn.logsumexp(x),
        nn.logsumexp(x, b=x, return_sign=True),
    ),
    "one_hot": lambda c, n: (
        nn.one_hot(c, 8),
        nn.one_hot(c, n),
        nn.one_hot(jnp.arange(3), n, axis=0),
    ),
    "glu": lambda a: nn.glu(jnp.concatenate([a, a], 1)),
    "attention": Program(  # computed in 32 bits inside
        lambda v: nn.dot_product_attention(*[v[:, :, None]] * 3), tolerance=1e-6
    ),
    "a layer": lambda a: jax.grad(lambda w: nn.relu(a @ w).sum())(jnp.ones((3, 4))),
}
