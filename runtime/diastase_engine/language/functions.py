"""Functions and global records of the kernel language: `@kernel`, `@inline`, `external`, `shared`.

The decorators keep the Python function and read its source when it is first compiled. A decorated
function cannot be called from Python; its type is kept only so that kernels type-check. A kernel
that is not written in the language is refused with `KernelLanguageError`, at its line.
"""

import ast
import functools
import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, Generic, NoReturn, ParamSpec, TypeVar, cast

from llvmlite import ir

from diastase_engine.language.types import F64, Record, Type, type_of_annotation
from diastase_runtime.errors import DiastaseError, Span


class KernelLanguageError(DiastaseError, TypeError):
    """A construct that the kernel language lacks, or values of types that do not fit.

    It shows the line of the kernel. Users never meet it: kernels are part of diastase.
    """

    title: ClassVar[str] = "Not in the kernel language"
    message: ClassVar[str] = "{what}"
    help: ClassVar[str] = "{advice}"
    what: str
    advice: str = "see the module diastase_engine.language"


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A function's syntax tree and where it stands."""

    name: str
    file: str
    definition: ast.FunctionDef
    globals: dict[str, Any]

    def span(self, node: ast.AST) -> Span:
        """Return the line of a node, for an error."""
        return Span(self.file, getattr(node, "lineno", self.definition.lineno), self.name)

    @property
    def parameters(self) -> list[str]:
        """Names of the positional parameters; there are no others in the language."""
        return [argument.arg for argument in self.definition.args.args]


class LanguageFunction(Generic[P, R]):
    """A function of the language; what marks it decides how a call is compiled."""

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = cast("FunctionType", function)
        self.name = self._function.__name__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """For type checkers only: kernels are compiled, never called from Python."""
        del args, kwargs
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(f"{self.name} is a kernel: compile it, it cannot run in Python")

    @functools.cached_property
    def source(self) -> Source:
        """The syntax tree, found in the file by the line of the definition."""
        code = self._function.__code__
        for node in _definitions(code.co_filename):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if node.name == self.name and first == code.co_firstlineno:
                return Source(self.name, code.co_filename, node, self._function.__globals__)
        raise TypeError(f"no source of {self.name} in {code.co_filename}")

    @functools.cached_property
    def kernels(self) -> "tuple[Kernel[..., Any], ...]":
        """The kernels that it calls at most, also through inline functions, each once."""
        function = self._function
        named = [function.__globals__.get(name) for name in function.__code__.co_names]
        return tuple(dict.fromkeys(kernel for value in named for kernel in _kernels_in(value)))


class Kernel(LanguageFunction[P, R]):
    """A function of its own in the compiled library."""

    @property
    def module(self) -> str:
        """The Python module that defines it, with its folder: `queue.tape`."""
        return ".".join(self._function.__module__.split(".")[-2:])

    def with_names(self, names: Mapping[str, object]) -> "Kernel[P, R]":
        """Return one of the same source for which global names stand for other things."""
        function = self._function
        if unknown := names.keys() - function.__globals__.keys():
            what = f"{', '.join(sorted(unknown))} in the module of {self.name}"
            raise KernelLanguageError(what=what, advice="name what the kernel's module defines")
        copy = FunctionType(function.__code__, {**function.__globals__, **names}, self.name)
        copy.__annotations__ = function.__annotations__
        return Kernel(cast("Callable[P, R]", copy))

    @functools.cached_property
    def parameter_types(self) -> list[Type]:
        """Types of the parameters, in order."""
        hints = self._function.__annotations__
        return [type_of_annotation(hints.get(name)) for name in self.source.parameters]

    @functools.cached_property
    def return_type(self) -> Type | None:
        """Type of the result, `None` for a procedure."""
        hint = self._function.__annotations__.get("return")
        return None if hint is None else type_of_annotation(hint)


@dataclass(frozen=True)
class Intrinsic:
    """A built-in operation: what builds it, of the frame and evaluated arguments."""

    build: Callable[..., Any]


class Inline(LanguageFunction[P, R]):
    """Expanded where it is called, with static or dynamic arguments."""


def _kernels_in(value: object) -> "tuple[Kernel[..., Any], ...]":
    """Kernels in a value that a name stands for: a function, or a table of some."""
    if isinstance(value, Kernel):
        return (cast("Kernel[..., Any]", value),)
    if isinstance(value, Inline):
        return cast("Inline[..., Any]", value).kernels
    if isinstance(value, dict):
        value = tuple(cast("dict[object, object]", value).values())
    if isinstance(value, list | tuple):
        elements = cast("list[object]", value)
        return tuple(kernel for element in elements for kernel in _kernels_in(element))
    return ()


@dataclass(frozen=True)
class Setting:
    """A static value that is chosen when kernels are compiled; `compile_kernels` takes it."""

    name: str
    default: int | None = None


@dataclass(frozen=True)
class Derived:
    """A static value that is computed from settings."""

    compute: Callable[..., Any]
    settings: "tuple[Setting | Derived, ...]"


@dataclass(frozen=True)
class External:
    """A C function that the library imports."""

    name: str
    parameter_types: tuple[Type, ...]
    return_type: Type | None

    @property
    def is_of_numbers(self) -> bool:
        """Whether it is a function of real numbers: what it returns depends on them alone."""
        return self.return_type == F64 and all(kind == F64 for kind in self.parameter_types)


@dataclass(frozen=True)
class Signature:
    """The type of functions that are called through a pointer (`call_through`)."""

    parameter_types: tuple[Type, ...]
    return_type: Type | None

    @property
    def llvm(self) -> ir.FunctionType:
        """LLVM's type of such functions."""
        result = ir.VoidType() if self.return_type is None else self.return_type.llvm
        return ir.FunctionType(result, [kind.llvm for kind in self.parameter_types])


@dataclass(frozen=True, eq=False)
class Shared:
    """The one record of its class in the whole library, zero at first; all threads see it."""

    record: type[Record]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that is compiled to one LLVM function."""
    return Kernel(function)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that is expanded at each call; it may return lists of values."""
    return Inline(function)


def kernel_like(original: Callable[P, R], **names: object) -> Callable[P, R]:
    """Make a kernel like another one, for which these global names stand for other things."""
    return cast("Kernel[P, R]", original).with_names(names)


def setting(name: str, default: int | None = None) -> int:
    """Declare a number that `compile_kernels` is given, by its name there."""
    return cast("int", Setting(name, default))


def derived(compute: Callable[..., T], *settings: int) -> T:
    """Declare what is computed from what `setting` or `derived` declared."""
    return cast("T", Derived(compute, cast("Any", settings)))


def external(name: str, parameters: list[Any], result: Any = None) -> Callable[..., Any]:
    """Declare a C function, such as `external("malloc", [i64], ptr[f64])`."""
    types = tuple(type_of_annotation(parameter) for parameter in parameters)
    return_type = None if result is None else type_of_annotation(result)
    return cast("Callable[..., Any]", External(name, types, return_type))


def signature(parameters: list[Any], result: Any = None) -> Signature:
    """Type of a function that is known by its address only, as `external` gives it."""
    types = tuple(type_of_annotation(parameter) for parameter in parameters)
    return Signature(types, None if result is None else type_of_annotation(result))


def shared(record: type[T]) -> T:
    """Declare the record that the library keeps of a class."""
    return cast("T", Shared(cast("type[Record]", record)))


@functools.cache
def _definitions(file: str) -> tuple[ast.FunctionDef, ...]:
    """All function definitions of a source file."""
    lines = linecache.getlines(file)
    return tuple(_definitions_in(ast.parse("".join(lines), file).body))


def _definitions_in(statements: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Definitions among statements and inside of them; nothing looks at their expressions."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            yield statement
        for field in ("body", "orelse"):
            yield from _definitions_in(getattr(statement, field, []))
