"""How one equation of a jaxpr is lowered: which of five ways, in this order.

1. one operation of StableHLO, for elementwise arithmetic (`elementwise.elementwise`);
2. a rule of ours (`core.registry`), after a change to 32 bits for 16-bit floats;
3. a primitive that merely calls a jaxpr is replaced by that jaxpr;
4. JAX's own rule, if all that it emits can be compiled further (`host.jax_rules`); nothing is
   computed where the results are known to be empty;
5. the primitive is evaluated by eager JAX when the program runs (`host.host_calls`).

The last way always works, so nothing that JAX runs on the CPU is refused.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir import jax_compat
from diastase_mlir.diagnostics import at, in_mlir
from diastase_mlir.errors import LoweringError
from diastase_mlir.jax_compat import CALLS, ir
from diastase_mlir.lowering import control_flow
from diastase_mlir.lowering.core.array_types import is_known_empty
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowered_lazily, rule_of
from diastase_mlir.lowering.elementwise.elementwise import (
    has_half_floats,
    lower_elementwise,
    lower_widened,
)
from diastase_mlir.lowering.elementwise.moves import nothing
from diastase_mlir.lowering.host import checks
from diastase_mlir.lowering.host.checks import lower_if_it_fits, undecided
from diastase_mlir.lowering.host.host_calls import run_on_host
from diastase_mlir.lowering.host.jax_rules import lower_by_jax
from diastase_mlir.lowering.prng_keys import on_words
from diastase_mlir.lowering.quantum import gates, measurement, registers
from diastase_mlir.lowering.tensor import (
    arrays,
    dot_general,
    indexing,
    reductions,
    sorting,
    windows,
)
from diastase_runtime.errors import Span

RULE_MODULES = (
    arrays,
    checks,
    control_flow,
    dot_general,
    gates,
    indexing,
    measurement,
    reductions,
    registers,
    sorting,
    windows,
)
"""Imported so that their rules register themselves."""

LAZY_RULES = {
    "elementwise.traced_functions": (
        "bitcast_convert_type cosh expm1 log log1p mulhi reduce_precision sinh sqrt"
    ),
    "fourier": "fft",
    "host.callbacks": "pure_callback io_callback debug_callback debug_print accelerated "
    "device_step",
    "linear_algebra": "cholesky cholesky_update custom_linear_solve eigh eig lu "
    "lu_pivots_to_permutation geqrf geqp3 householder_product ormqr qr schur hessenberg "
    "triangular_solve svd tridiagonal tridiagonal_solve",
    "parallel_map": "parallel_map concurrent_qnodes",
    "quantum.lanes": "lanes_activate lanes_allocate lanes_gate lanes_measure lanes_pauli_values "
    "lanes_probs lanes_run lanes_sample lanes_state lanes_unitary",
    "random_bits": "iota_2x32_shape rng_bit_generator threefry2x32",
    "tensor.convolution": "conv_general_dilated",
    "tensor.window_gradients": "select_and_gather_add select_and_scatter_add",
}
"""Modules that few programs need, with the primitives that they have rules for."""

for _module, _names in LAZY_RULES.items():
    lowered_lazily(f"diastase_mlir.lowering.{_module}", _names.split())

LIBRARY_CALLS = frozenset({"fft", "tridiagonal_solve"})
"""Primitives that JAX's rules hand to a library of XLA's; not worth the attempt."""


def lower_equation(
    context: LoweringContext, equation: Equation, operands: Sequence[Value]
) -> Sequence[Value]:
    """Lower one equation at the current insertion point; the results in order."""
    with (
        context.failures.at_line_of(equation.source_info) as span,
        at(span),
        _location(equation.primitive.name, span),
    ):
        pairs = undecided(equation)
        if not pairs or _has_keys(equation):
            return _lower(context, equation, operands)
        values = [context.value(operand) for operand in operands]
        return lower_if_it_fits(
            context, equation, values, pairs, lambda: _lower(context, equation, values)
        )


def _lower(
    context: LoweringContext, equation: Equation, operands: Sequence[Value]
) -> Sequence[Value]:
    name = equation.primitive.name
    results = lower_elementwise(context, equation, operands)
    if results is not None:
        return results
    words = on_words(equation)
    if words is not None:
        return context.lower_equation(words, operands)
    if has_half_floats(equation):
        return lower_widened(context, equation, [context.value(value) for value in operands])
    entry = rule_of(name)
    if entry is not None and (entry.keys or not _has_keys(equation)):
        arguments = operands if entry.lazy else [context.value(value) for value in operands]
        results = entry.rule(context, equation, *arguments)
        if results is not NotImplemented:
            return results
    values = [context.value(value) for value in operands]
    if name in CALLS and CALLS[name] in equation.params:
        return context.lower_jaxpr(equation.params[CALLS[name]], values)
    if not equation.effects and not _has_keys(equation) and _gives_nothing(equation):
        return [nothing(context, aval) for aval in equation.avals_out]
    reason = "XLA has it in a library of its own"
    if name not in LIBRARY_CALLS:
        emitted = lower_by_jax(context, equation, values)
        if not isinstance(emitted, str):
            return emitted
        reason = emitted
    _refuse_what_the_host_cannot_do(equation)
    return run_on_host(context, equation, values, reason)


def _gives_nothing(equation: Equation) -> bool:
    """Whether all results are arrays that are known to be empty."""
    avals = equation.avals_out
    return bool(avals) and all(hasattr(a, "dtype") and is_known_empty(a) for a in avals)


def _refuse_what_the_host_cannot_do(equation: Equation) -> None:
    name = equation.primitive.name
    if name == "custom_lin":  # what JAX makes of it by `jax.jvp`, which runs to fail
        reason = "it has a derivative in reverse only; give it one with jax.custom_jvp"
        raise LoweringError(primitive="jax.jvp of a jax.custom_vjp function", reason=reason)
    if any(not hasattr(aval, "dtype") for aval in (*equation.avals_in, *equation.avals_out)):
        raise LoweringError(primitive=name, reason="it works on values that are not arrays")
    if not {"impl", "to_lojax"} & vars(equation.primitive).keys():  # ours, or it only compiles
        raise LoweringError(primitive=name, reason="it cannot be evaluated on the host either")


def _has_keys(equation: Equation) -> bool:
    avals = (*equation.avals_in, *equation.avals_out)
    return any(hasattr(a, "dtype") and jax_compat.is_extended(a.dtype) for a in avals)


def _location(name: str, span: Span | None) -> ir.Location:
    """The user's line, under the name of the primitive; the surrounding one where unknown."""
    if span is None:
        surrounding: Any = ir.Location.current
        return surrounding
    return ir.Location.name(name, childLoc=ir.Location.file(in_mlir(span.file), span.line, 0))
