"""Which loops over elements are written out, and which arrays are carried as numbers.

Written out is what stands in a loop, works on small arrays alone and takes a few turns. Two things
are not: what calls an elementary function for more than `MOST_CALLS` elements, as a vector takes
less time for them, with all that would be fused with it; and what goes beyond `MOST_OPERATIONS`.

An array that loops and branches hand on is one array, whatever its values there are called. It is
carried as numbers where most of what makes it or reads it does so by elements, and all of them at
places that are known: at others, it would have to be put into memory again.
"""

from collections.abc import Collection, Iterator
from math import prod
from typing import Any

from diastase_engine import ELEMENTARY_FUNCTIONS
from diastase_mlir.passes.operations import (
    defining,
    last_of,
    operands_of,
    operations_in,
    operations_named,
    parallel_loops,
)
from diastase_mlir.passes.tensors.arrays_in_registers.control_flow import (
    CONTROL_FLOW,
    arguments_of,
)
from diastase_mlir.passes.tensors.arrays_in_registers.elements import (
    SEEN_THROUGH,
    has_known_place,
    is_small,
)
from diastase_mlir.passes.tensors.arrays_in_registers.unrolling import (
    OVER_ELEMENTS,
    may_be_written_out,
    turns_of,
)

MOST_CARRIED = 16
"""Elements of an array that is carried: as many registers are there for numbers."""

MOST_CALLS = 4
MOST_OPERATIONS = 4096

_ELEMENTARY = frozenset(f"math.{name}" for name in ELEMENTARY_FUNCTIONS)
LOOPS = frozenset({"scf.for", "scf.while"})
"""Of programs, in which small arrays are numbers."""

UPDATES = frozenset({"tensor.insert", "tensor.insert_slice"})
_HANDS_ON = frozenset({"scf.yield", "scf.condition", *CONTROL_FLOW})


# --- loops over elements --------------------------------------------------------------------------


def loops_to_write_out(function: Any) -> set[Any]:
    """The first results of the operations that are written out."""
    loops = [own.operation for own in operations_named(function, *OVER_ELEMENTS)]
    found = [own for own in loops if stands_in_loop(own) and may_be_written_out(own)]
    others = _fused_with(loops, _arrays_in_memory(function, {own.results[0] for own in found}))
    chosen, left = set[Any](), MOST_OPERATIONS
    for own in sorted(found, key=_work):
        left -= _work(own)
        if left >= 0 and own.results[0] not in others:
            chosen.add(own.results[0])
    return chosen


def _work(loop: Any) -> int:
    return prod(turns_of(loop) or ()) * len(loop.regions[0].blocks[0].operations)


def stands_in_loop(operation: Any) -> bool:
    """Whether an operation runs again and again."""
    around = operation.parent.operation
    while around.name != "func.func":
        if around.name in LOOPS:
            return True
        around = around.parent.operation
    return False


def _fused_with(loops: Collection[Any], in_memory: set[Any]) -> set[Any]:
    """The results of long elementwise loops that stay loops.

    They have calls that vectors make, or read or make an array in memory; or stand beside such.
    """
    elementwise = {
        own.results[0]: own
        for own in loops
        if own.name == "linalg.generic" and _is_elementwise(own) and _is_long(own)
    }
    found = set[Any]()
    waiting = [
        result
        for result, own in elementwise.items()
        if result in in_memory or not in_memory.isdisjoint(operands_of(own)) or _calls(own)
    ]
    while waiting:
        result = waiting.pop()
        if result in found:
            continue
        found.add(result)
        loop = elementwise[result]
        beside = [own for use in result.uses for own in use.owner.operation.results]
        waiting += [own for own in (*beside, *operands_of(loop)) if own in elementwise]
    return found


def _is_elementwise(loop: Any) -> bool:
    return len(loop.results) > 0 and all(parallel_loops(loop))


def _calls(loop: Any) -> bool:
    return any(own.name in _ELEMENTARY for own in operations_in(loop))


def _is_long(loop: Any) -> bool:
    kind: Any = loop.results[0].type
    return not is_small(kind, MOST_CALLS)


# --- arrays that are handed on --------------------------------------------------------------------


def arrays_as_numbers(function: Any, written_out: Collection[Any]) -> set[Any]:
    """The results, and arguments of blocks, of loops and branches that become numbers."""
    uses = _uses_of_arrays(function, written_out)
    return {value for value, own in uses.items() if own.are_of_numbers()}


def _arrays_in_memory(function: Any, written_out: Collection[Any]) -> set[Any]:
    """Arrays that are handed on and have elements at places which are not known."""
    uses = _uses_of_arrays(function, written_out)
    return {value for value, own in uses.items() if own.at_any_place}


def _uses_of_arrays(function: Any, written_out: Collection[Any]) -> dict[Any, "_Uses"]:
    """How the array is used that a value is, or is handed on as."""
    arrays = _Arrays(function)
    uses = {own: _Uses(written_out) for own in map(arrays.of, arrays.values)}
    found = {value: uses[arrays.of(value)] for value in arrays.values}
    for value, own in found.items():
        own.see(value)
    for value, made in arrays.made:
        found[value].see_maker(made.owner.operation)
    return found | {made: found[value] for value, made in arrays.made}


class _Arrays:
    """The small arrays that loops and branches hand on: which values are one."""

    def __init__(self, function: Any):
        self.values: dict[Any, Any] = {}
        """And of each, another one that is the same array."""
        handed = list[tuple[Any, Any, bool]]()
        for operation in operations_named(function, *CONTROL_FLOW):
            if operation.name != "scf.if" or stands_in_loop(operation):
                handed += _handed(operation.operation)
        self.values = {value: value for value, *_ in handed}
        self.made: list[tuple[Any, Any]] = []
        """Values, and results of other operations that blocks hand them."""
        for value, given, by_block in handed:
            if given in self.values:
                self.values[self.of(given)] = self.of(value)
            elif by_block and defining(given) is not None:
                self.made.append((value, given))

    def of(self, value: Any) -> Any:
        """The value that stands for all that are one array; the way to it is halved."""
        while (other := self.values[value]) != value:
            self.values[value] = value = self.values[other]
        return value


def _handed(operation: Any) -> Iterator[tuple[Any, Any, bool]]:
    """Small arrays, what they are handed, and whether a block hands it, at its end."""
    blocks = [block for region in operation.regions for block in region.blocks]
    last = [operands_of(last_of(block)) for block in blocks]
    results, arguments = list(operation.results), arguments_of(operation)
    pairs = [(results, own, True) for own in last]
    if operation.name == "scf.for":
        pairs = [(arguments[0], last[0], True), (results, arguments[0], False)]
        pairs += [(arguments[0], operands_of(operation)[3:], False)]
    elif operation.name == "scf.while":
        pairs = [(arguments[0], last[1], True), (arguments[1], last[0][1:], True)]
        pairs += [(results, arguments[1], False)]
        pairs += [(arguments[0], operands_of(operation), False)]
    for places, given, by_block in pairs:
        for place, own in zip(places, given, strict=True):
            if is_small(place.type, MOST_CARRIED):
                yield place, own, by_block


class _Uses:
    """How an array is made and read: by elements at known places, or otherwise."""

    def __init__(self, written_out: Collection[Any]):
        self._written_out = written_out
        self._by_elements = self._as_array = 0
        self.at_any_place = False

    def are_of_numbers(self) -> bool:
        """Whether the array had better be numbers."""
        return not self.at_any_place and 0 < self._by_elements >= self._as_array

    def see(self, array: Any) -> None:
        """See how an array is read."""
        for use in array.uses:
            user = use.owner.operation
            if user.name in SEEN_THROUGH:
                self.see(user.results[0])
            elif user.name in ("tensor.extract", "tensor.extract_slice"):
                self._see_place(user)
            elif user.name in UPDATES:
                self._count(True) if use.operand_number == 0 else self._see_place(user)
            elif user.name not in _HANDS_ON:
                self._count(self._is_written_out(user))

    def see_maker(self, operation: Any) -> None:
        """See what makes an array that is handed on."""
        if operation.name in SEEN_THROUGH:
            made_by = defining(operation.operands[0])
            if made_by is not None:
                self.see_maker(made_by.operation)
        elif operation.name in UPDATES:
            self._see_place(operation)
        else:
            is_list = operation.name == "tensor.from_elements"
            self._count(is_list or self._is_written_out(operation))

    def _see_place(self, operation: Any) -> None:
        around = operation.parent.operation
        if around.name in OVER_ELEMENTS and not self._is_written_out(around):
            self._count(False)
            return
        is_known = has_known_place(operation)
        self._count(is_known)
        self.at_any_place |= not is_known

    def _is_written_out(self, operation: Any) -> bool:
        return len(operation.results) > 0 and operation.results[0] in self._written_out

    def _count(self, by_elements: bool) -> None:
        self._by_elements += by_elements
        self._as_array += not by_elements
