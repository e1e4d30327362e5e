"""`jax.nn` and its initializers."""

import jax.nn
import jax.numpy as jnp

from programs.surface.table import calls, each

FUNCTIONS = {
    **each(
        jax.nn,
        "celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu"
        " log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu sigmoid silu soft_sign"
        " softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh log1mexp",
        lambda f, a: f(a.x),
    ),
    **calls(
        jax.nn,
        {
            "glu": lambda a: jax.nn.glu(a.v),
            "one_hot": lambda a: jax.nn.one_hot(a.k, 4),
            "gelu:exact": lambda a: jax.nn.gelu(a.x, approximate=False),
            "dot_product_attention": lambda a: jax.nn.dot_product_attention(
                a.image, a.image + 1, a.image * 2, is_causal=True
            ),
        },
    ),
}

_init = jax.nn.initializers
INITIALIZERS = {
    **each(_init, "normal truncated_normal uniform", lambda f, a: f()(a.key, (2, 3))),
    **each(
        _init,
        "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform"
        " lecun_normal lecun_uniform xavier_normal xavier_uniform orthogonal",
        lambda f, a: f()(a.key, (2, 3)),
    ),
    **each(_init, "ones zeros", lambda f, a: f(a.key, (2, 3))),
    **calls(
        _init,
        {
            "constant": lambda a: _init.constant(2.5)(a.key, (2, 3), jnp.float32),
            "delta_orthogonal": lambda a: _init.delta_orthogonal()(a.key, (3, 2, 2)),
            "variance_scaling": lambda a: _init.variance_scaling(2.0, "fan_avg", "uniform")(
                a.key, (2, 3)
            ),
        },
    ),
}
