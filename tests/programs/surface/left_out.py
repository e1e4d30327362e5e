"""Public callables that have no call in the tables, each with the reason."""

_DEVICES = "works along a named axis of several devices or of a mapped function"
_PRINTS = "prints arrays, or sets how they are printed"
_FILES = "reads or writes a file"
_HOST = "plans on the host and returns no array"
_QUANTIZED = "quantized formats of an accelerator, which JAX itself does not run on a CPU"
_TYPES = "names a type for annotations"
_TOKENS = "returns an ordering token, no array"

LEFT_OUT = {
    **dict.fromkeys(
        (
            f"jax.lax.{name}"
            for name in (
                "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin"
                " ppermute precv pshuffle psend psum psum_scatter psum_scatter_start pswapaxes"
                " ragged_all_to_all with_sharding_constraint"
            ).split()
        ),
        _DEVICES,
    ),
    **dict.fromkeys(
        (
            f"jax.numpy.{name}"
            for name in (
                "array_repr array_str get_printoptions printoptions set_printoptions"
            ).split()
        ),
        _PRINTS,
    ),
    **dict.fromkeys((f"jax.numpy.{name}" for name in "fromfile load save savez".split()), _FILES),
    "jax.numpy.fromiter": "not implemented by JAX",
    "jax.numpy.einsum_path": _HOST,
    "jax.lax.conv_dimension_numbers": _HOST,
    "jax.random.key_dtype": _HOST,
    "jax.random.key_impl": _HOST,
    "jax.nn.get_scaled_dot_general_config": _QUANTIZED,
    "jax.nn.scaled_dot_general": _QUANTIZED,
    "jax.nn.scaled_matmul": _QUANTIZED,
    "jax.lax.ConvGeneralDilatedDimensionNumbers": _TYPES,
    "jax.lax.DotDimensionNumbers": _TYPES,
    "jax.lax.PrecisionLike": _TYPES,
    "jax.random.Key": _TYPES,
    "jax.lax.after_all": _TOKENS,
    "jax.lax.create_token": _TOKENS,
}
