"""Expressions of the kernel language: a syntax tree in, a static or dynamic value out.

One method for each kind of node, found by its name; a node without one is not in the language.
Whatever is static is computed here and now by Python itself.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from llvmlite import ir

from diastase_engine.language import arithmetic
from diastase_engine.language.arithmetic import TypeMismatch, convert, natural_type
from diastase_engine.language.concurrency import shared_record
from diastase_engine.language.functions import (
    Derived,
    External,
    Inline,
    Intrinsic,
    Kernel,
    KernelLanguageError,
    Setting,
    Shared,
)
from diastase_engine.language.guards import guard
from diastase_engine.language.instructions import Frame
from diastase_engine.language.types import (
    F64,
    I1,
    I64,
    STORED,
    PointerType,
    RecordLayout,
    SharedPointer,
    Type,
    pointer_to,
)
from diastase_engine.language.values import (
    Dynamic,
    Registers,
    Scope,
    Slot,
    StaticBinding,
    is_static,
)


class Expressions:
    """Evaluates expressions of one function under construction."""

    def __init__(self, frame: Frame, scope: Scope) -> None:
        self.frame = frame
        self.scope = scope

    @property
    def builder(self) -> Any:
        """Return the llvmlite builder: where instructions go."""
        return self.frame.builder

    def refuse(self, node: ast.AST, what: str, advice: str = "") -> NoReturn:
        """Raise the language's error at a node."""
        span = self.scope.source.span(node)
        if advice:
            raise KernelLanguageError(what=what, advice=advice, span=span)
        raise KernelLanguageError(what=what, span=span)

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self.refuse(node, f"the expression {ast.unparse(node)!r}")
        try:
            return method(node)
        except TypeMismatch as mismatch:
            self.refuse(node, str(mismatch))

    def dynamic(self, node: ast.expr, kind: Type | None = None) -> Dynamic:
        """Evaluate an expression as an LLVM value, of a given type if one is named."""
        value = self.evaluate(node)
        return self.as_dynamic(node, value, kind)

    def as_dynamic(self, node: ast.AST, value: Any, kind: Type | None = None) -> Dynamic:
        """Any value as an LLVM value."""
        try:
            if kind is None:
                kind = value.type if isinstance(value, Dynamic) else natural_type(value)
            return convert(self.builder, value, kind)
        except TypeMismatch as mismatch:
            self.refuse(node, str(mismatch))

    def expand(self, node: ast.Call, function: Inline[..., Any], arguments: list[Any]) -> Any:
        """Expand an inline function; statements are the subclass's business."""
        raise NotImplementedError

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _list(self, node: ast.List) -> list[Any]:
        return [self.evaluate(element) for element in node.elts]

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.evaluate(element) for element in node.elts)

    def _name(self, node: ast.Name) -> Any:
        binding = self.scope.lookup(node.id)
        if isinstance(binding, StaticBinding):
            return binding.value
        if isinstance(binding, Slot):
            return self.load_slot(binding)
        try:
            value = self.scope.global_value(node.id)
        except NameError:
            self.refuse(node, f"the name {node.id!r}, which is not bound here")
        if isinstance(value, Shared):
            return shared_record(self.frame, value)
        return self._chosen(node, value)

    def _chosen(self, node: ast.Name, value: Any) -> Any:
        """Return what a setting, or what is derived from some, is in this compilation."""
        if isinstance(value, Derived):
            return value.compute(*(self._chosen(node, setting) for setting in value.settings))
        if not isinstance(value, Setting):
            return value
        number = self.frame.settings.get(value.name, value.default)
        if number is None:
            self.refuse(node, f"the setting {value.name!r}, which has no value")
        return number

    def load_slot(self, slot: Slot) -> Dynamic:
        """Return the current value of a variable."""
        return Dynamic(slot.type, self.builder.load(slot.address, typ=slot.type.llvm))

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if not isinstance(value, Dynamic):
            return _STATIC_UNARY[type(node.op)](value)
        match node.op:
            case ast.Not() if value.type is I1:
                return Dynamic(I1, self.builder.not_(value.value))
            case ast.Invert() if value.type.is_integer:
                return Dynamic(value.type, self.builder.not_(value.value))
            case ast.USub() if value.type.is_float:
                return Dynamic(value.type, self.builder.fneg(value.value))
            case ast.USub() if value.type.is_integer:
                return Dynamic(value.type, self.builder.neg(value.value))
            case _:
                raise TypeMismatch(f"no {type(node.op).__name__} on {value.type.name}")

    def _binop(self, node: ast.BinOp) -> Any:
        return self.combine(node.op, self.evaluate(node.left), self.evaluate(node.right))

    def combine(self, operation: ast.operator, left: Any, right: Any) -> Any:
        """Build a binary operation on two values, static where both are."""
        if is_static(left) and is_static(right):
            return arithmetic.STATIC_OPERATORS[type(operation)](left, right)
        return arithmetic.binary(self.builder, operation, left, right)

    def _compare(self, node: ast.Compare) -> Any:
        values = [self.evaluate(part) for part in (node.left, *node.comparators)]
        results = [
            self._compare_one(operation, values[k], values[k + 1])
            for k, operation in enumerate(node.ops)
        ]
        if all(is_static(result) for result in results):
            return all(results)
        if len(results) == 1:
            return results[0]
        total = convert(self.builder, results[0], I1)
        for result in results[1:]:
            part = convert(self.builder, result, I1)
            total = Dynamic(I1, self.builder.and_(total.value, part.value))
        return total

    def _compare_one(self, operation: ast.cmpop, left: Any, right: Any) -> Any:
        if is_static(left) and is_static(right):
            return arithmetic.STATIC_COMPARISONS[type(operation)](left, right)
        return arithmetic.compare(self.builder, operation, left, right)

    def _boolop(self, node: ast.BoolOp) -> Any:
        return self._shortcut(node.values, stops_at=isinstance(node.op, ast.Or))

    def _shortcut(self, parts: Sequence[ast.expr], *, stops_at: bool) -> Any:
        """`and`/`or`: later parts are evaluated only where the earlier ones do not decide."""
        first = self.evaluate(parts[0])
        rest = parts[1:]
        if not rest:
            return first
        if is_static(first):
            return first if bool(first) is stops_at else self._shortcut(rest, stops_at=stops_at)
        condition = self.as_dynamic(parts[0], first, I1)
        decided = Dynamic(I1, ir.Constant(I1.llvm, int(stops_at)))

        def others() -> Dynamic:
            return self.as_dynamic(rest[0], self._shortcut(rest, stops_at=stops_at), I1)

        if stops_at:
            return self._choose(condition, lambda: decided, others)
        return self._choose(condition, others, lambda: decided)

    def _ifexp(self, node: ast.IfExp) -> Any:
        condition = self.evaluate(node.test)
        if is_static(condition):
            return self.evaluate(node.body if condition else node.orelse)
        chooser = self.as_dynamic(node.test, condition, I1)
        kind: list[Type] = []

        def branch(part: ast.expr) -> Callable[[], Dynamic]:
            def value() -> Dynamic:
                result = self.dynamic(part, kind[0] if kind else None)
                kind.append(result.type)
                return result

            return value

        return self._choose(chooser, branch(node.body), branch(node.orelse))

    def _choose(
        self,
        condition: Dynamic,
        chosen: Callable[[], Dynamic],
        otherwise: Callable[[], Dynamic],
    ) -> Dynamic:
        """One of two values, of which only that one is computed."""
        incoming: list[tuple[Dynamic, ir.Block]] = []
        with self.builder.if_else(condition.value) as (then, orelse):
            for region, value in ((then, chosen), (orelse, otherwise)):
                with region:
                    result = value()
                    incoming.append((result, self.builder.block))
        kind = incoming[0][0].type
        phi = self.builder.phi(kind.llvm)
        for result, block in incoming:
            phi.add_incoming(result.value, block)
        return Dynamic(kind, phi)

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.evaluate(node.value)
        if not isinstance(owner, Dynamic):
            return getattr(owner, node.attr)
        address, kind, length = self.field(node, owner)
        if length:
            return Dynamic(pointer_to(kind), address, length)
        return Dynamic(kind, self.builder.load(address, typ=kind.llvm))

    def field(self, node: ast.Attribute, owner: Dynamic) -> tuple[ir.Value, Type, int]:
        """Address, type and array length of a record's field."""
        layout = owner.type.element if isinstance(owner.type, PointerType) else None
        if isinstance(layout, RecordLayout):
            for index, (name, kind, length) in enumerate(layout.fields):
                if name == node.attr:
                    path = [ir.Constant(ir.IntType(32), number) for number in (0, index)]
                    address = self.builder.gep(owner.value, path, source_etype=layout.llvm)
                    return address, kind, length
        self.refuse(node, f"the field {node.attr!r} of {owner.type.name}")

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(owner, Registers):
            return self.load_slot(owner.slots[index])
        if not isinstance(owner, Dynamic):
            return owner[index]
        if self.frame.is_for_all_threads and isinstance(owner.type, SharedPointer):
            self.refuse(node, "a look into the block's memory outside of each_thread()")
        address, element = self.element(node, owner, index)
        if isinstance(element, RecordLayout):
            return Dynamic(owner.type, address)
        loaded = self.builder.load(address, typ=element.llvm, align=element.alignment)
        if element is STORED:
            return Dynamic(F64, arithmetic.widened(self.builder, loaded, F64.llvm))
        return Dynamic(element, loaded)

    def _slice(self, node: ast.Slice) -> slice:
        """Evaluate a slice of a static list."""
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.evaluate(part) for part in parts))

    def element(
        self, node: ast.AST, owner: Dynamic, index: Any
    ) -> tuple[ir.Value, Type | RecordLayout]:
        """Address and type of `owner[index]`."""
        if not isinstance(owner.type, PointerType):
            self.refuse(node, f"an index into {owner.type.name}")
        step = self.as_dynamic(node, index, I64)
        element = owner.type.element
        if owner.length:
            guard(self.builder, "index", step.value, ir.Constant(I64.llvm, owner.length))
        return self.builder.gep(owner.value, [step.value], source_etype=element.llvm), element

    def _call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        if node.keywords:
            self.refuse(node, "a call with keyword arguments")
        arguments = self._arguments(node)
        match function:
            case Intrinsic():
                return function.build(self.frame, *arguments)
            case Inline():
                return self.expand(node, function, arguments)
            case Kernel() | External():
                return self._call_compiled(node, function, arguments)
            case _ if is_static(arguments):
                return function(*arguments)
            case _:
                self.refuse(node, f"a call of {ast.unparse(node.func)!r} with run-time values")

    def _arguments(self, node: ast.Call) -> list[Any]:
        """Evaluate arguments, starred lists opened."""
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments.extend(self.evaluate(argument.value))
            else:
                arguments.append(self.evaluate(argument))
        return arguments

    def _call_compiled(
        self, node: ast.Call, function: Kernel[..., Any] | External, arguments: list[Any]
    ) -> Dynamic | None:
        kinds = function.parameter_types
        if self.frame.is_for_all_threads:
            self.refuse(node, f"a call of {function.name} outside of each_thread()")
        if len(kinds) != len(arguments):
            what = f"{len(arguments)} arguments for the {len(kinds)} of {function.name}"
            self.refuse(node, what)
        values = [
            self.as_dynamic(node, argument, kind).value
            for argument, kind in zip(arguments, kinds, strict=True)
        ]
        result = self.builder.call(self.frame.declare(function), values)
        return None if function.return_type is None else Dynamic(function.return_type, result)


_STATIC_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: lambda value: -value,
    ast.UAdd: lambda value: +value,
    ast.Invert: lambda value: ~value,
    ast.Not: lambda value: not value,
}
