"""What becomes of a comparison of sizes, by the Python frame that asks: an answer, or a value.

JAX compares sizes everywhere: to look a shape up in a cache, to refuse what does not fit, to save
work for a size of 1, to treat an empty array as a case of its own. Only of the last kind is an
answer that holds for some sizes wrong for others, and such code is where users' functions call
it: in `jax.numpy` and the like. A function there that is right for every size without an answer
belongs in `RIGHT_FOR_EVERY_SIZE`: each question that is answered may be another compilation.

The size of an array that a loop resizes differs from one iteration to the next, so no answer given
while tracing holds. Where a comparison in the user's code (`x.shape[0] < 20`) cannot be decided,
the decider may make a traced boolean of it, good for `cond`, for the condition of a `while_loop`,
or for `jnp.where`. If Python asks for its truth after all (`if`, `and`), the question goes to the
decider as others do. A comparison with a traced number is one of numbers, wherever the size comes
from.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import operator
import sysconfig
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Protocol

from jax.core import Tracer

from diastase_mlir.diagnostics import OUR_PACKAGES, directories_of, is_user_file
from diastase_mlir.jax_compat.private import core
from diastase_mlir.jax_compat.symbolic.dimensions import (
    SizeScope,
    is_number,
    is_symbolic,
    lower_bound,
)

_MACHINERY = frozenset(
    "abstract_arrays.py ad_checkpoint.py ad_util.py api.py api_util.py array.py basearray.py "
    "blocked_sampler.py buffer_callback.py callback.py checkify.py compiler.py config.py core.py "
    "custom_api_util.py custom_batching.py custom_derivatives.py custom_partitioning.py "
    "debugging.py dispatch.py dtypes.py effects.py error_check.py export ffi.py flatten_util.py "
    "flattree.py frozen_dict.py hashable_array.py hijax.py interpreters jaxpr_util.py lax lib "
    "linear_util.py literals.py mesh.py named_sharding.py partition_spec.py pjit.py "
    "pretty_printer.py ref.py shard_map.py sharding.py sharding_impls.py source_info_util.py "
    "stages.py state traceback_util.py tree.py tree_util.py typing.py util.py".split()
)
"""Files and folders of `jax/_src` that take sizes as they are: False is right for every size.

What is not named here, as of a later version, may distinguish cases, as users and `jax.numpy` do:
its questions become guards. So a wrong guess costs a compilation, and never an answer.
"""

Asker = Literal["library", "type rule", "machinery"]

RIGHT_FOR_EVERY_SIZE = frozenset(
    {
        ("random/core.py", "choice"),  # nothing is drawn by the way of all other numbers, too
        ("numpy/indexing.py", "_take"),
        ("numpy/indexing.py", "place"),
        ("numpy/indexing.py", "take_along_axis"),
        ("numpy/lax_numpy.py", "_argmax"),  # refuse empty arrays, as the compiled program does
        ("numpy/lax_numpy.py", "_argmin"),
        ("numpy/lax_numpy.py", "_roll_static"),
        ("numpy/lax_numpy.py", "cov"),  # the overlay of `cov` makes it so
        ("numpy/lax_numpy.py", "diagonal"),
        ("numpy/lax_numpy.py", "ix_"),
        ("numpy/lax_numpy.py", "trapezoid"),
        ("numpy/linalg.py", "_pinv"),
        ("numpy/linalg.py", "cond"),
        ("numpy/linalg.py", "det"),  # its formulas for small sizes are in overlays
        ("numpy/linalg.py", "slogdet"),
        ("numpy/setops.py", "_in1d"),
        ("numpy/setops.py", "_intersect1d_size"),
        ("numpy/vectorize.py", "<genexpr>"),
    }
)
"""Functions of JAX's libraries, by file and name, in which False is right for every size: what
follows works for these, too, or is checked when the program runs. Each was compiled for one size
and compared with JAX at sizes 0, 1, 2, 3, 8, 100 (`tests/programs/test_assumptions.py`)."""

_DISTINGUISHING = frozenset({"lax/fft.py"})
"""Files of JAX's machinery that distinguish cases all the same: derivatives of a Fourier transform
to real numbers ask whether their number is even."""

_CACHES = frozenset({("symbolic/comparison.py", "_abstract_eval")})
"""Functions of ours that call a cache of JAX's: it compares keys, and may miss."""

_PROBES = frozenset({"_try_broadcast_shapes", "definitely_equal_one_of_dim"})
"""Functions in type rules that look for sizes of 1, which `broadcast` has found before."""

_REQUIRING = frozenset({"dot", "matmul", "_matmul"})
"""Functions outside of type rules that refuse sizes which `definitely_equal` does not equate."""

_ABOUT_ONE = frozenset({"_compute_squeeze_shape", "definitely_equal_shape"})
"""Askers in type rules that refuse a size which is not 1; others look for it as a special case."""


@cache
def is_machinery(file: str) -> bool:
    """Whether code in this file is Python's, ours or JAX's, and takes sizes as they are."""
    for directory in directories_of("jax"):
        if file.startswith(directory):
            source, _, name = file.removeprefix(directory).partition("/")
            return source == "_src" and name.partition("/")[0] in _MACHINERY
    if file.startswith(("<frozen ", *directories_of(*OUR_PACKAGES))):
        return True
    installed = [sysconfig.get_path(kind) + "/" for kind in ("purelib", "platlib")]
    return not is_user_file(file) and not file.startswith(tuple(installed))


def asker_of(frame: Any, about: Any, *, in_type_rule: bool) -> Asker:
    """Who asks whether a size is equal to another one, or to a number."""
    names: list[str] = []
    if "/export/shape_poly" in frame.f_code.co_filename:  # JAX's own reasoning about sizes
        return "machinery"
    while frame.f_code.co_filename.endswith("/jax/_src/core.py"):  # `definitely_equal` and its kin
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    definitely = bool(names)
    names.append(frame.f_code.co_name)
    if not all(name.startswith(("definitely_equal", "<")) for name in names[:-1]):
        return "machinery"
    file = frame.f_code.co_filename
    short = "/".join(file.split("/")[-2:])
    if (short, names[-1]) in _CACHES:
        return "machinery"
    if not _PROBES.isdisjoint(names) or "sharding" in names[-1]:
        return "machinery"
    if in_type_rule or (definitely and names[-1] in _REQUIRING):
        special = not is_symbolic(about) and about in (0, 1)
        return "machinery" if special and _ABOUT_ONE.isdisjoint(names) else "type rule"
    if definitely or (is_machinery(file) and short not in _DISTINGUISHING):
        return "machinery"
    known = (short, names[-1]) in RIGHT_FOR_EVERY_SIZE
    return "machinery" if known else "library"


ORDERINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    **ORDERINGS,
    "==": operator.eq,
    "!=": operator.ne,
}


class Comparing(Protocol):
    """The part of a decider that makes values of comparisons."""

    def compared(self, left: Any, comparison: str, right: Any) -> Any | None:
        """The comparison as a traced boolean; None if it is to be answered now."""
        ...

    def truth(self, value: Any) -> bool | None:
        """The answer to such a question, or to some connected by `&`, `|` and `~`."""
        ...


def value_of_comparison(
    decider: Comparing | None, left: Any, comparison: str, right: Any, frame: Any
) -> Any | None:
    """What the decider makes of a comparison in this frame, None for an answer."""
    scope = left.scope
    if decider is None or not isinstance(scope, SizeScope):
        return None
    if not is_user_file(frame.f_code.co_filename):
        return None
    if isinstance(right, Tracer):
        return COMPARISONS[comparison](core.dimension_as_value(left), right)
    if not is_number(right) and getattr(right, "scope", None) is not scope:
        return None
    difference = scope.normalised(left - right)
    if not is_symbolic(difference) or _is_decided(difference, comparison):
        return None
    return decider.compared(scope.normalised(left), comparison, scope.normalised(right))


def _is_decided(difference: Any, comparison: str) -> bool:
    """Whether it is known how a difference compares with 0."""
    least, most = lower_bound(difference), -lower_bound(-difference)
    if comparison in ("==", "!="):
        return least > 0 or most < 0
    if comparison in ("<", ">="):
        return least >= 0 or most < 0
    return least > 0 or most <= 0
