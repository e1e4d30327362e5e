"""The functions inside JAX that we replace: where, why, and what they must take for it.

Each replacement does what the original does unless it is called on our behalf: in a thread that is
tracing for us, or with an object of ours.
"""

from diastase_toolchain.private_api import Patch

EVERY_PROGRAM = "every program"
SIZES = "sizes known only at run time"
"""The feature that is off as a whole where, without a name or a patch, an answer might be wrong."""

_NO_TRACED_SIZES = "an integer tracer may be a size, which JAX does not know"


def _sized(function: str, places: str, parameters: str | None = None) -> Patch:
    """A function that takes sizes: of `SIZES` as a whole where its name is empty."""
    feature = f"{function} of {SIZES}" if function else SIZES
    found = [place if place.startswith("jax.") else f"jax._src.{place}" for place in places.split()]
    return Patch(feature, _NO_TRACED_SIZES, found, parameters)


def _with_gates(function: str, places: str, parameters: str | None = None) -> Patch:
    """A function that calls the user's, which may apply gates or change sizes."""
    return Patch(
        f"gates and {SIZES} in {function}",
        "JAX traces the function by itself, into a jaxpr of its own",
        places.split(),
        parameters,
    )


OVERLAID = {
    "dimension": _sized("", "core:_canonicalize_dimension", "dim"),
    "size_argument": _sized("", "core:concrete_dim_or_error", "val context"),
    "number_argument": _sized("", "core:concrete_or_error", "force val context"),
    "shape_check": _sized("", "lax.lax:_check_shapelike", "fun_name arg_name obj non_zero_shape"),
    "index": _sized("x[i]", "numpy.indexing:rewriting_take",
        "arr idx indices_are_sorted unique_indices mode fill_value normalize_indices out_sharding "
        "strategy"),
    "indices": _sized("x[i:j]", "numpy.indexing:_parse_indices", "indices shape"),
    "slice": _sized("x[i:j]", "core:canonicalize_slice", "s axis_size"),
    "index_to_gather": _sized("x[::step]", "numpy.indexing:_index_to_gather",
        "indexer x_sharding normalize_indices"),
    "expand_masks": _sized("x[mask]", "numpy.indexing:NDIndexer.expand_bool_indices", "self"),
    "expand_flags": _sized("x[flag]", "numpy.indexing:NDIndexer.expand_scalar_bool_indices",
        "self sharding_spec"),
    "scatter": _sized("x.at[i]", "ops.scatter:_scatter_impl",
        "x y dynamic_idx scatter_op treedef indices_are_sorted unique_indices mode "
        "normalize_indices"),
    "take": _sized("jnp.take", "numpy.indexing:_take",
        "a indices axis out mode unique_indices indices_are_sorted fill_value"),
    "put": _sized("jnp.put", "numpy.indexing:put*", "a ind v mode inplace"),
    # What `x + y` of tracers is.
    **{
        f"operator_{name}": _sized("x + y", f"core:ShapedArray._{name}", "self other")
        for name in ("add", "radd", "sub", "rsub", "mul", "rmul")
    },
    "floor_divide": _sized("x // y", "numpy.ufuncs:floor_divide", "x1 x2"),
    "remainder": _sized("x % y", "numpy.ufuncs:remainder numpy.ufuncs:mod", "x1 x2"),
    # Not attributes of these modules: globals that shadow the built-ins inside them.
    "length": _sized("len(x)",
        "numpy.lax_numpy:len numpy.indexing:len numpy.setops:len numpy.polynomial:len"),
    "largest": _sized("max", "numpy.lax_numpy:max numpy.linalg:max"),
    "smallest": _sized("min", "numpy.lax_numpy:min lax.linalg:min"),
    "tile": _sized("jax.lax.tile", "lax.lax:tile", "operand reps"),
    "arange": _sized("jnp.arange", "numpy.lax_numpy:_arange", "start stop step dtype out_sharding"),
    "linspace": _sized("jnp.linspace", "numpy.array_creation:_linspace",
        "start stop num endpoint retstep dtype axis device"),
    "squeeze": _sized("jnp.squeeze", "numpy.lax_numpy:_squeeze", "a axis"),
    "reduction": _sized("jnp.sum and its kin", "numpy.reductions:_reduction"),
    "repeat": _sized("jnp.repeat", "numpy.lax_numpy:_repeat",
        "repeats arr axis total_repeat_length"),
    # The first is what `jnp.searchsorted` calls before jax 0.12, where it is gone.
    "searchsorted": _sized("jnp.searchsorted",
        "numpy.hijax:searchsorted_via_expand? numpy.hijax:searchsorted",
        "sorted_arr query side dimension batch_dims method dtype"),
    "scan_length": _sized("jax.lax.scan", "lax.control_flow.loops:_infer_scan_length",
        "xs_flat xs_avals length"),
    "split": _sized("jax.random.split", "random.prng:random_split", "keys shape"),
    "shuffle": _sized("jax.random.permutation", "random.core:_shuffle", "key x axis"),
    "choice": _sized("jax.random.choice", "random.core:choice*", "key a shape replace p axis mode"),
    "nonzero": _sized("jnp.nonzero", "numpy.lax_numpy:nonzero*", "a size fill_value"),
    "compress": _sized("jnp.compress", "numpy.lax_numpy:compress*",
        "condition a axis size fill_value out"),
    "unique": _sized("jnp.unique", "numpy.setops:_unique",
        "ar axis return_index return_inverse return_counts equal_nan size fill_value "
        "return_true_size"),
    "in1d": _sized("jnp.isin", "numpy.setops:_in1d", "ar1 ar2 invert method assume_unique"),
    "setdiff1d": _sized("jnp.setdiff1d", "numpy.setops:setdiff1d*",
        "ar1 ar2 assume_unique size fill_value"),
    "setxor1d": _sized("jnp.setxor1d", "numpy.setops:setxor1d*",
        "ar1 ar2 assume_unique size fill_value"),
    "intersect1d_size": _sized("jnp.intersect1d", "numpy.setops:_intersect1d_size",
        "arr1 arr2 fill_value assume_unique size return_indices"),
    "bincount": _sized("jnp.bincount", "numpy.lax_numpy:bincount*",
        "x weights minlength length out_sharding"),
    "delete": _sized("jnp.delete", "numpy.lax_numpy:delete*", "arr obj axis assume_unique_indices"),
    "trim_zeros": _sized("jnp.trim_zeros", "numpy.lax_numpy:trim_zeros*", "filt trim axis"),
    "split_array": _sized("jnp.split", "numpy.lax_numpy:_split", "op ary indices_or_sections axis"),
    "tile_to_size": _sized("jnp.resize", "numpy.lax_numpy:_tile_to_size", "arr size"),
    "triu_size": _sized("jnp.triu_indices", "numpy.lax_numpy:_triu_size", "n m k"),
    "ravel_multi_index": _sized("jnp.ravel_multi_index", "numpy.lax_numpy:ravel_multi_index*",
        "multi_index dims mode order dtype"),
    "diagonal": _sized("jnp.diagonal", "numpy.lax_numpy:diagonal*", "a offset axis1 axis2"),
    "resize": _sized("jnp.resize", "numpy.lax_numpy:resize*", "a new_shape"),
    "determinant": _sized("jnp.linalg.det", "numpy.linalg:_det", "a"),
    "log_determinant": _sized("jnp.linalg.slogdet", "numpy.linalg:_slogdet_lu", "a"),
    "matrix_rank": _sized("jnp.linalg.matrix_rank", "numpy.linalg:matrix_rank*",
        "M rtol hermitian tol"),
    "choose": _sized("jnp.choose", "numpy.lax_numpy:choose*", "a choices out mode"),
    "pad": _sized("jnp.pad", "numpy.lax_numpy:pad*", "array pad_width mode"),
    "pad_edge": _sized("jnp.pad", "numpy.lax_numpy:_pad_edge", "array pad_width"),
    "pad_wrap": _sized("jnp.pad", "numpy.lax_numpy:_pad_wrap", "array pad_width"),
    "pad_mirrored": _sized("jnp.pad", "numpy.lax_numpy:_pad_symmetric_or_reflect",
        "array pad_width mode reflect_type"),
    "packbits": _sized("jnp.packbits", "numpy.lax_numpy:packbits*", "a axis bitorder"),
    "digitize": _sized("jnp.digitize", "numpy.lax_numpy:digitize*", "x bins right method"),
    "cov": _sized("jnp.cov", "numpy.lax_numpy:cov*",
        "m y rowvar bias ddof fweights aweights dtype"),
    "vander": _sized("jnp.vander", "numpy.lax_numpy:vander*", "x N increasing"),
    "polyadd": _sized("jnp.polyadd", "numpy.polynomial:polyadd*", "a1 a2"),
    "polymul": _sized("jnp.polymul", "numpy.polynomial:polymul*", "a1 a2 trim_leading_zeros"),
    "polyval": _sized("jnp.polyval", "numpy.polynomial:polyval*", "p x unroll"),
    "window": _sized(
        "jnp.hanning and its kin",
        " ".join(
            f"numpy.window_functions:{name}*"
            for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")
        ),
        "M | M beta",
    ),
    "convolution": _sized("jnp.convolve", "numpy.lax_numpy:_conv",
        "x y mode op precision preferred_element_type"),
    "convolution_padding": _sized("jax.lax.conv_general_dilated",
        "lax.convolution:conv_general_dilated*",
        "lhs rhs window_strides padding lhs_dilation rhs_dilation dimension_numbers "
        "feature_group_count batch_group_count precision preferred_element_type out_sharding"),
    "rfftfreq": _sized("jnp.fft.rfftfreq", "numpy.fft:rfftfreq*", "n d dtype device"),
    "derivative_of_product": _sized("derivatives of jnp.prod", "lax.lax:_reduce_prod_jvp_rule",
        "primals tangents axes"),
    "accumulate": _sized("jnp.ufunc.accumulate", "numpy.ufunc_api:ufunc._accumulate_via_scan",
        "self arr axis dtype"),
    "associative_scan": _sized("jax.lax.associative_scan",
        "lax.control_flow.loops:associative_scan*", "fn elems reverse axis"),
    # As users call them; inside of JAX, sizes are none that it does not know.
    "sizes_second": _sized("jax.lax.broadcast and its kin",
        "jax.lax:broadcast jax.lax:broadcast_in_dim jax.lax:split",
        "operand sizes out_sharding | operand shape broadcast_dimensions out_sharding | operand "
        "sizes axis"),
    "lax_slice": _sized("jax.lax.slice", "jax.lax:slice",
        "operand start_indices limit_indices strides"),
    "lax_pad": _sized("jax.lax.pad", "jax.lax:pad", "operand padding_value padding_config"),
    "lax_cond": _with_gates("jax.lax.cond", "jax.lax:cond"),
    "lax_switch": _with_gates("jax.lax.switch", "jax.lax:switch", "index branches operand"),
    "lax_while_loop": _with_gates("jax.lax.while_loop", "jax.lax:while_loop",
        "cond_fun body_fun init_val"),
    "lax_fori_loop": _with_gates("jax.lax.fori_loop", "jax.lax:fori_loop",
        "lower upper body_fun init_val unroll"),
    "lax_scan": _with_gates("jax.lax.scan", "jax.lax:scan",
        "f init xs length reverse unroll _split_transpose"),
    "lax_map": _with_gates("jax.lax.map", "jax.lax:map", "f xs batch_size"),
    "vmap": _with_gates("jax.vmap", "jax:vmap",
        "fun in_axes out_axes axis_name axis_size spmd_axis_name sum_match"),
    "checkpoint": _with_gates("jax.checkpoint", "jax:checkpoint jax:remat"),
    "jvp": Patch(
        "directions of jax.jacfwd and jax.hessian",
        "a batch of tangents alone is one of directions: what is drawn is drawn once",
        ["jax._src.api:_jvp"],
        "fun primals tangents has_aux",
    ),
}  # fmt: skip
"""What `capture.jax_overlays` in the frontend replaces while it traces, each by an overlay."""

INSIDE = {
    "process_primitive": Patch(
        SIZES,
        "JAX does not tell which trace records while it makes the type of an equation",
        ["jax._src.interpreters.partial_eval:DynamicJaxprTrace.process_primitive"],
    ),
    "staging": Patch(
        "functions under jax.jit",
        "symbols that are made inside must be known outside: they are traced inline",
        ["jax._src.pjit:_infer_params"],
        "fun ji args kwargs",
    ),
    "calling": Patch(
        "functions under jax.jit",
        "as above: the second half of a call",
        ["jax._src.pjit:_run_python_pjit"],
    ),
    "nested_jaxprs": Patch(
        SIZES,
        "JAX's lowering rules lower nested jaxprs by JAX's own walk",
        ["jax._src.interpreters.mlir:jaxpr_subcomp"],
    ),
    "lowered_sizes": Patch(
        SIZES,
        "JAX's lowering rules ask for sizes as XLA has them",
        ["jax._src.interpreters.mlir:eval_dynamic_shape"],
        "ctx shape",
    ),
    "lowered_shapes": Patch(
        SIZES,
        "JAX's lowering rules make tensors of sizes as XLA has them",
        ["jax._src.interpreters.mlir:shape_tensor"],
        "ctx sizes",
    ),
    "undecided_inequality": Patch(
        SIZES,
        "an inequality that cannot be decided is an error in JAX, here a guard",
        ["jax._src.export.shape_poly:_geq_decision"],
        "e1 e2 cmp_str",
    ),
    "equality": Patch(
        SIZES,
        "an equality that cannot be decided is False in JAX, here a guard or a check",
        ["jax._src.export.shape_poly:_DimExpr.__eq__"],
    ),
    "difference": Patch(SIZES, "as above", ["jax._src.export.shape_poly:_DimExpr.__ne__"]),
    **{
        f"ordering_{name}": Patch(
            SIZES,
            "a comparison in the user's code may be a value",
            [f"jax._src.export.shape_poly:_DimExpr.__{name}__"],
        )
        for name in ("ge", "gt", "le", "lt")
    },
    "implicit_constraints": Patch(
        SIZES,
        "a product of sizes has bounds that JAX does not find",
        [
            "jax._src.export.shape_poly_decision:"
            "_DecisionByElimination.add_implicit_constraints_term"
        ],
    ),
    "truth": Patch(
        SIZES,
        "`if a.shape[0] == b.shape[0]` in the user's code",
        ["jax._src.core:ShapedArray._bool"],
    ),
    "type_rules": Patch(
        SIZES,
        "what type rules compare must be equal, or is an error",
        ["jax._src.interpreters.partial_eval:_cached_abstract_eval"],
    ),
    "broadcast_sizes": Patch(
        SIZES,
        "sizes that are broadcast are equal, or 1",
        ["jax._src.lax.lax:_try_broadcast_shapes"],
    ),
    "sizes_or_one": Patch(
        SIZES,
        "sizes that are broadcast are equal, or 1",
        ["jax._src.core:definitely_equal_one_of_dim"],
    ),
}
"""What this package replaces, each beside what the replacement is for."""
