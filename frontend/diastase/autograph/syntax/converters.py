# ruff: noqa: D102 (what `visit_…` visits is in its name)
"""Converters that malt has not, or has with other results."""

import ast
from typing import Any

from malt.converters import variables
from malt.core import converter
from malt.pyct import anno, templates
from malt.pyct.static_analysis.annos import NodeAnno


class Statements(converter.Base):
    """`assert` and `raise`: in a branch that may not be taken, they are checks at run time."""

    def visit_Assert(self, node: Any) -> Any:
        self.generic_visit(node)
        message = node.msg or ast.Constant("")
        return templates.replace("ag__.assert_stmt(test, lambda: msg)", test=node.test, msg=message)

    def visit_Raise(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.exc is None:
            return node
        check = templates.replace("ag__.raise_stmt(lambda: exc)", exc=node.exc)
        guarded = templates.replace("if ag__.raises_now(): original", original=node)
        return [*guarded, *check]


class ConditionalExpressions(converter.Base):
    """`a if c else b`, also one inside of another, which malt's converter leaves alone."""

    def visit_IfExp(self, node: Any) -> Any:
        self.generic_visit(node)
        return templates.replace_as_expression(
            "ag__.if_exp(test, lambda: body, lambda: orelse)",
            test=node.test,
            body=node.body,
            orelse=node.orelse,
        )


class Comparisons(converter.Base):
    """`a < f() < b`, of which malt's converter would evaluate `f()` twice; and `a in b`."""

    def visit_Compare(self, node: Any) -> Any:
        self.generic_visit(node)
        return self._compared(node.left, node.ops, node.comparators)

    def _compared(self, left: Any, operations: Any, others: Any) -> Any:
        if len(others) == 1 and isinstance(operations[0], ast.In | ast.NotIn):
            function = "ag__.in_" if isinstance(operations[0], ast.In) else "ag__.not_in"
            return templates.replace_as_expression(f"{function}(a, b)", a=left, b=others[0])
        is_simple = all(isinstance(other, ast.Name | ast.Constant) for other in others[:-1])
        if is_simple and not any(isinstance(each, ast.In | ast.NotIn) for each in operations):
            return ast.Compare(left, operations, others)
        names = [self.ctx.namer.new_symbol("ag__operand", ()) for _ in range(2)]
        first, second = (ast.Name(name, ast.Load()) for name in names)
        return templates.replace_as_expression(
            "(lambda a, b: ag__.and_(lambda: one, lambda: more))(left, right)",
            a=names[0],
            b=names[1],
            one=self._compared(first, operations[:1], [second]),
            more=self._compared(second, operations[1:], others[1:]),
            left=left,
            right=others[0],
        )


class Reads(variables.VariableAccessTransformer):
    """Reads of variables, also on the right of `+=`, which malt's converter leaves alone."""

    def visit_AugAssign(self, node: Any) -> Any:
        if isinstance(node.target, ast.Name):
            node.value = self.visit(node.value)
        return super().visit_AugAssign(node)


class _Function:
    assignable: frozenset[str] = frozenset()


class ItemAssignment(converter.Base):
    """`x[i] = v` becomes `x = ag__.set_item(x, (i,), v)`, as arrays of JAX do not change.

    Where `x` is no variable of the function, but of one around it, the value goes nowhere: then
    `set_item` is told that it must not make a new one.
    """

    def visit_FunctionDef(self, node: Any) -> Any:
        scope: Any = anno.getanno(node, NodeAnno.BODY_SCOPE)
        parameters = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
        with self.state[_Function] as function:
            bound = scope.bound | scope.nonlocals | scope.globals
            function.assignable = frozenset({*map(str, bound), *parameters})
            return self.generic_visit(node)

    def visit_Assign(self, node: Any) -> Any:
        self.generic_visit(node)
        (target,) = node.targets
        return self._replaced(target, "ag__.set_item(base, path, item)", item=node.value) or node

    def visit_AugAssign(self, node: Any) -> Any:
        self.generic_visit(node)
        operation = ast.Constant(type(node.op).__name__)
        template = "ag__.update_item(base, path, operation, item)"
        return self._replaced(node.target, template, operation=operation, item=node.value) or node

    def _replaced(self, target: Any, template: str, **parts: Any) -> Any:
        if not isinstance(target, ast.Subscript):
            return None
        base: Any = target
        keys: list[ast.expr] = []
        while isinstance(base, ast.Subscript):
            keys.insert(0, base.slice)
            base = base.value
        path = ast.Tuple([_as_expression(key) for key in keys], ast.Load())
        if isinstance(base, ast.Name) and base.id in self.state[_Function].assignable:
            return templates.replace(f"base = {template}", base=base, path=path, **parts)
        if isinstance(base, ast.Attribute):
            return templates.replace(f"base = {template}", base=base, path=path, **parts)
        in_place = template.replace(")", ", in_place=True)")
        return templates.replace(in_place, base=base, path=path, **parts)


def _as_expression(key: Any) -> Any:
    """An index as an expression that can stand anywhere: `1:n` is `slice(1, n, None)`."""
    if isinstance(key, ast.Tuple):
        return ast.Tuple([_as_expression(part) for part in key.elts], ast.Load())
    if not isinstance(key, ast.Slice):
        return key
    bounds = [part or ast.Constant(None) for part in (key.lower, key.upper, key.step)]
    return ast.Call(ast.Attribute(ast.Name("ag__", ast.Load()), "slice", ast.Load()), bounds, [])
