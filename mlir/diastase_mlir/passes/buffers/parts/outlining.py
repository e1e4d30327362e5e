"""Operations of a block that follow each other become functions, called where they stood.

    operations 1 to 40 on %a, %b            %c = call @name.part0(%a, %b)
    ->                                      %d = call @name.part1(%b, %c)
                                            the operations that are left

In: functions of one block, with structured control flow; blocks of loops and branches are cut like
theirs. A part takes what it uses from before and returns what is used after it. Constants are made
anew in each part, so that LLVM knows them there; but for arrays, while these are values. What is on
the stack stays where it is: it must live as long as the function.

Parts of the function's own block are called once each and named after the function; those of an
inner block, which may be called in a loop, after a name of the block's own (`trip_counts`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import append_block
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.buffers.separate_aliases import Callees, separate
from diastase_mlir.passes.operations import name_of, new_function, operations_in
from diastase_toolchain.trip_counts import INNER, PART

_CONSTANTS = frozenset(
    "arith.constant llvm.mlir.constant llvm.mlir.zero llvm.mlir.addressof memref.get_global "
    "func.constant".split()
)
_WRITABLE = "bufferization.writable"
_ON_THE_STACK = frozenset({"llvm.alloca", "memref.alloca"})


@dataclass(frozen=True)
class Cutting:
    """How a pass cuts blocks."""

    weight: Callable[[ir.Operation], int]
    """Of one operation, without those inside of it."""
    most: int
    """Weight of a block that is left as it is."""
    of_a_part: int
    arrays_are_values: bool = False
    """Before bufferization, which knows of a call's results what each may share with the operands,
    and takes it that they share nothing with one another."""


@dataclass
class Step:
    """An operation of a block, with all that is in its regions."""

    operation: ir.Operation
    weight: int = 0
    operations: list[ir.Operation] = field(default_factory=list)
    """Those inside, and it."""
    uses: list[tuple[ir.Operation, int, ir.Value]] = field(default_factory=list)
    """Which operand of which operation uses which value."""
    own: dict[ir.Value, None] = field(default_factory=dict)
    """What is defined inside."""


class Outliner:
    """Cuts the functions of one module."""

    def __init__(self, module: ir.Module, cutting: Cutting):
        self._module = module
        self._cutting = cutting
        self._names: dict[str, int] = {}
        self._callees = Callees(module)

    def cut_functions(self) -> None:
        """Cut all blocks of functions, loops and branches that weigh too much; inner ones first."""
        weights = self._weights()
        for definition in list(self._module.body.operations):
            function = definition.operation
            if function.name == "func.func" and weights[function] > self._cutting.most:
                name = name_of(function)
                self._cut_inside(function, name, weights)

    def _weights(self) -> dict[ir.Operation, int]:
        """Of all operations, with what is inside of them."""
        weights: defaultdict[ir.Operation, int] = defaultdict(int)
        for operation in operations_in(self._module):
            weights[operation] += self._cutting.weight(operation)
            if (around := operation.parent) is not None:
                weights[around.operation] += weights[operation]
        return weights

    def _cut_inside(
        self, operation: ir.Operation, name: str, weights: Mapping[ir.Operation, int]
    ) -> None:
        blocks = [block for region in operation.regions for block in region.blocks]
        for block in blocks:
            for nested in list(block.operations):
                inner = nested.operation
                if inner.name.startswith("scf.") and weights[inner] > self._cutting.most:
                    self._cut_inside(inner, self._new_name(f"{name}{INNER}"), weights)
            while self._cut(block, name):
                pass  # calls become parts, too, if they weigh too much

    def _new_name(self, prefix: str) -> str:
        number = self._names[prefix] = self._names.get(prefix, -1) + 1
        return f"{prefix}{number}"

    def _cut(self, block: ir.Block, name: str) -> bool:
        """Cut a block once, if it weighs too much; says whether it has."""
        steps = [self.step(operation.operation) for operation in block.operations]
        if sum(step.weight for step in steps) <= self._cutting.most:
            return False
        parts = self._parts(steps)
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
        returned: dict[ir.Value, ir.Value] = {}
        for number, part in enumerate(parts):
            moved = [steps[position] for position in part]
            captured, constants = self._captured(moved)
            results = list(later[number])
            call = self.outline(
                self._new_name(f"{name}{PART}"), moved, results, captured, constants, returned
            )
            for result, (value, users) in zip(call.results, later[number].items(), strict=True):
                returned[value] = result
                for user, operand in users:
                    user.operands[operand] = result
        return bool(parts)

    def step(self, operation: ir.Operation) -> Step:
        """Look at an operation."""
        step = Step(operation)
        step.operations = operations_in(operation)
        for nested in step.operations:
            step.weight += self._cutting.weight(nested)
            step.uses += [(nested, number, value) for number, value in enumerate(nested.operands)]
            if nested != operation:
                step.own.update(dict.fromkeys(nested.results))
            for region in nested.regions:
                for block in region.blocks:
                    step.own.update(dict.fromkeys(block.arguments))
        return step

    def _parts(self, steps: list[Step]) -> list[list[int]]:
        """Positions of operations in a row that weigh enough; what is left at the end stays."""
        parts: list[list[int]] = []
        part: list[int] = []
        weight = together = 0
        last_uses = {value: n for n, step in enumerate(steps) for _, _, value in step.uses}
        for position, step in enumerate(steps[:-1]):
            name = step.operation.name
            if name in _CONSTANTS:
                continue
            if name in _ON_THE_STACK:
                if step.uses:  # of a size that a part may compute
                    part, weight, together = [], 0, 0
                continue
            part.append(position)
            weight += step.weight
            for result in step.operation.results:
                if self._stays_with_users(result):
                    together = max(together, last_uses.get(result, position))
            if weight >= self._cutting.of_a_part and together <= position:
                parts.append(part)
                part, weight, together = [], 0, 0
        return parts

    def _stays_with_users(self, value: ir.Value) -> bool:
        """What bufferization knows nothing of, and undefined contents, which need no memory yet."""
        if not self._cutting.arrays_are_values or isinstance(value.owner, ir.Block):
            return False
        return isinstance(value.type, ir.MemRefType) or value.owner.name == "tensor.empty"

    def outline(
        self,
        name: str,
        part: Sequence[Step],
        results: Sequence[ir.Value],
        captured: Sequence[ir.Value],
        constants: Sequence[ir.Value],
        returned: Mapping[ir.Value, ir.Value],
    ) -> ir.Operation:
        """Move operations into a function, and call it.

        It takes values that they capture, and makes constants anew. `returned`: what parts before
        this one return now.
        """
        types = [value.type for value in captured], [value.type for value in results]
        here = part[-1].operation
        with ir.InsertionPoint(here), here.location:
            operands = [returned.get(value, value) for value in captured]
            callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
            call = create("func.call", types[1], operands, callee)
        with ir.InsertionPoint.at_block_begin(self._module.body), here.location:
            function = new_function(name, ir.FunctionType.get(*types))
            block = append_block(function.regions[0], types[0])
        if self._cutting.arrays_are_values:
            function.attributes["arg_attrs"] = _attributes(captured)
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
        if self._cutting.arrays_are_values:
            separate(block, self._callees, of_function=True)
            self._callees.add(function)
        return call

    def _captured(self, part: Sequence[Step]) -> tuple[list[ir.Value], list[ir.Value]]:
        """What operations use from outside: values, and constants that are made anew."""
        captured: list[ir.Value] = []
        constants: list[ir.Value] = []
        for value in outside(part):
            (constants if self._is_made_anew(value) else captured).append(value)
        return captured, constants

    def _is_made_anew(self, value: ir.Value) -> bool:
        """Whether parts have a constant of their own; of an array each call must know it."""
        return is_constant(value) and not (
            self._cutting.arrays_are_values and isinstance(value.type, ir.RankedTensorType)
        )


def outside(part: Sequence[Step]) -> list[ir.Value]:
    """Values that operations use and do not define, each once."""
    made = {value for step in part for value in step.operation.results}
    used = (value for step in part for _, _, value in step.uses if value not in step.own)
    return [value for value in dict.fromkeys(used) if value not in made]


def is_constant(value: ir.Value) -> bool:
    """Whether the operation that defines a value can be made anew elsewhere."""
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name in _CONSTANTS


def _attributes(captured: Iterable[ir.Value]) -> ir.ArrayAttr:
    """Of a part's arguments: what nobody may write to, nobody may in a part.

    The engine may have been given the address of such an array long before it reads it.
    """
    never = ir.DictAttr.get({_WRITABLE: ir.BoolAttr.get(False)})
    return ir.ArrayAttr.get(
        [never if _is_never_written(v) else ir.DictAttr.get() for v in captured]
    )


def _is_never_written(array: ir.Value) -> bool:
    """Whether an array is a constant, or an argument that bufferization may not write to."""
    if not isinstance(array.type, ir.RankedTensorType):
        return False
    owner = array.owner
    if not isinstance(owner, ir.Block):
        return owner.name == "arith.constant"
    function = owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return False
    number = ir.BlockArgument(array).arg_number
    attributes = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[number])
    return _WRITABLE in attributes and not ir.BoolAttr(attributes[_WRITABLE]).value
