"""Functions of `jax.numpy` that work element by element, and reductions."""

import jax.numpy as jnp

from programs.surface.table import calls, each

ELEMENTWISE = {
    **each(
        jnp,
        "abs absolute acos arccos arcsin arcsinh arctan arctanh asin asinh atan atanh"
        " cbrt ceil cos cosh deg2rad degrees exp exp2 expm1 fabs fix floor frexp i0 iscomplex"
        " iscomplexobj isfinite isinf isnan isneginf isposinf isreal isrealobj log log10 log1p log2"
        " modf nan_to_num negative positive rad2deg radians reciprocal rint round around sign"
        " signbit sin sinc sinh spacing sqrt square tan tanh trunc logical_not angle real imag"
        " conj conjugate ndim shape size isscalar iterable",
        lambda f, a: f(a.x),
    ),
    **each(jnp, "acosh arccosh", lambda f, a: f(a.x + 1)),
    **each(
        jnp,
        "add arctan2 atan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod"
        " greater greater_equal heaviside hypot less less_equal logaddexp logaddexp2 logical_and"
        " logical_or logical_xor maximum minimum mod multiply nextafter not_equal pow power"
        " remainder subtract true_divide isclose allclose array_equal array_equiv",
        lambda f, a: f(a.x, a.y),
    ),
    **each(jnp, "bitwise_and bitwise_or bitwise_xor gcd lcm", lambda f, a: f(a.i, a.j)),
    **each(jnp, "bitwise_count bitwise_invert bitwise_not invert", lambda f, a: f(a.i)),
    **each(
        jnp,
        "bitwise_left_shift bitwise_right_shift left_shift right_shift",
        lambda f, a: f(a.i, a.j),
    ),
    **calls(
        jnp,
        {
            "ldexp": lambda a: jnp.ldexp(a.x, a.j),
            "angle:complex": lambda a: jnp.angle(a.c),
            "sqrt:complex": lambda a: jnp.sqrt(a.c),
            "exp:float32": lambda a: jnp.exp(a.f),
            "sign:integer": lambda a: jnp.sign(a.i),
            "add.reduce": lambda a: jnp.add.reduce(a.x, axis=1),
            "add.accumulate": lambda a: jnp.add.accumulate(a.x, axis=1),
            "add.outer": lambda a: jnp.add.outer(a.v, a.w),
            "add.at": lambda a: jnp.add.at(a.v, a.k, 2.0, inplace=False),
            "add.reduceat": lambda a: jnp.add.reduceat(a.v, jnp.array([0, 2])),
            "clip": lambda a: jnp.clip(a.x, 0.3, 0.6),
            "where": lambda a: jnp.where(a.b, a.x, a.y),
            "select": lambda a: jnp.select([a.b, a.x > 0.5], [a.x, a.y], 7.0),
            "choose": lambda a: jnp.choose(a.b.astype(int), [a.x, a.y], mode="clip"),
            "piecewise": lambda a: jnp.piecewise(a.x, [a.x < 0.5], [lambda z: z * 2, 1.0]),
            "interp": lambda a: jnp.interp(a.x, jnp.arange(4.0) / 4, a.v),
            "unwrap": lambda a: jnp.unwrap(9 * a.v),
            "vectorize": lambda a: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(a.x, a.y),
            "frompyfunc": lambda a: jnp.frompyfunc(lambda p, q: p * q + 1, 2, 1)(a.x, a.y),
            "can_cast": lambda a: jnp.can_cast(a.i.dtype, jnp.float32),
            "isdtype": lambda a: jnp.isdtype(a.i.dtype, "integral"),
            "issubdtype": lambda a: jnp.issubdtype(a.x.dtype, jnp.floating),
            "promote_types": lambda a: a.i.astype(jnp.promote_types(a.i.dtype, a.f.dtype)),
            "result_type": lambda a: a.i.astype(jnp.result_type(a.i, a.c)),
        },
    ),
}

REDUCTIONS = {
    **each(
        jnp,
        "all amax amin any argmax argmin average count_nonzero cumprod cumsum cumulative_prod"
        " cumulative_sum max mean median min minmax prod ptp std sum var diff",
        lambda f, a: f(a.x, axis=1),
    ),
    **each(
        jnp,
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd"
        " nansum nanvar",
        lambda f, a: f(a.o, axis=1),
    ),
    **each(jnp, "percentile nanpercentile", lambda f, a: f(a.o, 30.0, axis=1)),
    **each(jnp, "quantile nanquantile", lambda f, a: f(a.x, 0.3, axis=0)),
    **each(jnp, "corrcoef cov", lambda f, a: f(a.x)),
    **each(jnp, "cumulative_sum cumulative_prod", lambda f, a: f(a.x, axis=0)),
    **calls(
        jnp,
        {
            "max:integer": lambda a: jnp.max(a.i),
            "sum:boolean": lambda a: jnp.sum(a.b, axis=0),
            "mean:where": lambda a: jnp.mean(a.x, where=a.b),
            "average:weights": lambda a: jnp.average(a.x, axis=0, weights=a.y),
            "trace": lambda a: jnp.trace(a.m),
            "trapezoid": lambda a: jnp.trapezoid(a.x, a.y),
            "gradient": lambda a: jnp.gradient(a.x),
            "ediff1d": lambda a: jnp.ediff1d(a.v),
            "apply_along_axis": lambda a: jnp.apply_along_axis(jnp.sum, 0, a.x),
            "apply_over_axes": lambda a: jnp.apply_over_axes(jnp.sum, a.x, [0, 1]),
            "bincount": lambda a: jnp.bincount(a.k, length=5),
            "histogram": lambda a: jnp.histogram(a.v, bins=3),
            "histogram2d": lambda a: jnp.histogram2d(a.v, a.w, bins=3),
            "histogramdd": lambda a: jnp.histogramdd(a.x, bins=2),
            "histogram_bin_edges": lambda a: jnp.histogram_bin_edges(a.v, bins=3),
            "digitize": lambda a: jnp.digitize(a.x, jnp.array([0.2, 0.5, 0.7])),
        },
    ),
}

PRODUCTS = {
    **each(jnp, "dot matmul inner outer cross kron", lambda f, a: f(a.m, a.spd)),
    **each(jnp, "vdot vecdot", lambda f, a: f(a.x, a.y)),
    **calls(
        jnp,
        {
            "tensordot": lambda a: jnp.tensordot(a.x, a.y, axes=([1], [1])),
            "einsum": lambda a: jnp.einsum("ij,kj,jl->ikl", a.x, a.y, a.m),
            "matvec": lambda a: jnp.matvec(a.x, a.m[0]),
            "vecmat": lambda a: jnp.vecmat(a.m[0], a.m),
            "convolve": lambda a: jnp.convolve(a.v, a.w, mode="same"),
            "correlate": lambda a: jnp.correlate(a.v, a.w),
        },
    ),
}

POLYNOMIALS = {
    **each(jnp, "polyadd polymul polysub", lambda f, a: f(a.v, a.w)),
    **calls(
        jnp,
        {
            "poly": lambda a: jnp.poly(a.v),
            "polyder": lambda a: jnp.polyder(a.v),
            "polyint": lambda a: jnp.polyint(a.v),
            "polydiv": lambda a: jnp.polydiv(a.v, a.w[:2]),
            "polyfit": lambda a: jnp.polyfit(a.v, a.w, 2),
            "polyval": lambda a: jnp.polyval(a.v, a.x),
            "roots": lambda a: jnp.roots(a.v, strip_zeros=False),
            "vander": lambda a: jnp.vander(a.v, 3),
        },
    ),
}
