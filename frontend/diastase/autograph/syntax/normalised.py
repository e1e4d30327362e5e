"""What malt's analyses do not know, written out in syntax that they do."""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from diastase.autograph.staging.errors import UnsupportedSyntaxError
from diastase_runtime.errors import Span

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_REFUSED: dict[type[ast.AST], str] = {
    ast.NamedExpr: "an assignment expression (:=)",
    ast.Match: "a match statement",
    ast.AsyncFunctionDef: "an async function",
}


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
        if all(_is_constant(statement) for statement in node.body):  # malt wants more than a text
            node.body.append(ast.copy_location(ast.Pass(), node.body[-1]))
        if _returns_a_value(node) and not _leaves(node.body):
            last = node.body[-1]
            node.body.append(ast.copy_location(ast.Return(ast.Constant(None)), last))
            ast.fix_missing_locations(node.body[-1])
        lambdas = _Lambdas(lambda: self._name(node))
        node.args = lambdas.visit(node.args)
        node.decorator_list = [lambdas.visit(decorator) for decorator in node.decorator_list]
        return [*lambdas.assignments, node] if lambdas.assignments else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """An assignment without the type, or nothing."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(_assignment(node, node.target, node.value))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        """The exception is assigned in the body, as its name is no node."""
        self.generic_visit(node)
        if node.name is not None:
            name = ast.copy_location(ast.Name(node.name, ast.Store()), node)
            value = ast.parse("ag__.caught()", mode="eval").body
            node.body.insert(0, ast.fix_missing_locations(_assignment(node, name, value)))
            node.name = None
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

    def _name(self, node: ast.AST) -> ast.Name:
        self._count += 1
        return ast.copy_location(ast.Name(f"ag__value_{self._count}", ast.Load()), node)


class _Lambdas(ast.NodeTransformer):
    """Assigns the lambdas in decorators and defaults, which malt does not look for."""

    def __init__(self, new_name: Callable[[], ast.Name]) -> None:
        self._new_name = new_name
        self.assignments: list[ast.stmt] = []

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        name = self._new_name()
        self.assignments.append(_assignment(node, _stored(name), node))
        return name


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _assignment(node: ast.AST, target: Any, value: ast.expr) -> ast.stmt:
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
    statements = own_statements(function)
    return any(isinstance(part, ast.Return) and part.value for part in statements)


def own_statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The statements of a function, at any depth, without those of functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        part = pending.pop()
        if isinstance(part, ast.stmt):
            yield part
        if not isinstance(part, _INNER):
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
