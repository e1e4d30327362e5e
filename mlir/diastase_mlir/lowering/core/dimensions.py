"""Where the dimension symbols of a program have their values, and what expressions over them are.

Values are numbers of the program, arrays of rank 0 and 64 bits, and so is what is computed of them.

A symbol is defined by a variable of the jaxpr (`DimensionBindings`): by its value, or by the size
of one of its axes. `define` is called for every variable as soon as it is lowered; a symbol
defined inside a region of the IR must not be used outside it, which `only` takes care of.

A symbol that is the value of a variable can be any integer, so `number` may be negative. `size`
never is: a program leaves where a size that it is about to use is negative (`assert_size`).
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

import numpy as np

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import (
    binary,
    create,
    enumeration,
    integer_constant,
    integer_type,
    number_type,
)
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.registry import Value
from diastase_mlir.program import DimensionBindings
from diastase_runtime.errors import InternalError, OutOfMemoryError

_OPERATIONS = {
    "max": "stablehlo.maximum",
    "min": "stablehlo.minimum",
    "floordiv": "runtime.floor_divide",
    "mod": "runtime.modulo",
}
"""Of numbers of 64 bits."""


class Dimensions:
    """Values of dimension symbols, and expressions over them."""

    def __init__(self, bindings: DimensionBindings):
        self._bindings = bindings
        self._axes = {name for pairs in bindings.axes.values() for name, _ in pairs}
        self._axes.update(bindings.solved)
        self._values: dict[str, ir.Value] = {}

    @property
    def known(self) -> dict[str, ir.Value]:
        """The symbols that have values here."""
        return dict(self._values)

    @contextmanager
    def only(self, values: dict[str, ir.Value]) -> Generator[None]:
        """Emit where these symbols have values: in a region, or in another function.

        Those that are defined inside are forgotten on leaving.
        """
        outer, self._values = self._values, dict(values)
        try:
            yield
        finally:
            self._values = outer

    def define(self, variable: Any, value: Value) -> None:
        """Note the symbols that this variable defines, now that it has a value."""
        for symbol in self._bindings.values.get(variable, ()):
            assert isinstance(value, ir.Value)
            self._values[symbol] = _in_64_bits(value)
        for symbol, axis in self._bindings.axes.get(variable, ()):
            assert isinstance(value, ir.Value)
            self._values[symbol] = size_of_axis(value, axis)

    def is_bound(self, variable: Any) -> bool:
        """Whether the variable defines a symbol."""
        return variable in self._bindings.values or variable in self._bindings.axes

    def symbol(self, name: str) -> ir.Value:
        """The value of a symbol, a number."""
        if name in self._bindings.solved:
            return self.number(self._bindings.solved[name])
        if name not in self._values:
            raise InternalError(what=f"the dimension {name} is used where it has no value")
        return self._values[name]

    def number(self, dimension: Any) -> ir.Value:
        """An expression or number as a number of the program, of 64 bits; it may be negative."""
        if not jax_compat.is_symbolic(dimension):
            return _constant(int(dimension))
        terms = [self._term(*term) for term in jax_compat.dimension_terms(dimension)]
        return reduce(partial(binary, "stablehlo.add"), terms)

    def _term(self, factors: Sequence[tuple[Any, int]], coefficient: int) -> ir.Value:
        """Coefficient times a product of powers."""
        values = [self._factor(factor) for factor, power in factors for _ in range(power)]
        if not values:
            return _constant(coefficient)
        product = reduce(partial(binary, "runtime.product"), values)
        if coefficient == 1:
            return product
        is_axis = len(values) == 1 and jax_compat.factor_symbol(factors[0][0]) in self._axes
        name = "stablehlo.multiply" if is_axis else "runtime.product"
        return binary(name, product, _constant(coefficient))

    def _factor(self, factor: Any) -> ir.Value:
        """A symbol, or an operation on two expressions."""
        name = jax_compat.factor_symbol(factor)
        if name is not None:
            return self.symbol(name)
        operation, operands = jax_compat.factor_operation(factor)
        return binary(_OPERATIONS[operation], *map(self.number, operands))

    def size_number(self, dimension: Any) -> ir.Value:
        """A size as a number of the program that is never negative."""
        number = self.number(dimension)
        if not jax_compat.is_symbolic(dimension) or self._cannot_be_negative(dimension):
            return number
        return binary("stablehlo.maximum", number, integer_constant(0))

    def _cannot_be_negative(self, dimension: Any) -> bool:
        """Whether an expression is a sum of products of sizes of axes, without any subtraction.

        A symbol that is the value of a variable can be any integer.
        """
        terms = jax_compat.dimension_terms(dimension)
        return all(
            coefficient >= 0
            and all(jax_compat.factor_symbol(factor) in self._axes for factor, _ in factors)
            for factors, coefficient in terms
        )

    def tensor(self, dimension: Any) -> int | ir.Value:
        """A size as a number or a rank-0 `i64` tensor, as JAX's rules want it."""
        return self.number(dimension) if jax_compat.is_symbolic(dimension) else int(dimension)

    def shape_tensor(self, sizes: Sequence[int | ir.Value]) -> ir.Value:
        """Sizes, as `tensor` gives them, as one `tensor<k x i64>`."""
        return _vector(sizes)


def _vector(numbers: Sequence[int | ir.Value]) -> ir.Value:
    element, vectors = integer_type(64), list[ir.Value]()
    for own in numbers:
        number = own if isinstance(own, ir.Value) else _constant(int(np.asarray(own)))
        one = ir.RankedTensorType.get([1], element)
        vectors.append(create("stablehlo.reshape", [one], [_in_64_bits(number)]).result)
    if len(vectors) == 1:
        return vectors[0]
    kind = ir.RankedTensorType.get([len(vectors)], element)
    if not vectors:
        nothing = ir.Attribute.parse("dense<> : tensor<0xi64>")
        return create("stablehlo.constant", [kind], [], {"value": nothing}).result
    return create("stablehlo.concatenate", [kind], vectors, {"dimension": enumeration(0)}).result


def shape_of(array: ir.Value) -> ir.Value:
    """All sizes of an array as one vector."""
    kind = ir.RankedTensorType(array.type)
    return _vector(
        [
            size_of_axis(array, axis) if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
            for axis in range(kind.rank)
        ]
    )


def _in_64_bits(number: ir.Value) -> ir.Value:
    """A number as one of 64 bits.

    Unsigned numbers are taken as they are; those above 2**63 are no size or position anyway,
    and come out negative.
    """
    kind = number_type(integer_type(64))
    return number if number.type == kind else create("stablehlo.convert", [kind], [number]).result


def size_of_axis(value: ir.Value, axis: int) -> ir.Value:
    """The size of a tensor along an axis, a number."""
    kind = number_type(integer_type(64))
    return create("runtime.dim", [kind], [value], {"axis": enumeration(axis)}).result


def _constant(number: int) -> ir.Value:
    """A number that is part of a size; raises for one that has more than 64 bits."""
    if not -(2**63) <= number < 2**63:
        raise OutOfMemoryError(construct=f"an array with {number} along an axis", size=abs(number))
    return integer_constant(number)
