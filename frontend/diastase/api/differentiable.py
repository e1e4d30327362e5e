"""What `grad`, `jacobian`, `jvp` and `vjp` are told, what they check, and the errors about it.

In: options as the user wrote them, arguments, results. Out: `Derivation`, options that are right;
errors of ours for all that has no derivative, before JAX meets it.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from diastase.tracing.signatures import function_name
from diastase_mlir.diagnostics import user_span
from diastase_runtime.errors import DiastaseError, DifferentiableCompileError

Function = Callable[..., Any]
Argnums = int | Sequence[int] | None
METHODS = ("auto", "fd")


@dataclass(frozen=True)
class Derivation:
    """A derivative that was asked for: of what, by which arguments, and how."""

    transformation: str
    function: str
    method: str
    step: float | None
    argnums: Argnums
    holomorphic: bool = False
    allow_int: bool = False

    def positions(self, count: int) -> tuple[int, ...]:
        """Which of `count` positional arguments are differentiated."""
        given: Any = 0 if self.argnums is None else self.argnums
        try:
            found = tuple(map(operator.index, (given,) if self.is_single() else given))
        except TypeError:
            found = ()
        if len(set(found)) < max(1, len(found)):
            raise self.misfit(f"argnums={given!r} is neither a position nor several of them")
        if all(-count <= number < count for number in found):
            return tuple(number % count for number in found)
        reason = f"argnums={self.argnums or 0}, but {self.function} gets {_count(count)}"
        raise self.misfit(reason)

    def is_single(self) -> bool:
        """Whether `argnums` is one number: then derivatives are not in a tuple."""
        return self.argnums is None or not isinstance(self.argnums, Sequence)

    def packed(self, derivatives: Sequence[Any]) -> Any:
        """Derivatives by each of the arguments as the user gets them."""
        return derivatives[0] if self.is_single() else tuple(derivatives)

    def misfit(self, reason: str) -> "DerivativeArgumentError":
        """The error of arguments that do not fit together."""
        return DerivativeArgumentError(
            function=self.transformation, reason=reason, span=user_span()
        )

    def wrong_type(self, reason: str, advice: str) -> "DerivativeTypeError":
        """The error of values that have no derivative."""
        return DerivativeTypeError(
            transformation=self.transformation,
            function=self.function,
            reason=reason,
            advice=advice,
            span=user_span(),
        )

    def check_arguments(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        """The positions of arguments that are differentiated, which have derivatives."""
        positions = self.positions(len(arguments))
        for position in positions:
            for leaf in jax.tree.leaves(arguments[position]):
                self._check_argument(position, leaf)
        return positions

    def _check_argument(self, position: int, leaf: Any) -> None:
        dtype = dtype_of(leaf)
        if dtype is None or jnp.issubdtype(dtype, jax.dtypes.extended):
            kind = type(leaf).__name__ if dtype is None else str(dtype)
            reason = f"argument {position} is of type {kind}, which has no derivative"
            raise self.wrong_type(reason, "choose the arguments to differentiate with argnums")
        if jnp.issubdtype(dtype, jnp.inexact):
            if self.holomorphic and not jnp.issubdtype(dtype, jnp.complexfloating):
                reason = f"argument {position} is {dtype}, and holomorphic=True takes complex ones"
                raise self.wrong_type(reason, "pass a complex argument, or leave holomorphic out")
        elif not self.allow_int:
            reason = f"argument {position} is {dtype}, which has no derivative"
            advice = "pass a float (3.0, not 3), choose others with argnums, or say allow_int=True"
            raise self.wrong_type(reason, advice)

    def check_scalar(self, result: Any) -> Any:
        """The one real number that a result is."""
        leaves = jax.tree.leaves(result)
        kind = jnp.complexfloating if self.holomorphic else jnp.floating
        if len(leaves) == 1 and jnp.shape(leaves[0]) == ():
            dtype = dtype_of(leaves[0])
            if dtype is not None and jnp.issubdtype(dtype, kind):
                return leaves[0]
        raise ScalarResultError(
            transformation=self.transformation,
            function=self.function,
            got=_described(leaves),
            span=user_span(),
        )

    def check_result(self, leaf: Any) -> None:
        """Refuse a result without derivative, as an entry of a Jacobian."""
        dtype = dtype_of(leaf)
        if dtype is None or not jnp.issubdtype(dtype, jnp.inexact):
            reason = f"a result is {_described([leaf])}, which has no derivative"
            raise self.wrong_type(reason, "return floating-point numbers only")


def derivation(
    transformation: str,
    function: Any,
    method: str | None,
    h: Any,
    argnums: Argnums,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Derivation:
    """Check what a transformation is told."""
    check_callable(transformation, function)
    method = "auto" if method is None else method

    def invalid(option: str, value: Any, allowed: str) -> DerivativeMethodError:
        return DerivativeMethodError(
            transformation=transformation, option=option, value=repr(value), allowed=allowed,
            span=user_span(),
        )  # fmt: skip

    if method not in METHODS:
        allowed = '"auto" or "fd"; the method of a QNode is its diff_method'
        raise invalid("method", method, allowed)
    if h is not None and not _is_step(h):
        raise invalid("h", h, "a number other than zero, or None")
    name = function_name(function)
    return Derivation(transformation, name, method, h, argnums, holomorphic, allow_int)


def check_callable(transformation: str, function: Any) -> None:
    """Refuse what is no function."""
    if not callable(function):
        kind = type(function).__name__
        raise DerivativeTargetError(transformation=transformation, type=kind, span=user_span())


def dtype_of(leaf: Any) -> Any:
    """The type of the elements of an array or number, None of anything else."""
    if hasattr(leaf, "dtype"):
        return leaf.dtype
    known = isinstance(leaf, bool | int | float | complex)
    return np.dtype(jax.dtypes.canonicalize_dtype(type(leaf))) if known else None


def _is_step(h: Any) -> bool:
    return isinstance(h, int | float | np.floating | np.integer) and bool(np.isfinite(h) and h != 0)


def _count(count: int) -> str:
    return f"{count} positional argument{'' if count == 1 else 's'}"


def _described(leaves: Sequence[Any]) -> str:
    """Types and shapes in words: `float64[3]`, `2 arrays (float64[3], int64[])`."""
    named = [_type_of(leaf) for leaf in leaves]
    if len(named) == 1:
        return named[0]
    return f"{len(named)} arrays ({', '.join(named)})" if named else "nothing"


def _type_of(leaf: Any) -> str:
    dtype = dtype_of(leaf)
    if dtype is None:
        return type(leaf).__name__
    return f"{dtype}[{','.join(str(size) for size in jnp.shape(leaf))}]"


# --- errors --------------------------------------------------------------------------------------


class DerivativeTargetError(DiastaseError, TypeError):
    """`grad`, `jacobian`, `vmap`, … of something that cannot be called.

        diastase.grad(f(x))          # the gradient of a number
        diastase.grad(f)(x)          # the gradient of f at x

    Give the function itself, then call what comes back.
    """

    title: ClassVar[str] = "Nothing to transform"
    message: ClassVar[str] = "{transformation} takes a function, not something of type {type}"
    help: ClassVar[str] = "write {transformation}(f)(x), not {transformation}(f(x))"
    transformation: str
    type: str


class DerivativeMethodError(DiastaseError, ValueError):
    """A `method` or a step `h` of `grad`, `jacobian`, `jvp`, … that there is not.

    `method` says how the whole function is differentiated: "auto" (the default) exactly, with each
    QNode by its own `diff_method`; "fd" by finite differences with the step `h`, a number other
    than zero. The methods of QNodes, such as "parameter-shift", belong to the QNodes:
    `qml.qnode(device, diff_method="parameter-shift")`.
    """

    title: ClassVar[str] = "Invalid method"
    message: ClassVar[str] = "{transformation} with {option}={value}"
    help: ClassVar[str] = "{option} is {allowed}"
    transformation: str
    option: str
    value: str
    allowed: str


class DerivativeArgumentError(DiastaseError, ValueError):
    """Arguments of `grad`, `jvp`, `vjp`, … that do not fit together.

    `jvp(f, [x, y], [dx], argnums=[0])`: all parameters of `f`, and a tangent, of the same shape,
    for each one that is differentiated; `vjp(f, [x, y], [dz])`: a cotangent for each array that
    `f` returns. `argnums` counts the positional arguments of the call, which must be there.
    """

    title: ClassVar[str] = "Arguments do not fit together"
    message: ClassVar[str] = "{function}: {reason}"
    label: ClassVar[str] = "called here"
    function: str
    reason: str


class DerivativeTypeError(DifferentiableCompileError, TypeError):
    """Values that have no derivative: integers, booleans, and complex numbers in some places.

        diastase.grad(lambda x: x**2)(3)        # 3 is an integer: use 3.0

    An argument that is differentiated is made of real or complex numbers (with `allow_int=True`
    integers may be among them; their derivatives are JAX's `float0`), and so is a result. A complex
    function of complex arguments has a derivative only where it is holomorphic: say
    `holomorphic=True`. The number and the types of tangents and cotangents are those of arguments
    and results.
    """

    title: ClassVar[str] = "No derivative"
    message: ClassVar[str] = "{transformation} of {function}: {reason}"
    help: ClassVar[str] = "{advice}"
    transformation: str
    function: str
    reason: str
    advice: str


class ScalarResultError(DifferentiableCompileError, TypeError):
    """`grad` or `value_and_grad` of a function that returns more, or something else, than a number.

        diastase.grad(lambda x: x**2)(jnp.ones(3))                # three numbers
        diastase.grad(lambda x: jnp.sum(x**2))(jnp.ones(3))

    A gradient belongs to one real number. All derivatives of several numbers are a `jacobian`.
    Values beside the one to differentiate are returned with `has_aux=True`.
    """

    title: ClassVar[str] = "The result is not one real number"
    message: ClassVar[str] = "{transformation} of {function}, which returns {got}"
    label: ClassVar[str] = "differentiated here"
    help: ClassVar[str] = (
        "return one real number (an array of shape (), not (1,)), use diastase.jacobian, or return "
        "(value, others) and say has_aux=True"
    )
    transformation: str
    function: str
    got: str
