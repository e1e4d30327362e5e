"""What an explicit jaxpr is made of; how its nested jaxprs are connected; how it is printed.

As a jaxpr, with one difference: the size of an array's axis may be a *variable* (`f64[a]`), and
any size that occurs in a type is declared before it. A size among an equation's parameters is
`None` there (`shape=(None,)`), and an operand after the others. Inputs come in this order:

    constants with their sizes (`num_consts`)    what a nested jaxpr captures from outside
    implicit inputs (`num_implicit_inputs`)      sizes of the explicit ones
    explicit inputs                              the arguments of the Python function

and outputs as `num_implicit_outputs` sizes, then the explicit ones. Only some sizes are implicit:
one that is an input already is not returned again.

Equality of variables is identity; names exist only in the text, which JAX's own printer makes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    InputType,
    OutputType,
    Size,
    input_type,
    output_type,
)
from diastase_mlir.jax_compat import JaxprPrinter
from diastase_mlir.jax_compat.jaxprs.inlining import CALLS
from diastase_mlir.jax_compat.jaxprs.printing import Sources, located_text


@dataclass(frozen=True, eq=False)
class ExplicitEquation:
    """An equation: `results = primitive[params] operands`; nested jaxprs are parameters.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> (equation,) = qjit(jnp.ones).trace(3).jaxpr.equations
        >>> equation.primitive, len(equation.operands), len(equation.results)
        ('broadcast_in_dim', 2, 1)

    """

    primitive: str
    operands: Sequence[Atom]
    results: Sequence[ExplicitVariable]
    params: Mapping[str, Any] = field(default_factory=dict)
    original: Any = None
    """The equation of the symbolic jaxpr that this one stands for, if its parameters are equal."""
    source_info: Any = None


def with_sources(jaxpr: "ExplicitJaxpr | ClosedJaxpr") -> tuple[str, Sources]:
    """A jaxpr of either form as text, and which traceback each of its lines comes from."""
    if not isinstance(jaxpr, ExplicitJaxpr):
        return located_text(jaxpr)
    names = Names(jaxpr)
    return names.text, names.sources


@dataclass(frozen=True, eq=False)
class ExplicitJaxpr:
    """A function over explicit sizes; what `f.jaxpr` is where sizes are known at run time only.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> jaxpr = qjit(lambda n: jnp.ones(n)).trace(3).jaxpr
        >>> jaxpr
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
          in (b,) }
        >>> print(*[kind for kind, _ in jaxpr.in_type], *[kind for kind, _ in jaxpr.out_type])
        i64[] f64[InDBIdx(0)]

    """

    constants: Sequence[tuple[ExplicitVariable, Any]]
    """Arrays that the function closes over, with the variables that stand for them."""
    inputs: Sequence[ExplicitVariable]
    equations: Sequence[ExplicitEquation]
    outputs: Sequence[Atom]
    num_consts: int = 0
    """How many of the first inputs are captured from outside, or sizes of what is."""
    num_implicit_inputs: int = 0
    """How many of the inputs after the captured ones are sizes only."""
    num_implicit_outputs: int = 0
    """How many of the first outputs are sizes only."""
    assumed_equal: Sequence[Sequence[Size]] = ()
    """Groups of sizes that are different variables, but were assumed to be equal."""
    name: str = ""
    """What the user's function is called."""

    @property
    def in_type(self) -> InputType:
        """`(type, is_explicit)` of each input, sizes as `DBIdx`."""
        return input_type(self.inputs, self.num_consts + self.num_implicit_inputs)

    @property
    def out_type(self) -> OutputType:
        """`(type, is_explicit)` of each output, sizes as `InDBIdx` or `OutDBIdx`."""
        return output_type(self.inputs, self.outputs, self.num_implicit_outputs)

    def __str__(self) -> str:
        """Print it as JAX prints jaxprs; a result that nothing uses is `_`."""
        return Names(self).text

    __repr__ = __str__


# --- nested jaxprs -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Region:
    """One nested jaxpr of an equation, as `regions` gives it.

    Example:
        >>> from diastase import for_loop, qjit
        >>> from diastase.jaxpr import explicit_jaxpr, regions
        >>> f = qjit(lambda n: for_loop(0, n, 1)(lambda i, x: x + i)(0))
        >>> (equation,) = explicit_jaxpr(f.trace(3).jaxpr).equations
        >>> (body,) = regions(equation)
        >>> body.name, body.carried
        ('body_jaxpr', {1: 0})

    """

    name: str
    """The parameter it is: `body_jaxpr`, `branch_jaxprs[1]`."""
    jaxpr: ExplicitJaxpr
    operands: Sequence[Atom | None] | None = None
    """The operand that each input takes; None if unknown."""
    results: Sequence[ExplicitVariable] | None = None
    """The result that each output becomes; None if unknown, or if there are none."""
    carried: Mapping[int, int] = field(default_factory=dict)
    """Input -> the output that it is in the next iteration."""
    rows: tuple[int, int] | None = None
    """Of a scan: from these inputs and outputs on, operands and results have one more axis."""
    is_condition: bool = False
    """Whether it returns a boolean that decides if the loop goes on."""


def regions(equation: ExplicitEquation) -> list[Region]:
    """The nested jaxprs of an equation, each with how it is connected to operands and results.

    Args:
        equation: one of an `ExplicitJaxpr`.

    Returns:
        A list of `Region`s. Of a primitive whose connections nobody has written down, they say
        nothing: a reduction's function takes elements of its operands, for example.

    Example:
        >>> from diastase import cond, qjit
        >>> from diastase.jaxpr import explicit_jaxpr, regions
        >>> choose = qjit(lambda b: cond(b)(lambda: 1).otherwise(lambda: 2)())
        >>> equations = explicit_jaxpr(choose.trace(True).jaxpr).equations
        >>> [region.name for region in regions(equations[-1])]
        ['branch_jaxprs[0]', 'branch_jaxprs[1]']

    """
    found = [
        (label, jaxpr)
        for name, value in equation.params.items()
        for label, jaxpr in _jaxprs(name, value)
    ]
    rule = _RULES.get(equation.primitive, _unknown)
    return rule(equation, found) if found else []


def _jaxprs(name: str, value: Any) -> list[tuple[str, ExplicitJaxpr]]:
    if isinstance(value, ExplicitJaxpr):
        return [(name, value)]
    if isinstance(value, tuple | list):
        labels = getattr(value, "_fields", range(len(value)))
        parts = zip(labels, value, strict=True)
        return [found for label, part in parts for found in _jaxprs(f"{name}[{label}]", part)]
    return []


Found = Sequence[tuple[str, ExplicitJaxpr]]


def _called(equation: ExplicitEquation, found: Found) -> list[Region]:
    ((name, jaxpr),) = found
    return [Region(name, jaxpr, equation.operands, equation.results)]


def _unknown(_: ExplicitEquation, found: Found) -> list[Region]:
    return [Region(name, jaxpr) for name, jaxpr in found]


def _branches(equation: ExplicitEquation, found: Found) -> list[Region]:
    return [Region(name, jaxpr, equation.operands[1:], equation.results) for name, jaxpr in found]


def _for_loop(equation: ExplicitEquation, found: Found) -> list[Region]:
    ((name, body),) = found
    constants = equation.params["body_nconsts"]
    implicit = equation.params["nimplicit"]
    first = constants + implicit
    captured, (_, _, _, start, *carry) = equation.operands[:first], equation.operands[first:]
    carried = {constants + item: item for item in range(implicit)}
    carried |= {first + 1 + item: implicit + item for item in range(len(carry))}
    operands = (*captured, start, *carry)
    return [Region(name, body, operands, equation.results, carried)]


def _while_loop(equation: ExplicitEquation, found: Found) -> list[Region]:
    jaxprs = dict(found)
    tested, constants = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    operands, carry = equation.operands, equation.operands[tested + constants :]
    carried = {constants + item: item for item in range(len(carry))}
    body_operands = (*operands[tested : tested + constants], *carry)
    return [
        Region(
            "cond_jaxpr",
            jaxprs["cond_jaxpr"],
            (*operands[:tested], *carry),
            is_condition=True,
        ),
        Region("body_jaxpr", jaxprs["body_jaxpr"], body_operands, equation.results, carried),
    ]


def _scan(equation: ExplicitEquation, found: Found) -> list[Region]:
    ((name, body),) = found
    constants, count = equation.params["num_consts"], equation.params["num_carry"]
    carried = {constants + item: item for item in range(count)}
    operands = equation.operands
    if equation.params["length"] is None:
        operands = operands[:-1]
    return [
        Region(name, body, operands, equation.results, carried, rows=(constants + count, count))
    ]


_RULES: Mapping[str, Callable[[ExplicitEquation, Found], list[Region]]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _branches,
    "while": _while_loop,
    "cond": _branches,
    "scan": _scan,
    **dict.fromkeys((*CALLS, "qnode"), _called),
}


# --- printing ------------------------------------------------------------------------------------


class Names:
    """The text of one jaxpr, and what things are called in it.

    The jaxpr is rebuilt from JAX's classes, with variables whose types print the names of other
    variables; the result is good for printing and nothing else.
    """

    def __init__(self, jaxpr: ExplicitJaxpr) -> None:
        self._printer = JaxprPrinter()
        self._variables: dict[ExplicitVariable, Any] = {}
        self.sources: Sources = []
        self.text = self._printer.text(self._rebuilt(jaxpr), self.sources)

    def of(self, atom: Any) -> str:
        """The name of a variable, the number that a literal is."""
        return str(atom) if isinstance(atom, int) else self._printer.name(self._atom(atom))

    def type(self, type_: ExplicitType) -> str:
        """A type over the names of its sizes."""
        return type_.text(self.of)

    def equation(self, equation: ExplicitEquation) -> str:
        """An equation without its parameters: `c:f64[b] = add a b`."""
        results = [f"{self.of(result)}:{self.type(result.type)}" for result in equation.results]
        operands = [self.of(operand) for operand in equation.operands]
        return f"{' '.join(results)} = {' '.join([equation.primitive, *operands])}".strip()

    def _rebuilt(self, jaxpr: ExplicitJaxpr) -> Any:
        used = _used(jaxpr)
        constants = [self._variable(variable) for variable, _ in jaxpr.constants]
        inputs = [self._variable(variable) for variable in jaxpr.inputs]
        equations = [self._equation(equation, used) for equation in jaxpr.equations]
        outputs = [self._atom(output) for output in jaxpr.outputs]
        return self._printer.jaxpr(constants, inputs, equations, outputs, jaxpr.name)

    def _equation(self, equation: ExplicitEquation, used: set[Any]) -> Any:
        results = [self._variable(result, result not in used) for result in equation.results]
        return self._printer.equation(
            equation.primitive,
            [self._atom(operand) for operand in equation.operands],
            results,
            {name: self._parameter(value) for name, value in equation.params.items()},
            equation.original,
            equation.source_info,
        )

    def _parameter(self, value: Any) -> Any:
        if isinstance(value, ExplicitJaxpr):
            return self._rebuilt(value)
        if isinstance(value, tuple | list) and any(isinstance(v, ExplicitJaxpr) for v in value):
            return tuple(map(self._parameter, value))
        return value

    def _atom(self, atom: Atom) -> Any:
        if isinstance(atom, ExplicitLiteral):
            return self._printer.literal(atom.value, atom.type.aval)
        return self._variable(atom)

    def _variable(self, variable: ExplicitVariable, is_dropped: bool = False) -> Any:
        if variable not in self._variables:
            self._variables[variable] = self._printer.variable(
                lambda: self.type(variable.type), is_dropped
            )
        return self._variables[variable]


def _used(jaxpr: ExplicitJaxpr) -> set[Any]:
    """Variables that stand as an operand, as an output or in a type."""
    atoms: list[Any] = list(jaxpr.outputs)
    variables: list[ExplicitVariable] = list(jaxpr.inputs)
    for equation in jaxpr.equations:
        atoms += equation.operands
        variables += equation.results
    for variable in variables:
        atoms += [size for size in variable.type.shape or () if not isinstance(size, int)]
    return set(atoms)
