"""Functions of JAX that ask for sizes; JAX has no way to say that an integer tracer may be one."""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax._src import core
from jax._src.lax import lax
from jax._src.lax.control_flow import loops
from jax._src.numpy import array_creation, hijax, indexing, lax_numpy, reductions, ufuncs
from jax._src.random import prng

HookPoint = str
"""A key of `HOOK_POINTS`."""

HOOK_POINTS: Mapping[HookPoint, Sequence[tuple[Any, str]]] = {
    "dimension": [(core, "_canonicalize_dimension")],
    "size_argument": [(core, "concrete_dim_or_error")],
    "number_argument": [(core, "concrete_or_error")],
    "shape_check": [(lax, "_check_shapelike")],
    "tile": [(lax, "tile")],
    "indices": [(indexing, "_parse_indices")],
    "slice": [(core, "canonicalize_slice")],
    "arange": [(lax_numpy, "_arange")],
    "linspace": [(array_creation, "_linspace")],
    "floor_divide": [(ufuncs, "floor_divide")],
    "remainder": [(ufuncs, "remainder"), (ufuncs, "mod")],
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
    # Not attributes of the module: globals that shadow the built-ins inside it.
    "length": [(lax_numpy, "len")],
    "largest": [(lax_numpy, "max")],
    "smallest": [(lax_numpy, "min")],
}
"""Where each function is looked up by JAX's own code: modules, and the name in each."""


def hook(point: HookPoint, replace: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function inside JAX, for good, by `replace(original)`.

    The replacement must do what the original does in every thread that is not tracing for us.
    """
    for module, attribute in HOOK_POINTS[point]:
        original = getattr(module, attribute, None) or getattr(builtins, attribute)
        setattr(module, attribute, replace(original))
