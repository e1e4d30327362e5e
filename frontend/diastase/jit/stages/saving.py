"""Compiled programs to a file that is loaded without JAX: what a call of them needs, as data.

In: the programs of one function, and how it is called. Out: the file (`diastase_runtime.saved`). A
program is saved as the cache has it, for each processor that is asked for (`targets`), with the
whole engines that it calls, and with its interface: pytrees, types, names, the seed, static values.

What Python does in a call cannot be saved, and is refused at the user's line: callbacks, keys of
`jax.random`, classes registered as pytrees. Nothing is written then.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import jax
from jax.core import ShapedArray

from diastase.jit.options.ir_errors import NeedsPythonError
from diastase.jit.options.saving_errors import (
    AmbiguousProgramsError,
    NothingToSaveError,
    SaveError,
    UnsavableError,
)
from diastase.jit.stages.targets import Program, targets_of
from diastase.quantum.measurements.counts import Counts
from diastase.tracing.trace import TracedProgram
from diastase_mlir.jax_compat import is_extended, is_symbolic, symbol_of
from diastase_runtime.abi import ABI_VERSION
from diastase_runtime.saved import file, pytrees
from diastase_runtime.saved.manifest import (
    LeafType,
    Manifest,
    SavedProgram,
    to_json,
)

_PYTREES = "a file has tuples, named tuples, lists, dictionaries and None: make one of them of it"
_KEYS = "pass jax.random.key_data(key), and make the key inside: jax.random.wrap_key_data"


class Compiled(Program, Protocol):
    """What of a compiled program matters here."""

    @property
    def fun_name(self) -> str: ...  # noqa: D102
    @property
    def traced(self) -> TracedProgram: ...  # noqa: D102


@dataclass(frozen=True)
class Called:
    """How the function is called whose programs these are."""

    name: str
    parameters: tuple[str, ...] | None = None
    """Names of positional parameters."""
    static_positions: tuple[int, ...] = ()
    static_names: tuple[str, ...] = ()

    @property
    def has_static(self) -> bool:
        """Whether a call has arguments that are part of the program."""
        return bool(self.static_positions or self.static_names)

    def word_for(self, place: int | str) -> str:
        """The user's name of an argument."""
        words: dict[int | str, str] = dict(enumerate(self.parameters or ()))
        return words.get(place, str(place))


def save_programs(
    path: Path,
    called: Called,
    programs: Iterable[Compiled],
    target_cpu: str | Sequence[str] | None,
    *,
    sources: bool,
) -> Path:
    """Write the file; `sources`: with the user's lines that errors show."""
    pairs = _distinct(called, programs)
    if not pairs:
        raise NothingToSaveError(function=called.name)
    members: dict[str, bytes] = {}
    of_programs = [compiled for _, compiled in pairs]
    targets = targets_of(target_cpu, of_programs, members, sources=sources)
    manifest = Manifest(
        name=called.name,
        versions=_versions(),
        abi=ABI_VERSION,
        parameters=called.parameters,
        static_positions=called.static_positions,
        static_names=called.static_names,
        programs=tuple(saved for saved, _ in pairs),
        targets=targets,
    )
    try:
        file.write(path, to_json(manifest), members)
    except OSError as error:
        raise SaveError(file=path, reason=error.strerror or str(error)) from error
    return path


@cache
def _versions() -> Mapping[str, str]:
    """Read from the metadata of packages, some 10 ms of a map, once a process."""
    return {name: version(name) for name in ("diastase", "jax", "llvmlite", "pennylane")}


def needs_python(compiled: Compiled) -> NeedsPythonError:
    """The error of a program that calls Python, at the first such line."""
    equations = [callback.equation for callback in compiled.module.callbacks]
    equation = next((equation for equation in equations if equation is not None), None)
    if equation is None:
        return NeedsPythonError(program=compiled.fun_name, what="it")
    reason = "is the user's own" if equation.users_own else f"runs in Python: {equation.reason}"
    return NeedsPythonError(
        program=compiled.fun_name, what=equation.primitive, reason=reason, span=equation.span
    )


def _distinct(called: Called, programs: Iterable[Compiled]) -> list[tuple[SavedProgram, Compiled]]:
    """Each program with its interface, once; refuses two that nothing in a call tells apart."""
    found: dict[Any, tuple[SavedProgram, Compiled]] = {}
    for compiled in programs:
        saved = _saved_program(called, compiled)
        what_is_called = (repr(saved.static), saved.in_structure, saved.arguments)
        key = (*what_is_called, saved.assumptions)
        known = found.setdefault(key, (saved, compiled))[1]
        if _library(known) != _library(compiled):
            arguments = str(saved).partition(" -> ")[0]
            raise AmbiguousProgramsError(function=called.name, arguments=arguments)
    return list(found.values())


def _library(compiled: Compiled) -> Path:
    return compiled.direct_call.executable.artifact.library


def _saved_program(called: Called, compiled: Compiled) -> SavedProgram:
    interface, traced = compiled.interface, compiled.traced
    if compiled.direct_call.executable.artifact.callbacks:
        raise needs_python(compiled)
    arguments = zip(interface.argument_names, traced.in_avals, strict=True)
    static = _static_values(called, compiled)
    return SavedProgram(
        static=static,
        in_structure=_structure(interface.in_tree, called.name, compiled),
        names=interface.argument_names,
        static_names=tuple(called.word_for(place) for place, _ in static),
        arguments=tuple(
            _leaf_type(aval, called.name, f"argument {name}", of_argument=True)
            for name, aval in arguments
        ),
        out_structure=_structure(interface.out_tree, called.name, compiled),
        results=tuple(_leaf_type(aval, called.name, "a result") for aval in traced.out_avals),
        seed=interface.seed,
        assumptions=tuple(assumption.text for assumption in traced.program.assumptions),
    )


def _static_values(called: Called, compiled: Compiled) -> tuple[tuple[int | str, Any], ...]:
    if not called.has_static:
        return ()
    for place, value in compiled.interface.static:
        try:
            pytrees.value_to_json(value)
        except TypeError as error:
            what = f"its static argument {called.word_for(place)} is a {error}"
            advice = "files have static values that are numbers, texts, None and tuples of them"
            raise UnsavableError(function=called.name, what=what, advice=advice) from None
    return compiled.interface.static


def _leaf_type(
    aval: ShapedArray, function: str, what: str, *, of_argument: bool = False
) -> LeafType:
    if is_extended(aval.dtype):
        raise UnsavableError(function=function, what=f"{what} is a key", advice=_KEYS)
    if aval.dtype == jax.dtypes.float0:
        advice = "leave it out: it is the derivative of an integer, which is nothing"
        raise UnsavableError(function=function, what=f"{what} is a float0", advice=advice)
    if of_argument:
        for size in aval.shape:
            if is_symbolic(size) and symbol_of(size) is None:
                advice = "name that size by itself: expressions are not solved without JAX"
                raise UnsavableError(
                    function=function, what=f"{what} has the size {size}", advice=advice
                )
    shape = tuple(str(size) if is_symbolic(size) else int(size) for size in aval.shape)
    return LeafType(str(aval.dtype), shape, aval.weak_type)


def _structure(tree: Any, function: str, compiled: Compiled) -> pytrees.Structure:
    """What a pytree of JAX's is without JAX."""
    node = tree.node_data()
    if node is None:
        return pytrees.LEAF
    kind, known = node
    if kind is type(None):
        return pytrees.NONE
    children = tuple(_structure(child, function, compiled) for child in tree.children())
    if kind in (tuple, list):
        return (kind.__name__, children)
    if kind is dict:
        return ("dict", _keys(known, function), children)
    if kind is Counts:
        meta = compiled.interface.counts, *known
        return ("counts", *meta, children)
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and _has_fields_for_children(tree):
        return ("namedtuple", kind.__name__, tuple(node[0]._fields), children)
    what = f"a {kind.__qualname__} is among its arguments or results"
    raise UnsavableError(function=function, what=what, advice=_PYTREES)


def _has_fields_for_children(tree: Any) -> bool:
    """Whether JAX takes a named tuple apart as files do: it may be told to do otherwise."""
    value = jax.tree.unflatten(tree, range(tree.num_leaves))
    children = jax.tree.leaves(value, is_leaf=lambda inner: inner is not value)
    fields = tuple(value)
    return len(children) == len(fields) and all(map(operator.is_, children, fields))


def _keys(keys: Sequence[Any], function: str) -> tuple[Any, ...]:
    for key in keys:
        try:
            pytrees.value_to_json(key)
        except TypeError as error:
            what = f"a dictionary has a key {key!r}, a {error}"
            advice = "files have keys that are numbers, texts, None and tuples of them"
            raise UnsavableError(function=function, what=what, advice=advice) from None
    return tuple(keys)
