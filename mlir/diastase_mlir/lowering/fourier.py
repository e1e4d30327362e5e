"""The rule for discrete Fourier transforms: one call of our library for all axes.

    %y = stablehlo.custom_call @diastase.fourier(%x) {diastase.site = 0, kind = "RFFT", axes = 2}

The last `axes` axes are transformed; a transform to real numbers has the size of the last one as
a second operand where it is not known, as that of half a spectrum does not tell it. A pass makes
calls of this (`passes/runtime/fourier`).
"""

from jax import lax

from diastase_mlir.emit.library_calls import FOURIER, SITE, custom_call
from diastase_mlir.emit.operations import enumeration
from diastase_mlir.jax_compat import ir, is_symbolic
from diastase_mlir.lowering.core.array_types import is_known_empty
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


@lowers("fft")
def lower_fft(context: LoweringContext, equation: Equation, operand: ir.Value) -> list[ir.Value]:
    """One call; what is made of nothing is zero."""
    lengths, kind = equation.params["fft_lengths"], equation.params["fft_type"].name
    source, result = equation.avals_in[0], equation.avals_out[0]
    if kind == "IRFFT" and not (source.shape[-1] == lengths[-1] // 2 + 1):
        return NotImplemented  # JAX says what is wrong
    if is_known_empty(source) and not is_known_empty(result):
        zeros = lambda _: (lax.full(result.shape, 0, result.dtype),)  # noqa: E731
        return list(context.lower_function(zeros, equation.avals_in, [operand]))
    context.imports["fourier"] += 1
    unknown = kind == "IRFFT" and is_symbolic(lengths[-1])
    sizes = [context.dimensions.size_number(lengths[-1])] if unknown else []
    config = {
        SITE: enumeration(context.failures.site("fft", equation.source_info)),
        "kind": ir.StringAttr.get(kind),
        "axes": enumeration(len(lengths)),
    }
    return custom_call(FOURIER, [context.type_of(result)], [operand, *sizes], config)
