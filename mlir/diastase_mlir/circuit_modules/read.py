"""From a module back to a circuit's jaxpr: what `write` has written, and what passes made of it.

A block is read from its first operation to its last, and the register goes through the equations in
that order. So gates on different qubits may stand in any order, as in the module. A branch takes
the register from around it, as `entering`.

Equations that passes leave alone are the same ones, with the same variables: sizes are known by
them. A gate that a pass has made comes from the line of the one in whose place it stands. Numbers
that only gates needed which are gone are left out.

The trap: what a region closes over is an operand of its equation, and passes may let it close over
more; and over less, so that an angle which no gate takes any more has no derivative, either.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Primitive, Var

from diastase_mlir.bindings import ir
from diastase_mlir.circuit_modules.auxiliary import without_auxiliary
from diastase_mlir.circuit_modules.blocks import REGISTER, Block, Reading, State, is_spare, needed
from diastase_mlir.circuit_modules.origin import Origin, is_register
from diastase_mlir.circuit_modules.reader import OF_QUBITS, Reader
from diastase_mlir.passes.circuits.circuit import auxiliary_wires


def read_circuit(
    module: ir.Module, closed: ClosedJaxpr, origin: Origin, primitives: Mapping[str, Primitive]
) -> ClosedJaxpr:
    """Read the module that `closed` was written to."""
    (function,) = module.body.operations
    body = function.operation.regions[0].blocks[0]
    block = Block(atoms=dict(zip(body.arguments, origin.inputs, strict=True)))
    results = Reader(origin, primitives, _RULES).block(body, block)
    jaxpr = closed.jaxpr
    equations = needed(block.equations, results, primitives)
    read = closed.replace(jaxpr=jaxpr.replace(eqns=equations, outvars=results))
    return without_auxiliary(read, sum(map(auxiliary_wires, body.operations)))


def for_loop(reader: Reader, operation: ir.Operation, block: Block) -> None:
    """A loop over a range."""
    equation = reader.equation(operation)
    count = equation.params["body_nconsts"]
    body = equation.params["body_jaxpr"]
    jaxpr, constants = _region(reader, operation, 0, body, equation.invars[:count], block)
    bounds = [reader.atom(value, block) for value in list(operation.operands)[:3]]
    params = {"body_jaxpr": jaxpr, "body_nconsts": len(constants)}
    _loop(reader, operation, equation, 3, [*constants, *bounds], params, block)


def while_loop(reader: Reader, operation: ir.Operation, block: Block) -> None:
    """A loop with a condition."""
    equation = reader.equation(operation)
    first, second = (equation.params[f"{part}_nconsts"] for part in ("cond", "body"))
    condition, constants = _region(
        reader, operation, 0, equation.params["cond_jaxpr"], equation.invars[:first], block
    )
    given = equation.invars[first : first + second]
    body, more = _region(reader, operation, 1, equation.params["body_jaxpr"], given, block)
    params = {
        "cond_jaxpr": condition, "cond_nconsts": len(constants),
        "body_jaxpr": body, "body_nconsts": len(more),
    }  # fmt: skip
    _loop(reader, operation, equation, 0, [*constants, *more], params, block)


def _loop(
    reader: Reader,
    operation: ir.Operation,
    equation: Any,
    start: int,
    leading: Sequence[Any],
    params: Mapping[str, Any],
    block: Block,
) -> None:
    """A loop whose carried values are the operands from `start` on."""
    carried = list(operation.operands)[start:]
    operands = [*leading, *(reader.atom_or_register(value, block) for value in carried)]
    states = [reader.state(v, block) for v in carried if str(v.type).endswith("register")]
    _control_flow(reader, operation, equation, operands, params, states, block)


def switch(reader: Reader, operation: ir.Operation, block: Block) -> None:
    """Branches, of which each may close over what the others do not."""
    equation = reader.equation(operation)
    given = equation.invars[1:]
    readings = [
        _read_region(reader, operation, place, branch, given, block)
        for place, branch in enumerate(equation.params["branch_jaxprs"])
    ]
    operands = _united([reading.outside for reading in readings])
    branches = tuple(reading.over(operands) for reading in readings)
    entered = {reading.block.entered for reading in readings} - {None}
    assert len(entered) <= 1, "branches take two registers"
    states = [state for state in entered if state is not None]
    operands = [reader.atom(operation.operands[0], block), *operands]
    operands = [states[0].variable if atom is REGISTER else atom for atom in operands]
    params = {"branch_jaxprs": branches}
    _control_flow(reader, operation, equation, operands, params, states, block)


def _control_flow(
    reader: Reader,
    operation: ir.Operation,
    equation: Any,
    operands: Sequence[Any],
    params: Mapping[str, Any],
    states: Sequence[State],
    block: Block,
) -> None:
    results = reader.results(equation, block)
    changed = equation.replace(
        invars=list(operands), outvars=results, params={**equation.params, **params}
    )
    block.equations.append(changed)
    remaining = iter(states)
    for value, variable in zip(operation.results, results, strict=True):
        if is_register(variable.aval):
            state = next(remaining)
            state.variable = variable
            block.states[value] = state
        else:
            block.atoms[value] = variable


def _region(
    reader: Reader,
    operation: ir.Operation,
    place: int,
    body: ClosedJaxpr,
    constants: Sequence[Any],
    block: Block,
) -> tuple[ClosedJaxpr, list[Any]]:
    """Read the region of a loop; its jaxpr, and what that closes over."""
    reading = _read_region(reader, operation, place, body, constants, block)
    outside = list(reading.outside)
    return reading.over(outside), outside


def _read_region(
    reader: Reader,
    operation: ir.Operation,
    place: int,
    body: ClosedJaxpr,
    constants: Sequence[Any],
    block: Block,
) -> Reading:
    """Read a region, whose leading inputs are `constants` of the block around."""
    variables = body.jaxpr.invars
    source = operation.regions[place].blocks[0]
    closed_over, arguments = variables[: len(constants)], variables[len(constants) :]
    inner = Block(outer=block)
    given: dict[Any, Any] = {}
    for atom, variable in zip(constants, closed_over, strict=True):
        if is_register(variable.aval):
            inner.entering = State(variable)
            given[REGISTER] = variable
        elif isinstance(atom, Var):
            inner.captured.setdefault(atom, variable)
    for argument, variable in zip(source.arguments, arguments, strict=True):
        if is_register(variable.aval):
            inner.states[argument] = State(variable)
        else:
            inner.atoms[argument] = variable
    results = reader.block(source, inner)
    equations = needed(inner.equations, results, reader.primitives)
    used = {atom for equation in equations for atom in equation.invars if isinstance(atom, Var)}
    used.update(atom for atom in results if isinstance(atom, Var))
    defined = {atom for atom in block.atoms.values() if isinstance(atom, Var)}
    for outside, inside in inner.captured.items():
        if inside in used or (not is_spare(inside.aval) and outside in defined):
            given[outside] = inside
    return Reading(inner, body, given, list(arguments), equations, results)


def _united(closed_over: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """What branches close over, together; the register last."""
    found = dict.fromkeys(atom for each in closed_over for atom in each)
    return sorted(found, key=lambda atom: atom is REGISTER)


_RULES = {**OF_QUBITS, "scf.for": for_loop, "scf.while": while_loop, "scf.index_switch": switch}
