"""Parts of arrays: slices, gathers, updates."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

EMPTY = {0: SizeMismatchError}
BELOW_THREE = {0: SizeMismatchError, 1: SizeMismatchError, 2: SizeMismatchError}

PROGRAMS = {
    "slices": lambda x: (x[1:], x[:-1], x[::2], x[::-1], x[-3:], x[:2]),
    "slices of the middle": lambda x, n: (x[n // 2 :], x[: n // 2], x[n // 4 : n - n // 4]),
    "slices of columns": lambda a: (a[:, 1], a[:, ::-1], a[:, 1:], a[..., 0], a[::-1, :2]),
    "negative steps": lambda x: (x[::-2], x[5:1:-1], x[-1:0:-1]),
    "new axes": lambda x, a: (x[None], x[:, None], a[:, None, :], a[None, ..., None]),
    "one element": Program(lambda x, a: (x[0], x[-1], a[0], a[-1, 2]), EMPTY),
    "an element in the middle": Program(lambda x, n: (x[n // 2], x[n - 1]), EMPTY),
    "indices": lambda x, a: (x[jnp.array([], int)], a[:, jnp.array([0, 2, 2])]),
    "indices of any kind": Program(lambda x, c: (x[c], x[jnp.array([0, -1, 500])]), EMPTY),
    "indices, two": Program(lambda a, c: (a[c, c % 3], a[c][:, c % 3], a[c, 1:])),
    "indices with slices": lambda a, v: (
        a[:, np.array([[0, 1], [2, 2]])],
        v[1, :, jnp.array([0, 1])],
    ),
    "take": Program(
        lambda x, a, c: (
            jnp.take(x, c),
            jnp.take(a, c, axis=0),
            jnp.take(x, c, mode="clip"),
            jnp.take(x, c, mode="wrap"),
        )
    ),
    "take of columns": lambda a: (jnp.take(a, jnp.array([2, 0]), axis=1), jnp.take(a, 1, axis=1)),
    "take_along_axis": Program(
        lambda a, x: (
            jnp.take_along_axis(a, jnp.argsort(a, 0), 0),
            jnp.take_along_axis(x, jnp.argsort(x), 0),
        ),
    ),
    "get with a mode": Program(
        lambda x, c: (x.at[c].get(mode="fill", fill_value=-1), x.at[c].get(mode="clip"))
    ),
    "set": Program(lambda x: (x.at[0].set(7), x.at[-1].set(2.5)), lenient=frozenset({0})),
    "set slices": lambda x, a, n: (
        x.at[1:].set(0),
        x.at[: n // 2].set(1.5),
        a.at[:, 1].set(4),
        a.at[::2].add(1),
    ),
    "add at": lambda x, c: (x.at[c].add(1.0), x.at[c].mul(2.0), x.at[c].max(0.5), x.at[c].min(0.5)),
    "updates of all kinds": lambda x, c, y: (
        x.at[c].set(3.0),
        x.at[c].divide(4.0),
        x.at[c].power(2),
        x.at[c].apply(jnp.sin),
    ),
    "updates of rows": lambda a, c: (
        a.at[c].add(a),
        a.at[c, c % 3].set(-1.0),
        a.at[c].set(jnp.arange(3.0)),
    ),
    "drop and clip": lambda x, i: (x.at[i].set(9.0, mode="drop"), x.at[i].add(1.0, mode="clip")),
    "put": lambda x: jnp.put(x, jnp.array([0, 1]), 5.0, inplace=False, mode="clip"),
    "put_along_axis": lambda a: jnp.put_along_axis(
        a, jnp.argsort(a, 1)[:, :1], 9.0, 1, inplace=False
    ),
    "fill_diagonal": lambda s, a: (
        jnp.fill_diagonal(s, 1.0, inplace=False),
        jnp.fill_diagonal(a, 2.0, inplace=False),
    ),
    "place": lambda x, b: jnp.place(x, b, jnp.array([1.0, 2.0]), inplace=False),
    "compress of fixed size": Program(lambda x, b: jnp.compress(b, x, size=3), BELOW_THREE),
    "extract of fixed size": Program(
        lambda x, b: jnp.extract(b, x, size=3, fill_value=0), BELOW_THREE
    ),
    "ix_": Program(lambda a: a[jnp.ix_(jnp.array([0, 0]), jnp.array([0, 2]))], EMPTY),
    "ravel_multi_index": lambda c, n: jnp.ravel_multi_index((c, c % 3), (8, 3), mode="clip"),
    "unravel_index": lambda c, n: jnp.unravel_index(c, (4, 2)),
    "unravel_index in dynamic shape": lambda c, n: jnp.unravel_index(c, (n + 1, 8)),
    "tril_indices": lambda n: jnp.tril_indices(3, k=-1),
    "dynamic_slice": lambda x, n: lax.dynamic_slice(
        jnp.concatenate([x, x, jnp.ones(2)]), (n,), (2,)
    ),
    "dynamic_slice of dynamic size": lambda x, n: lax.dynamic_slice(x, (1,), (n // 2,)),
    "dynamic_update_slice": lambda x, n: lax.dynamic_update_slice(x, x[: n // 2], (n // 3,)),
    "dynamic_index_in_dim": Program(
        lambda a: (
            lax.dynamic_index_in_dim(a, 1),
            lax.dynamic_index_in_dim(a, 2, axis=1, keepdims=False),
        ),
        EMPTY,
    ),
    "dynamic_slice_in_dim": lambda a: (
        lax.dynamic_slice_in_dim(a, 1, 2, axis=1),
        lax.dynamic_update_slice_in_dim(a, a[:, :1], 2, axis=1),
    ),
    "lax.slice": lambda a, n: (
        lax.slice(a, (0, 1), (n, 3)),
        lax.slice_in_dim(a, 1, 3, axis=1),
        lax.index_in_dim(a, 2, axis=1),
    ),
    "lax.gather": lambda a: lax.gather(
        a,
        jnp.array([[0], [2]]),
        lax.GatherDimensionNumbers(
            offset_dims=(0,), collapsed_slice_dims=(1,), start_index_map=(1,)
        ),
        slice_sizes=(a.shape[0], 1),
    ),
    "lax.scatter_add": lambda x, c: lax.scatter_add(
        x,
        (c % 2)[:, None],
        x,
        lax.ScatterDimensionNumbers(
            update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ),
    ),
    "segment_sum": lambda x, c: (
        jax.ops.segment_sum(x, c, num_segments=8),
        jax.ops.segment_max(x, c, num_segments=8),
    ),
    "segments of dynamic number": lambda x, c, n: jax.ops.segment_sum(x, c, num_segments=n),
    "iteration in a loop": Program(
        lambda x: lax.fori_loop(0, x.shape[0], lambda j, acc: acc + x[j] * j, 0.0),
        lenient=frozenset({0}),
    ),
}
