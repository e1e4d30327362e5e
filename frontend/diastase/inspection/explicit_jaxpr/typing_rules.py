"""The rules of the type checker for one equation: for what is nested in it, and for its primitive.

`check_region` has R1 to R3: what a nested jaxpr takes and returns fits the operands and results
around it. `PRIMITIVE_RULES` has rule P: a function for each primitive that can be judged. Each
raises the first `Defect`. Sizes of results that an equation takes as operands come after the
others; in the parameters they are None.

The trap: where all sizes are numbers, JAX lets a scalar stand for an array, and an axis of size 1
for any; elsewhere the derivation has put in a `broadcast_in_dim`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from diastase.inspection.explicit_jaxpr.model import ExplicitEquation, Region
from diastase.inspection.explicit_jaxpr.types import Atom, ExplicitType, Size, size_of


class Defect(Exception):
    """A violation of the typing rules, found where names are not known yet.

    `template` has a `{}` for each of `items`: atoms, types, equations.
    """

    def __init__(self, template: str, *items: Any):
        super().__init__(template)
        self._template, self._items = template, items
        self.place: Any = None
        self.path: tuple[str, ...] = ()

    def replace_items(self, originals: Mapping[Any, Any]) -> None:
        """Name these instead of what stands for them."""
        self._items = tuple(
            item if isinstance(item, ExplicitType) else originals.get(item, item)
            for item in self._items
        )

    def text(self, names: Any) -> str:
        """The defect in words, with names as in the printed jaxpr."""
        texts = [
            names.type(item) if isinstance(item, ExplicitType) else names.of(item)
            for item in self._items
        ]
        return self._template.format(*texts)


# --- nested jaxprs -------------------------------------------------------------------------------

Sizes = Mapping[Any, Collection[Any]]
"""What the size variables of one jaxpr may be in another: numbers and variables."""


def check_region(region: Region) -> None:
    """Raise the first violation of R1, R2 or R3."""
    if region.operands is None:
        return
    operands, inputs, outputs = region.operands, region.jaxpr.inputs, region.jaxpr.outputs
    rows, returned_rows = region.rows or (len(inputs), len(outputs))
    if len(operands) != len(inputs):
        raise Defect(f"{region.name} takes {len(inputs)} inputs, and gets {len(operands)} operands")
    pairs = [*zip(inputs, operands, strict=True)]
    given = {variable: () if atom is None else (size_of(atom),) for variable, atom in pairs}
    words = f"operand {{}}:{{}} is no {{}}, which {region.name} takes as {{}}"
    _check_each(words, pairs, given, rows)
    _check_carried(region)
    if region.is_condition:
        if len(outputs) != 1 or outputs[0].type.aval.dtype != np.bool_:
            raise Defect(f"{region.name} does not return one boolean")
    elif region.results is not None:
        count = len(region.results)
        if len(outputs) != count:
            raise Defect(f"{region.name} returns {len(outputs)} outputs for {count} results")
        words = f"result {{}}:{{}} is no {{}}, which {region.name} returns as {{}}"
        pairs = [*zip(outputs, region.results, strict=True)]
        _check_each(words, pairs, _sizes_outside(region), returned_rows)


def _check_each(words: str, pairs: Sequence[tuple[Any, Any]], sizes: Sizes, rows: int) -> None:
    """Each value outside has the type of what it is inside; from `rows` on, with one more axis."""
    for position, (inner, outer) in enumerate(pairs):
        if outer is not None and not _fits(inner.type, outer.type, sizes, position >= rows):
            raise Defect(words, outer, outer.type, inner.type, inner)


def _sizes_outside(region: Region) -> Sizes:
    """R2: an input is the operand given for it, an output is the result that it becomes."""
    sizes: dict[Any, list[Any]] = {}
    outputs = region.jaxpr.outputs
    for output, result in zip(outputs, region.results or (), strict=True):
        sizes.setdefault(size_of(output), []).append(result)
    for position, variable in enumerate(region.jaxpr.inputs):
        operand = (region.operands or ())[position]
        next_value = outputs[region.carried[position]] if position in region.carried else variable
        if operand is not None and next_value is variable:
            sizes.setdefault(variable, []).append(size_of(operand))
    return sizes


def _check_carried(region: Region) -> None:
    """R3."""
    inputs, outputs = region.jaxpr.inputs, region.jaxpr.outputs
    if region.carried and max(region.carried.values()) >= len(outputs):
        raise Defect(f"{region.name} returns {len(outputs)} outputs, fewer than it carries")
    following: dict[Any, Any] = {variable: (variable,) for variable in inputs}
    for position, output in region.carried.items():
        following[inputs[position]] = (size_of(outputs[output]),)
    words = f"{region.name} returns {{}}:{{}} for {{}}:{{}}, which it carries"
    for position, number in region.carried.items():
        variable, output = inputs[position], outputs[number]
        if not _fits(variable.type, output.type, following, False):
            raise Defect(words, output, output.type, variable, variable.type)


def _fits(inner: ExplicitType, outer: ExplicitType, sizes: Sizes, is_row: bool) -> bool:
    """Whether `outer` is `inner` with its sizes replaced, and one more axis if it is of rows."""
    if inner.shape is None or outer.shape is None:
        return inner.shape is outer.shape and inner.aval == outer.aval
    shape = outer.shape[1:] if is_row else outer.shape
    if inner.aval.dtype != outer.aval.dtype or len(shape) != len(inner.shape):
        return False
    return all(
        size == known
        if isinstance(known, int) and isinstance(size, int)
        else size in sizes.get(known, ())
        for known, size in zip(inner.shape, shape, strict=True)
    )


# --- what primitives have in common --------------------------------------------------------------

Rule = Callable[[ExplicitEquation], None]


def _shape(atom: Atom) -> tuple[Size, ...]:
    return tuple(atom.type.shape or ())


def _dtype(atom: Atom) -> Any:
    return atom.type.aval.dtype


def _expect_shape(result: Atom, shape: Sequence[Size], why: str = "the operands") -> None:
    if _shape(result) != tuple(shape):
        expected = ExplicitType(result.type.aval.update(shape=(0,) * len(shape)), tuple(shape))
        raise Defect(f"{{}} is {{}}, where {why} make it {{}}", result, result.type, expected)


def _expect_dtype(result: Atom, dtype: Any, why: str = "the operands") -> None:
    if _dtype(result) != dtype:
        short = np.dtype(dtype).name if isinstance(dtype, type) else str(dtype)
        raise Defect(f"{{}} is {{}}, where {why} make its dtype {short}", result, result.type)


def _expect_same_dtype(operands: Sequence[Atom]) -> None:
    for operand in operands[1:]:
        if _dtype(operand) != _dtype(operands[0]):
            raise Defect("{} and {} have different dtypes", operands[0], operand)


def _expect_elementwise(result: Atom, operands: Sequence[Atom]) -> None:
    """All operands have the shape of the result; where that is all numbers, JAX broadcasts."""
    static = all(isinstance(size, int) for size in _shape(result))
    words = "{}:{} has not the shape of the result {}:{}"
    for operand in operands:
        if not (_shape(operand) == _shape(result) or (static and _broadcasts(operand, result))):
            raise Defect(words, operand, operand.type, result, result.type)


def _broadcasts(operand: Atom, result: Atom) -> bool:
    pairs = zip(reversed(_shape(operand)), reversed(_shape(result)), strict=False)
    same_rank = len(_shape(operand)) in (0, len(_shape(result)))
    return same_rank and all(size in (1, wanted) for size, wanted in pairs)


def _counted(equation: ExplicitEquation, operands: int) -> Atom:
    """The result, of so many operands."""
    if len(equation.operands) != operands or len(equation.results) != 1:
        raise Defect(f"{equation.primitive} takes {operands} operands and has one result")
    return equation.results[0]


def _expect_filled(equation: ExplicitEquation, parameter: str, sizes: Sequence[Atom]) -> Atom:
    """The result, whose shape is a parameter with the sizes that are operands."""
    (result,) = equation.results
    shape, remaining = equation.params[parameter], list(map(size_of, sizes))
    if len(remaining) != sum(size is None for size in shape):
        raise Defect(f"the parameters want {shape.count(None)} sizes, not {len(remaining)}")
    filled = [remaining.pop(0) if size is None else size for size in shape]
    _expect_shape(result, filled, "the parameters")
    return result


# --- rules ---------------------------------------------------------------------------------------


def _binary(dtype: Any = None, why: str = "the operands", of_one_dtype: bool = True) -> Rule:
    """Two operands, elementwise; the result has the first one's dtype, or this one."""

    def rule(equation: ExplicitEquation) -> None:
        result = _counted(equation, 2)
        _expect_elementwise(result, equation.operands)
        if of_one_dtype:
            _expect_same_dtype(equation.operands)
        _expect_dtype(result, dtype or _dtype(equation.operands[0]), why)

    return rule


def _unary(
    dtype: Callable[[ExplicitEquation], Any] | None = None,
    why: str = "the operands",
    shape: Callable[[tuple[Size, ...], Mapping[str, Any]], Sequence[Size]] = lambda given, _: given,
) -> Rule:
    """One operand, from whose shape that of the result follows, and perhaps its dtype."""

    def rule(equation: ExplicitEquation) -> None:
        result = _counted(equation, 1)
        _expect_shape(result, shape(_shape(equation.operands[0]), equation.params))
        if dtype is not None:
            _expect_dtype(result, dtype(equation), why)

    return rule


def _kept(equation: ExplicitEquation) -> Any:
    return _dtype(equation.operands[0])


def _without(parameter: str) -> Callable[[tuple[Size, ...], Mapping[str, Any]], Sequence[Size]]:
    """The shape without the axes that a parameter lists."""
    return lambda shape, params: [
        size for axis, size in enumerate(shape) if axis not in params[parameter]
    ]


def _select(equation: ExplicitEquation) -> None:
    (which, *cases), (result,) = equation.operands, equation.results
    if _shape(which):
        _expect_elementwise(result, [which])
    for case in cases:
        _expect_shape(result, _shape(case), "the cases")
    _expect_same_dtype(cases)
    _expect_dtype(result, _dtype(cases[0]), "the cases")


def _broadcast(equation: ExplicitEquation) -> None:
    operand, *sizes = equation.operands
    result = _expect_filled(equation, "shape", sizes)
    _expect_dtype(result, _dtype(operand))
    axes = equation.params["broadcast_dimensions"]
    if len(axes) != len(_shape(operand)):
        raise Defect("{}:{} has not as many axes as are mapped", operand, operand.type)
    for axis, size in zip(axes, _shape(operand), strict=True):
        if size not in (1, _shape(result)[axis]):
            raise Defect("{}:{} cannot be broadcast to {}", operand, operand.type, result.type)


def _iota(equation: ExplicitEquation) -> None:
    result = _expect_filled(equation, "shape", equation.operands)
    _expect_dtype(result, equation.params["dtype"], "the parameters")


def _reshape(equation: ExplicitEquation) -> None:
    operand, *sizes = equation.operands
    _expect_dtype(_expect_filled(equation, "new_sizes", sizes), _dtype(operand))


def _concatenate(equation: ExplicitEquation) -> None:
    (result,) = equation.results
    along = equation.params["dimension"]
    for operand in equation.operands:
        shape = list(_shape(operand))
        shape[along] = _shape(result)[along]
        _expect_shape(result, shape)
    _expect_same_dtype(equation.operands)
    _expect_dtype(result, _dtype(equation.operands[0]))


def _contraction(equation: ExplicitEquation) -> None:
    result = _counted(equation, 2)
    left, right = map(_shape, equation.operands)
    (left_sum, right_sum), (left_batch, right_batch) = equation.params["dimension_numbers"]
    pairs = zip((*left_sum, *left_batch), (*right_sum, *right_batch), strict=True)
    for mine, other in pairs:
        if left[mine] != right[other]:
            raise Defect("axes of {} and {} that meet have different sizes", *equation.operands)
    free_left = [s for axis, s in enumerate(left) if axis not in (*left_sum, *left_batch)]
    free_right = [s for axis, s in enumerate(right) if axis not in (*right_sum, *right_batch)]
    batch = [left[axis] for axis in left_batch]
    _expect_shape(result, [*batch, *free_left, *free_right])


_TABLE: Mapping[str, Rule] = {
    "add sub mul div rem max min atan2 nextafter and or xor shift_left shift_right_logical "
    "shift_right_arithmetic floor_divide remainder add_any": _binary(),
    "eq ne lt le gt ge": _binary(np.bool_, "comparisons"),
    "pow": _binary(of_one_dtype=False),
    "exp exp2 log log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt "
    "rsqrt cbrt neg sign floor ceil round not logistic erf erfc erf_inv lgamma digamma integer_pow "
    "square copy stop_gradient reduce_precision rev cumsum cumprod cummax cummin cumlogsumexp "
    "population_count clz": _unary(_kept),
    "abs real imag conj": _unary(),
    "is_finite": _unary(lambda _: np.bool_, "predicates"),
    "convert_element_type": _unary(lambda equation: equation.params["new_dtype"], "the parameters"),
    "reduce_max reduce_min reduce_prod reduce_sum reduce_and reduce_or reduce_xor": _unary(
        _kept, shape=_without("axes")
    ),
    "argmax argmin": _unary(shape=_without("axes")),
    "transpose": _unary(shape=lambda given, params: [given[k] for k in params["permutation"]]),
    "squeeze": _unary(shape=_without("dimensions")),
    "select_n": _select,
    "broadcast_in_dim": _broadcast,
    "iota": _iota,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "dot_general": _contraction,
}

PRIMITIVE_RULES: Mapping[str, Rule] = {
    name: rule for names, rule in _TABLE.items() for name in names.split()
}
"""The rule of each primitive that has one."""
