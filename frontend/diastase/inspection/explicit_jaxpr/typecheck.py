"""The type checker of explicit jaxprs.

    S1  Each variable is bound once: as a constant, an input or a result, in one jaxpr.
    S2  It is bound before it is used, be it as an operand, an output or a size in a type.
    S3  A nested jaxpr sees no variable from outside.
    S4  A size is a number that is not negative, or an integer scalar. Types agree with JAX's
        abstract values in dtype, rank and those sizes that are numbers.
    S5  Implicit inputs and outputs are sizes; a size in the type of an output is an input or an
        output, so that a caller can name it: `in_type` and `out_type` exist.
    R1  What an equation gives to a nested jaxpr has the type of the input, with the inputs that
        are sizes replaced by their operands.
    R2  A result has the type of the output, where a size is the operand given for it, or the
        result that it becomes. Of a loop's carried sizes the latter, unless it never changes.
    R3  What a loop's body returns has the type that its next iteration takes, sizes replaced.
    P   The operands and results of a primitive fit each other.

S rules are here, R and P in `typing_rules`. A violation raises `JaxprTypeError`, with names as in
the printed jaxpr.

The trap: sizes are equal if they are the same variable or the same number, since the derivation
names equal sizes alike, or if tracing assumed them to be. Where it assumed `m == n`, both are one
variable; but what a loop carries has variables of its own, and where one of them was assumed to
equal another size, arrays of both meet (`assumed_equal`, `_Equalities`).
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.inspection.explicit_jaxpr.derive import explicit_jaxpr
from diastase.inspection.explicit_jaxpr.model import (
    ExplicitEquation,
    ExplicitJaxpr,
    Names,
    Region,
    regions,
)
from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
    Size,
    array_shape,
    size_atom,
)
from diastase.inspection.explicit_jaxpr.typing_rules import PRIMITIVE_RULES, Defect, check_region
from diastase_mlir.diagnostics import span_of
from diastase_runtime.errors import DiastaseError


class JaxprTypeError(DiastaseError, TypeError):
    """An explicit jaxpr is not well typed.

    `typecheck_jaxpr` raises it for a jaxpr in which a variable is unbound, bound twice or used
    before it is bound (also as the size in a type), or in which types do not fit: of an equation's
    operands and results, of a nested jaxpr and the equation around it, of a loop's body and the
    values that it carries. `jaxpr` of a traced function is always well typed; one that is not was
    changed by hand, or is our mistake.

    Example:
        >>> import dataclasses
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> from diastase.jaxpr import typecheck_jaxpr
        >>> jaxpr = qjit(lambda n: jnp.ones(n)).trace(3).jaxpr
        >>> typecheck_jaxpr(dataclasses.replace(jaxpr, equations=()))
        Traceback (most recent call last):
        ...
        diastase.inspection.explicit_jaxpr.typecheck.JaxprTypeError: The jaxpr is not well...

    """

    title: ClassVar[str] = "The jaxpr is not well typed"
    message: ClassVar[str] = "{defect}, in `{equation}`"
    label: ClassVar[str] = "{defect}"
    defect: str
    equation: str
    """The equation as printed, without parameters; or the inputs or outputs of which jaxpr."""


def typecheck_jaxpr(jaxpr: ExplicitJaxpr | ClosedJaxpr) -> None:
    """Check that a jaxpr is well typed.

    Args:
        jaxpr: an `ExplicitJaxpr`, or one of JAX's, which is made explicit first.

    Raises:
        JaxprTypeError: with the equation that is not.

    Example:
        >>> import dataclasses
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> from diastase.jaxpr import JaxprTypeError, typecheck_jaxpr
        >>> jaxpr = qjit(lambda n: jnp.ones(n)).trace(3).jaxpr
        >>> typecheck_jaxpr(jaxpr)
        >>> try:
        ...     typecheck_jaxpr(dataclasses.replace(jaxpr, equations=()))
        ... except JaxprTypeError:
        ...     print("not well typed")
        not well typed

    """
    explicit = jaxpr if isinstance(jaxpr, ExplicitJaxpr) else explicit_jaxpr(jaxpr)
    bound: set[ExplicitVariable] = set()
    equalities = _Equalities()
    try:
        _Checker(explicit, bound, (), equalities).check()
    except Defect as defect:
        raise _error(explicit, defect, equalities) from None


@dataclass
class _Checker:
    """Checks one jaxpr."""

    jaxpr: ExplicitJaxpr
    elsewhere: set[ExplicitVariable]
    """All variables that any jaxpr has bound so far."""
    path: tuple[str, ...]
    """The equations and parameters around it."""
    equalities: "_Equalities"
    bound: set[Any] = field(default_factory=set)

    def check(self) -> None:
        """Raise the first defect."""
        jaxpr = self.jaxpr
        self.equalities.add(jaxpr)
        with self._at("inputs"):
            for variable, _ in jaxpr.constants:
                self._bind(variable)
            for variable in jaxpr.inputs:
                self._bind(variable)
            self._check_implicit(jaxpr.inputs[jaxpr.num_consts :][: jaxpr.num_implicit_inputs])
        for equation in jaxpr.equations:
            with self._at(equation):
                self._check_equation(equation)
        with self._at("outputs"):
            for output in jaxpr.outputs:
                self._use(output)
            self._check_implicit(jaxpr.outputs[: jaxpr.num_implicit_outputs])
            self._check_output_sizes()

    @contextmanager
    def _at(self, place: "str | ExplicitEquation") -> Generator[None]:
        """Say where a defect is that is raised inside."""
        try:
            yield
        except Defect as defect:
            if defect.place is None:
                defect.place, defect.path = place, self.path
            raise

    # --- scoping ---------------------------------------------------------------------------------

    def _bind(self, variable: ExplicitVariable) -> None:
        self._check_type(variable.type)
        if variable in self.elsewhere:
            raise Defect("{} is bound twice", variable)
        self.elsewhere.add(variable)
        self.bound.add(variable)

    def _use(self, atom: Atom, where: str = "") -> None:
        if isinstance(atom, ExplicitLiteral):
            _check_literal(atom)
        elif atom not in self.bound:
            raise Defect(f"{{}} is {self._why_unbound(atom)}{where}", atom)

    def _why_unbound(self, variable: ExplicitVariable) -> str:
        if variable in _binders(self.jaxpr):
            return "used before it is bound"
        return "bound in another jaxpr" if variable in self.elsewhere else "unbound"

    def _check_type(self, type_: ExplicitType) -> None:
        """S4, and S2 for sizes."""
        shape = array_shape(type_.aval)
        if (type_.shape is None) != (shape is None):
            raise Defect(f"{type_} is not of the kind of {type_.aval.str_short()}")
        if shape is None or type_.shape is None:
            return
        if len(shape) != len(type_.shape):
            raise Defect(f"{type_} has not the rank of {type_.aval.str_short()}")
        for size, known in zip(type_.shape, shape, strict=True):
            self._check_size(size, known)

    def _check_size(self, size: Any, known: Any) -> None:
        if isinstance(size, int):
            if size < 0 or (isinstance(known, int) and known != size):
                raise Defect(f"{size} is no size of an axis that JAX knows as {known}")
            return
        self._use(size, where=", as the size in a type")
        if not _is_size(size.type):
            raise Defect("{} is no integer scalar, but a size in a type", size)

    def _check_implicit(self, atoms: Sequence[Atom]) -> None:
        for atom in atoms:
            if not _is_size(atom.type):
                raise Defect("{} is implicit, but no integer scalar", atom)

    def _check_output_sizes(self) -> None:
        """S5."""
        known = {*self.jaxpr.inputs, *self.jaxpr.outputs}
        for output in self.jaxpr.outputs:
            for size in output.type.shape or ():
                if not isinstance(size, int) and size not in known:
                    raise Defect("the size {} of {} is no input and no output", size, output)

    # --- equations -------------------------------------------------------------------------------

    def _check_equation(self, equation: ExplicitEquation) -> None:
        for operand in equation.operands:
            self._use(operand)
        for region in regions(equation):
            path = (*self.path, equation.primitive, region.name)
            _Checker(region.jaxpr, self.elsewhere, path, self.equalities).check()
        for result in equation.results:
            self._bind(result)
        for region in regions(equation):
            check_region(self.equalities.region(region))
        _check_original(equation)
        rule = PRIMITIVE_RULES.get(equation.primitive)
        if rule is not None:
            rule(self.equalities.equation(equation))


def _check_original(equation: ExplicitEquation) -> None:
    """The results have the dtypes and ranks that JAX gave them."""
    if equation.original is None:
        return
    results = equation.results[len(equation.results) - len(equation.original.outvars) :]
    for result, variable in zip(results, equation.original.outvars, strict=False):
        dtype = getattr(variable.aval, "dtype", None)
        if dtype != getattr(result.type.aval, "dtype", None):
            raise Defect(f"{{}} is {result.type}, where JAX infers the dtype {dtype}", result)


def _check_literal(literal: ExplicitLiteral) -> None:
    dtype = literal.type.aval.dtype
    if literal.type.shape != np.shape(literal.value):
        raise Defect(f"the literal {literal.value} is no {literal.type}")
    if jnp.issubdtype(dtype, np.generic) and np.isscalar(literal.value):
        value = np.asarray(literal.value)
        order = "biufcV"
        kind = "f" if jnp.issubdtype(dtype, jnp.floating) else np.dtype(dtype).kind
        if order.index(value.dtype.kind) > order.index(kind):
            raise Defect(f"the literal {literal.value} is no {literal.type}")


def _is_size(type_: ExplicitType) -> bool:
    return type_.shape == () and jnp.issubdtype(type_.aval.dtype, jnp.integer)


def _binders(jaxpr: ExplicitJaxpr) -> Iterator[ExplicitVariable]:
    yield from (variable for variable, _ in jaxpr.constants)
    yield from jaxpr.inputs
    for equation in jaxpr.equations:
        yield from equation.results


def _error(jaxpr: ExplicitJaxpr, defect: Defect, equalities: "_Equalities") -> JaxprTypeError:
    names = Names(jaxpr)
    defect.replace_items(equalities.originals)
    place, span = defect.place, None
    if isinstance(place, ExplicitEquation):
        where = names.equation(place)
        span = span_of(place.source_info) if place.source_info is not None else None
    else:
        where = str(place)
    inside = "".join(
        f" of {part}" if position % 2 else f" in {part}"
        for position, part in enumerate(reversed(defect.path))
    )
    return JaxprTypeError(defect=defect.text(names), equation=f"{where}{inside}", span=span)


class _Equalities:
    """The groups of all jaxprs met so far, each with the size that stands for it.

    It renames what the rules for types look at; scoping is checked on what stands in the jaxpr.
    """

    def __init__(self) -> None:
        self._chosen: dict[Size, Size] = {}
        self._renamed: dict[ExplicitVariable, ExplicitVariable] = {}
        self.originals: dict[Any, Any] = {}
        """What a renamed variable stands for."""

    def add(self, jaxpr: ExplicitJaxpr) -> None:
        """Learn the groups of a jaxpr."""
        for group in jaxpr.assumed_equal:
            numbers = [size for size in group if isinstance(size, int)]
            chosen = numbers[0] if numbers else group[0]
            self._chosen.update((size, chosen) for size in group if not isinstance(size, int))

    def equation(self, equation: ExplicitEquation) -> ExplicitEquation:
        """The equation with one size for each group."""
        if not self._chosen:
            return equation
        return replace(
            equation,
            operands=self._atoms(equation.operands),
            results=self._atoms(equation.results),
        )

    def region(self, region: Region) -> Region:
        """The region with one size for each group, outside and inside."""
        if not self._chosen:
            return region
        inner = replace(
            region.jaxpr,
            inputs=self._atoms(region.jaxpr.inputs),
            outputs=self._atoms(region.jaxpr.outputs),
        )
        operands = region.operands and [atom and self._atom(atom) for atom in region.operands]
        results = region.results and self._atoms(region.results)
        return replace(region, jaxpr=inner, operands=operands, results=results)

    def _atoms(self, atoms: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(map(self._atom, atoms))

    def _atom(self, atom: Atom) -> Atom:
        if isinstance(atom, ExplicitLiteral):
            return atom
        if atom in self._chosen:
            return size_atom(self._chosen[atom])
        shape = atom.type.shape or ()
        chosen = tuple(self._chosen.get(size, size) for size in shape)
        if chosen == shape:
            return atom
        if atom not in self._renamed:
            renamed = ExplicitVariable(ExplicitType(atom.type.aval, chosen))
            self._renamed[atom] = renamed
            self.originals[renamed] = atom
        return self._renamed[atom]
