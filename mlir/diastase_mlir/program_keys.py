"""The identity of a traced program: all that lowering reads of it, as one hash.

`program_key` lets a program be found in the cache before it is lowered. A wrong hit would run
another program, so the key takes in every equation with its parameters, types, settings and place,
every constant by its elements, and JAX's settings; and of what it does not know completely (a
Python function, an object of an unknown class, symbolic sizes, a primitive that is not JAX's nor
ours) it makes no key at all: such a program is lowered, and found by its module
(`diastase_toolchain.cache`).

Places are part of it, as compiled code names them in errors: the same program on other lines is
lowered once more. Variables are numbered in the order of their definitions.
"""

import enum
import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from jax.core import ShapedArray

from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import (
    CALLS,
    ArrayImpl,
    is_extended,
    is_foreign,
    is_jaxpr,
    key_implementation,
    lowering_settings,
    name_of_generator,
)
from diastase_mlir.program import DimensionBindings, Program

_PLAIN = (bool, int, str, bytes, type(None))

_TYPED = {"TypedInt": int, "TypedFloat": float, "TypedComplex": complex}
"""JAX's numbers with a dtype, and the plain numbers that they are."""


class _NoKeyError(Exception):
    """Something that a key could not tell from something else."""


def program_key(program: Program) -> str | None:
    """Hash of all that lowering reads; None where that cannot be said."""
    if program.dimensions != DimensionBindings() or program.assumptions:
        return None
    return structure_key(program.name, lowering_settings(), program.jaxpr)


def structure_key(*values: Any) -> str | None:
    """Hash of values that are plain, arrays or jaxprs; None where one of them is not."""
    return StructureKeys().key(*values)


class StructureKeys:
    """Makes keys of many values that have much in common, such as primitives and types."""

    def __init__(self) -> None:
        self._writer = _Writer()

    def key(self, *values: Any) -> str | None:
        """Hash of values that are plain, arrays or jaxprs; None where one of them is not."""
        writer = self._writer
        writer.parts = []
        try:
            for value in values:
                writer.write(value)
        except _NoKeyError:
            self._writer = _Writer()  # what it knows of functions is of no more use
            return None
        return _hash(writer.parts)


class _Writer:
    """Writes values as a list of texts that no two different values have in common."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._numbers: dict[Any, int] = {}
        self._types: dict[Any, str] = {}
        self._primitives: dict[Any, bool] = {}
        self._known_functions: set[int] = set()
        self._settings: set[Any] = set()
        self._jaxprs: dict[int, tuple[Any, str]] = {}
        """By identity, what was written of a jaxpr, which is kept alive; one in another is written
        for both, and in nested control flow each level is asked for."""

    def write(self, value: Any) -> None:
        """Write any value."""
        kind = type(value)
        generator = name_of_generator(value)
        if generator is not None:
            self.parts.append(f"generator:{generator}")
        elif kind in _PLAIN:
            self.parts.append(f"{kind.__name__}:{value!r}")
        elif kind in (tuple, list, set, frozenset, dict) or isinstance(value, tuple):
            self._write_several(value)
        elif kind in (float, complex):
            self.parts.append(f"{kind.__name__}:{_bits(value)}")
        elif isinstance(value, np.ndarray | np.generic | ArrayImpl):
            self._write_array(value)
        elif kind.__name__ in _TYPED and kind.__module__.startswith("jax."):
            self.parts.append(f"{kind.__name__}:{np.dtype(value.dtype).name}")
            self.write(_TYPED[kind.__name__](value))
        elif is_jaxpr(value):  # an open one has no constants
            self.parts.append(self._of_jaxpr(value))
        else:
            self._write_object(value)

    def _write_several(self, values: Any) -> None:
        """A collection; named tuples are JAX's, by class."""
        kind = type(values)
        if isinstance(values, tuple) and kind is not tuple:
            _require(kind.__module__.startswith("jax."))
        self.parts.append(f"{kind.__qualname__}[{len(values)}")
        if isinstance(values, dict):
            self._write_items(values)
        elif isinstance(values, set | frozenset):
            _require(all(type(value) in _PLAIN for value in values))
            self.parts += sorted(f"{type(value).__name__}:{value!r}" for value in values)
        else:
            for value in values:
                self.write(value)
        self.parts.append("]")

    def _write_items(self, items: Mapping[Any, Any]) -> None:
        _require(all(type(name) is str for name in items))
        for name in sorted(items):
            self.parts.append(name)
            self.write(items[name])

    def _write_array(self, value: Any) -> None:
        _require(not is_extended(value.dtype))
        array = np.asarray(value)
        _require(array.dtype.kind in "biufcV" and array.dtype.fields is None)
        weak = getattr(value, "weak_type", False)
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        self.parts.append(f"array:{array.dtype.name}{array.shape}{weak}{digest}")

    def _write_object(self, value: Any) -> None:
        """Values of classes that are known: types of arrays and elements, settings of JAX."""
        kind = type(value)
        if isinstance(value, np.dtype):
            _require(value.fields is None and value.kind in "biufcV")
            self.parts.append(f"dtype:{value.name}")
        elif isinstance(value, type) and issubclass(value, np.generic):
            self.parts.append(f"class:{value.__name__}")
        elif isinstance(value, enum.Enum):
            _require(kind.__module__.startswith("jax."))
            self.parts.append(f"{kind.__qualname__}.{value.name}")
        elif kind is ShapedArray or _is_ours(value):
            self._write_type(value)
        elif is_dataclass(value) and kind.__module__.startswith(("jax.", "diastase.")):
            self.parts.append(kind.__qualname__)
            self._write_several([getattr(value, field.name) for field in fields(value)])
        else:
            raise _NoKeyError

    def _write_type(self, aval: Any) -> None:
        """The type of a value; of one that is no array, what lowering calls it."""
        if aval not in self._types:
            own = getattr(aval, "mlir_type", None)
            self._types[aval] = f"{own}{_fields(aval)}" if _is_ours(aval) else _type(aval)
        self.parts.append(self._types[aval])

    # --- jaxprs ----------------------------------------------------------------------------------

    def _of_jaxpr(self, value: Any) -> str:
        """A hash, which depends on nothing around the jaxpr."""
        if id(value) not in self._jaxprs:
            outer, self.parts = self.parts, []
            self._write_jaxpr(getattr(value, "jaxpr", value), getattr(value, "consts", ()))
            self._jaxprs[id(value)] = value, f"jaxpr:{_hash(self.parts)}"
            self.parts = outer
        return self._jaxprs[id(value)][1]

    def _write_jaxpr(self, jaxpr: Any, constants: Iterable[Any]) -> None:
        outer, self._numbers = self._numbers, {}
        self._write_several(list(constants))
        for variables in (jaxpr.constvars, jaxpr.invars):
            self.parts.append("in")
            self._define(variables)
        for equation in jaxpr.eqns:
            self._write_equation(equation)
        self.parts.append("out")
        self._use(jaxpr.outvars)
        self._numbers = outer

    def _write_equation(self, equation: Any) -> None:
        primitive = equation.primitive
        if primitive not in self._primitives:
            self._primitives[primitive] = is_foreign(primitive, self._known_functions)
        _require(not self._primitives[primitive])
        self.parts.append(primitive.name)
        self.parts += sorted(str(effect) for effect in equation.effects)
        self._write_place(equation)
        called = CALLS.get(primitive.name)
        if called in equation.params:  # nothing else of it is read
            self.write(equation.params[called])
        else:
            self._write_items(equation.params)
        self._use(equation.invars)
        self._define(equation.outvars)

    def _write_place(self, equation: Any) -> None:
        """The user's line, and the settings under which the equation was traced."""
        span = span_of(equation.source_info)
        if span is not None:
            self.parts.append(f"{span.file}:{span.line}:{span.function}")
        context = equation.ctx
        if context not in self._settings:
            _require(is_default_context(context))
            self._settings.add(context)
        self.parts.append(f"{context.threefry_partitionable}")

    def _define(self, variables: Iterable[Any]) -> None:
        for variable in variables:
            self._numbers[variable] = len(self._numbers)
            self._write_type(variable.aval)

    def _use(self, atoms: Iterable[Any]) -> None:
        for atom in atoms:
            if hasattr(atom, "val"):
                self.write(atom.val)
                self._write_type(atom.aval)
            else:
                self.parts.append(f"%{self._numbers[atom]}")


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf8", "surrogatepass")).hexdigest()


def _type(aval: Any) -> str:
    _require(type(aval) is ShapedArray and all(type(size) is int for size in aval.shape))
    if is_extended(aval.dtype):  # keys, of a generator of JAX's own
        _require(name_of_generator(key_implementation(aval.dtype)) is not None)
    return f"{aval.dtype.name}{aval.shape}{aval.weak_type}"


def _is_ours(aval: Any) -> bool:
    """Whether this is a type that lowering calls by a name of its own: a register, a script."""
    return hasattr(aval, "mlir_type") and type(aval).__module__.startswith("diastase.")


def _fields(aval: Any) -> str:
    """What a type of ours holds: plain values only."""
    held = vars(aval) if hasattr(aval, "__dict__") else {}
    _require(all(type(value) in _PLAIN for value in held.values()))
    return repr(sorted(held.items()))


def _bits(number: complex) -> str:
    return struct.pack("=dd", number.real, number.imag).hex()


def is_default_context(context: Any) -> bool:
    """Whether an equation was traced without meshes and other settings that are not plain."""
    return (
        context.compute_type is None
        and not context.xla_metadata
        and context.cur_abstract_mesh.empty
    )


def _require(known: bool) -> None:
    if not known:
        raise _NoKeyError
