"""Equations with jaxprs inside, other than loops of ours: what the nested jaxprs take and return.

A nested jaxpr captures the sizes that it needs; they become its first inputs, and operands of the
equation in the same places, counted among the constants where the primitive counts them. Sizes of
results that are known outside are captured, too, so that inside and outside they are the same.
Those that are known only inside (of a QNode, a checkpoint, a `switch`) become implicit results.

`switch` returns every size of its results, as the reference text has it: also those known outside,
which are `_` there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.inspection.explicit_jaxpr.equations import (
    Parameters,
    declare_implicit,
    map_parts,
    without_result_types,
)
from diastase.inspection.explicit_jaxpr.model import ExplicitEquation, ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.scope import Scope
from diastase.inspection.explicit_jaxpr.types import Atom, ExplicitVariable, size_atom, size_type
from diastase_mlir.jax_compat import is_symbolic, jaxprs_in, scan_counts, symbol_of


@dataclass
class Nested:
    """A nested jaxpr translated, but for captured sizes among its inputs."""

    scope: Scope
    constants: Sequence[tuple[ExplicitVariable, Any]]
    inputs: Sequence[ExplicitVariable]
    outputs: Sequence[Atom]
    name: str

    def finish(
        self, captured: Sequence[Any], num_consts: int = 0, implicit: Sequence[Atom] = ()
    ) -> ExplicitJaxpr:
        """The jaxpr that takes these sizes first, needed here or not."""
        sizes = [self.scope.captured.get(size) or self.scope.declare(size) for size in captured]
        return ExplicitJaxpr(
            self.constants,
            (*sizes, *self.inputs),
            tuple(self.scope.equations),
            (*implicit, *self.outputs),
            num_consts=len(sizes) + num_consts,
            num_implicit_outputs=len(implicit),
            assumed_equal=tuple(self.scope.assumed_equal),
            name=self.name,
        )


def translate_inside(outer: Scope, jaxpr: ClosedJaxpr | Jaxpr) -> Nested:
    """Translate a nested jaxpr."""
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    scope = outer.nest()
    inputs = [scope.bind_input(variable) for variable in inner.invars]
    constants = [scope.bind_input(variable) for variable in inner.constvars]
    for size in _sizes(inner.outvars):
        if outer.can_hold(size):
            scope.capture(size)
    outputs = scope.translate(inner)
    values = getattr(jaxpr, "consts", ())
    closed_over = tuple(zip(constants, values, strict=True))
    return Nested(scope, closed_over, inputs, outputs, inner.debug_info.func_name)


def translate_nested(scope: Scope, equation: Any) -> None:
    """A primitive whose nested jaxprs all take the same captured sizes."""
    nested: list[Nested] = []

    def inside(jaxpr: Any) -> Nested:
        nested.append(translate_inside(scope, jaxpr))
        return nested[-1]

    operands = [scope.atom(operand) for operand in equation.invars]
    parameters = Parameters(scope, inside)
    own = _with_counts(equation)
    params = {name: parameters.explicit(value) for name, value in own.items()}
    captured = list(dict.fromkeys(size for part in nested for size in part.scope.captured))
    sizes = [scope.held(size) for size in captured]
    constants = _CONSTANTS.get(equation.primitive.name, _Constants())
    declared = declare_implicit(scope, equation.outvars)
    if equation.primitive.name in _RETURNS_SIZES:
        implicit, places = _returned_sizes(equation, declared)
    else:
        implicit, places = list(declared.values()), _places(equation.outvars, list(declared))

    def finish(value: Any) -> Any:
        if not isinstance(value, Nested):
            return map_parts(finish, value)
        count = constants.counted(own)
        return value.finish(captured, count, [_size_at(value.outputs, *at) for at in places])

    params = {name: finish(value) for name, value in params.items()}
    constants.add(params, len(sizes))
    _record(
        scope, equation, operands, constants.position, sizes, parameters.sizes, implicit, params
    )


def _with_counts(equation: Any) -> dict[str, Any]:
    """The parameters; of a scan, with its numbers of operands, which jax 0.12 keeps otherwise."""
    params = without_result_types(equation.params)
    if equation.primitive.name == "scan":
        params = {name: value for name, value in params.items() if name not in ("ft_in", "ft_out")}
        params["num_consts"], params["num_carry"] = scan_counts(equation.params)
    return params


def _record(
    scope: Scope,
    equation: Any,
    operands: list[Atom],
    position: int,
    captured: list[Atom],
    sizes: list[Atom],
    implicit: Sequence[ExplicitVariable],
    params: Mapping[str, Any],
) -> None:
    results = [scope.bind(variable) for variable in equation.outvars]
    scope.equations.append(
        ExplicitEquation(
            equation.primitive.name,
            (*operands[:position], *captured, *operands[position:], *sizes),
            (*implicit, *results),
            params,
            original=None if sizes else equation,
            source_info=equation.source_info,
        )
    )


# --- where captured sizes go ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Constants:
    """How a primitive takes what its jaxprs close over."""

    parameter: str | None = None
    """The parameter that counts them, if there is one."""
    position: int = 0
    """Where they stand among the operands."""
    takes_nothing_else: bool = False
    """Whether all inputs of the nested jaxprs are captured."""

    def counted(self, params: Mapping[str, Any]) -> int:
        """How many of the nested jaxprs' inputs are captured, without sizes."""
        if self.takes_nothing_else:
            (first, *_) = jaxprs_in(params)
            return len(first.invars)
        return params.get(self.parameter, 0) if self.parameter else 0

    def add(self, params: dict[str, Any], count: int) -> None:
        """Count captured sizes too."""
        if self.parameter in params:
            params[self.parameter] += count
        if "linear" in params:  # of a scan: one flag for each operand
            params["linear"] = (*(False,) * count, *params["linear"])


_CONSTANTS: Mapping[str, _Constants] = {
    "scan": _Constants("num_consts"),
    "cond": _Constants(position=1, takes_nothing_else=True),
    "switch": _Constants(position=1, takes_nothing_else=True),
    "custom_jvp_call": _Constants("num_consts"),
    "custom_vjp_call": _Constants("num_consts"),
}

_RETURNS_SIZES = frozenset({"switch"})
"""Primitives of ours whose implicit results are all sizes of the others."""


# --- sizes of results ----------------------------------------------------------------------------


def _sizes(variables: Sequence[Any]) -> list[Any]:
    """Symbolic sizes in the types of symbolic variables, each once."""
    sizes = [size for variable in variables for size in getattr(variable.aval, "shape", ())]
    return list(dict.fromkeys(size for size in sizes if is_symbolic(size)))


def _places(variables: Sequence[Any], sizes: Sequence[Any]) -> list[tuple[int, int]]:
    """For each size, the first variable and axis that has it."""
    found: dict[Any, tuple[int, int]] = {}
    for position, variable in enumerate(variables):
        for axis, size in enumerate(getattr(variable.aval, "shape", ())):
            found.setdefault(size, (position, axis))
    return [found[size] for size in sizes]


def _size_at(atoms: Sequence[Atom], position: int, axis: int) -> Atom:
    return size_atom((atoms[position].type.shape or ())[axis])


def _returned_sizes(
    equation: Any, declared: Mapping[Any, ExplicitVariable]
) -> tuple[list[ExplicitVariable], list[tuple[int, int]]]:
    """An implicit result for each size: one that is declared by it, or one that nobody reads."""
    sizes = _sizes(equation.outvars)
    variables = [declared.get(size) or ExplicitVariable(size_type()) for size in sizes]
    return variables, _places(equation.outvars, sizes)


# --- primitives with jaxprs that capture separately ----------------------------------------------


def translate_jax_while(scope: Scope, equation: Any) -> None:
    """`jax.lax.while_loop`: condition and body have constants of their own."""
    names = ("cond", "body")
    counts = [equation.params[f"{name}_nconsts"] for name in names]
    params = dict(equation.params)
    remaining = [scope.atom(operand) for operand in equation.invars]
    operands: list[Atom] = []
    for name, count in zip(names, counts, strict=True):
        nested = translate_inside(scope, params[f"{name}_jaxpr"])
        captured = list(nested.scope.captured)
        params[f"{name}_jaxpr"] = nested.finish(captured, count)
        params[f"{name}_nconsts"] = len(captured) + count
        operands += [*(scope.held(size) for size in captured), *remaining[:count]]
        remaining = remaining[count:]
    _record(scope, equation, [*operands, *remaining], 0, [], [], (), params)


def translate_linear_solve(scope: Scope, equation: Any) -> None:
    """`jax.lax.custom_linear_solve`: up to four functions, each with constants of its own."""
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    remaining = [scope.atom(operand) for operand in equation.invars]
    operands: list[Atom] = []
    finished, counts = [], []
    for length, jaxpr in zip(lengths, jaxprs, strict=True):
        if jaxpr is None:
            finished.append(None)
            counts.append(0)
            continue
        nested = translate_inside(scope, jaxpr)
        captured = list(nested.scope.captured)
        finished.append(nested.finish(captured, length))
        counts.append(len(captured) + length)
        operands += [*(scope.held(size) for size in captured), *remaining[:length]]
        remaining = remaining[length:]
    params = {
        **equation.params,
        "const_lengths": type(lengths)(*counts),
        "jaxprs": type(jaxprs)(*finished),
    }
    _record(scope, equation, [*operands, *remaining], 0, [], [], (), params)


def translate_inlined(scope: Scope, equation: Any) -> None:
    """The equations themselves; sizes that the inputs define are those of the operands."""
    jaxpr = equation.params["jaxpr"].jaxpr
    for variable, operand in zip(jaxpr.invars, equation.invars, strict=True):
        atom = scope.atom(operand)
        scope.alias(variable, atom)
        own, given = variable.aval.shape, operand.aval.shape
        for axis, (size, known) in enumerate(zip(own, given, strict=True)):
            if is_symbolic(size) and symbol_of(size) is not None and not size == known:
                scope.share(size, size_atom((atom.type.shape or ())[axis]))
    outputs = scope.translate(jaxpr)
    for variable, atom in zip(equation.outvars, outputs, strict=True):
        scope.alias(variable, atom)


Rule = Callable[[Scope, Any], None]
NESTED_RULES: Mapping[str, Rule] = {
    "while": translate_jax_while,
    "custom_linear_solve": translate_linear_solve,
    "inlined": translate_inlined,
}


def has_jaxprs(equation: Any) -> bool:
    """Whether an equation has jaxprs among its parameters."""
    return any(map(_holds_jaxpr, equation.params.values()))


def _holds_jaxpr(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_holds_jaxpr, value))
    return isinstance(value, ClosedJaxpr | Jaxpr)
