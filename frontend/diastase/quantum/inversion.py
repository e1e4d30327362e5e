"""The adjoint of a quantum function: its operations in reverse order, each as its adjoint.

In: the function traced as a region, register in, register out (`api.quantum_functions`). It
measures nothing, so its classical part does not depend on the register: that is computed first,
forwards, as the function says (`classical_slice`). Then `apply_backwards` records the equations on
the register, from the last to the first, by `ADJOINT_RULES`: each takes an equation, the values of
its classical operands, and the register; it gives the next register. Out come equations of the
usual kinds only. Loops run backwards, with the values that they carried in each iteration
(`jaxprs.loop_reversal`); branches keep their predicates.

The trap: where the types of carried values change on the way (arrays that grow), no rows can hold
them, and each iteration computes again, from the start, what was carried into it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Primitive, Var

from diastase.capture.control_flow.branches import share_captured
from diastase.capture.dynamic_carry import SizePattern, dimension_table, grouped
from diastase.capture.quantum_errors import NotInvertibleError
from diastase.capture.regions import Region
from diastase.jaxprs.control_flow import ForLoop, number_of_turns, record_loop, trip_count
from diastase.jaxprs.loop_reversal import backwards_through
from diastase.primitives.control_flow import inlined_p, switch_p
from diastase.primitives.quantum import (
    check_wires_p,
    diagonal_p,
    gate_p,
    global_phase_p,
    unitary_p,
)
from diastase.quantum.classical_slice import Equation, classical_part, is_quantum, without_registers
from diastase_mlir import GATES, at, span_of, word_of
from diastase_mlir.jax_compat import (
    abstract_value,
    add_input,
    evaluate_jaxpr,
    is_concrete,
    is_symbolic,
    source_context,
    symbol_of,
    symbols_in,
    trace_to_jaxpr,
)
from diastase_mlir.jax_compat.x64 import runs_in_64_bits

Rule = Callable[[Equation, Sequence[Any], Any], Any]


@runs_in_64_bits
def apply_backwards(
    closed: ClosedJaxpr, operands: Sequence[Any], register: Any, *, repeated: bool
) -> tuple[Any, Sequence[Any]]:
    """Undo a region on its classical operands: the register after it, and its classical results.

    `repeated`: whether the region's classical part has been evaluated before.
    """
    quantum = [equation for equation in closed.jaxpr.eqns if is_quantum(equation)]
    needed = variables_read(quantum)
    part = classical_part(closed, needed, repeated=repeated)
    values = evaluated(part, operands)
    count = len(values) - len(needed)
    environment = dict(zip(needed, values[count:], strict=True))
    for equation in reversed(quantum):
        register = undone(equation, environment, register)
    return register, values[:count]


def undone(
    equation: Equation,
    known: Mapping[Any, Any],
    register: Any,
    refusal: Callable[..., Exception] = NotInvertibleError,
) -> Any:
    """Undo one equation, whose classical operands are known: the register after it."""
    rule = ADJOINT_RULES.get(equation.primitive.name)
    span = span_of(equation.source_info)
    if rule is None:
        name = equation.params.get("construct", equation.primitive.name)
        raise refusal(operation=name, span=span)
    with at(span), source_context(equation.source_info):
        atoms = without_registers(equation.invars)
        values = [known[atom] if isinstance(atom, Var) else literal_value(atom) for atom in atoms]
        return rule(equation, values, register)


def evaluated(part: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """The results of a classical part on these operands.

    Its equations become those of the trace, for which parameters that are computed alike are found
    among all others; but symbols of sizes are defined by the variables that it has.
    """
    if part.jaxpr.eqns:
        if symbols_in(part):
            return inlined_p.bind(*operands, jaxpr=part)
        return evaluate_jaxpr(part, operands)
    given = dict(zip(part.jaxpr.invars, operands, strict=True))
    return [
        given[atom] if isinstance(atom, Var) else literal_value(atom) for atom in part.jaxpr.outvars
    ]


def literal_value(atom: Any) -> Any:
    """A number that is written out in the jaxpr, as one of its type."""
    return np.asarray(atom.val, atom.aval.dtype)[()]


def variables_read(equations: Sequence[Equation]) -> list[Var]:
    """The classical variables that these equations read, each once."""
    atoms = [atom for equation in equations for atom in without_registers(equation.invars)]
    return list(dict.fromkeys(atom for atom in atoms if isinstance(atom, Var)))


# --- gates ---------------------------------------------------------------------------------------


AdjointGate = Callable[..., tuple[str, tuple[Any, ...]]]
"""From the parameters of a named gate to name and parameters of its adjoint."""

_IRREGULAR: Mapping[str, AdjointGate] = {
    "Rot": lambda phi, theta, omega: ("Rot", (-omega, -theta, -phi)),
    "CRot": lambda phi, theta, omega: ("CRot", (-omega, -theta, -phi)),
    "U2": lambda phi, delta: ("U2", (np.pi - delta, np.pi - phi)),
    "U3": lambda theta, phi, delta: ("U3", (-theta, -delta, -phi)),
}


def _adjoint_gate(name: str) -> AdjointGate:
    """Negated parameters; without any, the other of a pair like `S`, `Adjoint(S)`, or itself."""
    if name in _IRREGULAR:
        return _IRREGULAR[name]
    if word_of(name) is not None or GATES[name].parameters:
        return lambda *angles: (name, tuple(-angle for angle in angles))
    other = name.removeprefix("Adjoint(").removesuffix(")")
    other = f"Adjoint({name})" if other == name else other
    adjoint = other if other in GATES else name
    return lambda: (adjoint, ())


def adjoint_gate(name: str) -> AdjointGate:
    """How to invert a gate of this name; rotations about Pauli words have no rows."""
    return ADJOINT_GATES.get(name) or _adjoint_gate(name)


ADJOINT_GATES: Mapping[str, AdjointGate] = {name: _adjoint_gate(name) for name in GATES}
"""One entry for each row of the gate table; a test compares all of them with their matrices."""


def _gate(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    params = equation.params
    count = params["num_parameters"]
    name, parameters = adjoint_gate(params["name"])(*operands[:count])
    return gate_p.bind(register, *parameters, *operands[count:], **{**params, "name": name})


def _check_wires(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    return check_wires_p.bind(register, *operands, **equation.params)


def _by_first_operand(primitive: Primitive, adjoint: Callable[[Any], Any]) -> Rule:
    """The same gate with another first operand; the others are wires."""

    def rule(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
        value, *wires = operands
        return primitive.bind(register, adjoint(value), *wires, **equation.params)

    return rule


# --- control flow --------------------------------------------------------------------------------


def _for_loop(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    body = equation.params["body_jaxpr"]
    params = {**equation.params, "body_jaxpr": classical_part(body, repeated=True)}
    return _undone(ForLoop.read(operands, params), body, equation, register)


def _while_loop(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    params = equation.params
    tested, start = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    test = classical_part(params["cond_jaxpr"], repeated=True)
    part = classical_part(params["body_jaxpr"], repeated=True)
    results = without_registers(equation.outvars)
    constants, carry = tuple(operands[tested:start]), tuple(operands[start:])
    turns, _ = number_of_turns(
        lambda carried: evaluated(test, [*operands[:tested], *carried])[0],
        lambda carried: evaluated(part, [*constants, *carried]),
        carry,
        lambda: _size_pattern(results).fresh([variable.aval for variable in results]),
    )
    index = jax.typeof(jnp.int64(0))
    bounds = jnp.int64(0), turns, jnp.int64(1)
    loop = ForLoop(add_input(part, len(constants), index), constants, bounds, carry, False)
    body = add_input(params["body_jaxpr"], len(constants), index)
    return _undone(loop, body, equation, register)


def _undone(loop: ForLoop, body: ClosedJaxpr, equation: Equation, register: Any) -> Any:
    """The register before a loop with this body, whose classical part the other has."""
    trips = loop.trips() if loop.carry else None
    if is_concrete(trips) and trips == 0:  # nothing may be read of arrays without rows
        return register
    results = without_registers(equation.outvars)
    again = _computed_again(loop, results) if _size_pattern(results).groups else None

    def step(inputs: Sequence[Any], state: Sequence[Any]) -> Sequence[Any]:
        return [apply_backwards(body, inputs, state[0], repeated=True)[0]]

    return backwards_through(loop, trips, step, [jax.typeof(register)], again).run([register])[0]


def _size_pattern(results: Sequence[Any]) -> SizePattern:
    """The axes of carried values whose sizes change; `results`: the variables that define them."""
    symbols = {name for variable in results for name, _ in dimension_table().named_axes(variable)}
    sizes = {
        (position, axis): size
        for position, variable in enumerate(results)
        for axis, size in enumerate(getattr(variable.aval, "shape", ()))
        if is_symbolic(size) and symbol_of(size) in symbols
    }
    return grouped(sizes)


def _computed_again(loop: ForLoop, results: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """What is carried into an iteration, computed from the start; for sizes that change."""
    lower, _, step = map(jnp.asarray, loop.bounds)
    number, pattern = trip_count(*loop.bounds), _size_pattern(results)
    avals = [variable.aval for variable in results]

    def carried_into(trip: Any) -> Sequence[Any]:
        first = (number - trip).astype(step.dtype) * step if loop.in_reverse else 0
        bounds = lower + first, lower + first + trip.astype(step.dtype) * step, step
        entry, after = pattern.fresh(avals), pattern.fresh(avals)

        def forwards(index: Any, *carried: Any) -> Sequence[Any]:
            entry.name(carried)
            return evaluated(loop.body, [*loop.constants, index, *carried])

        body, captured = trace_to_jaxpr(forwards, [jax.typeof(lower), *entry.avals], "adjoint")
        values = record_loop(
            body, captured, bounds, loop.carry, in_reverse=loop.in_reverse, result_avals=after.avals
        )
        after.name(values)
        return values

    return carried_into


def _switch(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    index, *values = operands
    kind = abstract_value(register)

    def branch(jaxpr: ClosedJaxpr) -> Region:
        def backwards(register: Any) -> Sequence[Any]:
            return [apply_backwards(jaxpr, values, register, repeated=True)[0]]

        traced, captured = trace_to_jaxpr(backwards, [kind], "adjoint")
        return Region(traced, tuple(captured), uses_register=True)

    regions = [branch(jaxpr) for jaxpr in equation.params["branch_jaxprs"]]
    captured, regions = share_captured(regions, [register])
    (register,) = switch_p.bind(
        index,
        *captured,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=(kind,),
    )
    return register


ADJOINT_RULES: Mapping[str, Rule] = {
    "gate": _gate,
    "unitary": _by_first_operand(unitary_p, lambda matrix: jnp.conj(jnp.transpose(matrix))),
    "check_wires": _check_wires,
    "diagonal": _by_first_operand(diagonal_p, jnp.conj),
    "global_phase": _by_first_operand(global_phase_p, jnp.negative),
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
