"""Makes a finding small: removes statements, arguments of `return`, calls and branches while the verdict stays."""

import ast
import copy
import time
from collections.abc import Callable, Iterator


def shrunk(text: str, still_wrong: Callable[[str], bool], seconds: float = 60) -> str:
    """The smallest text that a greedy search finds in so much processor time."""
    end = time.process_time() + seconds
    best = text
    progress = True
    while progress and time.process_time() < end:
        progress = False
        position = 0
        while time.process_time() < end:
            smaller = next(_without(best, position), None)
            if smaller is None:
                break
            if len(smaller) < len(best) and still_wrong(smaller):
                best, progress = smaller, True
            else:
                position += 1
    return best


def _without(text: str, position: int) -> Iterator[str]:
    """The text after the removal of that number; last statements first. Nothing if there is none."""
    tree = ast.parse(text)
    removals = list(_removals(tree))
    if position < len(removals):
        removals[position]()
        yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _removals(tree: ast.Module) -> Iterator[Callable[[], None]]:
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    for function in functions:
        for node in ast.walk(function):
            for _, block in ast.iter_fields(node):
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield from _of_block(block)
            if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1 and function.name in ("program", "calls", "circuit"):
                for index in range(len(node.elts) - 1, -1, -1):
                    yield _removal(node.elts, index)
    for index, one in enumerate(tree.body):
        if isinstance(one, ast.FunctionDef) and one.name not in ("build", "calls"):
            yield _removal(tree.body, index)


def _of_block(block: list[ast.stmt]) -> Iterator[Callable[[], None]]:
    if len(block) > 3:
        yield lambda: block.__delitem__(slice(len(block) // 2, len(block) - 1))
    for index in range(len(block) - 1, -1, -1):
        one = block[index]
        if len(block) > 1:
            yield _removal(block, index)
        if isinstance(one, ast.If | ast.For | ast.While | ast.With) and not isinstance(one, ast.While):
            inner = copy.deepcopy(one.body)
            yield lambda index=index, inner=inner: block.__setitem__(slice(index, index + 1), inner)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call | ast.BinOp):
            parts = one.value.args if isinstance(one.value, ast.Call) else [one.value.left, one.value.right]
            for part in parts:
                if isinstance(part, ast.Name):
                    yield lambda one=one, part=part: setattr(one, "value", part)


def _removal(items: list, index: int) -> Callable[[], None]:
    return lambda: items.__delitem__(index)
