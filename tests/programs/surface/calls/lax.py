"""The functions of `jax.lax` on arrays, and its control flow."""

import jax
import jax.numpy as jnp
from jax import lax

from programs.surface.table import calls, each

ELEMENTWISE = {
    **each(
        lax,
        "abs acos asin asinh atan atanh cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2 expm1"
        " bessel_i0e bessel_i1e floor is_finite lgamma log log10 log1p log2 logistic neg"
        " one_minus_square reciprocal round rsqrt sign sin sinh sqrt square tan tanh stop_gradient"
        " full_like optimization_barrier dce_sink stage real imag",
        lambda f, a: (
            f(a.x)
            if f not in (lax.full_like, lax.real, lax.imag)
            else f(a.c, *(2,) * (f is lax.full_like))
        ),
    ),
    **each(lax, "acosh", lambda f, a: f(a.x + 1)),
    **each(lax, "conj", lambda f, a: f(a.c)),
    **each(
        lax,
        "add atan2 div eq ge gt le lt max min mul ne nextafter pow rem sub igamma igammac"
        " igamma_grad_a random_gamma_grad complex",
        lambda f, a: f(a.x, a.y),
    ),
    **each(
        lax,
        "bitwise_and bitwise_or bitwise_xor mulhi shift_left shift_right_arithmetic"
        " shift_right_logical",
        lambda f, a: f(a.i, a.j),
    ),
    **each(lax, "bitwise_not clz population_count", lambda f, a: f(a.i)),
    **calls(
        lax,
        {
            "betainc": lambda a: lax.betainc(a.x, a.y, a.u),
            "clamp": lambda a: lax.clamp(0.3, a.x, 0.6),
            "integer_pow": lambda a: lax.integer_pow(a.x, -3),
            "polygamma": lambda a: lax.polygamma(a.y + 1, a.x),
            "polynomial": lambda a: lax.polynomial(a.x, [1.0, 2.0, 3.0]),
            "zeta": lambda a: lax.zeta(a.x + 1, a.y),
            "select": lambda a: lax.select(a.b, a.x, a.y),
            "select_n": lambda a: lax.select_n(a.j % 2, a.x, a.y),
            "convert_element_type": lambda a: lax.convert_element_type(a.x, jnp.float32),
            "bitcast_convert_type": lambda a: lax.bitcast_convert_type(a.f, jnp.int32),
            "reduce_precision": lambda a: lax.reduce_precision(a.x, 5, 10),
        },
    ),
}

REDUCTIONS = {
    **each(lax, "argmax argmin", lambda f, a: f(a.x, 1, jnp.int32)),
    **each(lax, "cumlogsumexp cummax cummin cumprod cumsum", lambda f, a: f(a.x, axis=1)),
    **each(lax, "reduce_max reduce_min reduce_prod reduce_sum", lambda f, a: f(a.x, axes=(1,))),
    **each(lax, "reduce_and reduce_or", lambda f, a: f(a.b, axes=(0,))),
    **each(lax, "reduce_xor", lambda f, a: f(a.i, axes=(0,))),
    **each(lax, "approx_max_k approx_min_k top_k", lambda f, a: f(a.x, 2)),
    **calls(
        lax,
        {
            "reduce": lambda a: lax.reduce(a.x, 1.0, lambda p, q: p * q, (0,)),
            "reduce:several": lambda a: lax.reduce(
                (a.x, a.y), (0.0, 1.0), lambda p, q: (p[0] + q[0], p[1] * q[1]), (1,)
            ),
            "reduce_window": lambda a: lax.reduce_window(
                a.image, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 1), "SAME"
            ),
            "sort": lambda a: lax.sort(a.x, dimension=0),
            "sort:keys": lambda a: lax.sort((a.j, a.x), num_keys=1),
            "sort_key_val": lambda a: lax.sort_key_val(a.x, a.i),
            "associative_scan": lambda a: lax.associative_scan(jnp.multiply, a.v),
        },
    ),
}

_ROWS = lax.GatherDimensionNumbers(
    offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
)
_INTO_ROWS = lax.ScatterDimensionNumbers(
    update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
)


def _rows(a):
    return jnp.array([[2], [0]])


ARRAYS = {
    **each(
        lax,
        "scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub",
        lambda f, a: f(a.m, _rows(a), a.x, _INTO_ROWS),
    ),
    **calls(
        lax,
        {
            "gather": lambda a: lax.gather(a.m, _rows(a), _ROWS, (1, 3)),
            "scatter_apply": lambda a: lax.scatter_apply(
                a.m, _rows(a), jnp.sin, _INTO_ROWS, update_shape=(2, 3)
            ),
            "broadcast": lambda a: lax.broadcast(a.x, (4,)),
            "broadcast_in_dim": lambda a: lax.broadcast_in_dim(a.x, (2, 4, 3), (0, 2)),
            "broadcast_like": lambda a: lax.broadcast_like(a.v[0], a.x),
            "broadcast_shapes": lambda a: lax.broadcast_shapes((2, 1), (3,)),
            "broadcast_to_rank": lambda a: lax.broadcast_to_rank(a.x, 4),
            "broadcasted_iota": lambda a: lax.broadcasted_iota(jnp.int32, (2, 3), 1),
            "collapse": lambda a: lax.collapse(a.image, 1, 3),
            "concatenate": lambda a: lax.concatenate([a.x, a.y], 1),
            "dynamic_index_in_dim": lambda a: lax.dynamic_index_in_dim(a.x, a.k[1], 1),
            "dynamic_slice": lambda a: lax.dynamic_slice(a.m, (a.k[1], a.k[0]), (2, 2)),
            "dynamic_slice_in_dim": lambda a: lax.dynamic_slice_in_dim(a.m, a.k[0], 2),
            "dynamic_update_index_in_dim": lambda a: lax.dynamic_update_index_in_dim(
                a.m, a.x[0], a.k[0], 1
            ),
            "dynamic_update_slice": lambda a: lax.dynamic_update_slice(a.m, a.x, (a.k[0], 0)),
            "dynamic_update_slice_in_dim": lambda a: lax.dynamic_update_slice_in_dim(
                a.m, a.x, a.k[0], 0
            ),
            "empty": lambda a: lax.empty((2, 3), jnp.float32) * 0,
            "expand_dims": lambda a: lax.expand_dims(a.x, (0, 2)),
            "full": lambda a: lax.full((2, 3), a.v[0]),
            "index_in_dim": lambda a: lax.index_in_dim(a.x, 1, 1),
            "index_take": lambda a: lax.index_take(a.m, (a.k[:2], a.k[2:]), (0, 1)),
            "iota": lambda a: lax.iota(jnp.int32, 5),
            "pad": lambda a: lax.pad(a.x, 0.5, ((1, 0, 1), (-1, 2, 0))),
            "reshape": lambda a: lax.reshape(a.x, (3, 2), dimensions=(1, 0)),
            "rev": lambda a: lax.rev(a.x, (1,)),
            "slice": lambda a: lax.slice(a.m, (0, 1), (3, 3), (2, 1)),
            "slice_in_dim": lambda a: lax.slice_in_dim(a.v, 0, 4, 3),
            "split": lambda a: lax.split(a.x, [1, 2], axis=1),
            "squeeze": lambda a: lax.squeeze(a.image, (0,)),
            "stack": lambda a: lax.stack([a.x, a.y]),
            "tile": lambda a: lax.tile(a.x, (2, 1)),
            "transpose": lambda a: lax.transpose(a.image, (3, 0, 2, 1)),
            "unstack": lambda a: lax.unstack(a.x),
            "dtype": lambda a: a.i.astype(lax.dtype(a.f)),
            "shape_as_value": lambda a: lax.shape_as_value((2, 3)),
            "rng_bit_generator": lambda a: lax.rng_bit_generator(
                jnp.array([1, 2, 3, 4], jnp.uint32), (3,)
            ),
            "rng_uniform": lambda a: jnp.shape(lax.rng_uniform(0.0, 1.0, (3,))),
        },
    ),
}

_NUMBERS = ("NCHW", "OIHW", "NCHW")
PRODUCTS = {
    **calls(
        lax,
        {
            "fft": lambda a: lax.fft(a.c, lax.FftType.FFT, (3,)),
            "batch_matmul": lambda a: lax.batch_matmul(a.image, a.image.swapaxes(2, 3)),
            "dot": lambda a: lax.dot(a.x, a.m),
            "dot_general": lambda a: lax.dot_general(a.x, a.y, (((1,), (1,)), ((0,), (0,)))),
            "conv": lambda a: lax.conv(a.image, a.filter, (1, 2), "SAME"),
            "conv_general_dilated": lambda a: lax.conv_general_dilated(
                a.image, a.filter, (2, 1), ((1, 0), (0, 1)), (1, 2), (2, 1)
            ),
            "conv_general_dilated_local": lambda a: lax.conv_general_dilated_local(
                a.image, jnp.ones((3, 8, 4, 3)), (1, 1), "VALID", (2, 2)
            ),
            "conv_general_dilated_patches": lambda a: lax.conv_general_dilated_patches(
                a.image, (2, 2), (1, 1), "VALID"
            ),
            "conv_transpose": lambda a: lax.conv_transpose(
                a.image, a.filter, (2, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
            ),
            "conv_with_general_padding": lambda a: lax.conv_with_general_padding(
                a.image, a.filter, (1, 1), ((1, 1), (0, 0)), None, None
            ),
            "conv_general_shape_tuple": lambda a: lax.conv_general_shape_tuple(
                (1, 2, 5, 4), (3, 2, 2, 2), (1, 1), "SAME", _NUMBERS
            ),
            "conv_shape_tuple": lambda a: lax.conv_shape_tuple(
                (1, 2, 5, 4), (3, 2, 2, 2), (1, 1), "SAME"
            ),
            "conv_transpose_shape_tuple": lambda a: lax.conv_transpose_shape_tuple(
                (1, 2, 5, 4), (3, 2, 2, 2), (1, 1), "SAME", _NUMBERS
            ),
            "conv_general_permutations": lambda a: lax.conv_general_permutations(_NUMBERS),
            "padtype_to_pads": lambda a: lax.padtype_to_pads((5, 4), (2, 2), (1, 1), "SAME"),
            "reduce_window_shape_tuple": lambda a: lax.reduce_window_shape_tuple(
                (5, 4), (2, 2), (1, 1), ((0, 0), (0, 0))
            ),
            "ragged_dot": lambda a: lax.ragged_dot(
                a.m, jnp.stack([a.spd, a.m]), jnp.array([1, 2], jnp.int32)
            ),
            "ragged_dot_general": lambda a: lax.ragged_dot_general(
                a.m,
                jnp.stack([a.spd, a.m]),
                jnp.array([1, 2], jnp.int32),
                lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]),
            ),
            "scaled_dot": lambda a: lax.scaled_dot(a.m, a.spd),
        },
    ),
}


def _solve(matvec, b):
    return jnp.linalg.solve(jax.jacobian(matvec)(b), b)


CONTROL = {
    **calls(
        lax,
        {
            "cond": lambda a: lax.cond(a.b[0, 0], jnp.sin, jnp.cos, a.x),
            "switch": lambda a: lax.switch(a.k[0], [jnp.sin, jnp.cos, jnp.tan], a.x),
            "fori_loop": lambda a: lax.fori_loop(0, 3, lambda i, z: z * 2 + i, a.x),
            "while_loop": lambda a: lax.while_loop(lambda z: z.sum() < 50, lambda z: z * 2, a.x),
            "scan": lambda a: lax.scan(lambda c, z: (c + z, c * z), 1.0, a.v),
            "map": lambda a: lax.map(lambda z: z * 2, a.x),
            "composite": lambda a: lax.composite(jnp.sin, "my.sin")(a.x),
            "custom_linear_solve": lambda a: lax.custom_linear_solve(
                lambda z: a.spd @ z, a.x[0], _solve, symmetric=True
            ),
            "custom_root": lambda a: lax.custom_root(
                lambda z: z**2 - a.x,
                a.x,
                lambda f, z: lax.fori_loop(0, 20, lambda i, w: w - f(w) / (2 * w), z),
                lambda g, y: y / g(jnp.ones_like(y)),
            ),
            "platform_dependent": lambda a: lax.platform_dependent(
                a.x, cpu=jnp.sin, default=jnp.cos
            ),
        },
    ),
}
