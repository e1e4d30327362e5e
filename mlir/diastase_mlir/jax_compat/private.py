"""The private names of JAX that we use: all of them, and the only way to them.

`core`, `ad`, … are JAX's modules of these names, with the names that are declared here. To use
another one, add it to a `Need`; to replace a function, add a `Patch` to `patches`, and say by what
with `patch`. A test compares the table with the sources, and another removes each name in turn.

Attributes of JAX's objects (`equation.ctx`, `tracer.parent`) are not listed: `make canary`, the
whole suite with the newest versions, finds those that change.
"""

from collections.abc import Callable
from typing import Any

from jax.experimental.hijax import aval_method

from diastase_mlir.jax_compat.patches import EVERY_PROGRAM, INSIDE, OVERLAID, SIZES
from diastase_toolchain.private_api import Need, PrivateApi

_NEEDS = (
    Need(
        EVERY_PROGRAM,
        "`jax.make_jaxpr` caches by function, and takes arrays only",
        {
            "jax._src.core": "EvalTrace trace_ctx trace_state_clean",
            "jax._src.interpreters.partial_eval": "convert_constvars_jaxpr",
        },
    ),
    Need(
        EVERY_PROGRAM,
        "the settings under which JAX would trace anew have no public name",
        {"jax._src.config": "trace_context"},
    ),
    Need(
        EVERY_PROGRAM,
        "`jax.export` lowers whole functions, for XLA; not one equation into a module of ours",
        {"jax._src.interpreters.mlir": "_get_lowering_rules _uncached_lowering"},
    ),
    Need(
        "fast tracing",
        "`jax.api_util.debug_info` asks for the signature of a function, which takes 0.1 ms",
        {
            "jax._src.api_util": "fun_sourceinfo",
            "jax._src.core": "initial_result_paths",
        },
    ),
    Need(
        "fast compilation",
        "public contexts load all dialects that there are, and look for classes of operations",
        {
            "jax._src.interpreters.mlir": "JaxIrContext upstream_dialects",
            "jaxlib.mlir._mlir_libs._mlir": "globals",
        },
    ),
    Need(
        "fast calls",
        "`jax.device_put` takes ten times as long; the class of arrays excludes tracers",
        {"jax._src.array": "ArrayImpl", "jax._src.lib": "xla_client"},
    ),
    Need(
        "programs from the cache on disk",
        "whether a primitive, or its rule, is one of JAX's own",
        {"jax._src.interpreters.mlir": "_lowerings _platform_specific_lowerings"},
    ),
    Need(
        "linear algebra",
        "rules of factorisations make attributes of dialects for sharding and for older XLA",
        {"jax._src.interpreters.mlir": "dialects"},
    ),
    Need(
        "lines of rules",
        "what JAX records while it lowers or transposes an equation has that one's line",
        {"jax._src.source_info_util": "_source_info_context"},
    ),
    Need(
        SIZES,
        "`jax.export` has no symbols that are made while tracing, and no facts learnt about them",
        {
            "jax._src.core": "dimension_as_value",
            "jax._src.export.shape_poly": "BoundsPrecision Comparator _DimExpr _DimTerm "
            "_SymbolicConstraint _bounds_decision",
            "jax._src.export.shape_poly_decision": "_DecisionByElimination",
        },
    ),
    Need(
        SIZES,
        "JAX's formulas for matrices of few rows are chosen by their number, for us at run time",
        {"jax._src.numpy.linalg": "_det_2x2 _det_3x3 _slogdet_small"},
    ),
    Need(
        "derivatives",
        "`jax.jvp` takes arrays only, and makes an array of every zero; of rules for reverse mode "
        "there is no public table",
        {
            "jax._src.interpreters.ad": "LinearizeTrace LinearizeTracer fallback_linearize_rule "
            "maybe_jvp_tracer primitive_linearizations",
            "jax._src.lax.lax": "_reduce_prod_jvp_rule",
            "jax._src.effects": "custom_derivatives_allowed_effects remat_allowed_effects",
        },
    ),
    Need(
        "batches",
        "rules of `jax.interpreters.batching` know neither the size of a batch nor its name",
        {
            "jax._src.core": "aval_mapping_handlers extend_axis_env_nd",
            "jax._src.interpreters.batching": "AxisData BatchTrace BatchTracer moveaxis",
        },
    ),
    Need(
        "loops and branches",
        "an effect of ours must be allowed in them",
        {"jax._src.effects": "control_flow_allowed_effects lowerable_effects"},
    ),
    Need(
        "functions under jax.jit",
        "they are traced inline, and so are those that JAX records as one equation",
        {
            "jax._src.hijax": "call_hi_primitive_p",
            "jax._src.interpreters.partial_eval": "custom_staging_rules",
            "jax._src.pjit": "PjitInfo",
        },
    ),
    Need(
        "arrays that a function changes (jax.ref)",
        "the pass that makes values of them is not public",
        {
            "jax._src.core": "InternalMutableArrayEffect",
            "jax._src.state.discharge": "discharge_state",
        },
    ),
    Need(
        "axes with names",
        "which of them an equation asks for stands in its effects",
        {"jax._src.core": "NamedAxisEffect"},
    ),
    Need(
        "random numbers",
        "a key's array has no public name, nor has the unrolled generator",
        {
            "jax._src.core": "physical_aval",
            "jax._src.random.threefry2x32": "_threefry2x32_lowering",
        },
    ),
    Need(
        "constants",
        "what JAX makes of NumPy's arrays is the identity of a constant",
        {"jax._src.dtypes": "canonicalize_value"},
    ),
    Need(
        "f.jaxpr as text",
        "JAX's layout, without its variables",
        {"jax._src.core": "JaxprPpContext JaxprPpSettings pp_jaxpr"},
    ),
    Need(
        "errors about pytrees that differ",
        "JAX has the explanation, not the function",
        {"jax._src.tree_util": "equality_errors_pytreedef"},
    ),
)

JAX = PrivateApi("jax", "0.10.2 to 0.12.0", _NEEDS, {**OVERLAID, **INSIDE})

ad = JAX.module("jax._src.interpreters.ad")
api_util = JAX.module("jax._src.api_util")
batching = JAX.module("jax._src.interpreters.batching")
config = JAX.module("jax._src.config")
core = JAX.module("jax._src.core")
discharge = JAX.module("jax._src.state.discharge")
effects = JAX.module("jax._src.effects")
hijax = JAX.module("jax._src.hijax")
jax_mlir = JAX.module("jax._src.interpreters.mlir")
linalg = JAX.module("jax._src.numpy.linalg")
mlir_bindings = JAX.module("jaxlib.mlir._mlir_libs._mlir")
partial_eval = JAX.module("jax._src.interpreters.partial_eval")
pjit = JAX.module("jax._src.pjit")
shape_poly = JAX.module("jax._src.export.shape_poly")
shape_poly_decision = JAX.module("jax._src.export.shape_poly_decision")
source_info_internals = JAX.module("jax._src.source_info_util")
threefry = JAX.module("jax._src.random.threefry2x32")
tree_util = JAX.module("jax._src.tree_util")


def patch(point: str, replace: Callable[[Any], Any]) -> None:
    """Replace a function inside of JAX, for good, by `replace(original)`.

    The replacement must do what the original does in every thread that is not tracing for us.
    """

    def replaced(original: Any) -> Any:
        if isinstance(original, aval_method):
            return aval_method(replace(original.fun))
        return replace(original)

    JAX.patch(point, replaced)
