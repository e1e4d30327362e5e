"""JAX, where its public API ends: its private names in one table, what we replace in it in another.

The rest of the project takes the names from here, so a new JAX version is this package's work:
`private` declares each name that JAX has no public place for, `patches` each function in it that
is replaced. Where versions differ, what both have is used; where there is no such thing, a comment
names the version (jax 0.10 to 0.12 are tested).

A replacement does what the original does, unless it is called on our behalf (an object of ours in
its arguments, or a flag of the thread): plain JAX, in this thread or another, is never disturbed.
"""

from diastase_mlir.jax_compat.contexts import forget_ir_context, ir, ir_context, read_module
from diastase_mlir.jax_compat.jaxprs.inlining import CALLS, as_arrays, computed_now, inline_jits
from diastase_mlir.jax_compat.jaxprs.printing import JaxprPrinter
from diastase_mlir.jax_compat.jaxprs.rebuilding import (
    add_input,
    add_leading_register,
    close_over,
    constant_equation,
    convert_outputs,
    copy_equation,
    drop_leading_register,
    is_dropped,
    map_jaxpr,
    named_axes,
    new_equation,
    new_variable,
    rebuilt,
    select_inputs,
    symbols_in,
    without_references,
)
from diastase_mlir.jax_compat.jaxprs.traversal import (
    closed_jaxprs_in,
    equations_in,
    equations_of,
    is_jaxpr,
    jaxprs_in,
    needed_equations,
    settled,
    variables_in,
    with_jaxprs,
)
from diastase_mlir.jax_compat.lowering import (
    OwnModuleContext,
    Walker,
    constant_value,
    equation_manager,
    is_foreign,
    lower_function_with_jax,
    lower_with_jax,
    lowering_settings,
    new_module_context,
    type_of_aval,
)
from diastase_mlir.jax_compat.patches import EVERY_PROGRAM, OVERLAID, SIZES
from diastase_mlir.jax_compat.private import JAX, patch
from diastase_mlir.jax_compat.symbolic.comparison import answering, deciding
from diastase_mlir.jax_compat.symbolic.dimensions import (
    SizeScope,
    dimension_symbols,
    dimension_terms,
    evaluate_dimension,
    factor_operation,
    factor_symbol,
    is_symbolic,
    least_everywhere,
    lower_bound,
    nesting_depth,
    normalised,
    substitute,
    substitute_some,
    symbol_expression,
    symbol_of,
)
from diastase_mlir.jax_compat.symbolic.equality_policy import COMPARISONS
from diastase_mlir.jax_compat.tracing import (
    SizeCheckEffect,
    current_source_info,
    current_trace,
    enclosing_traces,
    is_batched,
    is_batching,
    is_being_transformed,
    is_concrete,
    is_recorded,
    is_recorded_variable,
    literal_value,
    recorded_in,
    recording_trace,
    source_context,
    source_of_its_own,
    trace_to_jaxpr,
    tracer_equation,
    tracer_name,
    tracer_trace,
    tracer_variable,
    unwrap_tracer,
)
from diastase_mlir.jax_compat.transformations import (
    BatchAxis,
    Linear,
    Zero,
    along_directions,
    batched,
    checkpoint_p,
    cond_p,
    evaluate_equation,
    evaluate_jaxpr,
    forward_derivative,
    is_of_directions,
    never_move_out_of_loops,
    scan_p,
    set_batching,
    set_elements_of,
    set_jvp,
    set_linearisation,
    while_p,
    with_tangent,
)
from diastase_mlir.jax_compat.values import (
    ArrayImpl,
    abstract_value,
    as_constant,
    copying_at_once,
    cpu_placement,
    determinant_of_few_rows,
    eager,
    is_extended,
    jaxlib_version,
    jit_is_disabled,
    key_implementation,
    log_determinant_of_few_rows,
    make_array,
    memory_format,
    name_of_generator,
    nans_are_looked_for,
    of_type,
    only_one_device,
    physical_aval,
    scan_counts,
    structure_differences,
    threefry2x32,
    trace_context,
    wait_for,
)

__all__ = [
    "CALLS", "COMPARISONS", "EVERY_PROGRAM", "JAX", "OVERLAID", "SIZES", "ArrayImpl", "BatchAxis",
    "JaxprPrinter", "Linear", "OwnModuleContext", "SizeCheckEffect", "SizeScope", "Walker", "Zero",
    "abstract_value", "add_input", "add_leading_register", "along_directions", "answering",
    "as_arrays", "as_constant", "batched", "checkpoint_p", "close_over", "closed_jaxprs_in",
    "computed_now", "cond_p", "constant_equation", "constant_value", "convert_outputs",
    "copy_equation", "copying_at_once", "cpu_placement", "current_source_info", "current_trace",
    "deciding",
    "determinant_of_few_rows", "dimension_symbols", "dimension_terms", "drop_leading_register",
    "eager", "enclosing_traces", "equation_manager", "equations_in", "equations_of",
    "evaluate_dimension", "evaluate_equation", "evaluate_jaxpr", "factor_operation",
    "factor_symbol", "forget_ir_context", "forward_derivative", "inline_jits", "ir", "ir_context",
    "is_batched", "is_batching", "is_being_transformed", "is_concrete", "is_dropped", "is_extended",
    "is_foreign", "is_jaxpr", "is_of_directions", "is_recorded", "is_recorded_variable",
    "is_symbolic", "jaxlib_version", "jaxprs_in", "jit_is_disabled", "key_implementation",
    "least_everywhere", "literal_value", "log_determinant_of_few_rows", "lower_bound",
    "lower_function_with_jax", "lower_with_jax", "lowering_settings", "make_array", "map_jaxpr",
    "memory_format",
    "name_of_generator", "named_axes", "nans_are_looked_for", "needed_equations", "nesting_depth",
    "never_move_out_of_loops", "new_equation", "new_module_context", "new_variable", "normalised",
    "of_type", "only_one_device", "patch", "physical_aval", "read_module", "rebuilt", "recorded_in",
    "recording_trace", "scan_counts", "scan_p", "select_inputs", "set_batching", "set_elements_of",
    "set_jvp", "set_linearisation", "settled", "source_context", "source_of_its_own",
    "structure_differences", "substitute", "substitute_some", "symbol_expression", "symbol_of",
    "symbols_in", "threefry2x32", "trace_context", "trace_to_jaxpr", "tracer_equation",
    "tracer_name", "tracer_trace", "tracer_variable", "type_of_aval", "unwrap_tracer",
    "variables_in", "wait_for", "while_p", "with_jaxprs", "with_tangent", "without_references",
]  # fmt: skip
