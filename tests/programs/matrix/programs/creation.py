"""Arrays made of a size alone, and like other arrays."""

import jax.numpy as jnp
import numpy as np

from programs.matrix.runner import Program

PROGRAMS = {
    "ones, zeros, empty": lambda n: (
        jnp.ones(n),
        jnp.zeros((2, n), int),
        jnp.empty((n, n)).shape[0],
    ),
    "full": lambda n: (jnp.full(n, 3), jnp.full((n, 2), 1.5), jnp.full((2, n), n)),
    "full of an array": lambda a: jnp.full((a.shape[0], 2, 3), a[:, None, :]),
    "like": lambda a, k: (
        jnp.zeros_like(a),
        jnp.ones_like(k),
        jnp.full_like(a, 7),
        jnp.empty_like(a).shape[0],
    ),
    "like, another shape": lambda x, n: (
        jnp.zeros_like(x, shape=(n, 2)),
        jnp.ones_like(x, dtype=bool),
    ),
    "arange": lambda n: (jnp.arange(n), jnp.arange(n, dtype=float), jnp.arange(1, n + 2)),
    "arange with a step": lambda n: (
        jnp.arange(0, n, 2),
        jnp.arange(n, 0, -1),
        jnp.arange(n, 2 * n + 1, 3),
    ),
    "arange of floats": lambda n: (jnp.arange(0.0, n, 0.5), jnp.arange(0, 1.0 * n)),
    "linspace": lambda n: (jnp.linspace(0, 1, n), jnp.linspace(-1.0, 2.0, n + 1)),
    "linspace without the end": lambda n: (
        jnp.linspace(0, 1, n, endpoint=False),
        jnp.linspace(0, 9, n, dtype=int),
    ),
    "linspace with its step": lambda n: jnp.linspace(1.0, 2.0, n + 2, retstep=True),
    "linspace of arrays": lambda n: jnp.linspace(jnp.zeros(3), jnp.arange(3.0), n, axis=1),
    "logspace, geomspace": lambda n: (jnp.logspace(0, 2, n), jnp.geomspace(1.0, 100.0, n)),
    "eye": lambda n: (jnp.eye(n), jnp.eye(n, 3), jnp.eye(2, n, k=1), jnp.identity(n, int)),
    "eye off the diagonal": lambda n: (jnp.eye(n, k=-1), jnp.eye(n, n + 1, k=2, dtype=bool)),
    "tri": lambda n: (jnp.tri(n), jnp.tri(n, 4, -1), jnp.tri(3, n, 1, dtype=int)),
    "tril, triu": lambda s, a: (jnp.tril(s), jnp.triu(s, 1), jnp.tril(a, -1), jnp.triu(a)),
    "indices": lambda n: (jnp.indices((n, 2)), jnp.indices((2, n), sparse=True)),
    "meshgrid": lambda x, y: jnp.meshgrid(x, y),
    "meshgrid by matrix index": lambda x, k: jnp.meshgrid(
        x, jnp.arange(3), k, indexing="ij", sparse=True
    ),
    "mgrid": lambda n: jnp.mgrid[0:3, 0:2] + n,
    "fromfunction": lambda n: jnp.fromfunction(lambda i, j: i * 2 + j, shape=(n, 3)),
    "diag": lambda x, s: (jnp.diag(x), jnp.diag(s), jnp.diag(x, 1), jnp.diagonal(s)),
    "diagflat": lambda x: (jnp.diagflat(x), jnp.diagflat(x, -2)),
    "diag_indices": lambda n: jnp.diag_indices(n),
    "diag_indices_from": lambda s: jnp.diag_indices_from(s),
    "vander": lambda x: (jnp.vander(x, 3), jnp.vander(x, 4, increasing=True)),
    "vander, square": lambda x: jnp.vander(x),
    "windows": lambda n: (jnp.hanning(n), jnp.hamming(n), jnp.blackman(n), jnp.bartlett(n)),
    "kaiser": lambda n: jnp.kaiser(n, 3.0),
    "array of scalars": lambda n: (
        jnp.array([n, 2 * n, 7]),
        jnp.asarray(n),
        jnp.array([[n]], float),
    ),
    "array of arrays": lambda x: (jnp.array([x, x + 1]), jnp.asarray([x, 2 * x], np.float32)),
    "copy, astype": lambda x: (jnp.copy(x), x.astype(np.float32), jnp.astype(x, complex)),
    "broadcast_to": lambda n, x: (jnp.broadcast_to(3.0, (n, 2)), jnp.broadcast_to(x, (2, n))),
    "broadcast_arrays": lambda x, n: jnp.broadcast_arrays(x, 1, jnp.ones((2, 1))),
    "sizes in sums": lambda n: jnp.ones(n + 1) + jnp.ones(1 + n) + jnp.arange(2 * n + 1 - n),
    "sizes in products": lambda n: jnp.ones(2 * n) * jnp.arange(n + n),
    "sizes in quotients": lambda n: (jnp.ones(n // 2), jnp.ones(n % 3), jnp.arange(n - n // 2)),
    "sizes in extremes": Program(
        lambda n: (jnp.ones(jnp.minimum(n, 3)), jnp.ones(jnp.maximum(n, 2))), eager=True
    ),
    "size as a value": lambda x, a: (x.shape[0], a.size, x.size * 2.5, a.shape[0] + a.shape[1]),
}
