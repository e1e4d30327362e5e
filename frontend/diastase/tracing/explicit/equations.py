"""Equations of a symbolic jaxpr in explicit form; loops and everything with a jaxpr inside."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.tracing.explicit.model import (
    Atom,
    ExplicitEquation,
    ExplicitJaxpr,
    ExplicitType,
    ExplicitVariable,
)
from diastase.tracing.explicit.scope import Scope, number, size_type
from diastase_mlir.jax_internals import is_symbolic, symbol_of

_ELEMENTWISE = frozenset(
    "add sub mul div rem max min pow atan2 nextafter and or xor eq ne lt le gt ge complex "
    "shift_left shift_right_logical shift_right_arithmetic".split()
)
"""Arithmetic on two operands, of which JAX lets one be a scalar."""


def translate(scope: Scope, jaxpr: Jaxpr) -> None:
    """Add the equations of a symbolic jaxpr to those of a scope."""
    for equation in jaxpr.eqns:
        _RULES.get(equation.primitive.name, _translate_plain)(scope, equation)


def _translate_check(_: Scope, __: Any) -> None:
    """`assert_size` says what every use of a size implies."""


def _translate_dimension(scope: Scope, equation: Any) -> None:
    """`dim_as_value` is the variable that holds the size."""
    (result,) = equation.outvars
    held = scope.held(equation.params["dim"])
    if held.type.aval.dtype != result.aval.dtype:
        params = {"new_dtype": result.aval.dtype, "weak_type": False, "sharding": None}
        converted = ExplicitVariable(ExplicitType(result.aval, ()))
        scope.equations.append(
            ExplicitEquation("convert_element_type", (held,), (converted,), params)
        )
        held = converted
    scope.alias(result, held)


def _translate_plain(scope: Scope, equation: Any) -> None:
    """Sizes among the parameters become operands; nested jaxprs capture what they need."""
    operands = [scope.atom(operand) for operand in equation.invars]
    params = _Params(scope)
    explicit = {name: params.explicit(value) for name, value in equation.params.items()}
    captured = [scope.held(size) for size in params.captured()]
    sizes = [scope.held(size) for size in params.sizes]
    types = [scope.type_of(variable.aval) for variable in equation.outvars]
    if equation.primitive.name in _ELEMENTWISE:
        operands = [_broadcast(scope, operand, types[0]) for operand in operands]
    if sizes and equation.primitive.name == "broadcast_in_dim":
        explicit.pop("sharding")  # as JAX prints it: implied by the type of the result
    results = [
        scope.bind(variable, type_) for variable, type_ in zip(equation.outvars, types, strict=True)
    ]
    scope.equations.append(
        ExplicitEquation(
            equation.primitive.name,
            (*captured, *operands, *sizes),
            results,
            {name: params.finish(value) for name, value in explicit.items()},
            original=None if sizes else equation,
            source_info=equation.source_info,
        )
    )


def _broadcast(scope: Scope, operand: Atom, result: ExplicitType) -> Atom:
    """A scalar operand at the shape of the result, where that is not all numbers."""
    shape = result.shape or ()
    if operand.type.shape != () or all(isinstance(size, int) for size in shape):
        return operand
    sizes = [size for size in shape if not isinstance(size, int)]
    params = {
        "broadcast_dimensions": (),
        "shape": tuple(size if isinstance(size, int) else None for size in shape),
    }
    aval = ShapedArray((1,) * len(shape), operand.type.aval.dtype)
    wide = ExplicitVariable(ExplicitType(aval, shape))
    scope.equations.append(ExplicitEquation("broadcast_in_dim", (operand, *sizes), (wide,), params))
    return wide


@dataclass
class _NestedJaxpr:
    """A nested jaxpr whose captured sizes are not yet among its inputs."""

    scope: Scope
    constants: Sequence[tuple[ExplicitVariable, Any]]
    inputs: Sequence[ExplicitVariable]
    outputs: Sequence[Atom]

    def finish(self, captured: Sequence[Any]) -> ExplicitJaxpr:
        """The jaxpr that takes these sizes first, needed here or not."""
        sizes = [self.scope.captured.get(size) or self.scope.declare(size) for size in captured]
        return ExplicitJaxpr(
            self.constants,
            (*sizes, *self.inputs),
            tuple(self.scope.equations),
            self.outputs,
            implicit_inputs=len(sizes),
        )


def _nested(outer: Scope, jaxpr: ClosedJaxpr | Jaxpr) -> _NestedJaxpr:
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    scope = outer.nest()
    inputs = [scope.bind(variable) for variable in inner.invars]
    constants = [scope.bind(variable) for variable in inner.constvars]
    translate(scope, inner)
    outputs = [scope.atom(output) for output in inner.outvars]
    values = getattr(jaxpr, "consts", ())
    return _NestedJaxpr(scope, tuple(zip(constants, values, strict=True)), inputs, outputs)


class _Params:
    """Parameters of one equation in explicit form."""

    def __init__(self, scope: Scope):
        self._scope = scope
        self._nested: list[_NestedJaxpr] = []
        self.sizes: list[Any] = []
        """Symbolic sizes among the parameters, in order."""

    def explicit(self, value: Any) -> Any:
        """A parameter with None for each symbolic size."""
        if is_symbolic(value):
            self.sizes.append(value)
            return None
        if isinstance(value, ClosedJaxpr | Jaxpr):
            self._nested.append(_nested(self._scope, value))
            return self._nested[-1]
        if type(value) in (tuple, list):
            return type(value)(self.explicit(part) for part in value)
        return value

    def captured(self) -> list[Any]:
        """Sizes that any of the nested jaxprs captures, which all of them take."""
        return list(dict.fromkeys(key for part in self._nested for key in part.scope.captured))

    def finish(self, value: Any) -> Any:
        """The parameter with nested jaxprs complete."""
        if isinstance(value, _NestedJaxpr):
            return value.finish(self.captured())
        if type(value) in (tuple, list):
            return type(value)(self.finish(part) for part in value)
        return value


# --- loops ---------------------------------------------------------------------------------------


class _LoopBody:
    """A body (or condition) `[*constants, (index,) *carry] -> results` of a loop of ours."""

    def __init__(self, outer: Scope, jaxpr: Jaxpr, constants: int, share: bool):
        self.scope = outer.nest()
        self._constants = [self.scope.bind(variable) for variable in jaxpr.invars[:constants]]
        arguments = jaxpr.invars[constants:]
        self.axes: list[tuple[int, int]] = []
        """For each implicit argument, an argument and an axis of it whose size it holds."""
        self._implicit: list[ExplicitVariable] = []
        types = [
            self._type(variable.aval, position, share)
            for position, variable in enumerate(arguments)
        ]
        self._arguments = [
            self.scope.bind(variable, type_)
            for variable, type_ in zip(arguments, types, strict=True)
        ]
        translate(self.scope, jaxpr)
        self._outputs = [self.scope.atom(output) for output in jaxpr.outvars]
        self._leading = len(arguments) - len(jaxpr.outvars)

    def _type(self, aval: Any, position: int, share: bool) -> ExplicitType:
        """A type over implicit arguments, one for each size, or for each occurrence of one."""
        if not isinstance(aval, ShapedArray):
            return ExplicitType(aval, None)
        sizes = (self._size(size, (position, k), share) for k, size in enumerate(aval.shape))
        return ExplicitType(aval, tuple(sizes))

    def _size(self, size: Any, axis: tuple[int, int], share: bool) -> Any:
        if not is_symbolic(size):
            return size
        if share and self.scope.knows(size):
            return self.scope.held(size)
        self.axes.append(axis)
        self._implicit.append(self.scope.declare(size))
        return self._implicit[-1]

    def captured(self) -> list[Any]:
        """Sizes from outside that are not in the types of carried values."""
        return list(self.scope.captured)

    def jaxpr(self, returns_sizes: bool) -> ExplicitJaxpr:
        """`[*captured sizes, *constants, *implicit sizes, (index,) *carry]`."""
        captured = list(self.scope.captured.values())
        sizes = self._returned_sizes() if returns_sizes else []
        return ExplicitJaxpr(
            (),
            (*captured, *self._constants, *self._implicit, *self._arguments),
            tuple(self.scope.equations),
            (*sizes, *self._outputs),
            implicit_inputs=len(self._implicit),
            implicit_outputs=len(sizes),
        )

    def sizes_in(self, avals: Sequence[Any]) -> list[Any]:
        """The sizes that stand for the implicit arguments in the types of other carried values."""
        return [avals[position - self._leading].shape[axis] for position, axis in self.axes]

    def _returned_sizes(self) -> list[Atom]:
        """What the implicit arguments are in the next iteration."""
        types = [self._outputs[position - self._leading].type for position, _ in self.axes]
        sizes = [
            (type_.shape or ())[axis] for type_, (_, axis) in zip(types, self.axes, strict=True)
        ]
        return [number(size) if isinstance(size, int) else size for size in sizes]


def _held(scope: Scope, size: Any) -> Atom:
    """The atom that a size is, a number or not."""
    held = scope.size(size)
    return number(held) if isinstance(held, int) else held


def _translate_for_loop(scope: Scope, equation: Any) -> None:
    params = equation.params
    count = params["body_nconsts"]
    operands = [scope.atom(operand) for operand in equation.invars]
    constants, (lower, upper, step), carry = (
        operands[:count],
        operands[count : count + 3],
        operands[count + 3 :],
    )
    body = _LoopBody(scope, params["body_jaxpr"].jaxpr, count, params["preserve_dimensions"])
    captured = [scope.held(size) for size in body.captured()]
    given = [operand.aval for operand in equation.invars[count + 3 :]]
    implicit = [_held(scope, size) for size in body.sizes_in(given)]
    explicit_params = {
        **_without_types(params),
        "body_jaxpr": body.jaxpr(returns_sizes=True),
        "body_nconsts": len(captured) + count,
        "nimplicit": len(implicit),
    }
    # The start of the index is an operand of its own, as in Catalyst's form.
    all_operands = (*captured, *constants, *implicit, lower, upper, step, lower, *carry)
    _record_loop(scope, equation, all_operands, body, explicit_params)


def _translate_while_loop(scope: Scope, equation: Any) -> None:
    params = equation.params
    condition_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    operands = [scope.atom(operand) for operand in equation.invars]
    constants = condition_count + body_count
    share = params["preserve_dimensions"]
    condition = _LoopBody(scope, params["cond_jaxpr"].jaxpr, condition_count, share)
    body = _LoopBody(scope, params["body_jaxpr"].jaxpr, body_count, share)
    condition_sizes = [scope.held(size) for size in condition.captured()]
    body_sizes = [scope.held(size) for size in body.captured()]
    given = [operand.aval for operand in equation.invars[constants:]]
    implicit = [_held(scope, size) for size in body.sizes_in(given)]
    explicit_params = {
        **_without_types(params),
        "cond_jaxpr": condition.jaxpr(returns_sizes=False),
        "body_jaxpr": body.jaxpr(returns_sizes=True),
        "cond_nconsts": len(condition_sizes) + condition_count,
        "body_nconsts": len(body_sizes) + body_count,
        "nimplicit": len(implicit),
    }
    all_operands = (
        *condition_sizes,
        *operands[:condition_count],
        *body_sizes,
        *operands[condition_count:constants],
        *implicit,
        *operands[constants:],
    )
    _record_loop(scope, equation, all_operands, body, explicit_params)


def _without_types(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Parameters without the types of the results, which the explicit form shows anyway."""
    return {name: value for name, value in params.items() if name != "result_avals"}


def _record_loop(
    scope: Scope,
    equation: Any,
    operands: Sequence[Atom],
    body: _LoopBody,
    params: Mapping[str, Any],
) -> None:
    """The equation of a loop; its first results are the sizes of the others."""
    sizes = body.sizes_in([variable.aval for variable in equation.outvars])
    implicit = [
        ExplicitVariable(size_type())
        if not is_symbolic(size) or scope.knows(size)
        else scope.declare(size)
        for size in sizes
    ]
    results = [scope.bind(variable) for variable in equation.outvars]
    scope.equations.append(
        ExplicitEquation(
            equation.primitive.name,
            operands,
            (*implicit, *results),
            params,
            source_info=equation.source_info,
        )
    )


def _translate_switch(scope: Scope, equation: Any) -> None:
    """As any equation; sizes that branches decide are results before the others."""
    operands = [scope.atom(operand) for operand in equation.invars]
    params = _Params(scope)
    branches = params.explicit(equation.params["branch_jaxprs"])
    captured = [scope.held(size) for size in params.captured()]
    shapes = [getattr(variable.aval, "shape", ()) for variable in equation.outvars]
    axes: dict[Any, tuple[int, int]] = {}
    for position, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if is_symbolic(size) and symbol_of(size) and not scope.holds(size):
                axes.setdefault(size, (position, axis))
    implicit = [scope.declare(size) for size in axes]
    results = [scope.bind(variable) for variable in equation.outvars]
    jaxprs = tuple(
        _with_implicit_outputs(branch, list(axes.values())) for branch in params.finish(branches)
    )
    scope.equations.append(
        ExplicitEquation(
            equation.primitive.name,
            (operands[0], *captured, *operands[1:]),
            (*implicit, *results),
            {"branch_jaxprs": jaxprs},
            source_info=equation.source_info,
        )
    )


def _with_implicit_outputs(branch: ExplicitJaxpr, axes: Sequence[tuple[int, int]]) -> ExplicitJaxpr:
    """The branch with the sizes of these axes of its outputs before its other outputs."""
    sizes = [(branch.outputs[position].type.shape or ())[axis] for position, axis in axes]
    atoms = [number(size) if isinstance(size, int) else size for size in sizes]
    return replace(branch, outputs=(*atoms, *branch.outputs), implicit_outputs=len(atoms))


_RULES: Mapping[str, Callable[[Scope, Any], None]] = {
    "assert_size": _translate_check,
    "dim_as_value": _translate_dimension,
    "for_loop": _translate_for_loop,
    "switch": _translate_switch,
    "while_loop": _translate_while_loop,
}
