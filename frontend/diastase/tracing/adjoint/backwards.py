"""The equations on a register, from the last to the first, each as its adjoint.

`apply_backwards` records them in the current trace. Each rule of `ADJOINT_RULES` takes an equation,
the values of its classical operands in their order, and the register; it gives the next register.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Var

from diastase.primitives.control_flow import switch_p
from diastase.primitives.inlined import inlined_p
from diastase.primitives.quantum import (
    check_wires_p,
    diagonal_p,
    gate_p,
    global_phase_p,
    unitary_p,
)
from diastase.tracing.adjoint.classical import (
    Equation,
    classical_part,
    is_quantum,
    without_registers,
)
from diastase.tracing.adjoint.gates import ADJOINT_GATES
from diastase.tracing.adjoint.history import size_pattern, undo_loop
from diastase.tracing.branches import share_captured
from diastase.tracing.quantum_errors import NotInvertibleError
from diastase.tracing.regions import Region
from diastase.tracing.reversal.loops import ForLoop, number_of_turns
from diastase.width import runs_in_64_bits
from diastase_mlir import at, span_of
from diastase_mlir.jax_internals import (
    abstract_value,
    add_input,
    evaluate_jaxpr,
    source_context,
    symbols_in,
    trace_to_jaxpr,
)

Rule = Callable[[Equation, Sequence[Any], Any], Any]


@runs_in_64_bits
def apply_backwards(
    closed: ClosedJaxpr, operands: Sequence[Any], register: Any, *, repeated: bool
) -> tuple[Any, Sequence[Any]]:
    """Undo a region on its classical operands: the register after it, and its classical results.

    `repeated`: whether the region's classical part has been evaluated before.
    """
    quantum = [equation for equation in closed.jaxpr.eqns if is_quantum(equation)]
    needed = _variables_read(quantum)
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
        raise refusal(operation=equation.primitive.name, span=span)
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


def _variables_read(equations: Sequence[Equation]) -> list[Var]:
    """The classical variables that these equations read, each once."""
    atoms = [atom for equation in equations for atom in without_registers(equation.invars)]
    return list(dict.fromkeys(atom for atom in atoms if isinstance(atom, Var)))


# --- gates ---------------------------------------------------------------------------------------


def _gate(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    params = equation.params
    count = params["num_parameters"]
    name, parameters = ADJOINT_GATES[params["name"]](*operands[:count])
    return gate_p.bind(register, *parameters, *operands[count:], **{**params, "name": name})


def _unitary(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    matrix, *wires = operands
    return unitary_p.bind(register, jnp.conj(jnp.transpose(matrix)), *wires, **equation.params)


def _check_wires(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    return check_wires_p.bind(register, *operands, **equation.params)


def _diagonal(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    elements, *wires = operands
    return diagonal_p.bind(register, jnp.conj(elements), *wires, **equation.params)


def _global_phase(equation: Equation, operands: Sequence[Any], register: Any) -> Any:
    (phi,) = operands
    return global_phase_p.bind(register, jnp.negative(phi), **equation.params)


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
        lambda: size_pattern(results).fresh([variable.aval for variable in results]),
    )
    index = jax.typeof(jnp.int64(0))
    bounds = jnp.int64(0), turns, jnp.int64(1)
    loop = ForLoop(add_input(part, len(constants), index), constants, bounds, carry, False)
    body = add_input(params["body_jaxpr"], len(constants), index)
    return _undone(loop, body, equation, register)


def _undone(loop: ForLoop, body: ClosedJaxpr, equation: Equation, register: Any) -> Any:
    """The register before a loop with this body, whose classical part the other has."""

    def undo(inputs: Sequence[Any], register: Any) -> Any:
        return apply_backwards(body, inputs, register, repeated=True)[0]

    results = without_registers(equation.outvars)
    return undo_loop(loop, results, undo, evaluated, register)


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
    "unitary": _unitary,
    "check_wires": _check_wires,
    "diagonal": _diagonal,
    "global_phase": _global_phase,
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
