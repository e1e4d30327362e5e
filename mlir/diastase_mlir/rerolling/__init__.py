"""Re-rolling: what is written out again and again in a jaxpr, in a few equations.

    angles[0, 1], angles[0, 2], ... of a thousand gates        a vector: slices or a gather
    2.0 * t[3] + 0.1, 2.0 * t[4] + 0.7, ...                    the same arithmetic on vectors
    a thousand gates                                           one equation on the register
    a thousand such numbers, stacked                           a vector

It is a rewriting of equations that lowering and derivatives share: programs of thousands of gates
are small for both, and what is rewritten is an ordinary jaxpr, which JAX differentiates.

`element_positions` and `scalar_forms` see what scalars are computed alike, `vectors` computes those
of one form at once, `operations` rewrites operations on registers, and numbers put together.
"""

from diastase_mlir.rerolling.element_positions import Part, is_view, viewed, whole
from diastase_mlir.rerolling.operations import (
    Places,
    equations_to_lower,
    join_positions,
    lines_of_run,
    numbers_of,
    operations_p,
    parameters_of_gate,
    register_operations,
    rerolled,
    with_runs_of_gates,
)
from diastase_mlir.rerolling.vectors import FOLDED, LEAST_ALIKE, put_into_places

__all__ = [
    "FOLDED", "LEAST_ALIKE", "Part", "Places", "equations_to_lower", "is_view", "join_positions",
    "lines_of_run", "numbers_of", "operations_p", "parameters_of_gate", "put_into_places",
    "register_operations", "rerolled", "viewed", "whole", "with_runs_of_gates",
]  # fmt: skip
