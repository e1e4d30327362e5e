"""What a program costs, estimated from its jaxpr: operations, bytes moved, memory; gates, qubits.

Every equation is taken to read its operands from memory and to write its results there, as JAX's
own estimate for a lowered program does; the compiler fuses, so the truth is below. A loop whose
number of turns is unknown counts once, a conditional as its costliest branch. Sizes known only at
run time stay symbols: a cost may be an expression such as `3*a`. A register whose size is known
only at run time counts as unknown. Gates are counted by `resources`, for `qml.specs`, too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from diastase.primitives.batching import batch_sizes
from diastase_mlir.jax_compat import equations_in, jaxprs_in, physical_aval
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.inspection.resources import analysis
else:
    analysis = LazyModule("diastase.inspection.resources.analysis")

Cost = dict[str, Any]
"""Keys as in JAX: `flops`, `transcendentals`, `bytes accessed`."""

_TRANSCENDENTAL = frozenset(
    "exp exp2 log log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "sqrt rsqrt cbrt pow logistic erf erfc erf_inv lgamma digamma".split()
)
_FREE = frozenset(
    "broadcast_in_dim reshape squeeze transpose convert_element_type slice dynamic_slice iota "
    "concatenate pad gather scatter dynamic_update_slice rev copy copy_p select_n stop_gradient "
    "bitcast_convert_type device_put split expand_dims".split()
)
"""Equations that move data and compute nothing."""


@dataclass(frozen=True)
class MemoryStatistics:
    """Sizes in bytes; those of arguments and results are None where they depend on the call.

    What `compiled.memory_analysis()` gives, with the names that JAX has.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> qjit(jnp.sin).lower(jnp.ones(4)).compile().memory_analysis().argument_size_in_bytes
        32

    """

    argument_size_in_bytes: Any
    output_size_in_bytes: Any
    generated_code_size_in_bytes: int
    alias_size_in_bytes: int = 0
    temp_size_in_bytes: int | None = None
    """Unknown: temporary arrays are allocated while the program runs."""


def cost_of(jaxpr: ClosedJaxpr) -> Cost:
    """Add up the equations of a program."""
    return _jaxpr_cost(jaxpr.jaxpr)


def bytes_of(aval: Any) -> Any:
    """Size of a value; zero for what is no array (a quantum register)."""
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return 0
    aval = physical_aval(aval)
    return _count(aval) * aval.dtype.itemsize


def _count(aval: Any) -> Any:
    return math.prod(getattr(aval, "shape", ()))


def _jaxpr_cost(jaxpr: Jaxpr) -> Cost:
    total: Cost = {"flops": 0, "transcendentals": 0, "bytes accessed": 0}
    for equation in jaxpr.eqns:
        total = _add(total, _equation_cost(equation))
    return total


def _equation_cost(equation: Any) -> Cost:
    inner = [_jaxpr_cost(jaxpr) for jaxpr in jaxprs_in(equation.params)]
    if inner:
        return _nested_cost(equation, inner)
    name = equation.primitive.name
    operands = (*equation.invars, *equation.outvars)
    moved = sum(bytes_of(x.aval) for x in operands if not isinstance(x, Literal))
    results = sum(_count(x.aval) for x in equation.outvars)
    transcendental = results if name in _TRANSCENDENTAL else 0
    if name in _TRANSCENDENTAL or name in _FREE:
        flops: Any = 0
    else:
        flops = _FLOPS.get(name, lambda _: results)(equation)
    return {"flops": flops, "transcendentals": transcendental, "bytes accessed": moved}


def _nested_cost(equation: Any, inner: list[Cost]) -> Cost:
    if equation.primitive.name in ("cond", "switch"):
        return max(inner, key=_upper_estimate)
    turns = turns_of(equation)
    total = inner[0]
    for cost in inner[1:]:
        total = _add(total, cost)
    return {key: value * turns for key, value in total.items()}


def _upper_estimate(cost: Cost) -> float:
    """For comparing branches, of which some may have unknown sizes: those count as infinite."""
    flops = cost["flops"]
    return float(flops) if isinstance(flops, int | float) else math.inf


def turns_of(equation: Any) -> int:
    """How often the body of a loop runs, as far as its jaxpr says it."""
    name, params = equation.primitive.name, equation.params
    if name == "scan":
        return params["length"] if isinstance(params["length"], int) else 1
    if name == "parallel_map":
        sizes = batch_sizes([operand.aval for operand in equation.invars], params["mapped"])
        return math.prod(size if isinstance(size, int) else 1 for size in sizes)
    if name != "for_loop":
        return 1
    bounds = equation.invars[params["body_nconsts"] : params["body_nconsts"] + 3]
    if not all(isinstance(bound, Literal) for bound in bounds):
        return 1
    lower, upper, step = (int(bound.val) for bound in bounds)
    return len(range(lower, upper, step)) if step else 0


def _add(left: Cost, right: Cost) -> Cost:
    return {key: left[key] + right[key] for key in left}


def _dot_flops(equation: Any) -> Any:
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return 2 * _count(equation.outvars[0].aval) * math.prod(shape[axis] for axis in contracted)


def _operand_flops(equation: Any) -> Any:
    """One operation for each element that a reduction reads."""
    return _count(equation.invars[0].aval)


_FLOPS: dict[str, Callable[[Any], Any]] = {
    "dot_general": _dot_flops,
    **dict.fromkeys(
        "reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or reduce_xor "
        "argmax argmin cumsum cumprod cummax cummin cumlogsumexp".split(),
        _operand_flops,
    ),
}
"""Operations of an equation where they are not one for each element of the results."""


_AMPLITUDE, _SINGLE = 16, 8
"""Bytes of a complex128, and of a complex64."""


@dataclass(frozen=True)
class CircuitCosts:
    """Counts over all circuits of a program; with symbols where it takes a run to know them.

    What `f.report().circuits` is.

    Example:
        >>> import pennylane as qml
        >>> from diastase import qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=3))
        ... def circuit(x: float):
        ...     qml.RX(x, 0)
        ...     return qml.expval(qml.Z(0))
        >>> costs = circuit.report().circuits
        >>> costs.circuits, costs.gates, costs.qubits, costs.state_bytes
        (1, 1, 3, 128)

    """

    circuits: Any = 0
    gates: Any = 0
    """As the program applies them, before any are fused."""
    measurements: Any = 0
    """Those in the midst of circuits, which collapse the state."""
    qubits: int | None = 0
    """Of the largest register; None where one is known only at run time."""
    largest_state: int = 0
    """Its bytes, or those of a smaller register of more precision."""

    @property
    def state_bytes(self) -> int | None:
        """Bytes of the largest state, which is alive while its circuit runs; None if unknown."""
        if self.qubits is None:
            return None
        return self.largest_state


def _bytes_of(params: Mapping[str, Any], wires: int) -> int:
    """Of a state: of a density matrix half as much as of the amplitudes of twice as many wires."""
    amplitude = _SINGLE if params.get("single") else _AMPLITUDE
    return amplitude * 4**wires // 2 if params.get("mixed") else amplitude * 2**wires


def circuit_costs_of(
    jaxpr: ClosedJaxpr, argument_names: Sequence[str], sizes: Mapping[Any, Sequence[str]]
) -> CircuitCosts:
    """Count the circuits of a program, as `qml.specs` does (`inspection.resources`).

    `sizes`: variables whose values are sizes, and the symbols of these.
    """
    registers = [each for each in equations_in(jaxpr) if each.primitive.name == "allocate_qubits"]
    if not registers:
        return CircuitCosts()
    counts = analysis.totals_of(analysis.Program(jaxpr, argument_names, sizes))
    # None stands for a number that is the equation's operand.
    qubits = [each.params["num_wires"] for each in registers]
    states = [
        _bytes_of(each.params, number)
        for each, number in zip(registers, qubits, strict=True)
        if isinstance(number, int)
    ]
    return CircuitCosts(
        counts.circuits,
        counts.gates,
        counts.measured,
        max(qubits) if len(states) == len(qubits) else None,
        max(states, default=0),
    )
