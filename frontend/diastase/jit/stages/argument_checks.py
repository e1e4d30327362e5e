"""Whether the arguments of a call are those that a program was compiled for, and if not, why.

In: the types that a program was traced for, with symbols in their shapes, and the arguments of a
call. `check_arguments` raises the errors that `jax.stages.Compiled` raises, in its words; weak
types do not matter, as a Python number may stand for an array of its type. A `SizePattern` compares
the sizes of arrays whose ranks and dtypes are known to fit: a symbol stands for any size from 0,
the same one everywhere; an expression (`2*m`) for the sizes that it can have.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax.core import ShapedArray, Tracer

from diastase.dynamic_shapes.symbols import AxisSize, axis_sizes
from diastase.jit.options.errors import (
    ArgumentMismatchError,
    CompiledTransformError,
    StructureMismatchError,
)
from diastase.jit.stages.shared_memory import is_foreign, is_tensor, why_not_shared
from diastase.tracing.argument_errors import AbstractArgumentError, UnsupportedArgumentError
from diastase_mlir.jax_compat import (
    abstract_value,
    evaluate_dimension,
    is_symbolic,
    structure_differences,
    symbol_of,
)


class SizePattern:
    """The sizes of all axes of a program's arguments."""

    def __init__(self, avals: Sequence[Any]) -> None:
        self._numbers: list[tuple[int, int, int]] = []
        self._symbols: list[tuple[int, int, str]] = []
        self._expressions: list[AxisSize] = []
        for axis in axis_sizes(avals):
            name = symbol_of(axis.size) if is_symbolic(axis.size) else None
            if name is not None:
                self._symbols.append((axis.argument, axis.axis, name))
            elif is_symbolic(axis.size):
                self._expressions.append(axis)
            else:
                self._numbers.append((axis.argument, axis.axis, axis.size))

    def fits(self, shapes: Sequence[Sequence[int]]) -> bool:
        """Whether a program for this pattern serves arrays of these shapes."""
        known = all(shapes[argument][axis] == size for argument, axis, size in self._numbers)
        return known and self.difference(shapes) is None

    def difference(self, shapes: Sequence[Sequence[int]]) -> tuple[int, str] | None:
        """The first argument whose symbolic sizes do not fit, and why not; None if all do."""
        values: dict[str, int] = {}
        for argument, axis, name in self._symbols:
            size = shapes[argument][axis]
            if values.setdefault(name, size) != size:
                return argument, f"{name} is {values[name]}"
        for axis in self._expressions:
            if not _solve(axis, shapes, values):
                size = shapes[axis.argument][axis.axis]
                if axis.symbol is not None:
                    return axis.argument, f"no {axis.symbol} makes {axis.size} equal to {size}"
                return axis.argument, f"{axis.size} is {evaluate_dimension(axis.size, values)}"
        return None


def _solve(axis: AxisSize, shapes: Sequence[Sequence[int]], values: dict[str, int]) -> bool:
    """Whether a size is one that an expression can have; notes the symbol's value, if it is new."""
    size = shapes[axis.argument][axis.axis]
    if axis.symbol is None:
        return size == evaluate_dimension(axis.size, values)
    rest = evaluate_dimension(axis.rest, values) if is_symbolic(axis.rest) else axis.rest
    value, remainder = divmod(size - rest, axis.factor)
    values[axis.symbol] = value
    return remainder == 0 and value >= 0


class Expected(Protocol):
    """What of a program's interface matters here."""

    @property
    def fun_name(self) -> str: ...  # noqa: D102
    @property
    def in_tree(self) -> Any: ...  # noqa: D102
    @property
    def argument_names(self) -> tuple[str, ...]: ...  # noqa: D102


def check_arguments(
    expected: Expected,
    pattern: SizePattern,
    avals: Sequence[ShapedArray],
    leaves: Sequence[Any],
    tree: Any,
) -> None:
    """Refuse tracers, another structure of arguments, and other types."""
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise CompiledTransformError(type=repr(type(leaf)))
    if tree != expected.in_tree:
        raise _structure_mismatch(expected.in_tree, tree)
    given = [
        type_of_leaf(leaf, expected.fun_name, name)
        for leaf, name in zip(leaves, expected.argument_names, strict=True)
    ]
    different = [k for k, pair in enumerate(zip(avals, given, strict=True)) if not _alike(*pair)]
    reason = ""
    if not different:
        difference = pattern.difference([aval.shape for aval in given])
        if difference is None:
            return
        different, reason = [difference[0]], f", where {difference[1]}"
    lines = [
        f"Argument '{expected.argument_names[k]}' compiled with {avals[k].str_short()} "
        f"and called with {given[k].str_short()}{reason}"
        for k in different
    ]
    raise ArgumentMismatchError(mismatches="\n".join(lines))


def _alike(want: ShapedArray, have: ShapedArray) -> bool:
    """Whether types agree, symbolic sizes apart."""
    return want.dtype == have.dtype and same_shape(want, have)


def same_shape(want: ShapedArray, have: ShapedArray) -> bool:
    """Whether shapes agree, symbolic sizes apart."""
    if want.ndim != have.ndim:
        return False
    sizes = zip(want.shape, have.shape, strict=True)
    return all(is_symbolic(size) or size == given for size, given in sizes)


def is_type(leaf: Any) -> bool:
    """Whether an argument is the type of one."""
    return isinstance(leaf, jax.ShapeDtypeStruct | ShapedArray)


def type_of_leaf(leaf: Any, function: str, argument: str, *, may_be_type: bool = False) -> Any:
    """Find the abstract value of an argument's leaf; refuses what is no array, naming it."""
    try:
        aval = abstract_value(leaf)
    except (TypeError, ValueError):
        aval = None
    if not isinstance(aval, ShapedArray):
        dtype = f" of dtype {leaf.dtype}" if hasattr(leaf, "dtype") else ""
        raise UnsupportedArgumentError(
            function=function,
            argument=argument,
            type=type(leaf).__qualname__ + dtype,
            instead=_instead_of(leaf),
        )
    if is_type(leaf) and not may_be_type:
        raise AbstractArgumentError(
            function=function, argument=argument, type=type(leaf).__qualname__
        )
    return aval


def refuse_trained(leaves: Sequence[Any], function: str) -> None:
    """Refuse tensors that require a gradient, of which a stage has none."""
    for place, leaf in enumerate(leaves):
        if is_tensor(leaf) and leaf.requires_grad:
            raise UnsupportedArgumentError(
                function=function,
                argument=str(place),
                type="Tensor that requires a gradient",
                instead="call the compiled function itself, or pass tensor.detach()",
            )


def _instead_of(leaf: Any) -> str:
    """What to pass for something that is no array of JAX's."""
    if isinstance(leaf, np.ma.MaskedArray):
        return "pass an array without a mask, as its method filled(value) gives it"
    if isinstance(leaf, np.ndarray | np.generic) and not leaf.dtype.isnative:
        return f"convert it to this machine's byte order: astype({leaf.dtype.newbyteorder('=')!s})"
    if is_foreign(leaf):
        return f"pass an array of this computer's memory: {why_not_shared(leaf)}"
    static = "mark it static with static_argnums or static_argnames"
    if isinstance(leaf, range):
        return f"pass an array (jnp.arange), or, for Python to loop over it, {static}"
    if isinstance(leaf, str | bytes):
        return static
    return f"{static}, or register its type as a pytree"


def _structure_mismatch(expected: Any, given: Any) -> StructureMismatchError:
    lines = [
        f"    * at {_place(path)}, seen {seen} but now given {now}, so {why}"
        for path, seen, now, why in structure_differences(expected, given)
    ]
    return StructureMismatchError(count=len(lines), mismatches="\n".join(lines))


def _place(path: tuple[Any, ...]) -> str:
    """`args[0]['w']` for a path into `(args, kwargs)`."""
    if not path:
        return "(args, kwargs)"
    return ("args", "kwargs")[path[0].idx] + jax.tree_util.keystr(path[1:])
