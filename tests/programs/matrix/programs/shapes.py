"""Shapes changed, arrays put together and taken apart, padding."""

import jax.numpy as jnp
from jax import lax

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

EMPTY = {0: SizeMismatchError}

PROGRAMS = {
    "reshape": lambda a, x: (
        a.reshape(-1),
        a.reshape(3, -1),
        x.reshape(-1, 1),
        a.ravel(),
        x.reshape(1, -1, 1),
    ),
    "reshape by the size": lambda a, n: (
        a.reshape(3, n),
        jnp.reshape(a, (n * 3,)),
        a.reshape(1, 3 * n),
    ),
    "reshape of halves": lambda x: jnp.concatenate([x, x]).reshape(2, -1),
    "reshape in Fortran order": lambda a: (a.reshape(3, -1, order="F"), a.ravel(order="F")),
    "flatten": lambda v: (v.flatten(), v.reshape(2, -1), v.reshape(-1, 3)),
    "transpose": lambda a, v: (
        a.T,
        v.transpose(2, 0, 1),
        jnp.transpose(v),
        v.mT,
        jnp.permute_dims(v, (1, 0, 2)),
    ),
    "move axes": lambda v: (
        jnp.moveaxis(v, 0, -1),
        jnp.swapaxes(v, 0, 1),
        jnp.rollaxis(v, 2),
        jnp.matrix_transpose(v),
    ),
    "expand, squeeze": lambda x, a: (
        jnp.expand_dims(x, (0, 2)),
        jnp.squeeze(x[:, None], 1),
        jnp.squeeze(a[None], axis=0),
    ),
    "squeeze without an axis": lambda x: jnp.squeeze(
        jnp.concatenate([x, jnp.ones(2)])[None, :, None]
    ),
    "atleast": lambda x, a: (
        jnp.atleast_1d(x),
        jnp.atleast_2d(x),
        jnp.atleast_3d(a),
        jnp.atleast_3d(x),
    ),
    "concatenate": lambda x, i, a: (
        jnp.concatenate([x, jnp.ones(2), i]),
        jnp.concatenate([a, a], 1),
        jnp.concatenate([a, a[:2]], 0),
    ),
    "stack": lambda x, y: (
        jnp.stack([x, y]),
        jnp.stack([x, y], 1),
        jnp.vstack([x, y]),
        jnp.hstack([x, y]),
        jnp.dstack([x, y]),
    ),
    "stack columns": lambda x, a: (
        jnp.column_stack([x, a]),
        jnp.append(x, 1.0),
        jnp.append(a, a, axis=0),
        jnp.concat([x, x]),
    ),
    "block": lambda s, x: (jnp.block([[s, s], [s, s]]), jnp.block([x, x])),
    "r_, c_": lambda x: (jnp.r_[x, 1.0, x], jnp.c_[x, x]),
    "tile": lambda x, a, n: (
        jnp.tile(x, 2),
        jnp.tile(a, (2, 1)),
        jnp.tile(jnp.arange(3), n),
        jnp.tile(a, (n, 2)),
    ),
    "repeat": lambda x, a, n: (
        jnp.repeat(x, 2),
        jnp.repeat(a, 3, axis=1),
        jnp.repeat(jnp.arange(2), n),
        jnp.repeat(a, 2, axis=0),
    ),
    "repeat by counts": Program(  # of nothing: nothing, whatever `total_repeat_length` says
        lambda x, c: jnp.repeat(x, c, total_repeat_length=10), compilations=2
    ),
    "repeat, counts for each": lambda t, n: jnp.repeat(
        t, jnp.array([1, 0, 2]), axis=0, total_repeat_length=3
    ),
    "flip": lambda x, a: (jnp.flip(x), jnp.flip(a, 1), jnp.flipud(a), jnp.fliplr(a), jnp.flip(a)),
    "rot90": lambda a, s: (jnp.rot90(a), jnp.rot90(a, 2), jnp.rot90(s, 3)),
    "roll": lambda x, a, n: (
        jnp.roll(x, 1),
        jnp.roll(x, -2),
        jnp.roll(a, 1, axis=0),
        jnp.roll(a, (1, 2), (0, 1)),
    ),
    "roll by the size": lambda x, a, n: (jnp.roll(x, n // 2), jnp.roll(a, 2)),
    "pad": lambda x, a: (
        jnp.pad(x, 2),
        jnp.pad(x, (1, 0), constant_values=9),
        jnp.pad(a, ((1, 2), (0, 1))),
    ),
    "pad by the size": lambda x, n: (
        jnp.pad(x, (0, n)),
        jnp.pad(jnp.ones(3), (n, 1)),
        jnp.pad(x, n),
    ),
    "pad with the edge": lambda a: jnp.pad(a, ((0, 0), (1, 2)), mode="edge"),
    "pad an array's own edge": lambda x: jnp.pad(jnp.concatenate([x, jnp.ones(3)]), 2, mode="edge"),
    "pad by reflection": lambda x: jnp.pad(jnp.concatenate([x, jnp.ones(3)]), 2, mode="reflect"),
    "pad by symmetry": lambda x: jnp.pad(jnp.concatenate([x, jnp.ones(3)]), 2, mode="symmetric"),
    "pad around": lambda x: jnp.pad(jnp.concatenate([x, jnp.ones(3)]), 2, mode="wrap"),
    "pad with statistics": Program(
        lambda a: (
            jnp.pad(a, ((0, 0), (1, 1)), mode="mean"),
            jnp.pad(a, ((0, 0), (1, 1)), mode="maximum"),
        ),
        EMPTY,
    ),
    "pad with a ramp": lambda x: jnp.pad(
        jnp.concatenate([x, jnp.ones(3)]), (2, 1), mode="linear_ramp"
    ),
    "split": lambda x, a: (
        jnp.split(jnp.concatenate([x, x]), 2),
        jnp.split(a, 3, axis=1),
        jnp.hsplit(a, [1]),
        jnp.split(a, [1, 2], axis=1),
    ),
    "split a dynamic axis": lambda x, n: jnp.split(x, [n // 2]),
    "array_split": lambda a: jnp.array_split(a, 2, axis=1),
    "array_split of a dynamic axis": lambda x: jnp.array_split(x, 3),
    "unstack": lambda t: jnp.unstack(t),
    "insert": lambda a: (jnp.insert(a, 1, 9.0, axis=1), jnp.insert(a, 0, jnp.arange(3.0), axis=0)),
    "delete": lambda a: (
        jnp.delete(a, 1, axis=1),
        jnp.delete(a, jnp.array([0, 2]), axis=1, assume_unique_indices=True),
    ),
    "delete an element": lambda x: jnp.delete(jnp.concatenate([x, jnp.ones(3)]), 1),
    "resize": lambda x: jnp.resize(jnp.concatenate([x, jnp.ones(2)]), (2, 3)),
    "slices of both ends": lambda x: (x[2:-2], x[-2:2]),
    "broadcast_shapes": lambda a, x: jnp.zeros(jnp.broadcast_shapes(a.shape, (2, 1, 1), (3,))),
    "lax.pad": lambda x, a: (
        lax.pad(x, 0.0, [(1, 2, 1)]),
        lax.pad(x, 1.0, [(-1, 2, 0)]),
        lax.pad(a, 0.0, [(0, 0, 2), (1, 1, 0)]),
    ),
    "lax.rev": lambda a: (lax.rev(a, (0,)), lax.rev(a, (0, 1))),
    "lax.collapse": lambda v: (
        lax.collapse(v, 0, 2),
        lax.expand_dims(v, (0,)),
        lax.broadcast(v, (2,)),
        lax.concatenate([v, v], 1),
    ),
    "jax.lax by the size": lambda x, a, n: (
        lax.broadcast(x, (n,)),
        lax.pad(a, 0.0, [(n, 0, 0), (0, 0, n)]),
        lax.split(jnp.concatenate([x, x, x]), [n, 2 * n]),
        lax.slice(a, (n // 2, 0), (n, 2)),
        lax.full((n,), 1.5),
        lax.dynamic_slice(a, (0, 1), (n, 2)),
    ),
    "lax.broadcast_in_dim": lambda x, n: (
        lax.broadcast_in_dim(x, (2, n), (1,)),
        lax.broadcasted_iota(int, (n, 2), 0),
        lax.iota(float, n),
    ),
    "meshes": lambda x, y: (x[:, None] - y[None], jnp.outer(x, y), jnp.kron(x, y)),
    "toeplitz by index": lambda x, n: x[abs(jnp.arange(n)[:, None] - jnp.arange(n))],
}
