"""Which results of a circuit's body may differ from run to run, and which need no circuit at all.

A body that is run once for each shot gives classical values, too. Those that depend on what was
drawn (an outcome, a callback) differ; the others are the same each time.

Both are read from the *part* of the body that a result needs (`needed_part`). The register is drawn
into everything, so it is no path: only what primitives read from it counts. Of control flow, only
those carried values and branches' results are in the part that are needed themselves.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.primitives.drawing import draws
from diastase.primitives.quantum import touches_register
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.sampling.needed_parts import Part, needed_part
from diastase_mlir.jax_internals import equations_of


def differs(jaxpr: ClosedJaxpr) -> list[bool]:
    """For each result of a circuit's body, whether it may differ from run to run."""
    places = range(len(jaxpr.out_avals))
    if not any(map(_differs, needed_part(jaxpr, places).leaves)):
        return [False for _ in places]
    return [any(map(_differs, needed_part(jaxpr, [place]).leaves)) for place in places]


def classical_results(jaxpr: ClosedJaxpr, operands: Sequence[Any]) -> dict[int, Any]:
    """By their places, the results of a body that need no register, evaluated without it.

    All at once: what several are computed of is computed once.
    """
    places = [k for k in range(len(jaxpr.out_avals)) if _is_classical(needed_part(jaxpr, [k]))]
    part = needed_part(jaxpr, places)
    values = evaluated(part.jaxpr(), [operands[k] for k in part.inputs])
    return dict(zip(places, values, strict=True))


def _is_classical(part: Part) -> bool:
    return not any(touches_register(leaf) or _differs(leaf) for leaf in part.leaves)


def _differs(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws or asks Python."""
    asking = (
        each.primitive.name in ("device_step", "io_callback") for each in equations_of(equation)
    )
    return any(asking) or draws(equation)
