"""Rewriting of syntax trees: malt's converters in their order, and those that it has not.

In: the tree of one function, each node with its place in the user's file (`ORIGIN`). Out: a tree
in which control flow, calls, `and`, `or`, `not`, comparisons, assertions and item assignment call
`ag__`, which `operators` provides; `return`, `break` and `continue` are flags and guards by then.

Before malt's analyses, `Normalised` writes out what these do not know: assignments of several
targets, a function's end as `return None`, private names.

The trap: malt copies nodes and drops their line numbers; only what stands in `ORIGIN` survives.
"""

import ast
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
from malt.pyct.static_analysis import (
    activity,
    liveness,
    reaching_definitions,
    reaching_fndefs,
)
from malt.pyct.static_analysis.annos import NodeAnno

from diastase.autograph.errors import UnsupportedSyntaxError
from diastase_runtime.errors import Span

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_REFUSED: dict[type[ast.AST], str] = {
    ast.NamedExpr: "an assignment expression (:=)",
    ast.Match: "a match statement",
    ast.AsyncFunctionDef: "an async function",
}


def rewritten(node: Any, context: Any) -> Any:
    """Apply all rewriting steps, in an order that the steps themselves require."""
    node = _analysed(node, context)
    node = functions.transform(node, context)
    node = break_statements.transform(node, context)
    node = _Statements(context).visit(node)
    node = continue_statements.transform(node, context)  # break leaves some behind
    node = return_statements.transform(node, context)
    node = _ItemAssignment(context).visit(activity.resolve(qual_names.resolve(node), context, None))
    node = _control_flow_converted(call_trees.transform(node, context), context)
    node = _ConditionalExpressions(context).visit(node)
    return _Reads(context).visit(logical_expressions.transform(node, context))


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

    They are those declared `global` or `nonlocal`, and those that an assigned lambda reads.
    """
    scope: Any = anno.getanno(function, NodeAnno.BODY_SCOPE)
    declared = scope.globals | scope.nonlocals
    statements = list(_own_statements(function))
    closures = [
        part
        for statement in statements
        if isinstance(statement, ast.Assign)
        for part in ast.walk(statement.value)
        if isinstance(part, ast.Lambda)
    ]
    for block in statements:
        if isinstance(block, ast.If | ast.For | ast.While):
            inside = set(ast.walk(block))
            seen = declared.union(*(_free(part) for part in closures if part not in inside))
            live: Any = anno.getanno(block, anno.Static.LIVE_VARS_OUT)
            anno.setanno(block, anno.Static.LIVE_VARS_OUT, live | seen)


def _free(function: ast.Lambda) -> Any:
    scope: Any = anno.getanno(function, NodeAnno.ARGS_AND_BODY_SCOPE)
    return scope.read - scope.bound


def note_origins(node: ast.AST) -> None:
    """Keep each node's place where malt's copies keep it."""
    for part in ast.walk(node):
        if hasattr(part, "lineno"):
            anno.setanno(part, anno.Basic.ORIGIN, _place(part))


def restore_origins(nodes: Sequence[ast.AST]) -> None:
    """Give every node a place: its own, else that of the first part of it, else its parent's."""
    line: tuple[int, ...] = (1, 0, 1, 0)
    for node in nodes:
        _restore(node, line)


def _place(node: Any) -> tuple[int, ...]:
    """Lines and columns; of a statement with a body the first line, where its call is made."""
    if hasattr(node, "body"):
        return node.lineno, node.col_offset, node.lineno, node.col_offset + 1
    end_line = node.end_lineno or node.lineno
    return node.lineno, node.col_offset, end_line, node.end_col_offset or 0


def _restore(node: Any, outer: tuple[int, ...]) -> None:
    own = next(_origins(node), outer)
    if "lineno" in node._attributes:
        node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = own
    for child in ast.iter_child_nodes(node):
        _restore(child, own)


def _origins(node: Any) -> Iterator[tuple[int, ...]]:
    """The places noted in a tree, from the top; `Load` and the like are shared by all trees."""
    if "lineno" in node._attributes and anno.hasanno(node, anno.Basic.ORIGIN):
        place: Any = anno.getanno(node, anno.Basic.ORIGIN)
        yield place
    for child in ast.iter_child_nodes(node):
        yield from _origins(child)


# --- before the analyses -------------------------------------------------------------------------


class Normalised(ast.NodeTransformer):
    """Writes out what malt's analyses do not know; `owner` is the class of a method."""

    def __init__(self, file: str, owner: str | None) -> None:
        self._file, self._owner = file, owner
        self._count = 0

    def visit(self, node: ast.AST) -> Any:
        """Refuse what would be converted wrongly."""
        what = _REFUSED.get(type(node))
        if what is not None:
            line: Any = getattr(node, "lineno", getattr(node, "col_offset", 1))
            raise UnsupportedSyntaxError(what=what, span=Span(self._file, line))
        return super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Where the end of a function that returns values is reached, it returns None."""
        self.generic_visit(node)
        if _returns_a_value(node) and not _leaves(node.body):
            last = node.body[-1]
            node.body.append(ast.copy_location(ast.Return(ast.Constant(None)), last))
            ast.fix_missing_locations(node.body[-1])
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """A private name, as Python mangles it in the body of a class."""
        self.generic_visit(node)
        if self._owner and node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = f"_{self._owner.lstrip('_')}{node.attr}"
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Several targets, or items among the targets, are assigned one after the other."""
        self.generic_visit(node)
        unpacks = any(_unpacks_items(target) for target in node.targets)
        if len(node.targets) == 1 and not unpacks:
            return node
        if len(node.targets) == 1:
            return self._unpacked(node, node.targets[0], node.value)
        value = self._name(node)
        statements: list[ast.stmt] = [_assignment(node, _stored(value), node.value)]
        for target in node.targets:
            statements += self._unpacked(node, target, value)
        return statements

    def _unpacked(self, node: ast.stmt, target: Any, value: ast.expr) -> list[ast.stmt]:
        if not _unpacks_items(target):
            return [_assignment(node, target, value)]
        simple: list[ast.expr] = []
        later: list[ast.stmt] = []
        for element in target.elts:
            if isinstance(element, ast.Name | ast.Starred):
                simple.append(element)
                continue
            name = self._name(node)
            simple.append(_stored(name))
            later += self._unpacked(node, element, name)
        tuple_ = ast.copy_location(ast.Tuple(simple, ast.Store()), node)
        return [_assignment(node, tuple_, value), *later]

    def _name(self, node: ast.stmt) -> ast.Name:
        self._count += 1
        return ast.copy_location(ast.Name(f"ag__value_{self._count}", ast.Load()), node)


def _assignment(node: ast.stmt, target: Any, value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Assign([target], value), node)


def _stored(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Store()), name)


def _unpacks_items(target: ast.expr) -> bool:
    """Whether a target is a tuple with items of containers in it."""
    return isinstance(target, ast.Tuple | ast.List) and any(
        isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)
        for part in ast.walk(target)
    )


def _returns_a_value(function: ast.FunctionDef) -> bool:
    statements = _own_statements(function)
    return any(isinstance(part, ast.Return) and part.value for part in statements)


def _own_statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The statements of a function, at any depth, without those of functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.stmt):
            yield part
        if not isinstance(part, (*_FUNCTIONS, ast.ClassDef)):
            pending += ast.iter_child_nodes(part)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    match body[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=body, orelse=orelse):
            return _leaves(body) and bool(orelse) and _leaves(orelse)
        case ast.With(body=body):
            return _leaves(body)
        case ast.While(test=ast.Constant(value=True)) as loop:
            return not any(isinstance(part, ast.Break) for part in ast.walk(loop))
        case _:
            return False


# --- converters of ours --------------------------------------------------------------------------


class _Statements(converter.Base):
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


class _ConditionalExpressions(converter.Base):
    """`a if c else b`, also one inside of another, which malt's converter leaves alone."""

    def visit_IfExp(self, node: Any) -> Any:
        self.generic_visit(node)
        return templates.replace_as_expression(
            "ag__.if_exp(test, lambda: body, lambda: orelse)",
            test=node.test,
            body=node.body,
            orelse=node.orelse,
        )


class _Reads(variables.VariableAccessTransformer):
    """Reads of variables, also on the right of `+=`, which malt's converter leaves alone."""

    def visit_AugAssign(self, node: Any) -> Any:
        if isinstance(node.target, ast.Name):
            node.value = self.visit(node.value)
        return super().visit_AugAssign(node)


class _Function:
    assignable: frozenset[str] = frozenset()


class _ItemAssignment(converter.Base):
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
