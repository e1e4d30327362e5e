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
from diastase_mlir.emit.buffers import allocate, as_tensor, filled
from diastase_mlir.emit.library_calls import CALLBACK, FOURIER
from diastase_mlir.emit.loops import when
from diastase_mlir.emit.operations import (
    binary,
    compare_integers,
    signless_type,
    to_signless,
    to_type,
)
from diastase_mlir.emit.tensors import Size, box
from diastase_mlir.passes.memory import load, offset, pointer_type, store, word, word_type
from diastase_mlir.passes.operations import (
    SCOPE,
    Signatures,
    call,
    call_imported,
    callee_of,
    declare,
    function_type,
    name_of,
    number_in,
    operations_named,
    set_function_type,
)
from diastase_mlir.passes.runtime.fourier import call_fourier
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
    functions = {
        name_of(view.operation): view.operation
        for view in module.body.operations
        if view.operation.name == "func.func"
    }
    defined = {name: own for name, own in functions.items() if own.regions[0].blocks}
    declared: Signatures = {}
    for function in defined.values():
        _convert(function, _add_state(function), frozenset(defined), declared)
    missing = {symbol: kind for symbol, kind in declared.items() if symbol not in functions}
    for function in declare(module, missing):
        if name_of(function).startswith(_CALLBACKS):
            function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()


def _add_state(function: ir.Operation) -> ir.Value:
    """Give a function the state of the call as its first argument.

    An entry that somebody wrote may have it already.
    """
    block = function.regions[0].blocks[0]
    kind = function_type(function)
    inputs, is_entry = list(kind.inputs), name_of(function) == ENTRY_FUNCTION
    if not (is_entry and inputs[:1] == [pointer_type()]):
        inputs.insert(0, pointer_type())
        _shift_arguments(block, function.location)
    set_function_type(function, inputs, kind.results)
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
    arguments = [*block.arguments, block.add_argument(pointer_type(), location)]
    for before, after in zip(arguments[-2::-1], arguments[:0:-1], strict=True):
        before.replace_all_uses_with(after)
        after.set_type(before.type)
        after.set_location(before.location)
    arguments[0].set_type(pointer_type())


def _convert(
    function: ir.Operation, state: ir.Value, defined: frozenset[str], declared: Signatures
) -> None:
    found = operations_named(function, *_RULES)
    for operation in found:
        if operation.name == "func.call" and callee_of(operation) not in defined:
            continue
        with ir.InsertionPoint(operation), operation.location:
            _RULES[operation.name](operation, state, declared)
        operation.erase()


# --- rules: an operation, the state, and the functions that are to be declared -------------------


def _hand_on(operation: Any, state: ir.Value, _: Signatures) -> None:
    kinds = [result.type for result in operation.results]
    results = call(callee_of(operation), [state, *operation.operands], kinds)
    for own, result in zip(operation.results, results, strict=True):
        own.replace_all_uses_with(result)


def _context(operation: Any, state: ir.Value, _: Signatures) -> None:
    operation.results[0].replace_all_uses_with(state)


def _poll(_: Any, state: ir.Value, declared: Signatures) -> None:
    call_imported(declared, _POLL, [state])


def _no_error(operation: Any, state: ir.Value, _: Signatures) -> None:
    holds = operation.results[0]
    flag = _has_no_error(state)
    holds.replace_all_uses_with(box(flag) if isinstance(holds.type, ir.RankedTensorType) else flag)


def _check(operation: Any, state: ir.Value, declared: Signatures) -> None:
    failed, *details = operation.operands
    leave = ir.StringAttr(operation.attributes["leave"]).value
    if leave == "no":
        _record(operation, failed, details, state)
        return

    def record_and_leave() -> None:
        _record(operation, failed, details, state)
        call_imported(declared, LEAVE_FUNCTION if leave == "at start" else ABANDON_FUNCTION, [])

    when(SCOPE, failed, record_and_leave)


def _record(operation: Any, failed: ir.Value, details: Sequence[ir.Value], state: ir.Value) -> None:
    def write() -> None:
        for name in ("code", "site"):
            number = word(ir.IntegerAttr(operation.attributes[name]).value)
            store(number, _field(state, name))
        for position, detail in enumerate(details):
            store(detail, _field(state, "detail", position))

    when(SCOPE, binary("arith.andi", failed, _has_no_error(state)), write)


def _custom_call(operation: Any, state: ir.Value, declared: Signatures) -> None:
    target = ir.StringAttr(operation.attributes["call_target_name"]).value
    if target == CALLBACK:
        _call_back(operation, state, declared)
    elif target == FOURIER:
        call_fourier(operation, state, declared)
    else:
        _linear_algebra(operation, state, declared)


def _call_back(operation: Any, state: ir.Value, declared: Signatures) -> None:
    """A Python function, with memory for arguments and results, which the program allocates."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    number, site, count = (
        ir.IntegerAttr(config[name]).value for name in ("number", "site", "arguments")
    )
    operands = list(operation.operands)
    shapes = iter(operands[count:])
    inputs = [filled(to_signless(argument)) for argument in operands[:count]]
    outputs = [_allocated(result.type, shapes) for result in operation.results]
    arguments = [state, word(site), *inputs, *outputs]
    call_imported(declared, import_symbol("callback", str(number)), arguments)
    for result, buffer in zip(operation.results, outputs, strict=True):
        result.replace_all_uses_with(to_type(as_tensor(buffer), result.type))


def _allocated(kind: Any, shapes: Any) -> ir.Value:
    sizes: list[Size] = list(kind.shape)
    if not kind.has_static_shape:
        vector = next(shapes)
        sizes = [
            number_in(vector, axis) if kind.is_dynamic_dim(axis) else size
            for axis, size in enumerate(kind.shape)
        ]
    return allocate(sizes, ir.RankedTensorType(signless_type(kind)).element_type)


def _linear_algebra(operation: Any, state: ir.Value, declared: Signatures) -> None:
    for check in linear_algebra.call_libraries(operation, declared):
        with ir.InsertionPoint(check), check.location:
            _check(check, state, declared)
        check.erase()


_RULES: dict[str, Callable[[Any, ir.Value, Signatures], None]] = {
    "func.call": _hand_on,
    "runtime.context": _context,
    "runtime.poll": _poll,
    "runtime.no_error": _no_error,
    "runtime.check": _check,
    "stablehlo.cholesky": _linear_algebra,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.triangular_solve": _linear_algebra,
}


def _has_no_error(state: ir.Value) -> ir.Value:
    code = load(word_type(), _field(state, "code"))
    return compare_integers("eq", code, word(ErrorCode.NONE))


def _field(state: ir.Value, name: str, position: int = 0) -> ir.Value:
    """Address of a field of the state, or of one of its 64-bit elements."""
    return offset(state, getattr(CallContext, name).offset + 8 * position)
