"""Generator functions inside of converted functions: Python runs their bodies as they are.

A body with `yield` in it cannot become functions of a loop or branch. So while a function is
rewritten, another body stands for it, which reads and assigns the same variables of the function.
"""

import ast
from typing import Any

from malt.pyct import templates

_MARK = "ag__generator_"


class Generators:
    """The bodies of the generator functions of a tree."""

    def __init__(self) -> None:
        self._bodies: list[list[ast.stmt]] = []

    def taken_out(self, node: Any) -> Any:
        """The tree with another body for each generator function in it."""
        for function in ast.walk(node):
            if isinstance(function, ast.FunctionDef) and function is not node and _yields(function):
                self._replace(function)
        return node

    def _replace(self, function: ast.FunctionDef) -> None:
        number, body = len(self._bodies), function.body
        self._bodies.append(body)
        names = [part for statement in body for part in ast.walk(statement)]
        declared = [part for part in names if isinstance(part, ast.Global | ast.Nonlocal)]
        outer = {name for part in declared for name in part.names}
        own = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
        own |= {part.id for part in names if isinstance(part, ast.Name) and _is_stored(part)}
        read = {part.id for part in names if isinstance(part, ast.Name)} - (own - outer)
        lines = [f'"{_MARK}{number}"', *(f"{name} = {name}" for name in sorted(outer))]
        stand_in = ast.parse("\n".join([*lines, *sorted(read)])).body
        function.body = [stand_in[0], *declared, *stand_in[1:]]
        for part in names:
            if isinstance(part, ast.Name) and part.id in read and not _is_stored(part):
                part.id = f"{_MARK}{part.id}"

    def put_back(self, node: Any) -> Any:
        """The rewritten tree with the generators' own bodies."""
        for function in ast.walk(node):
            number = _number(function) if isinstance(function, ast.FunctionDef) else None
            if number is not None:
                body = [_Reads().visit(statement) for statement in self._bodies[number]]
                function.body = body  # type: ignore[union-attr]
        return node


class _Reads(ast.NodeTransformer):
    """Variables of functions around, which may have no value."""

    def visit_Name(self, node: ast.Name) -> Any:
        if not node.id.startswith(_MARK):
            return node
        name = ast.copy_location(ast.Name(node.id.removeprefix(_MARK), ast.Load()), node)
        return templates.replace_as_expression("ag__.ld(name)", name=name)


def _yields(function: ast.FunctionDef) -> bool:
    pending: list[ast.AST] = list(function.body)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp):
            pending += ast.iter_child_nodes(part)
    return False


def _is_stored(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _number(function: ast.FunctionDef) -> int | None:
    match function.body[0]:
        case ast.Expr(value=ast.Constant(value=str(text))) if text.startswith(_MARK):
            return int(text.removeprefix(_MARK))
        case _:
            return None
