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
    P   The operands and results of a primitive fit each other (`primitive_rules`).

Sizes are equal if they are the same variable or the same number, since the derivation names equal
sizes alike, or if tracing assumed them to be (`assumed_equal`). A violation raises
`JaxprTypeError`, with names as in the printed jaxpr.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.tracing.explicit.assumed import Equalities
from diastase.tracing.explicit.derive import explicit_jaxpr
from diastase.tracing.explicit.errors import JaxprTypeError
from diastase.tracing.explicit.model import ExplicitEquation, ExplicitJaxpr
from diastase.tracing.explicit.primitive_rules import PRIMITIVE_RULES
from diastase.tracing.explicit.printing import Names
from diastase.tracing.explicit.region_rules import check_region
from diastase.tracing.explicit.regions import regions
from diastase.tracing.explicit.types import (
    Atom,
    Defect,
    ExplicitLiteral,
    ExplicitType,
    ExplicitVariable,
)
from diastase_mlir.diagnostics import span_of


def typecheck_jaxpr(jaxpr: ExplicitJaxpr | ClosedJaxpr) -> None:
    """Raise `JaxprTypeError` unless a jaxpr is well typed; one of JAX's is made explicit first."""
    explicit = jaxpr if isinstance(jaxpr, ExplicitJaxpr) else explicit_jaxpr(jaxpr)
    bound: set[ExplicitVariable] = set()
    equalities = Equalities()
    try:
        _Checker(explicit, bound, (), equalities).check()
    except Defect as defect:
        raise _error(explicit, defect, equalities) from None


class _Checker:
    """Checks one jaxpr; `path` names the equations and parameters around it."""

    def __init__(
        self,
        jaxpr: ExplicitJaxpr,
        elsewhere: set[ExplicitVariable],
        path: tuple[str, ...],
        equalities: Equalities,
    ):
        self._jaxpr = jaxpr
        self._elsewhere = elsewhere
        """All variables that any jaxpr has bound so far."""
        self._bound: set[Any] = set()
        self._path = path
        self._equalities = equalities
        self._later: set[ExplicitVariable] | None = None

    def check(self) -> None:
        """Raise the first defect."""
        jaxpr = self._jaxpr
        self._equalities.add(jaxpr)
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

    def _at(self, place: "str | ExplicitEquation") -> "_Place":
        return _Place(place, self._path)

    # --- scoping ---------------------------------------------------------------------------------

    def _bind(self, variable: ExplicitVariable) -> None:
        self._check_type(variable.type)
        if variable in self._elsewhere:
            raise Defect("{} is bound twice", variable)
        self._elsewhere.add(variable)
        self._bound.add(variable)

    def _use(self, atom: Atom, where: str = "") -> None:
        if isinstance(atom, ExplicitLiteral):
            _check_literal(atom)
        elif atom not in self._bound:
            raise Defect(f"{{}} is {self._why_unbound(atom)}{where}", atom)

    def _why_unbound(self, variable: ExplicitVariable) -> str:
        if self._later is None:
            self._later = set(_binders(self._jaxpr))
        if variable in self._later:
            return "used before it is bound"
        return "bound in another jaxpr" if variable in self._elsewhere else "unbound"

    def _check_type(self, type_: ExplicitType) -> None:
        """S4, and S2 for sizes."""
        shape = getattr(type_.aval, "shape", None)
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
        known = {*self._jaxpr.inputs, *self._jaxpr.outputs}
        for output in self._jaxpr.outputs:
            for size in output.type.shape or ():
                if not isinstance(size, int) and size not in known:
                    raise Defect("the size {} of {} is no input and no output", size, output)

    # --- equations -------------------------------------------------------------------------------

    def _check_equation(self, equation: ExplicitEquation) -> None:
        for operand in equation.operands:
            self._use(operand)
        for region in regions(equation):
            path = (*self._path, equation.primitive, region.name)
            _Checker(region.jaxpr, self._elsewhere, path, self._equalities).check()
        for result in equation.results:
            self._bind(result)
        for region in regions(equation):
            check_region(self._equalities.region(region))
        _check_original(equation)
        rule = PRIMITIVE_RULES.get(equation.primitive)
        if rule is not None:
            rule(self._equalities.equation(equation))


class _Place:
    """Where a defect is, for those that are raised inside."""

    def __init__(self, place: Any, path: tuple[str, ...]):
        self._place, self._path = place, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: Any, error: Any, __: Any) -> None:
        if isinstance(error, Defect) and error.place is None:
            error.place, error.path = self._place, self._path


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


def _error(jaxpr: ExplicitJaxpr, defect: Defect, equalities: Equalities) -> JaxprTypeError:
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
