"""Rewriting of a syntax tree: malt's converters in their order, and those that it has not.

In: the tree of one function, prepared (`preparation`). Out: a tree in which control flow, calls,
`and`, `or`, `not`, comparisons, assertions and item assignment call `ag__`, which `operators`
provides; `return`, `break` and `continue` are flags and guards by then. `rewritten` is all of it.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from malt.converters import (
    break_statements,
    call_trees,
    continue_statements,
    control_flow,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter
from malt.pyct import anno, cfg, qual_names, templates
from malt.pyct.static_analysis import activity, liveness, reaching_definitions, reaching_fndefs
from malt.pyct.static_analysis.annos import NodeAnno

from diastase.autograph.syntax.preparation import own_statements

# ruff: noqa: D102 (what `visit_…` visits is in its name)

_CLOSURES = (ast.Lambda, ast.ClassDef, ast.GeneratorExp)


def rewritten(node: Any, context: Any) -> Any:
    """Apply all rewriting steps, in an order that the steps themselves require."""
    node = _analysed(node, context)
    node = functions.transform(node, context)
    node = break_statements.transform(node, context)
    node = Statements(context).visit(node)
    node = continue_statements.transform(node, context)  # break leaves some behind
    node = return_statements.transform(node, context)
    node = ItemAssignment(context).visit(activity.resolve(qual_names.resolve(node), context, None))
    node = _control_flow_converted(call_trees.transform(node, context), context)
    node = Comparisons(context).visit(ConditionalExpressions(context).visit(node))
    return Reads(context).visit(logical_expressions.transform(node, context))


def _analysed(node: Any, context: Any) -> Any:
    """What is known of the user's own variables: `variables` treats reads of these only."""
    graphs = cfg.build(node)
    node = activity.resolve(qual_names.resolve(node), context, None)
    node = reaching_definitions.resolve(node, context, graphs)
    anno.dup(node, {anno.Static.DEFINITIONS: anno.Static.ORIG_DEFINITIONS})
    return node


def _control_flow_converted(node: Any, context: Any) -> Any:
    """What `control_flow.transform` does, but that variables live on where others see them."""
    graphs = cfg.build(node)
    node = activity.resolve(qual_names.resolve(node), context, None)
    node = reaching_definitions.resolve(node, context, graphs)
    node = reaching_fndefs.resolve(node, context, graphs)
    node = liveness.resolve(node, context, graphs)
    for function in ast.walk(node):
        if isinstance(function, ast.FunctionDef):
            _extend_lives(function)
    return control_flow.ControlFlowTransformer(context).visit(node)


def _extend_lives(function: ast.FunctionDef) -> None:
    """Let variables live on that other functions see: malt drops what its own function drops.

    They are those declared `global` or `nonlocal`, those that a lambda, class or generator
    elsewhere reads, which may run afterwards, and those that are read where an exception leads to.
    """
    scope: Any = anno.getanno(function, NodeAnno.BODY_SCOPE)
    declared = scope.globals | scope.nonlocals
    statements = list(own_statements(function))
    closures = [part for part in _parts(function.body) if isinstance(part, _CLOSURES)]
    attempts = [
        *(_attempt(part) for part in statements if isinstance(part, ast.Try)),
        *(_with(part, function) for part in statements if isinstance(part, ast.With)),
    ]
    for block in statements:
        if isinstance(block, ast.If | ast.For | ast.While):
            inside = set(ast.walk(block))
            seen = declared.union(
                *(_names(_parts([part]), ast.Load) for part in closures if part not in inside)
            )
            seen = seen.union(*(found for tried, found in attempts if block in tried))
            live: Any = anno.getanno(block, anno.Static.LIVE_VARS_OUT)
            anno.setanno(block, anno.Static.LIVE_VARS_OUT, live | seen)


def _attempt(node: ast.Try) -> tuple[set[ast.AST], Any]:
    """What is tried, and the variables that are read where it fails."""
    tried = _parts(node.body)
    live: Any = anno.getanno(node, anno.Static.LIVE_VARS_OUT)
    return tried, live | set(_names(_parts([*node.handlers, *node.finalbody]), ast.Load))


def _with(node: ast.With, function: ast.FunctionDef) -> tuple[set[ast.AST], Any]:
    """The body, which a `suppress` may end early, and the variables that it assigns repeatedly."""
    tried = _parts(node.body)
    times = Counter(_names(tried, ast.Store))
    read = set(_names(set(ast.walk(function)) - tried, ast.Load))
    return tried, {name for name in read if times[name] > 1}


def _parts(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    return {part for node in nodes for part in ast.walk(node)}


def _names(parts: set[ast.AST], context: type[ast.expr_context]) -> Iterator[Any]:
    """The names in these nodes that are read, or stored."""
    for part in parts:
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, context):
            if anno.hasanno(part, anno.Basic.QN):
                yield anno.getanno(part, anno.Basic.QN)


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
