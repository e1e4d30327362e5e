"""From a Python function to one in which control flow on traced values is part of the program.

In: a function with source. Out: a function of the same parameters, closure and globals, whose code
calls `ag__` (the module `operators`) for control flow. It is compiled from the syntax tree, under
the user's file, lines and names: tracebacks, spans and locations in MLIR need no translation.

Conversions are kept by code object, so functions that are made in a loop are converted once.
"""

import ast
import copy
import linecache
import threading
import weakref
from dataclasses import dataclass
from functools import lru_cache, update_wrapper
from types import CellType, CodeType, FunctionType
from typing import Any

from malt.core import converter
from malt.pyct import inspect_utils, naming, templates, transformer

from diastase.autograph.staging.errors import NoSourceError
from diastase.autograph.syntax.converters import rewritten
from diastase.autograph.syntax.preparation import (
    Generators,
    Normalised,
    note_origins,
    restore_origins,
)

_FACTORY = """
    def outer_factory():
      closure
      def inner_factory(ag__):
        definition
        return name
      return inner_factory
"""
_FUTURES = 0x1FE0000
"""The bits of a code object's flags that `from __future__ import …` sets."""


@dataclass(frozen=True)
class Conversion:
    """The converted code of all functions that share a code object."""

    factory: CodeType
    source: str

    def of(self, function: FunctionType, operators: Any) -> FunctionType:
        """Make the converted function of one of these."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells.get(name) or CellType() for name in self.factory.co_freevars)
        factory = FunctionType(self.factory, function.__globals__, closure=closure)
        made = factory(operators)
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        update_wrapper(made, function)
        return made


_conversions: weakref.WeakKeyDictionary[CodeType, Conversion] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def converted(function: FunctionType, operators: Any) -> FunctionType:
    """Convert a function; raises an `AutoGraphError` where that is impossible."""
    with _lock:
        conversion = _conversions.get(function.__code__)
        if conversion is None:
            conversion = _conversions[function.__code__] = _convert(function)
    return conversion.of(function, operators)


def converted_source(function: FunctionType) -> str | None:
    """The converted code as text, if the function has been converted."""
    conversion = _conversions.get(function.__code__)
    return conversion and conversion.source


def _convert(function: FunctionType) -> Conversion:
    code = function.__code__
    node = _tree_of(function)
    namer = naming.Namer(inspect_utils.getnamespace(function))
    plain = "lam" if isinstance(node, ast.Lambda) else node.name
    name = namer.new_symbol(f"ag__{plain}", ())
    node = Normalised(code.co_filename, _class_of(code)).visit(node)
    note_origins(node)
    generators = Generators()
    node = generators.taken_out(node)
    information = transformer.EntityInfo(name, "", code.co_filename, (), {})
    options = converter.ProgramContext(converter.STANDARD_OPTIONS)
    node = rewritten(node, transformer.Context(information, namer, options))
    node = generators.put_back(node)
    if isinstance(node, ast.Lambda):
        node = ast.Assign([ast.Name(name, ast.Store())], node)
    else:
        node.name = name
    variables = [templates.replace("x = None", x=free)[0] for free in code.co_freevars]
    nodes = templates.replace(_FACTORY, closure=variables, definition=node, name=name)
    restore_origins(nodes)
    module = ast.Module(nodes, [])
    ast.fix_missing_locations(module)
    flags = code.co_flags & _FUTURES
    compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    outer = _inner_code(compiled)
    return Conversion(
        _named(_inner_code(outer), code), ast.unparse(ast.fix_missing_locations(node))
    )


def _inner_code(code: CodeType) -> CodeType:
    """The code of the one function that a module or function defines."""
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))


def _named(code: CodeType, original: CodeType) -> CodeType:
    """Code in which each function made by conversion has the name of the user's around it."""

    def renamed(part: Any, outer: CodeType, path: str) -> Any:
        if not isinstance(part, CodeType):
            return part
        name = part.co_name.removeprefix("ag__")
        kept = name in _user_names(original) and not part.co_name.startswith("ag__")
        if kept:
            path, outer = f"{path}.<locals>.{name}", part
        constants = tuple(renamed(constant, outer, path) for constant in part.co_consts)
        return part.replace(co_consts=constants, co_name=outer.co_name, co_qualname=path)

    return renamed(code, original, original.co_qualname)


@lru_cache(256)
def _user_names(code: CodeType) -> frozenset[str]:
    """The names of the functions inside of a function, at any depth."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(part.co_name for part in inner).union(*map(_user_names, inner))


# --- the user's source ---------------------------------------------------------------------------


def _class_of(code: CodeType) -> str | None:
    """The class in whose body a function stands, by its qualified name."""
    path = code.co_qualname.split(".")
    return path[-2] if len(path) > 1 and path[-2] != "<locals>" else None


def _tree_of(function: FunctionType) -> Any:
    """The syntax tree of a function, with the lines of its file."""
    code = function.__code__
    # `inspect` would look through all modules for the one that the function is of.
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        module = _parsed("".join(lines))
    except SyntaxError as error:
        raise NoSourceError(function=code.co_qualname, reason=str(error)) from error
    found = [node for node in ast.walk(module) if _is_of(node, code)]
    found = [node for node in found if sum(part in found for part in ast.walk(node)) == 1]
    if len(found) != 1:
        reason = f"there is no such function at line {code.co_firstlineno} of {code.co_filename}"
        raise NoSourceError(function=code.co_qualname, reason=reason)
    node: Any = copy.deepcopy(found[0])
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [value and ast.Constant(None) for value in node.args.kw_defaults]
    return ast.fix_missing_locations(node)


@lru_cache(16)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _is_of(node: Any, code: CodeType) -> bool:
    """Whether a function with this code is defined by this node, or, of lambdas, inside of it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if not isinstance(node, ast.Lambda) or code.co_name != "<lambda>":
        return False
    places: Any = [place for place in code.co_positions() if None not in place and place[2]]
    body = (node.body.lineno, node.body.col_offset)
    end = (node.body.end_lineno, node.body.end_col_offset)
    return node.lineno == code.co_firstlineno and all(
        body <= (line, column) and (end_line, end_column) <= end
        for line, end_line, column, end_column in places
    )
