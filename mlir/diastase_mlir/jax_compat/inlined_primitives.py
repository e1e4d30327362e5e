"""Primitives that merely call a jaxpr: lowering replaces them by it."""

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
    "remat2": "jaxpr",
    "composite": "jaxpr",
    "custom_lin": "call_jaxpr",
    "matrix_function": "jaxpr",
}
"""Primitives that call a jaxpr on their operands, and the parameter that holds it."""
