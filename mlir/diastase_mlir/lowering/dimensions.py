"""Where the dimension symbols of a program have their values, and what expressions over them are.

A symbol is defined by a variable of the jaxpr (`DimensionBindings`): by its value, or by the size
of one of its axes. `define` is called for every variable as soon as it is lowered; a symbol
defined inside a region of the IR must not be used outside it, which `scope` takes care of.

A symbol that is the value of a variable can be any integer, so `value` may be negative. `size`
never is: a program leaves where a size that it is about to use is negative (`assert_size`).
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np

from diastase_mlir import jax_internals
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.operations import (
    compare_floats,
    compare_integers,
    create,
    index_binary,
    index_constant,
    index_type,
    integer_type,
    scalar_constant,
    select,
)
from diastase_mlir.lowering.registry import Value
from diastase_mlir.lowering.tensors import unbox
from diastase_mlir.program import DimensionBindings
from diastase_runtime.errors import InternalError

_MOST_ELEMENTS = 2**58
"""More than any memory holds. Larger products are taken to be this: allocating it fails, and it is
equal to nothing that exists, whereas a product that wraps around would be the size of a small
array under the shape of a large one."""

_OPERATIONS = {"max": "maxsi", "min": "minsi"}


class Dimensions:
    """Values of dimension symbols, and expressions over them, as `index` values."""

    def __init__(self, bindings: DimensionBindings):
        self._bindings = bindings
        self._axes = {name for pairs in bindings.axes.values() for name, _ in pairs}
        self._axes.update(bindings.solved)
        self._values: dict[str, ir.Value] = {}

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget, on leaving, the symbols defined inside."""
        outer = dict(self._values)
        try:
            yield
        finally:
            self._values = outer

    @property
    def known(self) -> dict[str, ir.Value]:
        """The symbols that have values here."""
        return dict(self._values)

    @contextmanager
    def only(self, values: dict[str, ir.Value]) -> Generator[None]:
        """Emit in another function, to which these values of symbols were handed."""
        outer, self._values = self._values, dict(values)
        try:
            yield
        finally:
            self._values = outer

    def define(self, variable: Any, value: Value) -> None:
        """Note the symbols that this variable defines, now that it has a value."""
        for symbol in self._bindings.values.get(variable, ()):
            assert isinstance(value, ir.Value)
            self._values[symbol] = to_index(value)
        for symbol, axis in self._bindings.axes.get(variable, ()):
            assert isinstance(value, ir.Value)
            self._values[symbol] = size_of_axis(value, axis)

    def is_bound(self, variable: Any) -> bool:
        """Whether the variable defines a symbol."""
        return variable in self._bindings.values or variable in self._bindings.axes

    def symbol(self, name: str) -> ir.Value:
        """The value of a symbol."""
        if name in self._bindings.solved:
            return self.value(self._bindings.solved[name])
        if name not in self._values:
            raise InternalError(what=f"the dimension {name} is used where it has no value")
        return self._values[name]

    def value(self, dimension: Any) -> ir.Value:
        """An expression or number as an `index`."""
        if not jax_internals.is_symbolic(dimension):
            return index_constant(int(dimension))
        terms = [self._term(*term) for term in jax_internals.dimension_terms(dimension)]
        total = terms[0]
        for term in terms[1:]:
            total = index_binary("addi", total, term)
        return total

    def _term(self, factors: Sequence[tuple[Any, int]], coefficient: int) -> ir.Value:
        """Coefficient times a product of powers."""
        values = [self._factor(factor) for factor, power in factors for _ in range(power)]
        if not values:
            return index_constant(coefficient)
        product = reduce(_product, values)
        if coefficient == 1:
            return product
        scaled = index_binary("muli", product, index_constant(coefficient))
        is_axis = len(values) == 1 and jax_internals.factor_symbol(factors[0][0]) in self._axes
        return scaled if is_axis else _bounded_multiple(product, coefficient, scaled)

    def _factor(self, factor: Any) -> ir.Value:
        """A symbol, or an operation on two expressions."""
        name = jax_internals.factor_symbol(factor)
        if name is not None:
            return self.symbol(name)
        operation, operands = jax_internals.factor_operation(factor)
        left, right = (self.value(operand) for operand in operands)
        if operation == "floordiv":
            return _quotient(left, right)
        if operation == "mod":  # Python's: the sign of the divisor
            divisor = _divisor(right)
            product = index_binary("muli", index_binary("floordivsi", left, divisor), divisor)
            return index_binary("subi", left, product)
        return index_binary(_OPERATIONS[operation], left, right)

    def size(self, dimension: Any) -> int | ir.Value:
        """A size: a number if known, else an `index` that is never negative."""
        if not jax_internals.is_symbolic(dimension):
            return int(dimension)
        value = self.value(dimension)
        if self._cannot_be_negative(dimension):
            return value
        return index_binary("maxsi", value, index_constant(0))

    def _cannot_be_negative(self, dimension: Any) -> bool:
        """Whether an expression is a sum of products of sizes of axes, without any subtraction.

        A symbol that is the value of a variable can be any integer.
        """
        terms = jax_internals.dimension_terms(dimension)
        return all(
            coefficient >= 0
            and all(jax_internals.factor_symbol(factor) in self._axes for factor, _ in factors)
            for factors, coefficient in terms
        )

    def tensor(self, dimension: Any) -> int | ir.Value:
        """A size as a number or a rank-0 `i64` tensor, as JAX's rules want it."""
        if not jax_internals.is_symbolic(dimension):
            return int(dimension)
        return number_tensor(self.value(dimension))

    def shape_tensor(self, sizes: Sequence[int | ir.Value]) -> ir.Value:
        """Sizes as one `tensor<k x index>`, which folds away where it is used."""
        indices = [_size_index(size) for size in sizes]
        tensor_type = ir.RankedTensorType.get([len(indices)], index_type())
        return create("tensor.from_elements", [tensor_type], indices).result


def _product(left: ir.Value, right: ir.Value) -> ir.Value:
    """A product that is not beyond `_MOST_ELEMENTS`, where it would wrap around."""
    double = ir.F64Type.get()
    operands = [
        create(
            "arith.sitofp", [double], [create("arith.index_cast", [integer_type(64)], [n]).result]
        )
        for n in (left, right)
    ]
    about = create("arith.mulf", [double], [operand.result for operand in operands]).result
    most = float(_MOST_ELEMENTS)
    too_large = compare_floats("oge", about, scalar_constant(double, most))
    too_small = compare_floats("ole", about, scalar_constant(double, -most))
    return _bounded(index_binary("muli", left, right), too_large, too_small)


def _bounded_multiple(number: ir.Value, coefficient: int, multiple: ir.Value) -> ir.Value:
    """A multiple of a number, bounded like a product."""
    most = _MOST_ELEMENTS // abs(coefficient)
    beyond = compare_integers("sgt", number, index_constant(most))
    below = compare_integers("slt", number, index_constant(-most))
    return _bounded(multiple, *((beyond, below) if coefficient > 0 else (below, beyond)))


def _bounded(number: ir.Value, too_large: ir.Value, too_small: ir.Value) -> ir.Value:
    at_least = select(too_small, index_constant(-_MOST_ELEMENTS), number)
    return select(too_large, index_constant(_MOST_ELEMENTS), at_least)


def _quotient(left: ir.Value, right: ir.Value) -> ir.Value:
    """`left // right`; -1, which is no size, where `right` is 0: the processor would trap."""
    zero = compare_integers("eq", right, index_constant(0))
    return select(zero, index_constant(-1), index_binary("floordivsi", left, _divisor(right)))


def _divisor(number: ir.Value) -> ir.Value:
    """1 in place of 0; what is left of a division is 0 then, as in JAX for empty arrays."""
    zero = compare_integers("eq", number, index_constant(0))
    return select(zero, index_constant(1), number)


def _size_index(size: Any) -> ir.Value:
    if isinstance(size, ir.Value):
        return to_index(size)
    return index_constant(int(np.asarray(size)))


def number_tensor(index: ir.Value) -> ir.Value:
    """An `index` as a rank-0 `i64` tensor."""
    number = create("arith.index_cast", [integer_type(64)], [index]).result
    tensor_type = ir.RankedTensorType.get([], integer_type(64))
    return create("tensor.from_elements", [tensor_type], [number]).result


def to_index(value: ir.Value) -> ir.Value:
    """A rank-0 integer tensor, an integer or an `index`, as an `index`.

    Unsigned numbers are taken as they are; those above 2**63 are no size or position anyway,
    and come out negative.
    """
    if isinstance(value.type, ir.RankedTensorType):
        unsigned = getattr(value.type.element_type, "is_unsigned", False)
        value = unbox(value)
    else:
        unsigned = False
    if isinstance(value.type, ir.IndexType):
        return value
    name = "arith.index_castui" if unsigned or value.type == integer_type(1) else "arith.index_cast"
    return create(name, [index_type()], [value]).result


def size_of_axis(value: ir.Value, axis: int) -> ir.Value:
    """The size of a tensor along an axis."""
    return create("tensor.dim", [index_type()], [value, index_constant(axis)]).result
