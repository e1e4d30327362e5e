"""`jax.random`: bits are JAX's own, so results are equal bit for bit."""

import jax.numpy as jnp
import jax.random as jr

from programs.surface.table import calls, each

SAMPLES = {
    **each(
        jr,
        "bernoulli bits cauchy exponential gumbel laplace logistic normal rademacher uniform"
        " maxwell lognormal",
        lambda f, a: f(a.key, shape=(2, 3)),
    ),
    **each(
        jr,
        "gamma loggamma pareto poisson rayleigh t wald chisquare",
        lambda f, a: f(a.key, a.x + 1),
    ),
    **each(jr, "geometric", lambda f, a: f(a.key, a.x)),
    **each(jr, "beta f", lambda f, a: f(a.key, a.x + 1, a.y + 1)),
    **each(jr, "PRNGKey key", lambda f, a: f(a.seed)),
    **each(jr, "clone key_data split", lambda f, a: f(a.key)),
    **calls(
        jr,
        {
            "ball": lambda a: jr.ball(a.key, 3, shape=(2,)),
            "binomial": lambda a: jr.binomial(a.key, 5.0, a.x),
            "categorical": lambda a: jr.categorical(a.key, a.x),
            "choice": lambda a: jr.choice(a.key, a.v, (3,), p=a.w / a.w.sum()),
            "choice:replace": lambda a: jr.choice(a.key, a.v, (3,), replace=False),
            "dirichlet": lambda a: jr.dirichlet(a.key, a.v),
            "double_sided_maxwell": lambda a: jr.double_sided_maxwell(a.key, 0.0, 1.0, (3,)),
            "fold_in": lambda a: jr.key_data(jr.fold_in(a.key, a.seed)),
            "generalized_normal": lambda a: jr.generalized_normal(a.key, 1.5, (3,)),
            "multinomial": lambda a: jr.multinomial(a.key, 5, a.v / a.v.sum()),
            "multivariate_normal": lambda a: jr.multivariate_normal(a.key, a.x[0], a.spd),
            "orthogonal": lambda a: jr.orthogonal(a.key, 3),
            "permutation": lambda a: jr.permutation(a.key, a.v),
            "randint": lambda a: jr.randint(a.key, (2, 3), -3, 9),
            "triangular": lambda a: jr.triangular(a.key, 0.0, 0.5, 1.0, (3,)),
            "truncated_normal": lambda a: jr.truncated_normal(a.key, -1.0, 1.5, (3,)),
            "weibull_min": lambda a: jr.weibull_min(a.key, 1.5, 2.0, (3,)),
            "wrap_key_data": lambda a: jr.wrap_key_data(jnp.array([1, 2], jnp.uint32)),
        },
    ),
}
