"""Comparisons of sizes that JAX cannot decide.

JAX raises an error, or guesses; both can be had otherwise only inside of it. `deciding` says who
decides in this thread; comparisons of sizes that are none of ours are JAX's.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from jax._src import core
from jax._src.export import shape_poly
from jax._src.lax import lax, slicing

from diastase_mlir.diagnostics import is_user_file
from diastase_mlir.jax_internals.dimensions import SizeScope, lower_bound


class _Undecided(threading.local):
    decide: Callable[[Any, Any], bool] | None = None


_undecided = _Undecided()
_jax_geq_decision = shape_poly._geq_decision


def _geq_decision(left: Any, right: Any, comparison: Callable[[], str]) -> bool:
    try:
        return _jax_geq_decision(left, right, comparison)
    except shape_poly.InconclusiveDimensionOperation:
        scope = getattr(left, "scope", None) or getattr(right, "scope", None)
        if _undecided.decide is not None and isinstance(scope, SizeScope):
            return _undecided.decide(left, right)
        raise


@contextmanager
def deciding(decide: Callable[[Any, Any], bool]) -> Generator[None]:
    """In this thread: what cannot be decided of `left >= right` is what `decide` says."""
    outer, _undecided.decide = _undecided.decide, decide
    try:
        yield
    finally:
        _undecided.decide = outer


def _assume_that_it_fits(primitive: core.Primitive) -> None:
    """In type rules of this primitive, what cannot be decided fits: parts into their wholes.

    These rules compare in order to refuse, never to choose. The comparison is made again by the
    compiled program (`lowering`), for equations whose sizes are symbolic.
    """
    abstract_eval = primitive.abstract_eval

    def assume(*avals: Any, **params: Any) -> Any:
        with deciding(lambda whole, part: True):
            return abstract_eval(*avals, **params)

    primitive.abstract_eval = assume


_jax_equals = shape_poly._DimExpr.__eq__


def _refuse_to_guess(size: Any, other: Any, frame: Any) -> None:
    """Raise if the user's own code asks whether sizes are equal that may or may not be.

    JAX answers False, because hashing and its own code must be able to compare.
    """
    if not isinstance(size.scope, SizeScope) or not is_user_file(frame.f_code.co_filename):
        return
    if not core.is_constant_dim(other) and not core.is_symbolic_dim(other):
        return
    difference = size - other
    if lower_bound(difference) > 0 or lower_bound(-difference) > 0:
        return
    message = f"Symbolic dimension comparison '{size}' == '{other}' is inconclusive."
    raise shape_poly.InconclusiveDimensionOperation(message)


def _size_equals(size: Any, other: Any) -> bool:
    if _jax_equals(size, other):
        return True
    _refuse_to_guess(size, other, sys._getframe(1))
    return False


def _size_differs(size: Any, other: Any) -> bool:
    if _jax_equals(size, other):
        return False
    _refuse_to_guess(size, other, sys._getframe(1))
    return True


def _size_is_not_zero(size: Any) -> bool:
    _refuse_to_guess(size, 0, sys._getframe(1))
    return True


_dimension_class: Any = shape_poly._DimExpr
_dimension_class.__eq__ = _size_equals
_dimension_class.__ne__ = _size_differs
_dimension_class.__bool__ = _size_is_not_zero
shape_poly._geq_decision = _geq_decision
for _primitive in (
    slicing.gather_p,
    slicing.dynamic_slice_p,
    slicing.dynamic_update_slice_p,
    slicing.slice_p,
    slicing.scatter_p,
    slicing.scatter_add_p,
    slicing.scatter_sub_p,
    slicing.scatter_mul_p,
    slicing.scatter_min_p,
    slicing.scatter_max_p,
    lax.argmax_p,
    lax.argmin_p,
):
    _assume_that_it_fits(_primitive)
