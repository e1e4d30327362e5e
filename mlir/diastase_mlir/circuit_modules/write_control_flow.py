"""Loops and branches of a circuit, as structured control flow of its module.

What a region closes over it uses directly. The register is carried by loops; branches take it from
around them.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase_mlir.bindings import ir
from diastase_mlir.circuit_modules.origin import EQUATION, SAME
from diastase_mlir.circuit_modules.qubits import Register
from diastase_mlir.circuit_modules.types import is_number, is_register, type_of
from diastase_mlir.circuit_modules.writer import Scope, Writer, boolean, integer
from diastase_mlir.emit.operations import create


def for_loop(writer: Writer, equation: Any, number: int, scope: Scope) -> bool:
    """A loop over a range; its bounds are those of the equation, of any sign."""
    params = equation.params
    body, count = params["body_jaxpr"], params["body_nconsts"]
    constants, bounds = equation.invars[:count], equation.invars[count : count + 3]
    carry = equation.invars[count + 3 :]
    if not _goes_through(equation, body) or not any(
        all(is_number(bound.aval, dtype) for bound in bounds) for dtype in ("int64", "int32")
    ):
        return False
    index, *carried = body.jaxpr.invars[count:]
    types = [type_of(variable.aval) for variable in carried]
    limits = [writer.value(bound, scope) for bound in bounds]
    initial = _as(types, [writer.value(atom, scope) for atom in carry])
    operands, attributes = [*limits, *initial], {EQUATION: integer(number)}
    captured = [writer.value(atom, scope) for atom in constants]
    loop = create("scf.for", types, operands, attributes, regions=1)
    arguments = [*captured, *_block(loop, 0, [type_of(index.aval), *types])]
    _region(writer, loop.regions[0].blocks[0], body, arguments, scope, "scf.yield", types)
    _define(equation, loop, scope)
    return True


def while_loop(writer: Writer, equation: Any, number: int, scope: Scope) -> bool:
    """A loop with a condition, which leaves the register alone."""
    params = equation.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["body_nconsts"]
    if not _goes_through(equation, body) or not _is_plain(condition):
        return False
    values = [writer.value(atom, scope) for atom in equation.invars]
    captured, constants = values[:first], values[first : first + second]
    types = [type_of(variable.aval) for variable in body.jaxpr.invars[second:]]
    initial = _as(types, values[first + second :])
    loop = create("scf.while", types, initial, {EQUATION: integer(number)}, regions=2)
    decided = _block(loop, 0, types)
    block = loop.regions[0].blocks[0]
    arguments = [*captured, *decided]
    _region(writer, block, condition, arguments, scope, "scf.condition", [boolean()], decided)
    arguments = [*constants, *_block(loop, 1, types)]
    _region(writer, loop.regions[1].blocks[0], body, arguments, scope, "scf.yield", types)
    _define(equation, loop, scope)
    return True


def switch(writer: Writer, equation: Any, number: int, scope: Scope) -> bool:
    """Branches, by their number; the first one is what no case names."""
    branches = equation.params["branch_jaxprs"]
    if not _goes_through(equation, *branches) or not is_number(equation.invars[0].aval, "int64"):
        return False
    position, *operands = (writer.value(atom, scope) for atom in equation.invars)
    types = [type_of(variable.aval) for variable in equation.outvars]
    chosen = create("arith.index_cast", [ir.IndexType.get()], [position]).result
    cases = ir.DenseI64ArrayAttr.get(range(1, len(branches)))  # else the first one
    attributes = {EQUATION: integer(number), "cases": cases}
    made = create("scf.index_switch", types, [chosen], attributes, regions=len(branches))
    for place, branch in enumerate(branches):
        _block(made, place, [])
        block = made.regions[place].blocks[0]
        _region(writer, block, branch, operands, scope, "scf.yield", types)
    _define(equation, made, scope)
    return True


def _region(
    writer: Writer,
    block: ir.Block,
    jaxpr: ClosedJaxpr,
    arguments: Sequence[ir.Value],
    scope: Scope,
    end: str,
    types: Sequence[ir.Type],
    passed_on: Sequence[ir.Value] = (),
) -> None:
    """Write a jaxpr into a block; it ends with its results, of these types."""
    inner = Scope(equal=scope.equal.inside())
    for variable, value in zip(jaxpr.jaxpr.invars, arguments, strict=True):
        inner.values[variable] = Register(value) if is_register(variable.aval) else value
    with ir.InsertionPoint(block):
        writer.equations(jaxpr.jaxpr.eqns, inner)
        results = [writer.value(atom, inner) for atom in jaxpr.jaxpr.outvars]
        create(end, operands=[*_as(types, results), *passed_on])


def _as(types: Sequence[ir.Type], values: Sequence[ir.Value]) -> list[ir.Value]:
    """Values under other types, where theirs are others."""
    return [
        value if value.type == kind else create(SAME, [kind], [value]).result
        for kind, value in zip(types, values, strict=True)
    ]


def _define(equation: Any, made: ir.Operation, scope: Scope) -> None:
    types = [type_of(variable.aval) for variable in equation.outvars]
    results = _as(types, list(made.results))
    for variable, result in zip(equation.outvars, results, strict=True):
        scope.values[variable] = Register(result) if is_register(variable.aval) else result


def _goes_through(equation: Any, *bodies: ClosedJaxpr) -> bool:
    """Whether a register, if any goes in, comes out of each body as what it has become."""
    count = sum(is_register(atom.aval) for atom in equation.invars)
    ways = [(count, sum(is_register(variable.aval) for variable in equation.outvars))]
    ways += [
        tuple(sum(map(is_register, avals)) for avals in (body.in_avals, body.out_avals))
        for body in bodies
    ]
    return count <= 1 and all(way == (count, count) for way in ways) and all(map(_is_plain, bodies))


def _is_plain(body: ClosedJaxpr) -> bool:
    return not body.jaxpr.constvars


def _block(operation: ir.Operation, region: int, types: Sequence[ir.Type]) -> list[ir.Value]:
    """Give a region its block; its arguments."""
    return list(operation.regions[region].blocks.append(*types).arguments)
