"""Sorting, searching, ranking."""

import jax
import jax.numpy as jnp
from jax import lax

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

EMPTY = {0: SizeMismatchError}

PROGRAMS = {
    "sort": lambda x, i, a, u: (jnp.sort(x), jnp.sort(i), jnp.sort(a), jnp.sort(a, 0), jnp.sort(u)),
    "sort all": lambda a: jnp.sort(a, axis=None),
    "sort descending": lambda x: (jnp.sort(x, descending=True), jnp.argsort(x, descending=True)),
    "sort NaN": lambda x: (jnp.sort(jnp.sqrt(x)), jnp.argsort(jnp.sqrt(x))),
    "sort complex": lambda z: (jnp.sort(z), jnp.sort_complex(z)),
    "sort small floats": lambda h, g, e: (jnp.sort(h), jnp.sort(g), jnp.sort(e)),
    "argsort": lambda x, i, a: (
        jnp.argsort(x),
        jnp.argsort(i),
        jnp.argsort(a, axis=1),
        jnp.argsort(a, axis=0),
    ),
    "argsort, unstable": lambda c: jnp.sort(jnp.argsort(c, stable=False)),
    "lexsort": lambda c, x: (jnp.lexsort((x, c)), jnp.lexsort((c,))),
    "partition": lambda x: jnp.sort(jnp.partition(jnp.concatenate([x, x, jnp.ones(3)]), 2)[:2]),
    "lax.sort": lambda c, x: (lax.sort(x), lax.sort((c, x), num_keys=2), lax.sort_key_val(c, x)),
    "searchsorted": lambda x, y: (
        jnp.searchsorted(jnp.sort(x), y),
        jnp.searchsorted(jnp.sort(x), y, side="right"),
    ),
    "searchsorted, methods": lambda x: (
        jnp.searchsorted(jnp.sort(x), 0.3, method="sort"),
        jnp.searchsorted(jnp.sort(x), 0.3, method="compare_all"),
        jnp.searchsorted(jnp.array([0.0, 1.0]), x),
    ),
    "searchsorted with a sorter": lambda x, y: jnp.searchsorted(x, y, sorter=jnp.argsort(x)),
    "top_k": lambda a: lax.top_k(a, 2),
    "top_k of a dynamic axis": lambda x: lax.top_k(jnp.concatenate([x, jnp.ones(2)]), 2),
    "rank": lambda x: jnp.argsort(jnp.argsort(x)),
    "rankdata": lambda x: jax.scipy.stats.rankdata(x, method="ordinal"),
    "isin": lambda i: (jnp.isin(i, jnp.array([1, 2, 3])), jnp.isin(jnp.array([0, 5]), i)),
    "unique of fixed size": lambda c: jnp.unique(c, size=8, fill_value=-1),
    "unique with its parts": Program(
        lambda c: jnp.unique(c, size=8, return_index=True, return_inverse=True, return_counts=True),
        EMPTY,
    ),
    "sets of fixed size": lambda c, i: (
        jnp.union1d(c, i, size=40, fill_value=99),
        jnp.setdiff1d(c, i, size=8, fill_value=-9),
    ),
    "nonzero of fixed size": lambda x, b: (
        jnp.nonzero(x > 0, size=3),
        jnp.flatnonzero(b, size=4, fill_value=-1),
        jnp.argwhere(b, size=2),
    ),
    "argwhere-like": lambda x: jnp.where(x > 0, size=3, fill_value=-1),
    "top values by sort": lambda x, n: jnp.sort(x)[::-1][: n // 2],
}
