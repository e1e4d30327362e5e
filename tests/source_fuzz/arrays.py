"""What users write in one line of `jax.numpy`, `jax.lax`, `jax.nn`, `jax.scipy` and `jax.random`.

Each group is drawn with its weight, then one of its templates. The names of `_EACH` are spread over their template.
"""

from source_fuzz.writer import Scope, Writer

_EACH = (
    (
        "elementwise",
        "jnp.{}({n})",
        "abs negative sign square conj real imag positive exp expm1 sin cos tan sinh cosh tanh arctan arcsinh sqrt log"
        " log1p exp2 cbrt reciprocal angle isfinite isnan signbit sinc i0 nan_to_num deg2rad",
    ),
    ("elementwise", "jnp.{}({f})", "floor ceil trunc rint log2 log10 arcsin arccos arctanh arccosh round"),
    (
        "elementwise",
        "jnp.{}({x1}, {same})",
        "add subtract multiply divide floor_divide mod remainder fmod power arctan2 hypot maximum minimum fmax fmin"
        " logaddexp logaddexp2 copysign nextafter heaviside equal less greater_equal logical_and logical_xor true_divide"
        " float_power ldexp isclose",
    ),
    (
        "integer",
        "jnp.{}({i1}, {i})",
        "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm floor_divide mod power",
    ),
    ("elementwise", "jnp.{}({f})[1]", "frexp modf"),
    ("elementwise", "jnp.divmod({x1}, {})[0]", "{same} {n} {p}"),
    ("integer", "lax.{}({i})", "clz population_count bitwise_not sign"),
    ("integer", "lax.{}({i1}, {same})", "shift_right_logical shift_right_arithmetic shift_left rem div max"),
    (
        "reduction",
        "jnp.{}({x}, axis={axes})",
        "sum prod mean max min all any std var ptp count_nonzero nansum nanmax nanprod median nanmean average",
    ),
    ("reduction", "jnp.{}({x}, axis={axis}, keepdims={flag})", "argmax argmin sum max nanargmin mean var"),
    ("cumulative", "jnp.{}({x}, axis={axis})", "cumsum cumprod nancumsum flip sort argsort"),
    ("cumulative", "lax.{}({n}, axis={k}, reverse={flag})", "cumsum cumprod cummax cummin cumlogsumexp"),
    ("linalg", "jnp.linalg.{}({g})", "det inv pinv norm matrix_rank cond eigvals trace svdvals"),
    ("nn", "jax.nn.{}({f})", "relu gelu silu softplus sigmoid softmax log_softmax elu leaky_relu hard_tanh celu selu"
     " logsumexp standardize relu6 soft_sign squareplus mish log_sigmoid"),
    ("special", "jax.scipy.special.{}({f})", "erf erfc gammaln digamma expit ndtr logit i0e i1 log_ndtr entr erfinv"
     " spence exp1 bessel_jn" ),
    ("fft", "jnp.fft.{}({n})", "fft ifft rfft fft2 fftshift hfft ihfft ifftn"),
)  # fmt: skip

_GROUPS = {
    "operator": """
        {x} + {x} | {x} * {r} | {x} - {x} | {x} / {x} | {x} ** 2 | {x} % {p} | {x} // {p} | -{n} | {n} * {n} + {n}
        {x} > {x} | {n} <= {r} | {x1} == {same} | ~{b} | {b} & {b} | {i} << {p} | {i} >> 1 | {i} & 3 | {i} | {p} | {x} @ {x}
        abs({n}) | {n} + 1 | 1 - {x} | {r} / {n} | {x1} != {x1} | {n} * 1j | {i} ^ {i} | 2 ** {i} | {r} ** {f}
        """,
    "elementwise": """
        jnp.where({b}, {x}, {x}) | jnp.where({n} > {r}, {x}, {r}) | jnp.clip({n}, {r}, {p}) | {x}.astype({dtype})
        jnp.select([{n1} > 0, {n1} < -1], [{n1}, {r}], {r}) | lax.select({b}, {x}, {x}) | lax.clamp({r}, {f}, 1.5)
        jnp.piecewise({f1}, [{f1} < 0, {f1} > 1], [0, lambda t: t * t, 1]) | lax.convert_element_type({x}, {dtype})
        lax.reduce_precision({f}, 5, 7) | lax.bitcast_convert_type({x}, {dtype}) | jnp.polyval({x}, {x}) | lax.nextafter({f1}, {same})
        jnp.unwrap({f}) | jnp.interp({f}, jnp.arange(4.0), jnp.array([0.0, 2.0, -1.0, 3.0])) | lax.complex({f1}, {same})
        jnp.vectorize(lambda s, t: s * t + 1)({n}, {n}) | {x}.view({dtype}) | jnp.around({g}, {k})
        """,
    "reduction": """
        {x}.sum() | {x}.mean({axis}) | jnp.sum({x}, where={b}) | jnp.max({n}, initial=0, axis={axes}) | jnp.dot({x}, {x})
        jnp.linalg.norm({g}, axis={axis}) | jnp.percentile({f}, 30.0, axis={axis}) | jnp.quantile({f}, 0.25, method="lower")
        jnp.histogram({f}, bins={p}, range=(-2, 2))[0] | jnp.bincount({i}, length=6) | jnp.digitize({f}, jnp.array([-1.0, 0.0, 1.0]))
        jnp.trapezoid({n}, axis={axis}) | jnp.corrcoef({f}) | jnp.cov({f}) | jnp.allclose({x}, {x}) | jnp.array_equal({x}, {x})
        lax.reduce({x1}, jnp.zeros((), {x1}.dtype), lax.add, ({k},)) | jax.nn.logsumexp({f}, axis={axis})
        lax.reduce({f1}, jnp.zeros((), {f1}.dtype), lambda s, t: s + t + s * t, (0,)) | lax.argmax({n}, 0, jnp.int32)
        lax.reduce(({n1}, lax.iota(jnp.int32, {n1}.size).reshape({n1}.shape)), (jnp.zeros((), {n1}.dtype), jnp.int32(-1)), lambda s, t: (jnp.where(s[0] >= t[0], s[0], t[0]), jnp.where(s[0] >= t[0], s[1], t[1])), ({k},))[1]
        jnp.sum({x}, dtype={dtype}) | jnp.mean({n}, axis={axes}, keepdims=True) | jnp.average({n1}, weights=jnp.abs({same})) | jnp.nanstd({f}, {axis})
        """,
    "cumulative": """
        jnp.diff({x}, axis={axis}) | jnp.ediff1d({x}) | jnp.gradient({f}, axis={axis}) | lax.associative_scan(jnp.add, {n}, axis={axis})
        lax.associative_scan(lambda s, t: s * t + s + t, {f}, reverse={flag}) | jnp.cumulative_sum({n}, axis={axis}, include_initial=True)
        lax.reduce_window({f}, 0.0, lax.add, ({p},), (1,), "SAME") | lax.reduce_window({f1}, -jnp.inf, lax.max, (2, 2), ({p}, 1), "VALID")
        lax.reduce_window({n1}, jnp.zeros((), {n1}.dtype), lax.add, ({p}, 1), (1, {p}), ((1, 0), (0, 2)), window_dilation=(1, 2))
        """,
    "sort": """
        jnp.sort({x}, axis={axis}, descending={flag}) | jnp.argsort({x}, axis={axis}, stable=True) | jnp.lexsort(({x1}, {same}))
        lax.sort(({x1}, {same}), dimension={k}, num_keys=1)[1] | lax.sort([{x1}, {same}, {x1}], num_keys=2)[2] | lax.top_k({n}, {p})[1] | lax.top_k({n}, 2)[0]
        jnp.unique({x}, size=5, fill_value=0) | jnp.searchsorted(jnp.sort({n1}), {n}, side="right") | jnp.partition({n}, 1) | jnp.sort_complex({x})
        jnp.nonzero({x}, size=4, fill_value=-1)[0] | jnp.unique_counts({i}, size=4).counts | jnp.flatnonzero({x}, size=3) | jnp.argpartition({f}, 0)
        jnp.unique({i}, return_inverse=True, size=6)[1] | jnp.isin({x}, {x}) | jnp.argwhere({b}, size=3, fill_value=0) | jnp.setdiff1d({i}, jnp.array([1, 3]), size=4)
        """,
    "index": """
        {x}[{k}] | {x}[..., {k}] | {x}[::-1] | {x}[{k}:] | {x}[:, ::2] | {x}[None] | {x}[{i}] | {x}[{b}] | {x}[{i}, {i}] | {x}[:, {i}] | {x}[-1:, None]
        jnp.take({x}, {i}, axis={axis}, mode="clip") | jnp.take({x}, {i}) | jnp.take({x}, {i}, axis={axis}, mode="fill") | jnp.take_along_axis({x}, {i}, {axis})
        {x1}.at[{k}].set({r}) | {x1}.at[{i}].add({r}) | {x1}.at[{i}].set(7, mode="drop") | {x}.at[{k}:].multiply(2) | {x}.at[..., 0].max(1) | {x}.at[{i}].mul({x})
        {x}.at[{i}].get(mode="fill", fill_value=3) | {x}.at[{i}, {i}].min(0) | {x}.at[::2].set({x}) | {x1}.at[{b}].set(0) | {f}.at[{i}].apply(jnp.sin) | {f}.at[{i}].power(2)
        lax.dynamic_slice({x}, ({i},), ({p},)) | lax.dynamic_slice({x}, ({k}, {i}), ({p}, 1)) | lax.dynamic_index_in_dim({x}, {i}, {k}) | lax.dynamic_slice_in_dim({x}, {i}, {p}, {k})
        lax.dynamic_update_slice({x1}, {x}, ({k},)) | lax.dynamic_update_index_in_dim({x}, {r}, {i}, {k}) | lax.dynamic_update_slice({x}, {x}, ({i}, {k})) | {x}[{i1} % 2, {i1}]
        jnp.put_along_axis({x}, {i}, {r}, axis={axis}, inplace=False) | jnp.choose({i}, [{x1}, {same}], mode="wrap") | jnp.compress(jnp.array([True, False, True]), {x}, axis={axis}, size=2)
        jax.ops.segment_sum({n}, {i}, num_segments=4) | jax.ops.segment_max({f}, {i}, num_segments=3) | jnp.place({x}, {b}, {r}, inplace=False) | jnp.fill_diagonal({x}, {r}, inplace=False)
        {x}.at[{i}].subtract({x}, unique_indices=False) | {x}.at[jnp.array([0, 0, 1])].add({x}) | {x}.at[{i}].set({x}, mode="clip") | {x}[jnp.array([[0, -1]])] | {x}[1:0] | {x}[{i}, :, None]
        lax.slice_in_dim({x}, 0, {p}, 2, {k}) | lax.dynamic_slice({x}, ({i}, {i}, 0), (1, {p}, {p})) | jnp.extract({b}, {x}, size=3, fill_value=1) | jnp.apply_along_axis(jnp.cumsum, {axis}, {x})
        """,
    "shape": """
        {x}.T | {x}.reshape(-1) | jnp.ravel({x}) | {x}.reshape({shape}) | jnp.broadcast_to({x}, {shape}) | jnp.concatenate([{x1}, {same}], axis={axis}) | jnp.stack([{x1}, {same}], axis={axis})
        jnp.pad({x}, 1) | jnp.pad({x}, ({p}, 0), mode="edge") | jnp.pad({x}, 2, mode="reflect") | jnp.pad({x}, (1, {p}), mode="wrap") | lax.pad({x1}, jnp.zeros((), {x1}.dtype), ((1, -1, {p}),)) | lax.pad({x1}, {x1}.sum().astype({x1}.dtype), ((-1, 2, 0), (0, 1, 1)))
        jnp.roll({x}, {k}, axis={axis}) | jnp.roll({x}, {i}) | jnp.tile({x}, ({p}, 2)) | jnp.repeat({x}, {p}, axis={axis}) | jnp.expand_dims({x}, {axis}) | jnp.squeeze({x}) | jnp.moveaxis({x}, 0, -1)
        jnp.swapaxes({x}, 0, {axis}) | jnp.rot90({x}, {k}) | jnp.flip({x}, {axis}) | jnp.diag({x}) | jnp.diagonal({x}, {k}) | jnp.tril({x}, {k}) | jnp.triu({x}) | jnp.vstack([{x}, {x}]) | jnp.hstack([{x}, {x}])
        jnp.split({x}, [1], axis={axis})[1] | jnp.array_split({x}, {p}, axis={axis})[-1] | jnp.atleast_2d({x}) | jnp.meshgrid({x}, {x})[0] | jnp.outer({x}, {x}) | jnp.kron({x}, {x}) | jnp.append({x}, {x})
        jnp.zeros_like({x}) | jnp.full_like({x}, {r}) | jnp.ones({shape}, {dtype}) | jnp.arange({p}) | jnp.arange(3, dtype={dtype}) | jnp.linspace({n}, {n}, {p}) | jnp.eye({p}, 3, {k}) | jnp.full({shape}, {x})
        lax.broadcasted_iota({dtype}, {shape}, {k}) | lax.rev({x}, ({k},)) | lax.transpose({x}, (1, 0)) | jnp.array([{x1}, {same}]) | jnp.empty((0, {p}), {dtype}) | lax.expand_dims({x}, ({k},)) | jnp.resize({x}, {shape})
        jnp.insert({x}, {p}, {r}) | jnp.delete({x}, 0) | jnp.column_stack([{x1}, {same}]) | jnp.block([[{x1}, {same}], [{same}, {x1}]]) | jnp.tri({p}, 3, {k}, {dtype}) | jnp.vander({n}, {p}) | jnp.indices((2, {p}))[{k}]
        jnp.r_[{x}, {r}] | jnp.geomspace(1.0, 8.0, {p}) | jnp.packbits({b}) | jnp.unpackbits({i}) | jax.nn.one_hot({i}, {p}) | jnp.bartlett({p}) | jnp.kaiser({p}, 2.0)
        """,
    "linalg": """
        {x} @ {x} | jnp.matmul({x}, {same}) | jnp.einsum("ij,jk->ik", {x}, {x}) | jnp.einsum("ij,ij->i", {x1}, {same}) | jnp.einsum("i,j->ji", {x}, {x}) | jnp.einsum("bij,jk->bki", {x}, {x}) | jnp.einsum("ii->i", {x})
        jnp.einsum("...i,...i", {n1}, {same}) | jnp.einsum("ij->", {x}) | jnp.einsum("ij,jk,kl->il", {x}, {x}, {x}) | jnp.tensordot({x}, {x}, axes=1) | jnp.tensordot({x1}, {same}, axes=2) | jnp.vdot({x1}, {same}) | jnp.inner({x}, {x}) | jnp.cross({x}, {x})
        lax.dot_general({n1}, {n1}, (((0,), (0,)), ((), ()))) | lax.dot_general({n1}, {same}, (((1,), (1,)), ((0,), (0,)))) | lax.dot({x1}, {same}, preferred_element_type={dtype}) | jnp.linalg.multi_dot([{g}, {g}, {g}])
        jnp.linalg.solve({g1} + 3 * jnp.eye({g1}.shape[0]), {g}) | jnp.linalg.cholesky({g1} @ {g1}.T.conj() + jnp.eye({g1}.shape[0])) | jnp.linalg.eigvalsh({g1} + {g1}.T) | jnp.abs(jnp.linalg.qr({g})[1]) | jnp.linalg.matrix_power({n}, {k}) | jax.scipy.linalg.expm({g})
        jax.scipy.linalg.solve_triangular({g1} + 2 * jnp.eye({g1}.shape[0]), {g}, lower={flag}) | jax.scipy.linalg.lu({f})[2] | jax.scipy.linalg.toeplitz({x}) | jax.scipy.linalg.block_diag({x}, {x}) | jnp.linalg.lstsq({f}, {f})[0] | jax.scipy.linalg.cho_solve((jnp.eye(3), True), {f}) | jnp.linalg.tensorsolve({f}, {f})
        jnp.linalg.svd({g}, full_matrices=False)[1] | lax.linalg.lu({f})[1] | jnp.linalg.slogdet({g})[1] | jax.scipy.linalg.sqrtm({f}) | jnp.linalg.matrix_norm({g}) | jnp.linalg.vector_norm({g}, axis={axes}, ord=1) | jnp.linalg.eigh({f1} + {f1}.T, UPLO="U")[0]
        """,
    "convolution": """
        jnp.convolve({n}, {n}) | jnp.convolve({n}, {n}, mode="same") | jnp.correlate({n}, {n}, mode="full") | jax.scipy.signal.convolve2d({f}, {f}, mode="same") | jax.scipy.signal.fftconvolve({f}, {f})
        lax.conv_general_dilated({f1}[None], {f1}[:1, :, :2], ({p},), "SAME") | lax.conv_general_dilated({f1}[None, None], {f1}[None, None, :2], ({p}, 1), [(1, 0), (0, 1)], rhs_dilation=(1, {p}))
        lax.conv_general_dilated({f1}[:, None], jnp.flip({f1})[:1, None, :], (1,), [(2, 1)], lhs_dilation=({p},)) | lax.conv({f1}[None], {f1}[None], (1,), "VALID") | lax.conv_general_dilated({f1}[:, :, None], {f1}[:1, :1, None], (1, 1), "SAME", feature_group_count={p})
        """,
    "random": """
        jax.random.uniform(jax.random.key({seed}), {shape}) | jax.random.randint(jax.random.key({seed}), {shape}, -3, 9) | jax.random.normal(jax.random.PRNGKey({seed}), {shape}, jnp.float32) | jax.random.bits(jax.random.key({seed}), {shape})
        jax.random.permutation(jax.random.key({seed}), {x}) | jax.random.choice(jax.random.key({seed}), {x}, ({p},)) | jax.random.bernoulli(jax.random.key({seed}), 0.3, {shape}) | jax.random.categorical(jax.random.key({seed}), {f}) | jax.random.split(jax.random.PRNGKey({seed}), {p})
        jax.random.key_data(jax.random.fold_in(jax.random.key({seed}), {p})) | jax.random.uniform(jax.random.key({i}.sum()), ({p},), minval=-1.0) | jax.random.exponential(jax.random.key({seed}), {shape}) | jax.random.choice(jax.random.key({seed}), 5, (3,), replace=False)
        """,
    "nn": """
        jax.nn.softmax({f}, axis={axis}) | jax.nn.glu({f}) | jax.nn.dot_product_attention({f1}[None, :, None, :], {f1}[None, :, None, :], {f1}[None, :, None, :]) | jax.nn.softmax({f1}, where={f1} > 0) | lax.logistic({f}) | lax.rsqrt({f})
        """,
    "special": """
        jax.scipy.stats.norm.pdf({f}) | jax.scipy.special.betainc(1.5, 2.5, jax.nn.sigmoid({f})) | jax.scipy.special.gammainc(2.0, jnp.abs({f})) | jax.scipy.special.xlogy({f1}, {same}) | jax.scipy.special.zeta(jnp.abs({f}) + 1.5, 1.0) | jax.scipy.special.polygamma(2, jnp.abs({f}) + 0.5)
        jax.scipy.stats.norm.logcdf({f}) | jax.scipy.special.rel_entr({f1}, {same}) | jax.scipy.special.factorial({i}) | jax.scipy.special.bernoulli({p}) | lax.igamma(jnp.abs({f1}) + 1, jnp.abs({same})) | jax.scipy.stats.poisson.pmf({i}, 2.0) | jax.scipy.ndimage.map_coordinates({f}, [{f}], order=1)
        """,
    "fft": """
        jnp.fft.fft({n}, axis={axis}) | jnp.fft.irfft({n}, n={p}) | jnp.fft.rfft({f}, n=5) | jnp.fft.fftfreq({p}) | jnp.fft.rfft2({f}) | jnp.fft.ifft({n}, norm="ortho")
        """,
}  # fmt: skip
_WEIGHTS = dict(
    operator=9, elementwise=9, integer=3, reduction=6, cumulative=3, sort=3, index=9, shape=8, linalg=4,
    convolution=1, random=1.5, nn=1.5, special=1, fft=1,
)  # fmt: skip

TEMPLATES = {group: [one.strip() for line in text.splitlines() for one in line.split(" | ") if one.strip()] for group, text in _GROUPS.items()} | {
    "integer": []
}
for _group, _template, _names in _EACH:
    TEMPLATES[_group] += [_template.replace("{}", name) for name in _names.split()]
# `|` and a text with bars in it cannot stand in the tables above.
TEMPLATES["operator"].append("{i} | {i}")


def expression(writer: Writer) -> str:
    (group,) = writer.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
    return writer.rng.choice(TEMPLATES[group])


def statements(writer: Writer, scope: Scope, count: int) -> None:
    """Add about so many statements of one line."""
    tries = 0
    while count > 0 and tries < 60:
        tries += 1
        count -= writer.assign(scope, expression(writer))
