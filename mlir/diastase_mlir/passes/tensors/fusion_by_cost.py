"""What fusion would compute again and again is computed once; what costs nothing, for each reader.

Fusion puts the body of a loop over elements into the loop that reads its array. There it runs as
often as that loop reads: for each row, if a row is read for all of them, and in each iteration of a
loop of the user's around the reader. So an operand is hidden from fusion by a cast
(`emit.tensors.hidden`), which `drop_barriers` removes afterwards, where

- what makes it costs much, such as an `exp` or a quotient, and the reader reads it repeatedly;
- what makes it costs anything, and the reader stands in a loop that the maker does not stand in;

but not what is made of constants only, which will be one itself.

Fusion also leaves alone what has several readers. A broadcast, or an array of its places' numbers,
is repeated for each of them: to make it costs less than to read it.

In: `linalg.generic` on tensors. Out: the same, with casts between and copies of some.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.tensors import hidden, tensor_type
from diastase_mlir.passes.operations import (
    QUOTIENTS,
    SAME_ELEMENTS,
    defining,
    maps_of,
    operations_named,
    parallel_loops,
)

_MUCH = 16
"""Operations on numbers; a quotient or an elementary function counts for as many."""
_CHEAP = frozenset(
    f"math.{name}"
    for name in "absf absi ceil copysign ctlz ctpop cttz floor fma round roundeven trunc".split()
)
_FREE = frozenset({"arith.constant", "arith.index_cast", "linalg.index", "linalg.yield"})
_CHEAP_COMPLEX = frozenset(
    f"complex.{name}" for name in "add constant create im mul neg re sub".split()
)
_LOOPS = frozenset({"scf.for", "scf.while"})


def fusion_by_cost(module: ir.Module) -> None:
    """Repeat what costs nothing, and hide what would be repeated at a cost."""
    for generic in operations_named(module.operation, "linalg.generic"):
        if _is_parallel(generic) and _own_cost(generic) == 0:
            _repeat(generic)
    costs: dict[Any, int] = {}
    known: set[ir.Value] = set()
    for generic in operations_named(module.operation, "linalg.generic"):
        if _is_made_of(generic, known):
            known.update(generic.results)  # numbers, once it is fused: a divisor, say
        else:
            _hide(generic, costs)


# --- repeated -------------------------------------------------------------------------------------


def _repeat(generic: Any) -> None:
    """Give each reader but one a copy of its own."""
    if len(generic.results) != 1:
        return
    readers = [use for use in generic.results[0].uses if _is_input(use)]
    for use in readers[1:] if len(readers) == len(list(generic.results[0].uses)) else readers:
        reader = use.owner.operation
        copy = generic.operation.clone(ir.InsertionPoint(reader))
        reader.operands[use.operand_number] = copy.results[0]


def _is_input(use: Any) -> bool:
    reader = use.owner.operation
    inputs = len(reader.operands) - len(reader.results)
    return reader.name == "linalg.generic" and use.operand_number < inputs


# --- hidden ---------------------------------------------------------------------------------------


def _hide(generic: Any, costs: dict[Any, int]) -> None:
    """Hide operands of one operation, and note what an element costs once the others are fused."""
    inside = 0
    for number, read in enumerate(maps_of(generic)[: len(generic.operands) - len(generic.results)]):
        maker = _fusable_maker(generic.operands[number])
        if maker is None:
            continue
        cost = costs.get(maker, 0)
        if cost and (
            (cost >= _MUCH and _reads_repeatedly(generic, read)) or _is_sunk(maker, generic)
        ):
            with ir.InsertionPoint(generic), generic.location:
                generic.operands[number] = hidden(generic.operands[number])
        else:
            inside += cost
    if _is_parallel(generic):
        costs[generic.operation] = inside + _own_cost(generic)


def _is_made_of(generic: Any, known: set[ir.Value]) -> bool:
    """Whether all that it reads are constants, or arrays that are made of constants."""
    inside = list(_body(generic))
    own = {result for operation in inside for result in operation.results}
    own.update(generic.regions[0].blocks[0].arguments)
    read = {operand for operation in inside for operand in operation.operands} - own
    return all(operation.name != "linalg.index" for operation in inside) and all(
        _is_constant(value, known) for value in (*generic.operands, *read)
    )


def _is_constant(value: ir.Value, known: set[ir.Value]) -> bool:
    maker = defining(value)
    if maker is None or value in known:
        return value in known
    if maker.operation.name in ("linalg.fill", "tensor.extract", *SAME_ELEMENTS):
        return all(_is_constant(operand, known) for operand in maker.operands)
    return maker.operation.name in ("arith.constant", "tensor.empty")


def _fusable_maker(value: ir.Value) -> Any:
    """The loops that make an array, and would become part of the only ones that read it."""
    while (maker := defining(value)) is not None and len(list(islice(value.uses, 2))) == 1:
        if maker.operation.name == "linalg.generic":
            return maker.operation
        if maker.operation.name not in SAME_ELEMENTS:
            return None
        value = maker.operands[0]
    return None


def _reads_repeatedly(generic: Any, read: ir.AffineMap) -> bool:
    """Whether an element is read in more than one of the iterations."""
    places = _loops_of(read)
    return any(size != 1 for loop, size in _extents(generic).items() if loop not in places)


def _extents(generic: Any) -> dict[int, int | None]:
    """How many iterations each loop has, where an operand tells, and it is known."""
    found: dict[int, int | None] = dict.fromkeys(range(len(parallel_loops(generic))))
    for operand, read in zip(generic.operands, maps_of(generic), strict=True):
        for axis, loop in enumerate(_loops_of(read)):
            if loop is not None and not tensor_type(operand).is_dynamic_dim(axis):
                found[loop] = tensor_type(operand).get_dim_size(axis)
    return found


def _loops_of(read: ir.AffineMap) -> list[int | None]:
    """The loop that each axis of an operand is walked along by, where it is one alone."""
    return [
        ir.AffineDimExpr(result).position if isinstance(result, ir.AffineDimExpr) else None
        for result in read.results
    ]


def _is_sunk(maker: Any, reader: Any) -> bool:
    """Whether a loop stands around what reads, but not around what makes."""
    around = reader.operation.parent
    while around is not None and around.operation != maker.parent.operation:
        if around.operation.name in _LOOPS:
            return True
        around = around.operation.parent
    return False


# --- costs ----------------------------------------------------------------------------------------


def _is_parallel(generic: Any) -> bool:
    return all(parallel_loops(generic))


def _own_cost(generic: Any) -> int:
    """What an element costs: nothing, if it is only moved, and along memory."""
    bodies = sum(map(_cost_of, _body(generic)))
    return bodies or int(not all(map(_is_ascending, maps_of(generic))))


def _cost_of(operation: Any) -> int:
    name = operation.name
    if name in _FREE:
        return 0
    if name in QUOTIENTS or (name.startswith("math.") and name not in _CHEAP):
        return _MUCH
    return _MUCH if name.startswith("complex.") and name not in _CHEAP_COMPLEX else 1


def _body(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region:
            for inner in block.operations:
                yield inner.operation
                yield from _body(inner.operation)


def _is_ascending(read: ir.AffineMap) -> bool:
    places = [loop for loop in _loops_of(read) if loop is not None]
    return places == sorted(places)
