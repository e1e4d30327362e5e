"""What a circuit's module has been written from, by the numbers that stand in it, and its types.

An operation says which equation it is, or comes from: gates and the like by `site`, which passes
hand on to the gates that they make; others by `equation`. `literal` is the number of an atom (a
constant, or an input that is known), for an operation that has its value.

Types: numbers and arrays of known sizes are such. What nobody can compute with in the module is
`none`: arrays whose sizes are known only at run time, keys.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.diagnostics import in_mlir, span_of

EQUATION, LITERAL = "equation", "literal"
"""Attributes that hold numbers."""

SAME = "jax.same"
"""An operation that gives its operand under another type: sizes are known on one side only."""


@dataclass
class Origin:
    """The equations and atoms of a circuit, by number."""

    inputs: list[Any] = field(default_factory=list[Any])
    """Variables that the function has as arguments."""
    equations: list[Any] = field(default_factory=list[Any])
    literals: list[Any] = field(default_factory=list[Any])
    sources: dict[str, Any] = field(default_factory=dict[str, Any])
    """From the text of a location to JAX's source info."""
    _locations: dict[Any, ir.Location] = field(default_factory=dict[Any, ir.Location])

    def number(self, equation: Any) -> int:
        """The number of one more equation."""
        self.equations.append(equation)
        return len(self.equations) - 1

    def number_of_literal(self, atom: Any) -> int:
        """The number of one more atom."""
        self.literals.append(atom)
        return len(self.literals) - 1

    def location(self, source_info: Any) -> ir.Location:
        """The user's line."""
        span = span_of(source_info)
        if span not in self._locations:
            location = ir.Location.unknown()
            if span is not None:
                line = ir.Location.file(in_mlir(span.file), span.line, 0)
                name = in_mlir(span.function)
                location = ir.Location.name(name, line) if name else line
            self._locations[span] = location
            self.sources[str(location)] = source_info
        return self._locations[span]


_FLOATS = {"float64": ir.F64Type, "float32": ir.F32Type}
_INTEGERS = {"int64": 64, "int32": 32, "bool": 1}


def type_of(aval: Any) -> ir.Type:
    """The MLIR type of an abstract value."""
    own = getattr(aval, "mlir_type", None)
    if own is not None:
        return ir.Type.parse(own)
    shape: Any = getattr(aval, "shape", (None,))
    element = _element_type(getattr(aval, "dtype", None))
    if element is None or not all(type(size) is int for size in shape):
        return ir.NoneType.get()
    return ir.RankedTensorType.get(list(shape), element) if shape else element


def is_register(aval: Any) -> bool:
    """Whether an abstract value is a quantum register."""
    return hasattr(aval, "mlir_type")


def is_number(aval: Any, dtype: str) -> bool:
    """Whether an abstract value is one number of this type."""
    return getattr(aval, "shape", None) == () and aval.dtype == dtype


def number_attribute(value: Any, aval: Any) -> ir.Attribute | None:
    """A number as an attribute; None if it is no number."""
    if getattr(aval, "shape", None) != () or str(aval.dtype) not in {*_FLOATS, *_INTEGERS}:
        return None
    kind = type_of(aval)
    number = np.asarray(value).item()
    if str(aval.dtype) in _FLOATS:
        return ir.FloatAttr.get(kind, number)
    return ir.IntegerAttr.get(kind, int(number))


def _element_type(dtype: Any) -> ir.Type | None:
    name = str(dtype)
    if name in _FLOATS:
        return _FLOATS[name].get()
    if name in _INTEGERS:
        return ir.IntegerType.get_signless(_INTEGERS[name])
    return ir.ComplexType.get(ir.F64Type.get()) if name == "complex128" else None
