"""Functions of `jax.numpy` that make, rearrange and index arrays."""

import jax.numpy as jnp
import numpy as np

from programs.surface.table import calls, each

MAKING = {
    **each(jnp, "bartlett blackman hamming hanning identity", lambda f, a: f(5)),
    **each(jnp, "empty ones zeros", lambda f, a: f((2, 3), jnp.int32) * 0),
    **each(jnp, "empty_like ones_like zeros_like", lambda f, a: f(a.x) * 0),
    **each(jnp, "ones ones_like", lambda f, a: f((2, 3)) if f is jnp.ones else f(a.x)),
    **each(jnp, "array asarray copy", lambda f, a: f(a.x)),
    **each(jnp, "diag_indices_from", lambda f, a: f(a.m)),
    **each(jnp, "tril_indices_from triu_indices_from", lambda f, a: f(a.m)),
    **each(jnp, "tril_indices triu_indices", lambda f, a: f(3, 1, 4)),
    **each(jnp, "geomspace linspace logspace", lambda f, a: f(1.0, 3.0, 5)),
    **calls(
        jnp,
        {
            "linspace:traced": lambda a: jnp.linspace(a.v[0], a.v[1], 4),
            "arange": lambda a: jnp.arange(1, 9, 3),
            "astype": lambda a: jnp.astype(a.x, jnp.float32),
            "broadcast_shapes": lambda a: jnp.broadcast_shapes((2, 1), (3,)),
            "diag_indices": lambda a: jnp.diag_indices(3),
            "eye": lambda a: jnp.eye(3, 4, k=1),
            "from_dlpack": lambda a: jnp.from_dlpack(np.arange(3.0)),
            "frombuffer": lambda a: jnp.frombuffer(b"abcdefgh", jnp.int32),
            "fromfunction": lambda a: jnp.fromfunction(lambda p, q: p + 2 * q, (2, 3)),
            "fromstring": lambda a: jnp.fromstring("1 2 3", sep=" "),
            "full": lambda a: jnp.full((2, 3), a.v[0]),
            "full_like": lambda a: jnp.full_like(a.x, 2),
            "indices": lambda a: jnp.indices((2, 3)),
            "kaiser": lambda a: jnp.kaiser(5, 2.0),
            "mask_indices": lambda a: jnp.mask_indices(3, jnp.triu, size=6),
            "tri": lambda a: jnp.tri(3, 4),
        },
    ),
}

REARRANGING = {
    **each(
        jnp,
        "atleast_1d atleast_2d atleast_3d argsort sort sort_complex fliplr flip flipud ravel rot90"
        " transpose matrix_transpose tril triu diag diagonal diagflat"
        " lexsort unstack squeeze",
        lambda f, a: f(a.x),
    ),
    **each(
        jnp,
        "column_stack concat concatenate dstack hstack stack vstack block",
        lambda f, a: f([a.x, a.y]),
    ),
    **each(
        jnp,
        "array_split hsplit split",
        lambda f, a: f(a.x, [1], axis=1) if f is not jnp.hsplit else f(a.x, 3),
    ),
    **each(jnp, "packbits unpackbits", lambda f, a: f(a.bits, axis=1)),
    **each(jnp, "argpartition partition", lambda f, a: jnp.sort(f(a.v, 2)[:2])),
    **calls(
        jnp,
        {
            "append": lambda a: jnp.append(a.x, a.y, axis=0),
            "broadcast_arrays": lambda a: jnp.broadcast_arrays(a.x, a.x[0], 2.0),
            "broadcast_to": lambda a: jnp.broadcast_to(a.x[0], (4, 3)),
            "delete": lambda a: jnp.delete(a.v, 1),
            "delete:traced": lambda a: jnp.delete(a.v, a.k[1]),
            "dsplit": lambda a: jnp.dsplit(a.image[0], 2),
            "expand_dims": lambda a: jnp.expand_dims(a.x, 1),
            "insert": lambda a: jnp.insert(a.v, 1, 7.0),
            "meshgrid": lambda a: jnp.meshgrid(a.v, a.w),
            "moveaxis": lambda a: jnp.moveaxis(a.image, 1, 3),
            "permute_dims": lambda a: jnp.permute_dims(a.image, (3, 0, 2, 1)),
            "pad": lambda a: jnp.pad(a.x, ((1, 2), (0, 1)), mode="reflect"),
            "pad:constant": lambda a: jnp.pad(a.x, 1),
            "repeat": lambda a: jnp.repeat(a.x, 2, axis=1),
            "repeat:traced": lambda a: jnp.repeat(a.v, a.k, total_repeat_length=7),
            "reshape": lambda a: jnp.reshape(a.x, (3, -1)),
            "resize": lambda a: jnp.resize(a.x, (4, 2)),
            "roll": lambda a: jnp.roll(a.x, 1, axis=1),
            "rollaxis": lambda a: jnp.rollaxis(a.image, 2),
            "swapaxes": lambda a: jnp.swapaxes(a.image, 1, 2),
            "tile": lambda a: jnp.tile(a.x, (2, 2)),
            "top_k": lambda a: jnp.top_k(a.x, 2),
            "vsplit": lambda a: jnp.vsplit(a.x, 2),
            "trim_zeros": lambda a: jnp.trim_zeros(jnp.array([0, 0, 1, 2, 0])),
        },
    ),
}

INDEXING = {
    **calls(
        jnp,
        {
            "compress": lambda a: jnp.compress(jnp.array([True, False, True]), a.x, axis=1, size=2),
            "extract": lambda a: jnp.extract(a.b, a.x, size=4),
            "fill_diagonal": lambda a: jnp.fill_diagonal(a.m, 9.0, inplace=False),
            "isin": lambda a: jnp.isin(a.i, a.k),
            "ix_": lambda a: jnp.ix_(a.k, jnp.arange(2)),
            "place": lambda a: jnp.place(a.x, a.b, jnp.array([1.0, 2.0]), inplace=False),
            "put": lambda a: jnp.put(a.v, a.k, 3.0, inplace=False),
            "put_along_axis": lambda a: jnp.put_along_axis(
                a.x, jnp.array([[0], [2]]), 9.0, axis=1, inplace=False
            ),
            "ravel_multi_index": lambda a: jnp.ravel_multi_index((a.k, a.k), (4, 5), mode="clip"),
            "searchsorted": lambda a: jnp.searchsorted(jnp.sort(a.v), a.x),
            "take": lambda a: jnp.take(a.v, a.k),
            "take_along_axis": lambda a: jnp.take_along_axis(a.x, jnp.argsort(a.x), axis=1),
            "unravel_index": lambda a: jnp.unravel_index(a.k, (2, 3)),
        },
    ),
}

DATA_DEPENDENT = {
    **each(jnp, "argwhere flatnonzero nonzero where", lambda f, a: f(a.b)),
    **each(
        jnp,
        "unique unique_all unique_counts unique_inverse unique_values",
        lambda f, a: f(a.n),
    ),
    **each(jnp, "intersect1d setdiff1d setxor1d union1d", lambda f, a: f(a.n, a.k)),
    **calls(
        jnp,
        {
            "extract:unsized": lambda a: jnp.extract(a.b, a.x),
            "compress:unsized": lambda a: jnp.compress(a.b[0], a.x, axis=1),
            "bincount:unsized": lambda a: jnp.bincount(a.k),
            "repeat:unsized": lambda a: jnp.repeat(a.v, a.k),
        },
    ),
}
# `where` of three arguments stands among the functions of elements.
DATA_DEPENDENT["jax.numpy.where:indices"] = DATA_DEPENDENT.pop("jax.numpy.where")
