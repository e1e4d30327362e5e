"""Functions of JAX that ask for sizes; JAX has no way to say that an integer tracer may be one."""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax._src import api, core
from jax._src.interpreters import ad
from jax._src.lax import convolution, lax
from jax._src.lax import linalg as lax_linalg
from jax._src.lax.control_flow import loops
from jax._src.numpy import (
    array_creation,
    fft,
    hijax,
    indexing,
    lax_numpy,
    linalg,
    polynomial,
    reductions,
    setops,
    ufunc_api,
    ufuncs,
    window_functions,
)
from jax._src.ops import scatter
from jax._src.random import core as random_core
from jax._src.random import prng

HookPoint = str
"""A key of `HOOK_POINTS`."""


_MODULES = [other for key, other in sys.modules.items() if key.partition(".")[0] == jax.__name__]
"""Those of JAX that are there now."""


def everywhere(module: Any, name: str) -> Sequence[tuple[Any, str]]:
    """Where JAX's modules hold a public function under its name, `jax.numpy` among them.

    Also the method of arrays that it is. A name that the user's module has imported before ours
    is not found: better hook a private function that the public one calls, if there is one.
    """
    function = getattr(module, name)
    holders: list[tuple[Any, str]] = [
        (other, name) for other in _MODULES if vars(other).get(name) is function
    ]
    if getattr(getattr(core.ShapedArray, name, None), "fun", None) is function:
        holders.append((core.ShapedArray, name))
    return holders


HOOK_POINTS: Mapping[HookPoint, Sequence[tuple[Any, str]]] = {
    "dimension": [(core, "_canonicalize_dimension")],
    "size_argument": [(core, "concrete_dim_or_error")],
    "number_argument": [(core, "concrete_or_error")],
    "shape_check": [(lax, "_check_shapelike")],
    "tile": [(lax, "tile")],
    "index": [(indexing, "rewriting_take")],
    "indices": [(indexing, "_parse_indices")],
    "slice": [(core, "canonicalize_slice")],
    "arange": [(lax_numpy, "_arange")],
    "linspace": [(array_creation, "_linspace")],
    "floor_divide": [(ufuncs, "floor_divide")],
    "remainder": [(ufuncs, "remainder"), (ufuncs, "mod")],
    # What `x + y` of tracers is.
    **{
        f"operator_{name}": [(core.ShapedArray, f"_{name}")]
        for name in ("add", "radd", "sub", "rsub", "mul", "rmul")
    },
    "squeeze": [(lax_numpy, "_squeeze")],
    "reduction": [(reductions, "_reduction")],
    "repeat": [(lax_numpy, "_repeat")],
    # The first is what `jnp.searchsorted` calls before jax 0.12, where it is gone.
    "searchsorted": [
        (hijax, name)
        for name in ("searchsorted_via_expand", "searchsorted")
        if hasattr(hijax, name)
    ],
    "scan_length": [(loops, "_infer_scan_length")],
    "split": [(prng, "random_split")],
    "shuffle": [(random_core, "_shuffle")],
    "choice": everywhere(random_core, "choice"),
    # Not attributes of the module: globals that shadow the built-ins inside it.
    "length": [(module, "len") for module in (lax_numpy, indexing, setops, polynomial)],
    "largest": [(lax_numpy, "max"), (linalg, "max")],
    "smallest": [(lax_numpy, "min"), (lax_linalg, "min")],
    "expand_masks": [(indexing.NDIndexer, "expand_bool_indices")],
    "expand_flags": [(indexing.NDIndexer, "expand_scalar_bool_indices")],
    "index_to_gather": [(indexing, "_index_to_gather")],
    "scatter": [(scatter, "_scatter_impl")],
    "nonzero": everywhere(lax_numpy, "nonzero"),
    "compress": everywhere(lax_numpy, "compress"),
    "unique": [(setops, "_unique")],
    "in1d": [(setops, "_in1d")],
    "setdiff1d": everywhere(setops, "setdiff1d"),
    "setxor1d": everywhere(setops, "setxor1d"),
    "intersect1d_size": [(setops, "_intersect1d_size")],
    "bincount": everywhere(lax_numpy, "bincount"),
    "delete": everywhere(lax_numpy, "delete"),
    "trim_zeros": everywhere(lax_numpy, "trim_zeros"),
    "split_array": [(lax_numpy, "_split")],
    "tile_to_size": [(lax_numpy, "_tile_to_size")],
    "triu_size": [(lax_numpy, "_triu_size")],
    "ravel_multi_index": everywhere(lax_numpy, "ravel_multi_index"),
    "diagonal": everywhere(lax_numpy, "diagonal"),
    "resize": everywhere(lax_numpy, "resize"),
    "take": [(indexing, "_take")],
    "put": everywhere(indexing, "put"),
    "determinant": [(linalg, "_det")],
    "log_determinant": [(linalg, "_slogdet_lu")],
    "matrix_rank": everywhere(linalg, "matrix_rank"),
    "choose": everywhere(lax_numpy, "choose"),
    "pad": everywhere(lax_numpy, "pad"),
    "pad_edge": [(lax_numpy, "_pad_edge")],
    "pad_wrap": [(lax_numpy, "_pad_wrap")],
    "pad_mirrored": [(lax_numpy, "_pad_symmetric_or_reflect")],
    "packbits": everywhere(lax_numpy, "packbits"),
    "digitize": everywhere(lax_numpy, "digitize"),
    "cov": everywhere(lax_numpy, "cov"),
    "vander": everywhere(lax_numpy, "vander"),
    "polyadd": everywhere(polynomial, "polyadd"),
    "polymul": everywhere(polynomial, "polymul"),
    "polyval": everywhere(polynomial, "polyval"),
    "window": [
        place
        for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")
        for place in everywhere(window_functions, name)
    ],
    "convolution": [(lax_numpy, "_conv")],
    "convolution_padding": everywhere(convolution, "conv_general_dilated"),
    "rfftfreq": everywhere(fft, "rfftfreq"),
    # As users call them; inside of JAX, sizes are none that it does not know.
    "sizes_second": [(jax.lax, name) for name in ("broadcast", "broadcast_in_dim", "split")],
    "lax_slice": [(jax.lax, "slice")],
    "lax_pad": [(jax.lax, "pad")],
    **{
        f"lax_{name}": [(jax.lax, name)]
        for name in ("cond", "switch", "while_loop", "fori_loop", "scan", "map")
    },
    "vmap": [(jax, "vmap")],
    "checkpoint": [(jax, "checkpoint"), (jax, "remat")],
    "jvp": [(api, "_jvp")],
    "derivative_of_product": [(lax, "_reduce_prod_jvp_rule")],
    "accumulate": [(ufunc_api.ufunc, "_accumulate_via_scan")],
    "associative_scan": everywhere(loops, "associative_scan"),
}
"""Where each function is looked up by JAX's own code: modules, and the name in each."""


# The table of derivatives holds the function itself; with this, one that has replaced it is found.
ad.primitive_jvps[lax.reduce_prod_p] = lambda *args, **params: lax._reduce_prod_jvp_rule(
    *args, **params
)


def hook(point: HookPoint, replace: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function inside JAX, for good, by `replace(original)`.

    The replacement must do what the original does in every thread that is not tracing for us.
    """
    for holder, attribute in HOOK_POINTS[point]:
        original = getattr(holder, attribute, None) or getattr(builtins, attribute)
        if isinstance(original, core.aval_method):
            setattr(holder, attribute, core.aval_method(replace(original.fun)))
        elif isinstance(vars(holder).get(attribute), staticmethod):
            setattr(holder, attribute, staticmethod(replace(original)))
        else:
            setattr(holder, attribute, replace(original))


def determinant_of_few_rows(matrix: Any) -> Any:
    """JAX's formula for two or three rows."""
    return {2: linalg._det_2x2, 3: linalg._det_3x3}[matrix.shape[-1]](matrix)


def log_determinant_of_few_rows(matrix: Any) -> Any:
    """JAX's formula (sign and logarithm) for one or two rows."""
    return linalg._slogdet_small(matrix)
