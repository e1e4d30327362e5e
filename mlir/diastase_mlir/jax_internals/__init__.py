"""JAX's private API: the only package that imports `jax._src` and `jaxlib`.

Each entry says which public API is missing. The rest of the project takes the names from here, so
a new JAX version is this package's work. Where versions differ, what both have is used; where there
is no such thing, a comment names the version (jax 0.10 to 0.12 are tested).

Some functions inside JAX are replaced, once, on import. Each replacement does what the original
does, unless it is called on our behalf (an object of ours in its arguments, or a flag of the
thread), so plain JAX, in this thread or another, is never disturbed.
"""

from diastase_mlir.jax_internals.arrays import (
    ArrayImpl,
    abstract_value,
    cpu_placement,
    jit_is_disabled,
    make_array,
    only_one_device,
    structure_differences,
    trace_context,
)
from diastase_mlir.jax_internals.contexts import (
    forget_ir_context,
    ir,
    ir_context,
)
from diastase_mlir.jax_internals.decisions import (
    answering,
    deciding,
)
from diastase_mlir.jax_internals.dimensions import (
    SizeScope,
    dimension_symbols,
    dimension_terms,
    evaluate_dimension,
    factor_operation,
    factor_symbol,
    is_symbolic,
    least_everywhere,
    lower_bound,
    normalised,
    substitute,
    substitute_some,
    symbol_expression,
    symbol_of,
)
from diastase_mlir.jax_internals.inlining import (
    as_arrays,
    inline_jits,
)
from diastase_mlir.jax_internals.jaxprs import (
    add_input,
    add_leading_register,
    close_over,
    convert_outputs,
    drop_leading_register,
    jaxpr_shapes,
    map_jaxpr,
    rebuilt,
    select_inputs,
    without_references,
)
from diastase_mlir.jax_internals.lowering import (
    HookedModuleContext,
    Walker,
    constant_value,
    equation_manager,
    lower_function_with_jax,
    lower_with_jax,
    new_module_context,
    type_of_aval,
)
from diastase_mlir.jax_internals.overlays import (
    HOOK_POINTS,
    HookPoint,
    determinant_of_few_rows,
    hook,
    log_determinant_of_few_rows,
)
from diastase_mlir.jax_internals.printing import (
    JaxprPrinter,
)
from diastase_mlir.jax_internals.tracing import (
    SizeCheckEffect,
    Tracer,
    current_source_info,
    current_trace,
    enclosing_traces,
    is_concrete,
    is_recorded,
    is_recorded_variable,
    literal_value,
    recorded_in,
    recording_trace,
    source_context,
    trace_to_jaxpr,
    tracer_equation,
    tracer_trace,
    tracer_variable,
    unwrap_tracer,
)
from diastase_mlir.jax_internals.values import (
    eager,
    is_extended,
    key_implementation,
    physical_aval,
    scan_counts,
    threefry2x32,
)
from diastase_mlir.jax_internals.values_of_comparisons import (
    COMPARISONS,
)

__all__ = [
    "COMPARISONS",
    "HOOK_POINTS",
    "ArrayImpl",
    "HookPoint",
    "HookedModuleContext",
    "JaxprPrinter",
    "SizeCheckEffect",
    "SizeScope",
    "Tracer",
    "Walker",
    "abstract_value",
    "add_input",
    "add_leading_register",
    "answering",
    "as_arrays",
    "close_over",
    "constant_value",
    "convert_outputs",
    "cpu_placement",
    "current_source_info",
    "current_trace",
    "deciding",
    "determinant_of_few_rows",
    "dimension_symbols",
    "dimension_terms",
    "drop_leading_register",
    "eager",
    "enclosing_traces",
    "equation_manager",
    "evaluate_dimension",
    "factor_operation",
    "factor_symbol",
    "forget_ir_context",
    "hook",
    "inline_jits",
    "ir",
    "ir_context",
    "is_concrete",
    "is_extended",
    "is_recorded",
    "is_recorded_variable",
    "is_symbolic",
    "jaxpr_shapes",
    "jit_is_disabled",
    "key_implementation",
    "least_everywhere",
    "literal_value",
    "log_determinant_of_few_rows",
    "lower_bound",
    "lower_function_with_jax",
    "lower_with_jax",
    "make_array",
    "map_jaxpr",
    "new_module_context",
    "normalised",
    "only_one_device",
    "physical_aval",
    "rebuilt",
    "recorded_in",
    "recording_trace",
    "scan_counts",
    "select_inputs",
    "source_context",
    "structure_differences",
    "substitute",
    "substitute_some",
    "symbol_expression",
    "symbol_of",
    "threefry2x32",
    "trace_context",
    "trace_to_jaxpr",
    "tracer_equation",
    "tracer_trace",
    "tracer_variable",
    "type_of_aval",
    "unwrap_tracer",
    "without_references",
]
