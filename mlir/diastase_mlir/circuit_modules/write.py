"""From a circuit's jaxpr to its module.

    b:f64[] = neg a                           %1 = arith.negf %0 {equation = 0}
    r2:register = gate[RX wires=(0,)] r1 b    %2 = quantum.extract %r, %zero
                                              %3 = quantum.gate "RX"(%1) %2 {site = 1}
    c:f64[4] = probs r2                       %4 = quantum.insert %r, %zero, %3
                                              %5 = "jax.probs"(%4) {equation = 2}

Operations on qubits, loops and branches are written as such; so are numbers that are known, and
negations, by which passes see opposite angles. Any other equation is one opaque operation, named
after its primitive. What an equation closes over, regions use directly; loops carry the register,
branches take it from around them.

The trap: equal angles must be one value, or gates do not meet. So equations that are equal are used
as one (`EqualValues`), but all are written: sizes may be known by the variables of each.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase_mlir.bindings import ir
from diastase_mlir.circuit_modules.origin import (
    EQUATION,
    SAME,
    Origin,
    is_number,
    is_register,
    type_of,
)
from diastase_mlir.circuit_modules.writer import OF_QUBITS, Scope, Writer, boolean, integer
from diastase_mlir.circuit_modules.written_values import Register
from diastase_mlir.emit.operations import create


def write_circuit(
    closed: ClosedJaxpr,
    known: Mapping[Any, np.ndarray],
    related: Mapping[Any, tuple[Any, bool]],
    ours: frozenset[str],
    name: str,
) -> tuple[ir.Module, Origin]:
    """Write a circuit's body; `known` are inputs whose values are known.

    `related`: inputs that are equal to others before them, or to their opposites.
    `ours`: names of primitives two equal equations of which may give different results.
    """
    origin = Origin()
    module = ir.Module.create(ir.Location.unknown())
    jaxpr = closed.jaxpr
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    with ir.Location.unknown():
        with ir.InsertionPoint(module.body):
            function = create(
                "func.func", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1
            )
        block = function.regions[0].blocks.append(*(type_of(v.aval) for v in inputs))
        with ir.InsertionPoint(block):
            writer = Writer(origin, ours, _RULES)
            scope = Scope()
            for variable, argument in zip(inputs, block.arguments, strict=True):
                value = writer.known_input(variable, known.get(variable))
                scope.values[variable] = argument if value is None else value
                if variable in related:
                    writer.related_input(variable, *related[variable], scope)
                origin.inputs.append(variable)
            writer.equations(jaxpr.eqns, scope)
            results = [writer.value(atom, scope) for atom in jaxpr.outvars]
            create("func.return", operands=results)
    types = [argument.type for argument in block.arguments], [value.type for value in results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    return module, origin


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


_RULES = {**OF_QUBITS, "for_loop": for_loop, "while_loop": while_loop, "switch": switch}
