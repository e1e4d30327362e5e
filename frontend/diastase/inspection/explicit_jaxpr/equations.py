"""Equations of a symbolic jaxpr in explicit form; those with a jaxpr inside are in `nested`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.inspection.explicit_jaxpr.model import ExplicitEquation
from diastase.inspection.explicit_jaxpr.scope import Scope
from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    ExplicitType,
    ExplicitVariable,
    array_type,
)
from diastase_mlir.jax_compat import is_symbolic, normalised

_ELEMENTWISE = frozenset(
    "add sub mul div rem max min pow atan2 nextafter and or xor eq ne lt le gt ge complex "
    "shift_left shift_right_logical shift_right_arithmetic".split()
)
"""Arithmetic on two operands; JAX lets one be a scalar, or have axes of size 1."""


def translate_check(_: Scope, __: Any) -> None:
    """Checks say what every use of a size implies, or what the types of the program imply."""


def translate_dimension(scope: Scope, equation: Any) -> None:
    """`dim_as_value` is the variable that holds the size."""
    (result,) = equation.outvars
    held = scope.held(equation.params["dim"])
    if held.type.aval.dtype != result.aval.dtype:
        held = scope.converted(held, result.aval)
    scope.alias(result, held)


def translate_plain(scope: Scope, equation: Any) -> None:
    """Sizes among the parameters become operands."""
    operands = [scope.atom(operand) for operand in equation.invars]
    params = Parameters(scope)
    explicit = {name: params.explicit(value) for name, value in equation.params.items()}
    implicit = declare_implicit(scope, equation.outvars)
    types = [scope.type_of(variable.aval) for variable in equation.outvars]
    if equation.primitive.name in _ELEMENTWISE:
        wanted = _normal_shape(equation.outvars[0])
        operands = [
            operand if _normal_shape(variable) == wanted else _broadcast(scope, operand, types[0])
            for variable, operand in zip(equation.invars, operands, strict=True)
        ]
    if params.sizes and equation.primitive.name == "broadcast_in_dim":
        explicit.pop("sharding")  # as JAX prints it: implied by the type of the result
    results = [scope.bind(variable) for variable in equation.outvars]
    scope.equations.append(
        ExplicitEquation(
            equation.primitive.name,
            (*operands, *params.sizes),
            (*implicit.values(), *results),
            explicit,
            original=None if params.sizes else equation,
            source_info=equation.source_info,
        )
    )


def declare_implicit(scope: Scope, results: Sequence[Any]) -> dict[Any, ExplicitVariable]:
    """New variables for sizes of an equation's results that nothing before it holds."""
    sizes = [size for variable in results for size in getattr(variable.aval, "shape", ())]
    unknown = [size for size in sizes if is_symbolic(size) and not scope.can_hold(size)]
    return {size: scope.declare(size) for size in dict.fromkeys(unknown)}


def _normal_shape(variable: Any) -> list[Any]:
    """Sizes, alike where they have been assumed to be equal."""
    return list(map(normalised, variable.aval.shape))


def without_result_types(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without the types of the results, which the explicit form shows anyway."""
    return {name: value for name, value in params.items() if name != "result_avals"}


def _broadcast(scope: Scope, operand: Atom, result: ExplicitType) -> Atom:
    """A scalar, or an operand with axes of size 1, at the shape of the result if that has sizes."""
    shape, own = result.shape or (), operand.type.shape or ()
    if own == shape or all(isinstance(size, int) for size in shape):
        return operand
    sizes = [size for size in shape if not isinstance(size, int)]
    params = {
        "broadcast_dimensions": tuple(range(len(own))),
        "shape": tuple(size if isinstance(size, int) else None for size in shape),
    }
    wide = ExplicitVariable(array_type(shape, operand.type.aval.dtype))
    scope.equations.append(ExplicitEquation("broadcast_in_dim", (operand, *sizes), (wide,), params))
    return wide


class Parameters:
    """Parameters of one equation in explicit form."""

    def __init__(self, scope: Scope, nested: Callable[[Any], Any] = lambda jaxpr: jaxpr):
        self._scope = scope
        self._nested = nested
        self.sizes: list[Atom] = []
        """What holds the symbolic sizes among the parameters, in order."""

    def explicit(self, value: Any) -> Any:
        """A parameter with None for each symbolic size, and `nested(jaxpr)` for each jaxpr."""
        if is_symbolic(value) and not is_symbolic(normalised(value)):
            return int(normalised(value))
        if is_symbolic(value):
            self.sizes.append(self._scope.held(value))
            return None
        if isinstance(value, ClosedJaxpr | Jaxpr):
            return self._nested(value)
        if isinstance(value, ShapedArray) and any(map(is_symbolic, value.shape)):
            type_ = self._scope.type_of(value)
            self.sizes += [size for size in type_.shape or () if not isinstance(size, int)]
            return type_
        return map_parts(self.explicit, value)


def map_parts(function: Callable[[Any], Any], value: Any) -> Any:
    """A tuple or list with `function` applied to its parts; anything else as it is."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if type(value) in (tuple, list):
        return type(value)(map(function, value))
    return value
