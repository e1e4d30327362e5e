"""What MLIR's `generate-runtime-verification` asserts becomes an error of the call; checked builds.

    cf.assert %holds, "ERROR: ... memref.load %a[%i] ... ^ out-of-bounds access"
    ->
    scf.if (not %holds) { func.call @diastase_check_failed(%message) }

In: loops, loads and stores on memory; no operation of `linalg` any more, whose loops are checked as
loads and stores. The functions that are called do not return (`codegen.check_failures`): one
abandons the call; the other, in functions that the thread pool runs, where other threads may be at
work on the same arrays, ends the process.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from diastase_mlir.bindings import arith, ir
from diastase_mlir.diagnostics import span_at
from diastase_mlir.emit.loops import when
from diastase_mlir.emit.operations import create, integer_type
from diastase_mlir.passes.memory import pointer_type
from diastase_mlir.passes.operations import (
    SCOPE,
    call,
    callee_of,
    declare,
    function_around,
    name_of,
    operations_in,
    operations_named,
)
from diastase_runtime.abi import (
    CHECK_FAILED_FUNCTION,
    CHECK_FAILED_ON_THREAD_FUNCTION,
    ELEMENT_ENTRY,
)

VERIFICATION = "generate-runtime-verification"
"""MLIR's pass, which has run before."""

_MESSAGE = re.compile(r"^ERROR: [^\n]*\n(?P<what>.*)\n\^ (?P<why>[^\n]*)", re.S)


def failed_checks(module: ir.Module) -> None:
    """Replace all assertions of a module, in place."""
    found = operations_named(module.operation, "cf.assert")
    if not found:
        return
    on_threads, messages = _on_threads(module), _Messages(module)
    for assertion in found:
        is_on_thread = name_of(function_around(assertion)) in on_threads
        failed = CHECK_FAILED_ON_THREAD_FUNCTION if is_on_thread else CHECK_FAILED_FUNCTION
        with ir.InsertionPoint(assertion), assertion.location:
            yes = arith.constant(integer_type(1), 1)
            fails = arith.xori(assertion.operands[0], yes)
            when(SCOPE, fails, partial(_fail, failed, messages.address(_message(assertion))))
        assertion.erase()
    kind = ir.FunctionType.get([pointer_type()], [])
    declare(module, dict.fromkeys((CHECK_FAILED_FUNCTION, CHECK_FAILED_ON_THREAD_FUNCTION), kind))


def _fail(function: str, message: ir.Value) -> None:
    call(function, [message])


def _message(assertion: Any) -> str:
    """What failed, and in whose line."""
    text = ir.StringAttr(assertion.attributes["msg"]).value
    parts = _MESSAGE.match(text)
    span = span_at(str(assertion.location))
    said = text if parts is None else f"{parts['why']}: {parts['what']}"
    return said if span is None else f"{said}, at {span.file}:{span.line}"


def _on_threads(module: ir.Module) -> set[str]:
    """Functions whose addresses the thread pool gets, and all that they call.

    Not elements of a batch, each of which abandons a call of its own.
    """
    functions = {name_of(own): own for own in operations_named(module.operation, "func.func")}
    found: set[str] = set()
    waiting = [
        name
        for constant in operations_named(module.operation, "func.constant")
        if not (name := _value_of(constant)).endswith(ELEMENT_ENTRY)
    ]
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found.add(name)
            waiting += _called(functions[name])
    return found


def _value_of(constant: Any) -> str:
    return ir.FlatSymbolRefAttr(constant.attributes["value"]).value


def _called(function: Any) -> Iterator[str]:
    return (callee_of(own) for own in operations_in(function) if own.name == "func.call")


class _Messages:
    """Constants of the module with what is said; equal ones are shared."""

    def __init__(self, module: ir.Module):
        self._module = module
        self._names: dict[str, str] = {}

    def address(self, message: str) -> ir.Value:
        """Pointer to a message, which ends with a zero."""
        if message not in self._names:
            self._names[message] = f"diastase_message_{len(self._names)}"
            self._define(self._names[message], message)
        attributes = {"global_name": ir.FlatSymbolRefAttr.get(self._names[message])}
        return create("llvm.mlir.addressof", [pointer_type()], [], attributes).result

    def _define(self, name: str, message: str) -> None:
        content = message.encode("ascii", "replace") + b"\0"
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "global_type": ir.TypeAttr.parse(f"!llvm.array<{len(content)} x i8>"),
            "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "constant": ir.UnitAttr.get(),
            "value": ir.StringAttr.get(content),
            "addr_space": ir.IntegerAttr.get(integer_type(32), 0),
        }
        with ir.InsertionPoint.at_block_begin(self._module.body), ir.Location.unknown():
            create("llvm.mlir.global", [], [], attributes, regions=1)
