"""What a module of a circuit has been written from, by the numbers that stand in it.

An operation says which equation it is, or comes from: gates and the like by `site`, which passes
hand on to the gates that they make; others by `equation`. `literal` is the number of an atom (a
constant, or an input that is known), for an operation that has its value.
"""

from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.diagnostics import span_of

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
                line = ir.Location.file(span.file, span.line, 0)
                location = ir.Location.name(span.function, line) if span.function else line
            self._locations[span] = location
            self.sources[str(location)] = source_info
        return self._locations[span]
