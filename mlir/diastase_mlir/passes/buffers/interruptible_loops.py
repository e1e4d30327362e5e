"""Loops of the user's that can be interrupted: they poll, seldom enough to cost nothing, and leave.

In: loops on memory, whose bodies begin with a call of the thread pool's `poll` (lowering puts one
into every loop that the user wrote). Out: the same loops, left where an error is recorded:

* a short body, of arithmetic only, runs `_TURNS` times between two polls: a loop of its own
  inside of the one that polls, which LLVM optimises as if there were no polls;
* any other body counts down in each turn, and polls in one of `abi.POLLS`, or in each if it calls
  what may take long;
* a short body that runs at most `_TURNS` times, as is known here, need not poll.

    scf.for %i = %0 to %n {            scf.while (%i = %0) { %i < %n, and no error } do {
      call @poll(%context)       ->      scf.for %j = %i to min(%i + 4096, %n) { ... }
      ...                                call @poll_now(%context), after 4096 turns
    }                                    }

The trap: what a loop that was left has computed is anything. All sizes and positions that are
computed from it are checked as any other's, and nobody sees the results.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import when
from diastase_mlir.emit.operations import binary, compare_integers, create, index_constant, select
from diastase_mlir.passes.memory import load, offset, pointer_type, store, word, word_type
from diastase_mlir.passes.operations import (
    SCOPE,
    call,
    callee_of,
    constant_of,
    declare,
    operations_in,
    operations_named,
)
from diastase_runtime.abi import POLLS, CallContext, ErrorCode, ImportedLibrary, import_symbol

_TURNS = 4096
"""Of a short body between two polls: some microseconds."""
_POLL = import_symbol("threads", "poll")
_POLL_NOW = import_symbol("threads", "poll_now")
_LIBRARIES: tuple[ImportedLibrary, ...] = ("blas", "lapack", "elementary")
_BLAS, _LAPACK, _ELEMENTARY = (import_symbol(library, "") for library in _LIBRARIES)
_SLOW = (import_symbol("threads", "parallel_for"), _BLAS, _LAPACK)
_CODE, _POLLS_LEFT = (getattr(CallContext, name).offset for name in ("code", "polls"))
_LONG = ("scf.for", "scf.while", "scf.parallel")
_LONG_ON_ARRAYS = ("linalg.", "memref.alloc", "memref.copy")


def interruptible_loops(module: ir.Module) -> None:
    """Rewrite all loops that poll."""
    polls = _polls(module)
    if polls:
        declare(module, {_POLL_NOW: ir.FunctionType.get([pointer_type()], [])})
    long, slow = _around(module, _may_be_long), _around(module, _is_slow)
    for poll in polls:
        loop: Any = poll.parent
        facts = loop.operation not in long, loop.operation in slow
        with ir.InsertionPoint(loop), poll.location:
            _REWRITES[loop.name](loop.operation, poll, *facts)


def _polls(module: ir.Module) -> list[ir.Operation]:
    return [
        call
        for call in operations_named(module.operation, "func.call")
        if callee_of(call) == _POLL and call.parent.name in _REWRITES
    ]


def _around(module: ir.Module, holds: Callable[[Any], bool]) -> set[Any]:
    """All operations around one of which something holds."""
    found = set[Any]()
    for operation in filter(holds, operations_in(module)):
        around = operation.parent
        while around is not None and around.operation not in found:
            found.add(around.operation)
            around = around.operation.parent
    return found


def _rewrite_for(loop: ir.Operation, poll: ir.Operation, is_short: bool, is_slow: bool) -> None:
    """Rewrite a loop, whose body is arithmetic only (`is_short`), or calls what may take long."""
    (context,), (lower, upper, step, *_) = poll.operands, loop.operands
    bounds = [constant_of(bound) for bound in (lower, upper, step)]
    in_one_piece = _trips(*bounds) <= _TURNS
    if not is_short or not (in_one_piece or bounds[2] == 1):
        _count_down(poll, is_slow)
        _as_while(loop, context)
        return
    poll.erase()
    if not in_one_piece:
        _in_pieces(loop, context)


def _trips(lower: int | None, upper: int | None, step: int | None) -> float:
    """How often a loop is gone through, as far as it is known."""
    if lower is None or upper is None or step is None:
        return inf
    return len(range(lower, upper, step))


def _rewrite_while(loop: ir.Operation, poll: ir.Operation, is_short: bool, is_slow: bool) -> None:
    if not is_short:
        _count_down(poll, is_slow)
        return
    (context,) = poll.operands
    poll.erase()
    _with_countdown(loop, context)


_REWRITES = {"scf.for": _rewrite_for, "scf.while": _rewrite_while}


def _may_be_long(operation: ir.Operation) -> bool:
    if operation.name == "func.call":
        return not callee_of(operation).startswith((_ELEMENTARY, _POLL))
    if operation.name.startswith(_LONG_ON_ARRAYS):
        return any(_is_array(value) for value in (*operation.operands, *operation.results))
    return operation.name.startswith(_LONG)


def _is_slow(operation: ir.Operation) -> bool:
    return operation.name == "func.call" and callee_of(operation).startswith(_SLOW)


def _is_array(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType) and ir.MemRefType(value.type).rank > 0


def _count_down(poll: ir.Operation, is_slow: bool) -> None:
    """Let a body that calls what may take long poll in each turn, any other in one of many."""
    if is_slow:
        poll.attributes["callee"] = ir.FlatSymbolRefAttr.get(_POLL_NOW)
        return
    (context,) = poll.operands
    with ir.InsertionPoint(poll):
        polls = offset(context, _POLLS_LEFT)
        left = binary("arith.subi", load(word_type(), polls), word(1))
        store(left, polls)
        _poll_if(compare_integers("slt", left, word(0)), context, polls)
    poll.erase()


# --- the new loops --------------------------------------------------------------------------------


def _as_while(loop: ir.Operation, context: ir.Value) -> None:
    """The loop itself, left where there is an error."""
    _, upper, step, *initial = loop.operands
    body = loop.regions[0].blocks[0]
    outer, after = _while_below(loop, context, upper, initial)
    for own, new in zip(body.arguments, after.arguments, strict=True):
        own.replace_all_uses_with(new)
    *operations, last = body.operations
    for operation in operations:
        after.append(operation)
    with ir.InsertionPoint(after):
        index = _add(after.arguments[0], step)
        create("scf.yield", [], [index, *last.operands])
    _replace(loop, outer)
    loop.erase()


def _in_pieces(loop: ir.Operation, context: ir.Value) -> None:
    """The loop as a piece of a loop that polls."""
    upper, initial = loop.operands[1], list(loop.operands)[3:]
    outer, after = _while_below(loop, context, upper, initial)
    _replace(loop, outer)
    start, *carries = after.arguments
    with ir.InsertionPoint(after):
        # Unsigned, and of what is left: `start + 4096` wraps around below 2**63.
        left = binary("arith.subi", upper, start)
        end = _add(start, binary("arith.minui", left, index_constant(_TURNS)))
        after.append(loop)
        for place, operand in [(0, start), (1, end), *enumerate(carries, start=3)]:
            loop.operands[place] = operand
        _poll_if(compare_integers("slt", end, upper), context)
        create("scf.yield", [], [end, *loop.results])


def _while_below(
    loop: ir.Operation, context: ir.Value, upper: ir.Value, initial: Sequence[ir.Value]
) -> tuple[ir.Operation, ir.Block]:
    """A loop while its first carry is below a number and no error is recorded; and its body.

    An error does not keep it from its first turn: where the trip count is known, deallocation has
    counted on one, after which the initial arrays are no longer the results.
    """
    carries = [loop.operands[0], *initial]
    kinds = [carry.type for carry in carries]
    outer = create("scf.while", kinds, carries, regions=2)
    before, after = (region.blocks.append(*kinds) for region in outer.regions)
    with ir.InsertionPoint(before):
        index = before.arguments[0]
        is_first = compare_integers("eq", index, loop.operands[0])
        goes_on = binary("arith.ori", is_first, _no_error(context))
        proceeds = binary("arith.andi", compare_integers("slt", index, upper), goes_on)
        create("scf.condition", [], [proceeds, *before.arguments])
    return outer, after


def _replace(loop: ir.Operation, outer: ir.Operation) -> None:
    for own, new in zip(loop.results, list(outer.results)[1:], strict=True):
        own.replace_all_uses_with(new)


def _with_countdown(loop: ir.Operation, context: ir.Value) -> None:
    """The loop with one carry more, which counts the turns until the next poll."""
    full = word(_TURNS)
    kinds = [result.type for result in loop.results]
    outer = create("scf.while", [full.type, *kinds], [full, *loop.operands], regions=2)
    for own, new in zip(loop.regions, outer.regions, strict=True):
        old = own.blocks[0]
        block = new.blocks.append(full.type, *[argument.type for argument in old.arguments])
        left, *arguments = block.arguments
        for argument, other in zip(old.arguments, arguments, strict=True):
            argument.replace_all_uses_with(other)
        *operations, last = old.operations
        for operation in operations:
            block.append(operation)
        with ir.InsertionPoint(block):
            if last.name == "scf.condition":
                proceeds, *carries = last.operands
                create("scf.condition", [], [proceeds, left, *carries])
            else:
                left = binary("arith.subi", left, word(1))
                over = compare_integers("eq", left, word(0))
                _poll_if(over, context)
                create("scf.yield", [], [select(over, full, left), *last.operands])
    _replace(loop, outer)
    loop.erase()


def _poll_if(condition: ir.Value, context: ir.Value, polls: ir.Value | None = None) -> None:
    """Poll under a condition; `polls`: a countdown that begins anew then."""

    def poll() -> None:
        if polls is not None:
            store(word(POLLS), polls)
        call(_POLL_NOW, [context])

    when(SCOPE, condition, poll)


def _no_error(context: ir.Value) -> ir.Value:
    """Whether no error is recorded in a call context, which begins with its code."""
    code = load(word_type(), offset(context, _CODE))
    return compare_integers("eq", code, word(ErrorCode.NONE))


def _add(left: ir.Value, right: ir.Value) -> ir.Value:
    no_overflow = {"overflowFlags": ir.Attribute.parse("#arith.overflow<nsw>")}
    return create("arith.addi", [left.type], [left, right], no_overflow).result
