"""Operations of the `runtime` dialect become reads, writes and calls of the state of the call.

So does what is left to LAPACK, which may record errors there (`linear_algebra`).

Every function of the module gets that state as its first argument, and every call of one hands it
on; the entry becomes a function that C code can call, which does not write to its arguments.

    func.func @diastase_entry(%x) {            func.func @diastase_entry(%state: !llvm.ptr, %x) {
      runtime.poll                      ->       call @diastase_import__threads__poll(%state)
      runtime.check(%failed) {…}                 scf.if (%failed and no code in %state) { store … }
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import callee_of, create, name_of
from diastase_mlir.emit.library_calls import CALLBACK
from diastase_mlir.passes.runtime.callbacks import call_back
from diastase_runtime.abi import (
    ABANDON_FUNCTION,
    ENTRY_FUNCTION,
    LEAVE_FUNCTION,
    CallContext,
    ErrorCode,
    import_symbol,
)
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase_mlir.passes.runtime import linear_algebra
else:
    linear_algebra = LazyModule("diastase_mlir.passes.runtime.linear_algebra")

_CALLBACKS = import_symbol("callback", "")
_POLL = import_symbol("threads", "poll")


def runtime_to_calls(module: ir.Module) -> None:
    """Convert the module, in place."""
    functions = [view.operation for view in module.body.operations]
    defined = {name_of(own) for own in functions if own.name == "func.func" and _is_defined(own)}
    declared: dict[str, ir.Type] = {}
    for function in functions:
        if function.name == "func.func" and _is_defined(function):
            _convert(function, _add_state(function), defined, declared)
    known = {name_of(own) for own in functions if own.name == "func.func"}
    with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
        for symbol, kind in declared.items():
            if symbol not in known:
                _declare(symbol, kind)


def _is_defined(function: ir.Operation) -> bool:
    return len(function.regions[0].blocks) > 0


def _add_state(function: ir.Operation) -> ir.Value:
    """Give a function the state of the call as its first argument.

    An entry that somebody wrote may have it already.
    """
    block = function.regions[0].blocks[0]
    kind: Any = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs, is_entry = list(kind.inputs), name_of(function) == ENTRY_FUNCTION
    if not (is_entry and inputs[:1] == [_pointer()]):
        inputs.insert(0, _pointer())
        _shift_arguments(block, function.location)
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, kind.results)
    )
    # Without this, bufferization may write into the caller's arrays.
    unwritten = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [unwritten if isinstance(own, ir.RankedTensorType) else ir.DictAttr.get() for own in inputs]
    )
    if is_entry:
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    else:
        function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        # A copy of a small body at each call would be what a function is to avoid.
        function.attributes["llvm.no_inline"] = ir.UnitAttr.get()
    return block.arguments[0]


def _shift_arguments(block: ir.Block, location: ir.Location) -> None:
    """Put an argument, a pointer, before all others; the bindings can only append one."""
    arguments = [*block.arguments, block.add_argument(_pointer(), location)]
    for before, after in zip(arguments[-2::-1], arguments[:0:-1], strict=True):
        before.replace_all_uses_with(after)
        after.set_type(before.type)
        after.set_location(before.location)
    arguments[0].set_type(_pointer())


def _convert(
    function: ir.Operation, state: ir.Value, defined: set[str], declared: dict[str, ir.Type]
) -> None:
    found: list[ir.Operation] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in _CONVERTED or _calls(operation, defined):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    function.walk(collect)
    for operation in found:
        with ir.InsertionPoint(operation), operation.location:
            _RULES[operation.name](operation, state, declared)
        operation.erase()


def _calls(operation: ir.Operation, defined: set[str]) -> bool:
    return operation.name == "func.call" and callee_of(operation) in defined


# --- rules: an operation, the state, and the functions that are to be declared -------------------


def _hand_on(call: Any, state: ir.Value, _: dict[str, ir.Type]) -> None:
    attributes = {"callee": call.attributes["callee"]}
    kinds = [result.type for result in call.results]
    new = create("func.call", kinds, [state, *call.operands], attributes)
    for own, result in zip(call.results, new.results, strict=True):
        own.replace_all_uses_with(result)


def _context(operation: Any, state: ir.Value, _: dict[str, ir.Type]) -> None:
    operation.results[0].replace_all_uses_with(state)


def _poll(_: Any, state: ir.Value, declared: dict[str, ir.Type]) -> None:
    _call(_POLL, [state], declared)


def _no_error(operation: Any, state: ir.Value, _: dict[str, ir.Type]) -> None:
    holds = operation.results[0]
    flag = _has_no_error(state)
    if isinstance(holds.type, ir.RankedTensorType):
        flag = create("tensor.from_elements", [holds.type], [flag]).result
    holds.replace_all_uses_with(flag)


def _check(operation: Any, state: ir.Value, declared: dict[str, ir.Type]) -> None:
    failed, *details = operation.operands
    leave = ir.StringAttr(operation.attributes["leave"]).value
    if leave == "no":
        _record(operation, failed, details, state)
        return
    branch = create("scf.if", [], [failed], regions=2)
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        _record(operation, failed, details, state)
        _call(LEAVE_FUNCTION if leave == "at start" else ABANDON_FUNCTION, [], declared)
        create("scf.yield")


def _record(operation: Any, failed: ir.Value, details: Sequence[ir.Value], state: ir.Value) -> None:
    flag = ir.IntegerType.get_signless(1)
    guard = create("arith.andi", [flag], [failed, _has_no_error(state)]).result
    branch = create("scf.if", [], [guard], regions=2)
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        for name in ("code", "site"):
            number = _integer(ir.IntegerAttr(operation.attributes[name]).value)
            create("llvm.store", [], [number, _field(state, name)])
        for position, detail in enumerate(details):
            create("llvm.store", [], [detail, _field(state, "detail", position)])
        create("scf.yield")


def _custom_call(operation: Any, state: ir.Value, declared: dict[str, ir.Type]) -> None:
    if ir.StringAttr(operation.attributes["call_target_name"]).value == CALLBACK:
        call_back(operation, state, declared)
    else:
        _linear_algebra(operation, state, declared)


def _linear_algebra(operation: Any, state: ir.Value, declared: dict[str, ir.Type]) -> None:
    for check in linear_algebra.call_libraries(operation, declared):
        with ir.InsertionPoint(check), check.location:
            _check(check, state, declared)
        check.erase()


_RULES: dict[str, Callable[[Any, ir.Value, dict[str, ir.Type]], None]] = {
    "func.call": _hand_on,
    "runtime.context": _context,
    "runtime.poll": _poll,
    "runtime.no_error": _no_error,
    "runtime.check": _check,
    "stablehlo.cholesky": _linear_algebra,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.triangular_solve": _linear_algebra,
}
_CONVERTED = frozenset(_RULES) - {"func.call"}


# --- what they emit ------------------------------------------------------------------------------


def _call(symbol: str, operands: list[ir.Value], declared: dict[str, ir.Type]) -> None:
    kinds = [operand.type for operand in operands]
    declared.setdefault(symbol, ir.FunctionType.get(kinds, []))
    create("func.call", [], operands, {"callee": ir.FlatSymbolRefAttr.get(symbol)})


def _declare(symbol: str, kind: ir.Type) -> None:
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(symbol),
        "function_type": ir.TypeAttr.get(kind),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    if symbol.startswith(_CALLBACKS):
        attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    create("func.func", [], [], attributes, regions=1)


def _has_no_error(state: ir.Value) -> ir.Value:
    word = ir.IntegerType.get_signless(64)
    code = create("llvm.load", [word], [_field(state, "code")]).result
    equal = {"predicate": ir.IntegerAttr.get(word, 0)}
    operands = [code, _integer(ErrorCode.NONE)]
    return create("arith.cmpi", [ir.IntegerType.get_signless(1)], operands, equal).result


def _field(state: ir.Value, name: str, position: int = 0) -> ir.Value:
    """Address of a field of the state, or of one of its 64-bit elements."""
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get(
            [getattr(CallContext, name).offset + 8 * position]
        ),
        "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
    }
    return create("llvm.getelementptr", [_pointer()], [state], attributes).result


def _integer(number: int) -> ir.Value:
    kind = ir.IntegerType.get_signless(64)
    attributes = {"value": ir.IntegerAttr.get(kind, number)}
    return create("arith.constant", [kind], [], attributes).result


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")
