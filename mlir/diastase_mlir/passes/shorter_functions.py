"""Cut functions of many loops into several; before loops become branches.

LLVM's passes over loops look at all other loops of the function for each, and its code generator
at all values: a function of 400 loops takes a hundred times as long to compile as one of 40. So
operations in a row that have enough loops become a function of their own, called where they stood:

    loops 1 to 40 on %a, %b            %c = call @diastase_entry.part0(%a, %b)
    ->                                 %d = call @diastase_entry.part1(%b, %c)
                                       the loops that are left

In: functions of one block, with structured control flow. A part takes what it uses from before and
returns what is used after it. Constants are made anew in each part, so that LLVM knows them there.
What is on the stack stays where it is: it must live as long as the function.

The trap: `codegen.small_loops` counts the turns of a part as turns of the function it is part of,
which it knows by the name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import func, ir
from diastase_mlir.function_parts import PART
from diastase_mlir.passes.operations import create

MOST_LOOPS = 32
"""Of a function that is left as it is."""

LOOPS_OF_A_PART = 12
"""Long enough that calls and their arguments take no time, short enough for LLVM."""

_CONSTANTS = frozenset(
    "arith.constant llvm.mlir.constant llvm.mlir.zero llvm.mlir.addressof memref.get_global "
    "func.constant".split()
)
_ON_THE_STACK = frozenset({"llvm.alloca", "memref.alloca"})
_LOOPS = ("linalg.", "scf.for", "scf.while", "scf.parallel")
_IN_LOOPS = frozenset({"linalg.yield", "linalg.index"})


@dataclass
class _Step:
    """An operation of a function's block, with all that is in its regions."""

    operation: ir.Operation
    loops: int = 0
    uses: list[tuple[ir.Operation, int, ir.Value]] = field(default_factory=list)
    """Which operand of which operation uses which value."""
    own: set[ir.Value] = field(default_factory=set)
    """What is defined inside."""


def shorter_functions(module: ir.Module) -> None:
    """Cut all functions that have too many loops."""
    if _number_of_loops(module.operation) <= MOST_LOOPS:
        return
    for definition in list(module.body.operations):
        function = definition.operation
        if function.name == "func.func" and _number_of_loops(function) > MOST_LOOPS:
            _cut(module, function)


def _number_of_loops(operation: ir.Operation) -> int:
    count = 0

    def visit(nested: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += _is_loop(nested.name)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return count


def _is_loop(name: str) -> bool:
    return name.startswith(_LOOPS) and name not in _IN_LOOPS


def _cut(module: ir.Module, function: ir.Operation) -> None:
    steps = [_step(operation.operation) for operation in function.regions[0].blocks[0].operations]
    parts = _parts(steps)
    part_of: dict[ir.Value, int] = {
        value: number
        for number, part in enumerate(parts)
        for position in part
        for value in steps[position].operation.results
    }
    own = {position: number for number, part in enumerate(parts) for position in part}
    later: list[dict[ir.Value, list[tuple[ir.Operation, int]]]] = [{} for _ in parts]
    for position, step in enumerate(steps):
        for user, operand, value in step.uses:
            number = part_of.get(value)
            if number is not None and number != own.get(position):
                users = later[number].setdefault(value, [])
                if position not in own:  # parts take what they use from the call
                    users.append((user, operand))
    name = ir.StringAttr(function.attributes["sym_name"]).value
    returned: dict[ir.Value, ir.Value] = {}
    for number, part in enumerate(parts):
        moved = [steps[position] for position in part]
        call = _outline(module, f"{name}{PART}{number}", moved, list(later[number]), returned)
        for result, (value, users) in zip(call.results, later[number].items(), strict=True):
            returned[value] = result
            for user, operand in users:
                user.operands[operand] = result


def _step(operation: ir.Operation) -> _Step:
    step = _Step(operation)

    def visit(nested: ir.Operation) -> ir.WalkResult:
        step.loops += _is_loop(nested.name)
        step.uses += [(nested, number, value) for number, value in enumerate(nested.operands)]
        if nested != operation:
            step.own.update(nested.results)
        for region in nested.regions:
            for block in region.blocks:
                step.own.update(block.arguments)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return step


def _parts(steps: list[_Step]) -> list[list[int]]:
    """Positions of operations in a row with enough loops; what is left at the end stays."""
    parts: list[list[int]] = []
    part: list[int] = []
    loops = 0
    for position, step in enumerate(steps[:-1]):
        name = step.operation.name
        if name in _CONSTANTS:
            continue
        if name in _ON_THE_STACK:
            if step.uses:  # of a size that a part may compute
                part, loops = [], 0
            continue
        part.append(position)
        loops += step.loops
        if loops >= LOOPS_OF_A_PART:
            parts.append(part)
            part, loops = [], 0
    return parts


def _outline(
    module: ir.Module,
    name: str,
    part: Sequence[_Step],
    results: Sequence[ir.Value],
    returned: Mapping[ir.Value, ir.Value],
) -> ir.Operation:
    """Move operations into a function; `returned`: what parts before this one return now."""
    made = {value for step in part for value in step.operation.results}
    captured: dict[ir.Value, None] = {}
    constants: dict[ir.Value, None] = {}
    for step in part:
        for _, _, value in step.uses:
            if value not in made and value not in step.own:
                (constants if _is_constant(value) else captured)[value] = None
    types = [value.type for value in captured], [value.type for value in results]
    here = part[-1].operation
    with ir.InsertionPoint(here), here.location:
        operands = [returned.get(value, value) for value in captured]
        attributes = {"callee": ir.FlatSymbolRefAttr.get(name)}
        call = create("func.call", types[1], operands, attributes)
    with ir.InsertionPoint.at_block_begin(module.body), here.location:
        function = func.FuncOp(name, ir.FunctionType.get(*types), visibility="private")
        block = function.add_entry_block()
    function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    function.attributes["llvm.no_inline"] = ir.UnitAttr.get()
    given: dict[ir.Value, ir.Value] = dict(zip(captured, block.arguments, strict=True))
    with ir.InsertionPoint(block), here.location:
        for value in constants:
            constant: Any = value.owner
            given[value] = constant.operation.clone().results[0]
    for step in part:
        for user, operand, value in step.uses:
            if value in given:
                user.operands[operand] = given[value]
        block.append(step.operation)
    with ir.InsertionPoint(block), here.location:
        create("func.return", [], results)
    return call


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name in _CONSTANTS
