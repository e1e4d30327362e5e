"""Comparisons of sizes that JAX cannot decide.

JAX raises an error for `>=`, and says False for `==`, because hashing and its own code must be
able to compare. In a thread inside `answering`, a `Decider` is asked instead, where it matters:

- `>=` and its kin: always;
- `==`, `!=` and truth, asked by the user's code or by a library that distinguishes cases
  (`jax.numpy` and the like): `equal`, since both answers lead somewhere;
- asked by the type rule of a primitive, which compares in order to refuse: `must_be_equal`;
- asked by JAX's machinery (caches, hashing, `definitely_equal`): nobody. False means there "not
  known to be equal", and is right for every size.

A comparison in the user's code may become a value instead (`equality_policy`). Comparisons
of sizes that are none of ours are JAX's.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import functools
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from jax.errors import InconclusiveDimensionOperation
from jax.extend.core import Primitive
from jax.lax import (
    argmax_p,
    argmin_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
    slice_p,
    top_k_p,
)

from diastase_mlir.jax_compat.private import patch, shape_poly
from diastase_mlir.jax_compat.symbolic.dimensions import (
    SizeScope,
    is_number,
    is_symbolic,
    lower_bound,
)
from diastase_mlir.jax_compat.symbolic.equality_policy import (
    ORDERINGS,
    Comparing,
    asker_of,
    value_of_comparison,
)
from diastase_toolchain.errors import MissingNameError


class Decider(Comparing, Protocol):
    """Answers for one trace, and remembers what it has answered."""

    def at_least(self, left: Any, right: Any) -> bool:
        """Whether `left >= right`."""
        ...

    def equal(self, left: Any, right: Any) -> bool:
        """Whether `left == right`, where either answer can be dealt with."""
        ...

    def must_be_equal(self, left: Any, right: Any) -> bool:
        """The same where False leads to an error: only True is remembered."""
        ...

    def broadcast(self, sizes: Sequence[Any]) -> None:
        """Sizes of one axis are about to be broadcast: equal, or 1."""
        ...


class _Undecided(threading.local):
    decider: Decider | None = None
    at_least: Callable[[Any, Any], bool] | None = None
    in_type_rule = False


_undecided = _Undecided()


@contextmanager
def answering(decider: Decider) -> Generator[None]:
    """In this thread, this decider answers what cannot be decided."""
    outer = _undecided.decider, _undecided.at_least, _undecided.in_type_rule
    _undecided.decider, _undecided.at_least, _undecided.in_type_rule = decider, None, False
    try:
        yield
    finally:
        _undecided.decider, _undecided.at_least, _undecided.in_type_rule = outer


@contextmanager
def deciding(at_least: Callable[[Any, Any], bool]) -> Generator[None]:
    """In this thread: what cannot be decided of `left >= right` is what this function says."""
    outer, _undecided.at_least = _undecided.at_least, at_least
    try:
        yield
    finally:
        _undecided.at_least = outer


# --- inequalities --------------------------------------------------------------------------------


def _with_a_decider(original: Callable[..., bool]) -> Callable[..., bool]:
    def geq_decision(left: Any, right: Any, comparison: Callable[[], str]) -> bool:
        scope = getattr(left, "scope", None) or getattr(right, "scope", None)
        ours = isinstance(scope, SizeScope)
        if ours:
            left, right = scope.normalised(left), scope.normalised(right)
        try:
            return original(left, right, comparison)
        except InconclusiveDimensionOperation:
            if ours and _undecided.at_least is not None:
                return _undecided.at_least(left, right)
            if ours and _undecided.decider is not None:
                return _undecided.decider.at_least(left, right)
            raise

    return geq_decision


def _assume_that_it_fits(primitive: Primitive) -> None:
    """In type rules of this primitive, what cannot be decided fits: parts into their wholes.

    These rules compare in order to refuse, never to choose. The comparison is made again by the
    compiled program (`jax_compat.lowering`), for equations whose sizes are symbolic.
    """
    abstract_eval = primitive.abstract_eval

    def assume(*avals: Any, **params: Any) -> Any:
        with deciding(lambda whole, part: True):
            return abstract_eval(*avals, **params)

    primitive.abstract_eval = assume


# --- equality ------------------------------------------------------------------------------------


def _are_equal(size: Any, other: Any, frame: Any) -> bool:
    """Whether sizes are equal that are not the same expression."""
    scope = size.scope
    if not isinstance(scope, SizeScope):
        return False
    if not is_number(other) and getattr(other, "scope", None) is not scope:
        return False
    difference = scope.normalised(size - other)
    if not is_symbolic(difference):
        return difference == 0
    decider = _undecided.decider
    asker = (
        "machinery"
        if decider is None
        else asker_of(frame, other, in_type_rule=_undecided.in_type_rule)
    )
    if decider is None or asker == "machinery":
        return False
    if lower_bound(difference) > 0 or lower_bound(-difference) > 0:
        return False
    size, other = scope.normalised(size), scope.normalised(other)
    return (decider.equal if asker == "library" else decider.must_be_equal)(size, other)


def _equality(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    patch("difference", lambda _: _difference(original))  # JAX's asks `==`, which is ours by then

    def equals(size: Any, other: Any) -> Any:
        if original(size, other):
            return True
        if isinstance(other, int) and not -(2**63) <= other < 2**63:
            return False  # no size; JAX's caches compare with whatever anybody has asked for
        frame = sys._getframe(1)
        value = value_of_comparison(_undecided.decider, size, "==", other, frame)
        return _are_equal(size, other, frame) if value is None else value

    return equals


def _difference(equals: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def differs(size: Any, other: Any) -> Any:
        if equals(size, other):
            return False
        frame = sys._getframe(1)
        value = value_of_comparison(_undecided.decider, size, "!=", other, frame)
        return not _are_equal(size, other, frame) if value is None else value

    return differs


def _ordering(comparison: str) -> Callable[..., Any]:
    def replace(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
        def compare(size: Any, other: Any) -> Any:
            decider, frame = _undecided.decider, sys._getframe(1)
            value = value_of_comparison(decider, size, comparison, other, frame)
            return original(size, other) if value is None else value

        return compare

    return replace


def _truth(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def truth(aval: Any, tracer: Any) -> bool:
        decider = _undecided.decider
        answer = None if decider is None else decider.truth(tracer)
        return original(aval, tracer) if answer is None else answer

    return truth


def _size_is_not_zero(size: Any) -> bool:
    return not _are_equal(size, 0, sys._getframe(1))


# --- places where JAX compares in order to refuse ------------------------------------------------


def _type_rule(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _abstract_eval(*args: Any, **params: Any) -> Any:
        if _undecided.decider is None:
            return original(*args, **params)
        outer, _undecided.in_type_rule = _undecided.in_type_rule, True
        try:
            if args[0].name in _OF_ONE_SHAPE:
                args = (args[0], *_of_one_shape(args[1:], _undecided.decider))
            return original(*args, **params)
        finally:
            _undecided.in_type_rule = outer

    return _abstract_eval


_OF_ONE_SHAPE = frozenset({"stack"})
"""Primitives whose type rules compare shapes by hash."""


def _of_one_shape(avals: Sequence[Any], decider: Decider) -> Sequence[Any]:
    """The types with the first one's shape, as far as they have equal ones."""
    first = avals[0].shape if avals else ()

    def has_that_shape(aval: Any) -> bool:
        return len(aval.shape) == len(first) and all(
            size == wanted or (_are_symbolic(size, wanted) and decider.must_be_equal(size, wanted))
            for size, wanted in zip(aval.shape, first, strict=True)
        )

    return [aval.update(shape=first) if has_that_shape(aval) else aval for aval in avals]


def _are_symbolic(size: Any, other: Any) -> bool:
    """Whether at least one of two sizes is a symbolic one of ours."""
    scopes = [getattr(number, "scope", None) for number in (size, other)]
    return any(isinstance(scope, SizeScope) for scope in scopes)


def _broadcast(original: Callable[..., Any]) -> Callable[..., Any]:
    def broadcast(*shapes: Any, name: str) -> Any:
        if _undecided.decider is not None and len({len(shape) for shape in shapes}) == 1:
            for sizes in zip(*shapes, strict=True):
                if any(_are_symbolic(size, sizes[0]) for size in sizes):
                    _undecided.decider.broadcast(sizes)
        return original(*shapes, name=name)

    return broadcast


def _size_or_one(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def equal_to_one_of(size: Any, others: Any) -> bool:
        """Whether `size` is 1 or the size that it is broadcast to: JAX asks for nothing else."""
        if original(size, others):
            return True
        if _undecided.decider is None:
            return False
        return any(
            _are_symbolic(size, other) and _undecided.decider.must_be_equal(size, other)
            for other in reversed(others)
        )

    return equal_to_one_of


patch("equality", _equality)
with suppress(MissingNameError):
    shape_poly._DimExpr.__bool__ = _size_is_not_zero
for _comparison, _function in ORDERINGS.items():
    patch(f"ordering_{_function.__name__}", _ordering(_comparison))
patch("truth", _truth)
patch("undecided_inequality", _with_a_decider)
patch("type_rules", _type_rule)
patch("broadcast_sizes", _broadcast)
patch("sizes_or_one", _size_or_one)
for _primitive in (
    gather_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    slice_p,
    scatter_p,
    scatter_add_p,
    scatter_sub_p,
    scatter_mul_p,
    scatter_min_p,
    scatter_max_p,
    argmax_p,
    argmin_p,
    top_k_p,
):
    _assume_that_it_fits(_primitive)
