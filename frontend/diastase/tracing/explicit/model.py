"""What an explicit jaxpr is made of.

As a jaxpr, with one difference: the size of an array's axis may be a *variable* (`f64[a]`), and
any size that occurs in a type is declared before it. Variables that only stand for sizes are
*implicit* inputs or outputs; they come first. A size among an equation's parameters is `None`
there (`shape=(None,)`), and an operand after the others.

Equality of variables is identity; names exist only in printed text. That is made by JAX's own
printer, for which the explicit jaxpr is rebuilt from JAX's classes, with variables whose types
print the names of other variables; the result is good for printing and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from diastase_mlir.jax_internals import JaxprPrinter

Size = Union[int, "Atom"]


@dataclass(frozen=True, eq=False)
class ExplicitType:
    """The type of a variable."""

    aval: Any
    """JAX's abstract value, for everything but the sizes."""
    shape: tuple[Size, ...] | None
    """Sizes of the axes; None for what is no array."""

    def __str__(self) -> str:
        """The type with `?` for sizes that are variables, which have no names here."""
        return self.text(lambda _: "?")

    def text(self, name: Any) -> str:
        """The type as printed, where `name(variable)` gives the name of a size."""
        short = self.aval.str_short(short_dtypes=True)
        if self.shape is None or all(isinstance(size, int) for size in self.shape):
            return short
        sizes = (str(size) if isinstance(size, int) else name(size) for size in self.shape)
        return f"{short[: short.index('[')]}[{','.join(sizes)}]"


@dataclass(frozen=True, eq=False)
class ExplicitVariable:
    """A value of the program."""

    type: ExplicitType


@dataclass(frozen=True, eq=False)
class ExplicitLiteral:
    """A number written out."""

    value: Any
    type: ExplicitType


Atom = ExplicitVariable | ExplicitLiteral


@dataclass(frozen=True, eq=False)
class ExplicitEquation:
    """`results = primitive[params] operands`; nested jaxprs are parameters."""

    primitive: str
    operands: Sequence[Atom]
    results: Sequence[ExplicitVariable]
    params: Mapping[str, Any] = field(default_factory=dict)
    original: Any = None
    """The equation of the symbolic jaxpr that this one stands for, if its parameters are equal."""
    source_info: Any = None


@dataclass(frozen=True, eq=False)
class ExplicitJaxpr:
    """A function over explicit sizes."""

    constants: Sequence[tuple[ExplicitVariable, Any]]
    """Arrays that the function closes over, with the variables that stand for them."""
    inputs: Sequence[ExplicitVariable]
    equations: Sequence[ExplicitEquation]
    outputs: Sequence[Atom]
    implicit_inputs: int = 0
    """How many of the first inputs are sizes only."""
    implicit_outputs: int = 0
    """How many of the first outputs are sizes only."""

    def __str__(self) -> str:
        """Print it as JAX prints jaxprs; a result that nothing uses is `_`."""
        printer = JaxprPrinter()
        return printer.text(_Rebuild(printer).jaxpr(self))

    __repr__ = __str__


class _Rebuild:
    """An explicit jaxpr out of JAX's classes."""

    def __init__(self, printer: JaxprPrinter):
        self._printer = printer
        self._variables: dict[ExplicitVariable, Any] = {}

    def jaxpr(self, jaxpr: ExplicitJaxpr) -> Any:
        used = _used(jaxpr)
        constants = [self._variable(variable) for variable, _ in jaxpr.constants]
        inputs = [self._variable(variable) for variable in jaxpr.inputs]
        equations = [self._equation(equation, used) for equation in jaxpr.equations]
        return self._printer.jaxpr(
            constants, inputs, equations, [self._atom(output) for output in jaxpr.outputs]
        )

    def _equation(self, equation: ExplicitEquation, used: set[ExplicitVariable]) -> Any:
        results = [self._variable(result, result not in used) for result in equation.results]
        return self._printer.equation(
            equation.primitive,
            [self._atom(operand) for operand in equation.operands],
            results,
            {name: self._param(value) for name, value in equation.params.items()},
            equation.original,
        )

    def _param(self, value: Any) -> Any:
        if isinstance(value, ExplicitJaxpr):
            return self.jaxpr(value)
        if type(value) is tuple:
            return tuple(self._param(part) for part in value)
        return value

    def _atom(self, atom: Atom) -> Any:
        if isinstance(atom, ExplicitLiteral):
            return self._printer.literal(atom.value, atom.type.aval)
        return self._variable(atom)

    def _variable(self, variable: ExplicitVariable, is_dropped: bool = False) -> Any:
        if variable not in self._variables:
            self._variables[variable] = self._printer.variable(
                lambda: variable.type.text(lambda size: self._printer.name(self._atom(size))),
                is_dropped,
            )
        return self._variables[variable]


def _used(jaxpr: ExplicitJaxpr) -> set[ExplicitVariable]:
    """Variables that stand as an operand, as an output or in a type."""
    atoms: list[Atom] = list(jaxpr.outputs)
    variables: list[ExplicitVariable] = list(jaxpr.inputs)
    for equation in jaxpr.equations:
        atoms += equation.operands
        variables += equation.results
    for variable in variables:
        atoms += [size for size in variable.type.shape or () if not isinstance(size, int)]
    return {atom for atom in atoms if isinstance(atom, ExplicitVariable)}
