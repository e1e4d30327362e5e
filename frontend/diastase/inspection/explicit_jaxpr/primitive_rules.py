"""Rule P of the type checker: operands and results of the primitives that can be judged.

`PRIMITIVE_RULES` has a function for each, which raises a `Defect` where they do not fit. Sizes of
results that an equation takes as operands come after the others; in the parameters they are None.
Where all sizes are numbers, JAX lets a scalar stand for an array, and an axis of size 1 for any;
elsewhere the derivation has put in a `broadcast_in_dim`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diastase.inspection.explicit_jaxpr.model import ExplicitEquation
from diastase.inspection.explicit_jaxpr.types import Atom, Defect, ExplicitType, Size, size_of

Rule = Callable[[ExplicitEquation], None]


def _shape(atom: Atom) -> tuple[Size, ...]:
    return tuple(atom.type.shape or ())


def _expect_shape(result: Atom, shape: Sequence[Size], why: str) -> None:
    if _shape(result) != tuple(shape):
        expected = ExplicitType(result.type.aval.update(shape=(0,) * len(shape)), tuple(shape))
        raise Defect(f"{{}} is {{}}, where {why} make it {{}}", result, result.type, expected)


def _expect_dtype(result: Atom, dtype: Any, why: str) -> None:
    if result.type.aval.dtype != dtype:
        short = np.dtype(dtype).name if isinstance(dtype, type) else str(dtype)
        raise Defect(f"{{}} is {{}}, where {why} make its dtype {short}", result, result.type)


def _counted(equation: ExplicitEquation, operands: int) -> None:
    if len(equation.operands) != operands or len(equation.results) != 1:
        raise Defect(f"{equation.primitive} takes {operands} operands and has one result")


# --- elementwise ---------------------------------------------------------------------------------


def _expect_elementwise(equation: ExplicitEquation, operands: Sequence[Atom]) -> None:
    """All operands have the shape of the result; where that is all numbers, JAX broadcasts."""
    (result,) = equation.results
    static = all(isinstance(size, int) for size in _shape(result))
    for operand in operands:
        if not (_shape(operand) == _shape(result) or (static and _broadcasts(operand, result))):
            raise Defect(
                "{}:{} has not the shape of the result {}:{}",
                operand,
                operand.type,
                result,
                result.type,
            )


def _broadcasts(operand: Atom, result: Atom) -> bool:
    pairs = zip(reversed(_shape(operand)), reversed(_shape(result)), strict=False)
    same_rank = len(_shape(operand)) in (0, len(_shape(result)))
    return same_rank and all(size in (1, wanted) for size, wanted in pairs)


def _expect_same_dtype(operands: Sequence[Atom]) -> None:
    for operand in operands[1:]:
        if operand.type.aval.dtype != operands[0].type.aval.dtype:
            raise Defect("{} and {} have different dtypes", operands[0], operand)


def _arithmetic(equation: ExplicitEquation) -> None:
    _counted(equation, 2)
    _expect_elementwise(equation, equation.operands)
    _expect_same_dtype(equation.operands)
    _expect_dtype(equation.results[0], equation.operands[0].type.aval.dtype, "the operands")


def _comparison(equation: ExplicitEquation) -> None:
    _counted(equation, 2)
    _expect_elementwise(equation, equation.operands)
    _expect_same_dtype(equation.operands)
    _expect_dtype(equation.results[0], np.bool_, "comparisons")


def _power(equation: ExplicitEquation) -> None:
    _counted(equation, 2)
    _expect_elementwise(equation, equation.operands)
    _expect_dtype(equation.results[0], equation.operands[0].type.aval.dtype, "the operands")


def _unary(equation: ExplicitEquation) -> None:
    _mapping(equation)
    _expect_dtype(equation.results[0], equation.operands[0].type.aval.dtype, "the operands")


def _mapping(equation: ExplicitEquation) -> None:
    _counted(equation, 1)
    _expect_shape(equation.results[0], _shape(equation.operands[0]), "the operands")


def _predicate(equation: ExplicitEquation) -> None:
    _mapping(equation)
    _expect_dtype(equation.results[0], np.bool_, "predicates")


def _select(equation: ExplicitEquation) -> None:
    which, *cases = equation.operands
    if _shape(which):
        _expect_elementwise(equation, [which])
    for case in cases:
        _expect_shape(equation.results[0], _shape(case), "the cases")
    _expect_same_dtype(cases)
    _expect_dtype(equation.results[0], cases[0].type.aval.dtype, "the cases")


def _convert(equation: ExplicitEquation) -> None:
    _mapping(equation)
    _expect_dtype(equation.results[0], equation.params["new_dtype"], "the parameters")


# --- shapes --------------------------------------------------------------------------------------


def _filled(shape: Sequence[Size | None], sizes: Sequence[Atom]) -> tuple[Size, ...]:
    """A shape among the parameters with the sizes that are operands."""
    remaining = [size_of(size) for size in sizes]
    if len(remaining) != sum(size is None for size in shape):
        raise Defect(f"the parameters want {shape.count(None)} sizes, not {len(remaining)}")
    return tuple(remaining.pop(0) if size is None else size for size in shape)


def _broadcast(equation: ExplicitEquation) -> None:
    operand, *sizes = equation.operands
    (result,) = equation.results
    _expect_shape(result, _filled(equation.params["shape"], sizes), "the parameters")
    _expect_dtype(result, operand.type.aval.dtype, "the operands")
    axes = equation.params["broadcast_dimensions"]
    if len(axes) != len(_shape(operand)):
        raise Defect("{}:{} has not as many axes as are mapped", operand, operand.type)
    for axis, size in zip(axes, _shape(operand), strict=True):
        if size not in (1, _shape(result)[axis]):
            raise Defect("{}:{} cannot be broadcast to {}", operand, operand.type, result.type)


def _iota(equation: ExplicitEquation) -> None:
    (result,) = equation.results
    _expect_shape(result, _filled(equation.params["shape"], equation.operands), "the parameters")
    _expect_dtype(result, equation.params["dtype"], "the parameters")


def _reshape(equation: ExplicitEquation) -> None:
    operand, *sizes = equation.operands
    (result,) = equation.results
    _expect_shape(result, _filled(equation.params["new_sizes"], sizes), "the parameters")
    _expect_dtype(result, operand.type.aval.dtype, "the operands")


def _reduction(equation: ExplicitEquation) -> None:
    _counted(equation, 1)
    axes = equation.params["axes"]
    shape = _shape(equation.operands[0])
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    _expect_shape(equation.results[0], kept, "the operands")


def _reduction_of_same_dtype(equation: ExplicitEquation) -> None:
    _reduction(equation)
    _expect_dtype(equation.results[0], equation.operands[0].type.aval.dtype, "the operands")


def _transpose(equation: ExplicitEquation) -> None:
    _counted(equation, 1)
    shape = _shape(equation.operands[0])
    permuted = [shape[axis] for axis in equation.params["permutation"]]
    _expect_shape(equation.results[0], permuted, "the operands")


def _squeeze(equation: ExplicitEquation) -> None:
    _counted(equation, 1)
    axes = equation.params["dimensions"]
    shape = _shape(equation.operands[0])
    _expect_shape(
        equation.results[0],
        [size for axis, size in enumerate(shape) if axis not in axes],
        "the operands",
    )


def _concatenate(equation: ExplicitEquation) -> None:
    (result,) = equation.results
    along = equation.params["dimension"]
    for operand in equation.operands:
        shape = list(_shape(operand))
        shape[along] = _shape(result)[along]
        _expect_shape(result, shape, "the operands")
    _expect_same_dtype(equation.operands)
    _expect_dtype(result, equation.operands[0].type.aval.dtype, "the operands")


def _contraction(equation: ExplicitEquation) -> None:
    _counted(equation, 2)
    left, right = map(_shape, equation.operands)
    (left_sum, right_sum), (left_batch, right_batch) = equation.params["dimension_numbers"]
    pairs = zip((*left_sum, *left_batch), (*right_sum, *right_batch), strict=True)
    for mine, other in pairs:
        if left[mine] != right[other]:
            raise Defect("axes of {} and {} that meet have different sizes", *equation.operands)
    free_left = [s for axis, s in enumerate(left) if axis not in (*left_sum, *left_batch)]
    free_right = [s for axis, s in enumerate(right) if axis not in (*right_sum, *right_batch)]
    batch = [left[axis] for axis in left_batch]
    _expect_shape(equation.results[0], [*batch, *free_left, *free_right], "the operands")


_TABLE: Mapping[Rule, str] = {
    _arithmetic: "add sub mul div rem max min atan2 nextafter and or xor shift_left "
    "shift_right_logical shift_right_arithmetic floor_divide remainder add_any",
    _comparison: "eq ne lt le gt ge",
    _power: "pow",
    _unary: "exp exp2 log log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "sqrt rsqrt cbrt neg sign floor ceil round not logistic erf erfc erf_inv lgamma digamma "
    "integer_pow square copy stop_gradient reduce_precision rev cumsum cumprod cummax cummin "
    "cumlogsumexp population_count clz",
    _mapping: "abs real imag conj",
    _predicate: "is_finite",
    _select: "select_n",
    _convert: "convert_element_type",
    _broadcast: "broadcast_in_dim",
    _iota: "iota",
    _reshape: "reshape",
    _reduction_of_same_dtype: "reduce_max reduce_min reduce_prod reduce_sum reduce_and reduce_or "
    "reduce_xor",
    _reduction: "argmax argmin",
    _transpose: "transpose",
    _squeeze: "squeeze",
    _concatenate: "concatenate",
    _contraction: "dot_general",
}

PRIMITIVE_RULES: Mapping[str, Rule] = {
    name: rule for rule, names in _TABLE.items() for name in names.split()
}
"""The rule of each primitive that has one."""
