"""Statements of the kernel language, and the compilation of one function body.

After `return`, `break` or `continue` the LLVM block is ended; what follows in the same list of
statements can never run and is not compiled.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from diastase_engine.language.arithmetic import TypeMismatch
from diastase_engine.language.expressions import Expressions
from diastase_engine.language.functions import Inline
from diastase_engine.language.grids import loop_over_threads
from diastase_engine.language.intrinsics import each_thread, static
from diastase_engine.language.types import I1, I64, RecordLayout, Type, type_of_annotation
from diastase_engine.language.values import (
    Dynamic,
    Registers,
    Scope,
    Slot,
    StaticBinding,
    is_static,
)


@dataclass(frozen=True)
class LoopTargets:
    """Where `continue` and `break` go."""

    next: ir.Block
    end: ir.Block | None
    """None of a loop over threads, each of which goes through it."""


class Statements(Expressions):
    """Compiles the statements of one function under construction."""

    _loops: tuple[LoopTargets, ...] = ()

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Compile statements until one ends the block."""
        for statement in statements:
            if self.scope.finished or self.builder.block.is_terminated:
                return
            method = getattr(self, f"_run_{type(statement).__name__.lower()}", None)
            if method is None:
                self.refuse(statement, f"a statement of kind {type(statement).__name__}")
            method(statement)

    def expand(self, node: ast.Call, function: Inline[..., Any], arguments: list[Any]) -> Any:
        """Compile the body of an inline function here, in a scope of its own."""
        source = function.source
        if len(source.parameters) != len(arguments):
            what = f"{len(arguments)} arguments for the {len(source.parameters)} of {source.name}"
            self.refuse(node, what)
        caller, loops = self.scope, self._loops
        self.scope, self._loops = Scope(source, is_inline=True), ()
        for name, value in zip(source.parameters, arguments, strict=True):
            # Arguments are values: even a dynamic one needs no variable, as nothing can change it.
            self.scope.names[name] = StaticBinding(value, 0)
        self.run(source.definition.body)
        returned = self.scope.returned
        self.scope, self._loops = caller, loops
        return returned

    def _run_expr(self, statement: ast.Expr) -> None:
        self.evaluate(statement.value)

    def _run_pass(self, statement: ast.Pass) -> None:
        """Nothing."""

    def _run_return(self, statement: ast.Return) -> None:
        scope = self.scope
        if self.frame.phase and not scope.is_inline:
            self.refuse(statement, "return of a thread", "`continue` ends what a thread does")
        if scope.is_inline:
            if scope.depth:
                advice = "assign to a variable and return it at the end"
                self.refuse(statement, "return of an inline function in a run-time block", advice)
            scope.returned = None if statement.value is None else self.evaluate(statement.value)
            scope.finished = True
        elif statement.value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(self.dynamic(statement.value, scope.result_type).value)

    def _run_assign(self, statement: ast.Assign) -> None:
        value = self.evaluate(statement.value)
        for target in statement.targets:
            self._assign(target, value)

    def _run_augassign(self, statement: ast.AugAssign) -> None:
        current, change = self.evaluate(statement.target), self.evaluate(statement.value)
        try:
            self._assign(statement.target, self.combine(statement.op, current, change))
        except TypeMismatch as mismatch:
            self.refuse(statement, str(mismatch))

    def _run_annassign(self, statement: ast.AnnAssign) -> None:
        """`name: i64 = 0` declares a variable, whatever the value."""
        if not isinstance(statement.target, ast.Name) or statement.value is None:
            self.refuse(statement, "a declaration without a name or a value")
        kind = type_of_annotation(self.evaluate(statement.annotation))
        self._declare_variable(statement.target.id, kind, self.dynamic(statement.value, kind).value)

    def _declare_variable(self, name: str, kind: Type, value: ir.Value) -> Slot:
        slot = Slot(kind, self.frame.allocate(kind), self.frame.phase)
        self.scope.names[name] = slot
        self.builder.store(value, slot.address)
        return slot

    def _assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name():
                self._assign_name(target, value)
            case ast.Tuple() | ast.List():
                for part, element in zip(target.elts, value, strict=True):
                    self._assign(part, element)
            case ast.Subscript():
                self._assign_element(target, value)
            case ast.Attribute():
                self._assign_field(target, value)
            case _:
                self.refuse(target, f"an assignment to {ast.unparse(target)!r}")

    def _assign_name(self, target: ast.Name, value: Any) -> None:
        binding = self.scope.lookup(target.id)
        if isinstance(binding, Slot):
            self._set(target, binding, value)
        elif isinstance(value, Dynamic) and binding is None:
            self._declare_variable(target.id, value.type, value.value)
        elif isinstance(value, Dynamic) or not self.scope.bind_static(target.id, value):
            advice = f"declare it with its type where it is first assigned: {target.id}: i64 = ..."
            self.refuse(target, f"a run-time change of the static name {target.id!r}", advice)

    def _set(self, target: ast.AST, slot: Slot, value: Any) -> None:
        """Give a variable a value; one of all threads changes for none of them alone."""
        if slot.phase != self.frame.phase:
            advice = "memory of the block (shared_array) is what threads have in common"
            self.refuse(target, "a change of a variable from outside of each_thread()", advice)
        self.builder.store(self.as_dynamic(target, value, slot.type).value, slot.address)

    def _refuse_for_all_threads(self, target: ast.AST) -> None:
        if self.frame.is_for_all_threads:
            self.refuse(target, "a change of memory outside of each_thread()")

    def _assign_element(self, target: ast.Subscript, value: Any) -> None:
        owner, index = self.evaluate(target.value), self.evaluate(target.slice)
        if isinstance(owner, Registers):
            self._set(target, owner.slots[index], value)
            return
        if not isinstance(owner, Dynamic):
            self.refuse(target, "an assignment to an element of a static value")
        self._refuse_for_all_threads(target)
        address, element = self.element(target, owner, index)
        if isinstance(element, RecordLayout):
            self.refuse(target, f"an assignment of a whole {element.name}", "copy its fields")
        stored = self.as_dynamic(target, value, element)
        self.builder.store(stored.value, address, align=element.alignment)

    def _assign_field(self, target: ast.Attribute, value: Any) -> None:
        owner = self.evaluate(target.value)
        if not isinstance(owner, Dynamic):
            self.refuse(target, "an assignment to a field of a static value")
        self._refuse_for_all_threads(target)
        address, kind, length = self.field(target, owner)
        if length:
            self.refuse(target, f"an assignment to the array field {target.attr!r}")
        self.builder.store(self.as_dynamic(target, value, kind).value, address)

    def _run_if(self, statement: ast.If) -> None:
        condition = self.evaluate(statement.test)
        if is_static(condition):
            self.run(statement.body if condition else statement.orelse)
            return
        test = self.as_dynamic(statement.test, condition, I1).value
        if not statement.orelse:
            with self.builder.if_then(test):
                self._run_block(statement.body)
            return
        ended: list[bool] = []
        with self.builder.if_else(test) as (then, orelse):
            for region, statements in ((then, statement.body), (orelse, statement.orelse)):
                with region:
                    self._run_block(statements)
                    ended.append(self.builder.block.is_terminated)
        if all(ended):
            self.builder.unreachable()

    def _run_block(self, statements: Sequence[ast.stmt]) -> None:
        with self.scope.block():
            self.run(statements)

    def _run_while(self, statement: ast.While) -> None:
        self._loop(lambda: self.dynamic(statement.test, I1).value, statement.body, lambda: None)

    def _run_for(self, statement: ast.For) -> None:
        call = statement.iter
        if not isinstance(call, ast.Call) or not isinstance(statement.target, ast.Name):
            self.refuse(statement, "a loop over anything but range(...) or static(...)")
        function = self.evaluate(call.func)
        if function is static:
            self._unroll(statement, self.evaluate(call))
        elif function is range:
            self._count(statement, statement.target.id, call.args)
        elif function is each_thread:
            self._share(statement, statement.target.id)
        else:
            self.refuse(statement, "a loop over anything but range(...) or static(...)")

    def _share(self, statement: ast.For, name: str) -> None:
        """What each thread of a block does, until all of them have done it."""
        if not self.frame.is_for_all_threads:
            self.refuse(statement, "each_thread() outside of a grid's kernel, or inside of another")
        loops = self._loops

        def body(number: ir.Value, end: ir.Block) -> None:
            with self.scope.block():
                self._declare_variable(name, I64, number)
                self._loops = (LoopTargets(end, None),)
                self._run_block(statement.body)
            self._loops = loops

        loop_over_threads(self.frame, body)

    def _unroll(self, statement: ast.For, values: Sequence[Any]) -> None:
        name = statement.target.id  # type: ignore[attr-defined]
        for value in values:
            self.scope.names[name] = StaticBinding(value, self.scope.depth)
            self.run(statement.body)

    def _count(self, statement: ast.For, name: str, bounds: Sequence[ast.expr]) -> None:
        """`range` with a positive step; the variable is private to the loop, as in C."""
        parts = [self.dynamic(bound, I64).value for bound in bounds]
        one, zero = ir.Constant(I64.llvm, 1), ir.Constant(I64.llvm, 0)
        start, stop, step = ([zero, *parts, one] if len(parts) == 1 else [*parts, one])[:3]
        with self.scope.block():
            slot = self._declare_variable(name, I64, start)

            def unfinished() -> ir.Value:
                return self.builder.icmp_signed("<", self.load_slot(slot).value, stop)

            def advance() -> None:
                following = self.builder.add(self.load_slot(slot).value, step, flags=("nsw",))
                self.builder.store(following, slot.address)

            self._loop(unfinished, statement.body, advance)

    def _loop(
        self,
        condition: Callable[[], ir.Value],
        body: Sequence[ast.stmt],
        advance: Callable[[], None],
    ) -> None:
        function = self.builder.function
        head, inside, step, end = (
            function.append_basic_block(name) for name in ("head", "body", "step", "end")
        )
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(condition(), inside, end)
        self.builder.position_at_end(inside)
        self._loops = (*self._loops, LoopTargets(step, end))
        self._run_block(body)
        self._loops = self._loops[:-1]
        if not self.builder.block.is_terminated:
            self.builder.branch(step)
        self.builder.position_at_end(step)
        advance()
        self.builder.branch(head)
        self.builder.position_at_end(end)

    def _run_break(self, statement: ast.Break) -> None:
        end = self._enclosing_loop(statement).end
        if end is None:
            self.refuse(statement, "break of a thread", "`continue` ends what a thread does")
        self.builder.branch(end)

    def _run_continue(self, statement: ast.Continue) -> None:
        self.builder.branch(self._enclosing_loop(statement).next)

    def _enclosing_loop(self, statement: ast.stmt) -> LoopTargets:
        if not self._loops:
            self.refuse(statement, "break or continue outside a run-time loop")
        return self._loops[-1]
