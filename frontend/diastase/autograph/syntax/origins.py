"""Where the nodes of a tree stand in the user's file: noted before malt, restored after it."""

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from malt.pyct import anno


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
