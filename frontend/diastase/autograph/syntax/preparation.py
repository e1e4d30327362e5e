"""The syntax tree before malt's converters, and after: what they do not know, or would lose.

`Normalised` writes out what malt's analyses do not know: assignments of several targets, a
function's end as `return None`, private names. `Generators` takes out the bodies of generator
functions, which Python runs as they are: a body with `yield` in it cannot become functions of a
loop or branch. While a function is rewritten, another body stands for it, which reads and assigns
the same variables of the function.

The trap: malt copies nodes and drops their line numbers; only what stands in `ORIGIN` survives.
So `note_origins` puts each node's place there, and `restore_origins` takes it back.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from malt.pyct import anno, templates

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
