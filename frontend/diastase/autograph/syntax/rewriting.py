"""All steps of rewriting, and what is known of variables while they are made."""

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
)
from malt.pyct import anno, cfg, qual_names
from malt.pyct.static_analysis import (
    activity,
    liveness,
    reaching_definitions,
    reaching_fndefs,
)
from malt.pyct.static_analysis.annos import NodeAnno

from diastase.autograph.syntax.converters import (
    Comparisons,
    ConditionalExpressions,
    ItemAssignment,
    Reads,
    Statements,
)
from diastase.autograph.syntax.normalised import own_statements

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
