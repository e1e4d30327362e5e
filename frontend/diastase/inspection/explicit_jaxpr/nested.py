"""Equations with jaxprs inside: what the nested jaxprs take and return.

A nested jaxpr captures the sizes that it needs; they become its first inputs, and operands of the
equation in the same places, counted among the constants where the primitive counts them. Sizes of
results that are known outside are captured, too, so that inside and outside they are the same.
Those that are known only inside (of a QNode, a checkpoint, a `switch`) become implicit results;
`switch` returns every size of its results, as the reference text has it: also those known outside,
which are `_` there. In `for_loop` and `while_loop` sizes of carried values are carried, too:

    [*captured sizes, *constants, *implicit sizes, (index,) *carry] -> [*implicit sizes, *carry]

There is one implicit size for each different size in the types of the carried values: in a loop
that keeps its sizes, those of the initial values, returned as they came in; in one that resizes,
one for each class of axes that share a size (each axis, with `allow_array_resizing=True`). Its
results' sizes are then the first results of the equation.

The trap: a size that a *captured array* of a loop has as well is no implicit argument. It is a
constant of the body, named once, which is why captured and carried arrays of one size can be added
there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.inspection.explicit_jaxpr.model import ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.scope import (
    Parameters,
    Place,
    Scope,
    map_parts,
    places_of,
    size_at,
    without_result_types,
)
from diastase.inspection.explicit_jaxpr.types import Atom, ExplicitVariable, size_atom, size_type
from diastase_mlir.jax_compat import is_symbolic, jaxprs_in, scan_counts, symbol_of


@dataclass
class Nested:
    """A nested jaxpr translated, but for captured sizes among its inputs."""

    scope: Scope
    constants: Sequence[tuple[ExplicitVariable, Any]]
    inputs: Sequence[ExplicitVariable]
    outputs: Sequence[Atom]
    name: str = ""

    def finish(
        self,
        captured: Sequence[Any],
        num_consts: int = 0,
        implicit: Sequence[Atom] = (),
        num_implicit_inputs: int = 0,
    ) -> ExplicitJaxpr:
        """The jaxpr that takes these sizes first, needed here or not."""
        sizes = [self.scope.captured.get(size) or self.scope.declare(size) for size in captured]
        return ExplicitJaxpr(
            self.constants,
            (*sizes, *self.inputs),
            tuple(self.scope.equations),
            (*implicit, *self.outputs),
            num_consts=len(sizes) + num_consts,
            num_implicit_inputs=num_implicit_inputs,
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
    for size in places_of(inner.outvars):
        if outer.can_hold(size):
            scope.capture(size)
    outputs = scope.translate(inner)
    values = getattr(jaxpr, "consts", ())
    closed_over = tuple(zip(constants, values, strict=True))
    return Nested(scope, closed_over, inputs, outputs, inner.debug_info.func_name)


def translate_nested(scope: Scope, equation: Any) -> None:
    """A primitive whose nested jaxprs all take the same captured sizes."""
    nested: list[Nested] = []

    def translated(jaxpr: Any) -> Nested:
        nested.append(translate_inside(scope, jaxpr))
        return nested[-1]

    operands = [scope.atom(operand) for operand in equation.invars]
    parameters = Parameters(scope, translated)
    own = _with_counts(equation)
    params = {name: parameters.explicit(value) for name, value in own.items()}
    captured = list(dict.fromkeys(size for part in nested for size in part.scope.captured))
    sizes = [scope.held(size) for size in captured]
    constants = _CONSTANTS.get(equation.primitive.name, _Constants())
    count = constants.counted(own)
    declared, at = scope.declare_implicit(equation.outvars), places_of(equation.outvars)
    returned = [*at] if equation.primitive.name in _RETURNS_SIZES else [*declared]
    implicit = [declared.get(size) or ExplicitVariable(size_type()) for size in returned]

    def finish(value: Any) -> Any:
        if not isinstance(value, Nested):
            return map_parts(finish, value)
        return value.finish(
            captured, count, [size_at(value.outputs, at[size][0]) for size in returned]
        )

    params = {name: finish(value) for name, value in params.items()}
    constants.add(params, len(sizes))
    position, original = constants.position, None if parameters.sizes else equation
    operands = [*operands[:position], *sizes, *operands[position:], *parameters.sizes]
    scope.record(equation, operands, implicit, params, original)


def _with_counts(equation: Any) -> dict[str, Any]:
    """The parameters; of a scan, with its numbers of operands, which jax 0.12 keeps otherwise."""
    params = without_result_types(equation.params)
    if equation.primitive.name == "scan":
        params = {name: value for name, value in params.items() if name not in ("ft_in", "ft_out")}
        params["num_consts"], params["num_carry"] = scan_counts(equation.params)
    return params


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


# --- primitives with jaxprs that capture separately ----------------------------------------------


def translate_jax_while(scope: Scope, equation: Any) -> None:
    """`jax.lax.while_loop`: condition and body have constants of their own."""
    params = dict(equation.params)
    jaxprs = [params["cond_jaxpr"], params["body_jaxpr"]]
    counts = [params["cond_nconsts"], params["body_nconsts"]]
    operands, jaxprs, counts = _translate_separately(scope, equation, jaxprs, counts)
    params["cond_jaxpr"], params["body_jaxpr"] = jaxprs
    params["cond_nconsts"], params["body_nconsts"] = counts
    scope.record(equation, operands, [], params, equation)


def translate_linear_solve(scope: Scope, equation: Any) -> None:
    """`jax.lax.custom_linear_solve`: up to four functions, each with constants of its own."""
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    operands, finished, counts = _translate_separately(scope, equation, jaxprs, lengths)
    own = {"const_lengths": type(lengths)(*counts), "jaxprs": type(jaxprs)(*finished)}
    scope.record(equation, operands, [], {**equation.params, **own}, equation)


def _translate_separately(
    scope: Scope, equation: Any, jaxprs: Iterable[Any], counts: Iterable[int]
) -> tuple[list[Atom], list[Any], list[int]]:
    """Operands, jaxprs and numbers of constants, each jaxpr with the sizes that it captures."""
    remaining = [scope.atom(operand) for operand in equation.invars]
    operands: list[Atom] = []
    finished: list[Any] = []
    numbers: list[int] = []
    for jaxpr, count in zip(jaxprs, counts, strict=True):
        if jaxpr is None:
            finished.append(None)
            numbers.append(0)
            continue
        nested = translate_inside(scope, jaxpr)
        captured = list(nested.scope.captured)
        finished.append(nested.finish(captured, count))
        numbers.append(len(captured) + count)
        operands += [*(scope.held(size) for size in captured), *remaining[:count]]
        remaining = remaining[count:]
    return [*operands, *remaining], finished, numbers


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


# --- loops of ours -------------------------------------------------------------------------------

Places = Sequence[Sequence[Place]]
"""For each implicit size, the carried values and axes that have it."""


def _translate_body(
    outer: Scope, jaxpr: Any, constants: int, indices: int, places: Places
) -> Nested:
    """A body or condition: its implicit inputs stand between constants and arguments."""
    scope, arguments = outer.nest(), jaxpr.invars[constants:]
    captured = [scope.bind_input(item) for item in jaxpr.invars[:constants]]
    carried = arguments[indices:]
    implicit: list[ExplicitVariable] = []
    declared: dict[int, dict[int, Any]] = {}
    for at in places:  # one variable for the size that these axes share
        sizes = [carried[item].aval.shape[axis] for item, axis in at]
        implicit.append(scope.declare_separately(sizes))
        for item, axis in at:
            declared.setdefault(indices + item, {})[axis] = implicit[-1]
    inputs = [scope.bind_input(item, declared.get(k)) for k, item in enumerate(arguments)]
    return Nested(scope, (), [*captured, *implicit, *inputs], scope.translate(jaxpr))


def _finished(body: Nested, constants: int, places: Places, returned: Places) -> ExplicitJaxpr:
    """The jaxpr, which returns the sizes of its results at these places first."""
    sizes = [size_at(body.outputs, at[0]) for at in returned]
    return body.finish(list(body.scope.captured), constants, sizes, len(places))


def _implicit_places(carried: Sequence[Any], constants: Sequence[Any]) -> Places:
    """The places of each symbolic size of carried values that no captured one has, too."""
    excluded = places_of(constants)
    return [at for size, at in places_of(carried).items() if size not in excluded]


def translate_for_loop(scope: Scope, equation: Any) -> None:
    """The start of the index is an operand of its own, as in Catalyst's form."""
    params = equation.params
    count, jaxpr = params["body_nconsts"], params["body_jaxpr"].jaxpr
    operands = [scope.atom(operand) for operand in equation.invars]
    constants, carry = operands[:count], operands[count + 3 :]
    lower, upper, step = operands[count : count + 3]
    places = _implicit_places(jaxpr.invars[count + 1 :], jaxpr.invars[:count])
    body = _translate_body(scope, jaxpr, count, 1, places)
    captured = [scope.held(size) for size in body.scope.captured]
    implicit = [size_at(carry, at[0]) for at in places]
    explicit_params = {
        **without_result_types(params),
        "body_jaxpr": _finished(body, count, places, places),
        "body_nconsts": len(captured) + count,
        "nimplicit": len(implicit),
    }
    all_operands = (*captured, *constants, *implicit, lower, upper, step, lower, *carry)
    _record_loop(scope, equation, all_operands, places, explicit_params)


def translate_while_loop(scope: Scope, equation: Any) -> None:
    """Condition and body take the same implicit sizes; the body returns them."""
    params = equation.params
    condition_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    condition_jaxpr, body_jaxpr = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    operands = [scope.atom(operand) for operand in equation.invars]
    carry = operands[condition_count + body_count :]
    constants = [*condition_jaxpr.invars[:condition_count], *body_jaxpr.invars[:body_count]]
    places = _implicit_places(body_jaxpr.invars[body_count:], constants)
    condition = _translate_body(scope, condition_jaxpr, condition_count, 0, places)
    body = _translate_body(scope, body_jaxpr, body_count, 0, places)
    condition_sizes = [scope.held(size) for size in condition.scope.captured]
    body_sizes = [scope.held(size) for size in body.scope.captured]
    explicit_params = {
        **without_result_types(params),
        "cond_jaxpr": _finished(condition, condition_count, places, ()),
        "body_jaxpr": _finished(body, body_count, places, places),
        "cond_nconsts": len(condition_sizes) + condition_count,
        "body_nconsts": len(body_sizes) + body_count,
        "nimplicit": len(places),
    }
    all_operands = (
        *condition_sizes,
        *operands[:condition_count],
        *body_sizes,
        *operands[condition_count : condition_count + body_count],
        *(size_at(carry, at[0]) for at in places),
        *carry,
    )
    _record_loop(scope, equation, all_operands, places, explicit_params)


def _record_loop(
    scope: Scope, equation: Any, operands: Sequence[Atom], places: Places, params: Any
) -> None:
    """The equation of a loop; its first results are the sizes of the others.

    Each holds that size from now on, unless it is known before.
    """
    implicit: list[ExplicitVariable] = []
    for (item, axis), *_ in places:
        size = equation.outvars[item].aval.shape[axis]
        is_new = is_symbolic(size) and not scope.can_hold(size)
        implicit.append(scope.declare(size) if is_new else ExplicitVariable(size_type()))
    scope.record(equation, operands, implicit, params)


Rule = Callable[[Scope, Any], None]
NESTED_RULES: Mapping[str, Rule] = {
    "for_loop": translate_for_loop,
    "while_loop": translate_while_loop,
    "while": translate_jax_while,
    "custom_linear_solve": translate_linear_solve,
    "inlined": translate_inlined,
}
