"""Explicit jaxprs as text, made by JAX's own printer.

The jaxpr is rebuilt from JAX's classes, with variables whose types print the names of other
variables; the result is good for printing and nothing else. `Names` gives the name that an atom
has in the text of a jaxpr, and single equations as they stand there.
"""

from typing import Any

from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
)
from diastase_mlir.jax_compat import JaxprPrinter


def jaxpr_text(jaxpr: Any) -> str:
    """The text of a jaxpr; a result that nothing uses is `_`."""
    return Names(jaxpr).text


class Names:
    """The text of one jaxpr, and what things are called in it."""

    def __init__(self, jaxpr: Any):
        self._printer = JaxprPrinter()
        self._rebuild = _Rebuild(self._printer)
        self.text = self._printer.text(self._rebuild.jaxpr(jaxpr))

    def of(self, atom: Any) -> str:
        """The name of a variable, the number that a literal is."""
        return str(atom) if isinstance(atom, int) else self._printer.name(self._rebuild.atom(atom))

    def type(self, type_: ExplicitType) -> str:
        """A type over the names of its sizes."""
        return type_.text(self.of)

    def equation(self, equation: Any) -> str:
        """An equation without its parameters: `c:f64[b] = add a b`."""
        results = [f"{self.of(result)}:{self.type(result.type)}" for result in equation.results]
        operands = [self.of(operand) for operand in equation.operands]
        return f"{' '.join(results)} = {' '.join([equation.primitive, *operands])}".strip()


class _Rebuild:
    """An explicit jaxpr out of JAX's classes."""

    def __init__(self, printer: JaxprPrinter):
        self._printer = printer
        self._variables: dict[ExplicitVariable, Any] = {}

    def jaxpr(self, jaxpr: Any) -> Any:
        used = _used(jaxpr)
        constants = [self._variable(variable) for variable, _ in jaxpr.constants]
        inputs = [self._variable(variable) for variable in jaxpr.inputs]
        equations = [self._equation(equation, used) for equation in jaxpr.equations]
        return self._printer.jaxpr(
            constants,
            inputs,
            equations,
            [self.atom(output) for output in jaxpr.outputs],
            jaxpr.name,
        )

    def _equation(self, equation: Any, used: set[ExplicitVariable]) -> Any:
        results = [self._variable(result, result not in used) for result in equation.results]
        return self._printer.equation(
            equation.primitive,
            [self.atom(operand) for operand in equation.operands],
            results,
            {name: self._param(value) for name, value in equation.params.items()},
            equation.original,
        )

    def _param(self, value: Any) -> Any:
        if _is_jaxpr(value):
            return self.jaxpr(value)
        if isinstance(value, tuple | list) and any(map(_is_jaxpr, value)):
            return tuple(map(self._param, value))
        return value

    def atom(self, atom: Atom) -> Any:
        if isinstance(atom, ExplicitLiteral):
            return self._printer.literal(atom.value, atom.type.aval)
        return self._variable(atom)

    def _variable(self, variable: ExplicitVariable, is_dropped: bool = False) -> Any:
        if variable not in self._variables:
            self._variables[variable] = self._printer.variable(
                lambda: variable.type.text(lambda size: self._printer.name(self.atom(size))),
                is_dropped,
            )
        return self._variables[variable]


def _is_jaxpr(value: Any) -> bool:
    return hasattr(value, "num_implicit_inputs")


def _used(jaxpr: Any) -> set[ExplicitVariable]:
    """Variables that stand as an operand, as an output or in a type."""
    atoms: list[Atom] = list(jaxpr.outputs)
    variables: list[ExplicitVariable] = list(jaxpr.inputs)
    for equation in jaxpr.equations:
        atoms += equation.operands
        variables += equation.results
    for variable in variables:
        atoms += [size for size in variable.type.shape or () if not isinstance(size, int)]
    return {atom for atom in atoms if isinstance(atom, ExplicitVariable)}
