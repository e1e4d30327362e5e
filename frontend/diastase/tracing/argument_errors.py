"""Errors about what goes into and comes out of a compiled function."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class UnsupportedArgumentError(DiastaseError, TypeError, ValueError):
    """An argument that is no array, and is not static.

    A compiled function takes what JAX takes: arrays, numbers, and any pytree of them.

        @qjit
        def f(x, mode): ...
        f(1.0, "fast")           # a string is not an array

    Make it static, `@qjit(static_argnames="mode")`, so that it is part of the program; or register
    its class as a pytree. Masked arrays and those of another byte order are refused, too: what
    they hold has to be converted first (`x.filled(0)`, `x.astype(float)`).
    """

    title: ClassVar[str] = "Unsupported argument"
    message: ClassVar[str] = (
        "argument {argument} of {function} is a {type}, which is not an array of JAX"
    )
    help: ClassVar[str] = "{instead}"
    function: str
    argument: str
    type: str
    instead: str


class AbstractArgumentError(DiastaseError, TypeError):
    """A type where a value is needed: `f(jax.ShapeDtypeStruct((3,), float))`.

    Types are for `f.trace`, `f.eval_shape` and type hints; a call needs values.
    """

    title: ClassVar[str] = "No value"
    message: ClassVar[str] = "argument {argument} of {function} is a {type}, which has no value"
    help: ClassVar[str] = "use {function}.trace(...) to compile without values"
    function: str
    argument: str
    type: str


class TracerArgumentError(DiastaseError, TypeError):
    """A compiled function, traced ahead of time inside one of JAX's transformations.

        jax.grad(f.trace)(1.0)   # f is a qjit function; jax.grad(f)(1.0) works

    Trace it outside, for arrays or for types of them (`jax.ShapeDtypeStruct`).
    """

    title: ClassVar[str] = "Traced inside of a trace"
    message: ClassVar[str] = (
        "{function} was to be traced ahead of time inside a transformation of JAX: "
        "argument {argument} is a {type}"
    )
    help: ClassVar[str] = "call {function} there, or trace it outside"
    function: str
    argument: str
    type: str


class UnsupportedResultError(DiastaseError, TypeError):
    """A function that returns something that is no array.

        @qjit
        def f(x): return {"name": "energy", "value": x}

    Return arrays, numbers, None, or pytrees of them.
    """

    title: ClassVar[str] = "Unsupported result"
    message: ClassVar[str] = "{function} returned a {type} at {output}, which is no array"
    label: ClassVar[str] = "returned here"
    help: ClassVar[str] = "return arrays, numbers and None, in any pytree"
    function: str
    output: str
    type: str


class UnhashableStaticArgumentError(DiastaseError, TypeError, ValueError):
    """A static argument that cannot be looked up.

        @qjit(static_argnums=0)
        def f(sizes): ...
        f([1, 2])                # pass the tuple (1, 2)

    Programs are kept by the values of their static arguments, which must be hashable.
    """

    title: ClassVar[str] = "Unhashable static argument"
    message: ClassVar[str] = "static argument {argument} of {function} is a {type} ({reason})"
    help: ClassVar[str] = "pass something hashable: a tuple for a list, a frozen dataclass"
    function: str
    argument: str
    type: str
    reason: str


class StaticArgumentOutOfRangeError(CompileError, ValueError):
    """`static_argnums` names a position that the function does not have."""

    title: ClassVar[str] = "No such argument"
    message: ClassVar[str] = (
        "argnum {position} of static_argnums is beyond the valid range of [-{count}, {count}): "
        "{function} takes {count} positional arguments"
    )
    function: str
    position: int
    count: int


class UnknownStaticArgumentError(DiastaseError, ValueError):
    """`static_argnames` names a parameter that the function does not have."""

    title: ClassVar[str] = "No such argument"
    message: ClassVar[str] = "static_argnames has {names}, but {function} takes {parameters}"
    function: str
    names: tuple[str, ...]
    parameters: tuple[str, ...]
