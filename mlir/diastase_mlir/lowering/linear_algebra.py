"""Rules for linear algebra: what LAPACK has routines for, and what are JAX programs in their place.

    %l = stablehlo.cholesky %a, lower = true
    %l = stablehlo.custom_call @diastase.linear_algebra.eigh(%a) {… {lower = true, …}}

A pass makes calls of these (`passes/runtime/linear_algebra`). `site` is where sizes do not fit a
routine's integers; -1 where all are known to fit. Whatever the routines do not do, JAX's rules
refuse as well on a CPU.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import min_dim

from diastase_mlir.emit.library_calls import LINEAR_ALGEBRA, SITE, custom_call
from diastase_mlir.emit.loops import Values
from diastase_mlir.emit.operations import create, enumeration
from diastase_mlir.errors import LoweringError
from diastase_mlir.jax_compat import ir, is_symbolic
from diastase_mlir.lowering.core.array_types import element_name, is_complex, is_known_empty
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.elementwise.regions import region_of, split

_OPTIONS = {
    "eig": "compute_left_eigenvectors compute_right_eigenvectors",
    "eigh": "lower",
    "geqp3": "",
    "geqrf": "",
    "hessenberg": "",
    "householder_product": "",
    "lu": "",
    "ormqr": "left transpose",
    "qr": "full_matrices pivoting",
    "schur": "compute_schur_vectors",
    "svd": "full_matrices compute_uv",
    "tridiagonal": "lower",
    "tridiagonal_solve": "",
}
"""By primitive: its parameters that say what to compute, all of them flags."""

_WITHOUT_WORKSPACE = frozenset({"cholesky", "eigh", "lu", "triangular_solve", "tridiagonal_solve"})
"""Those that ask no routine how much memory it wants, which it may want too much of."""

_ELEMENTS = ("float32", "float64", "complex64", "complex128")

_SVD_ROUTINES = {"DEFAULT": "gesdd", "DIVIDE_AND_CONQUER": "gesdd", "QR": "gesvd"}
"""By the name of JAX's algorithm."""

LARGEST = 2**31 - 1
"""What an integer of LAPACK can hold."""


@lowers(*_OPTIONS)
def lower_by_routines(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """One call for all of it."""
    name, params = equation.primitive.name, equation.params
    if params.get("perturb_singular"):  # what it does to a matrix is XLA's own
        return NotImplemented
    site = _site(context, equation)
    options: dict[str, ir.Attribute] = {
        own: ir.BoolAttr.get(bool(params[own])) for own in _OPTIONS[name].split()
    }
    if name == "svd":
        options["routine"] = ir.StringAttr.get(_routine(equation))
    return _called(context, equation, operands, options, site)


@lowers("cholesky")
def lower_cholesky(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """StableHLO's operation; the upper triangle is left as it was."""
    attributes = {"lower": ir.BoolAttr.get(True)}
    return _operation(context, equation, [operand], attributes)


@lowers("triangular_solve")
def lower_triangular_solve(
    context: LoweringContext, equation: Equation, matrix: ir.Value, right_side: ir.Value
) -> list[ir.Value]:
    """StableHLO's operation, which conjugates only what it transposes."""
    params = equation.params
    way = "NO_TRANSPOSE"
    if params["transpose_a"]:
        way = "ADJOINT" if params["conjugate_a"] else "TRANSPOSE"
    elif params["conjugate_a"] and is_complex(equation.avals_in[0].dtype):
        (matrix,) = context.lower_function(_conjugate, equation.avals_in[:1], [matrix])
    attributes: dict[str, ir.Attribute] = {
        own: ir.BoolAttr.get(bool(params[own])) for own in ("left_side", "lower", "unit_diagonal")
    }
    attributes["transpose_a"] = ir.Attribute.parse(f"#stablehlo<transpose {way}>")
    return _operation(context, equation, [matrix, right_side], attributes)


def _conjugate(matrix: Any) -> tuple[Any]:
    return (lax.conj(matrix),)


@lowers("lu_pivots_to_permutation")
def lower_lu_pivots_to_permutation(
    context: LoweringContext, equation: Equation, pivots: ir.Value
) -> list[ir.Value]:
    """The permutation of rows that a sequence of exchanges amounts to."""
    size = equation.params["permutation_size"]
    unknown = [context.dimensions.size_number(size)] if is_symbolic(size) else []
    return _called(context, equation, [pivots, *unknown], {}, -1)


def _site(context: LoweringContext, equation: Equation) -> int:
    """Where it may fail, -1 if nowhere; after what is not there is refused."""
    name = equation.primitive.name
    _refuse_what_is_missing(equation)
    _refuse_sizes(equation)
    if not is_known_empty(equation.avals_in[0]):
        context.imports["blas" if name == "triangular_solve" else "lapack"] += 1
    has_unknown = any(is_symbolic(size) for aval in equation.avals_in for size in aval.shape)
    if has_unknown or name not in _WITHOUT_WORKSPACE:
        return context.failures.site(name, equation.source_info)
    return -1


def _operation(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute],
) -> list[ir.Value]:
    """An operation of StableHLO, named as the primitive."""
    site = _site(context, equation)
    own = {} if site < 0 else {SITE: enumeration(site)}
    kind = context.type_of(equation.avals_out[0])
    name = f"stablehlo.{equation.primitive.name}"
    return [create(name, [kind], operands, {**attributes, **own}).result]


def _called(
    context: LoweringContext,
    equation: Equation,
    operands: Sequence[ir.Value],
    options: Mapping[str, ir.Attribute],
    site: int,
) -> list[ir.Value]:
    target = LINEAR_ALGEBRA + equation.primitive.name
    kinds = [context.type_of(aval) for aval in equation.avals_out]
    return custom_call(target, kinds, operands, {SITE: enumeration(site), **options})


def _refuse_what_is_missing(equation: Equation) -> None:
    name, params, aval = equation.primitive.name, equation.params, equation.avals_in[0]
    reason = ""
    if element_name(aval.dtype) not in _ELEMENTS:
        reason = f"no LAPACK for {aval}"
    elif params.get("sort_eig_vals"):
        reason = "sorting is not implemented, nor is JAX's"
    elif name == "geqp3" and equation.avals_in[1].dtype != "int32":
        reason = "pivots must be of type int32"
    elif name in ("hessenberg", "tridiagonal") and aval.shape[-1] == 0:
        reason = "the matrix is empty, as JAX refuses"
    elif name in ("eigh", "svd"):
        size = min_dim(*aval.shape[-2:])
        if params["subset_by_index"] not in (None, (0, size)):
            reason = "subsets are not implemented on the CPU"
    way = params.get("implementation" if name == "eig" else "algorithm")
    known = {"eig": ("LAPACK",), "eigh": ("QR",), "svd": _SVD_ROUTINES}.get(name, ())
    if known and way is not None and way.name not in known:
        reason = f"{way.name} does not exist on the CPU"
    if reason:
        raise LoweringError(primitive=name, reason=reason)


def _refuse_sizes(equation: Equation) -> None:
    """Refuse numbers that LAPACK's integers cannot hold; unknown ones are compared later."""
    name, aval = equation.primitive.name, equation.avals_in[0]
    rank = 1 if name == "tridiagonal_solve" else 2
    if any(map(is_known_empty, equation.avals_in)):
        return
    sizes: list[Any] = [size for own in equation.avals_in for size in own.shape[-rank:]]
    if name == "eigh":
        size = aval.shape[-1]
        sizes.append(1 + size * ((5 if "complex" in str(aval.dtype) else 6) + 2 * size))
    for size in sizes:
        if not is_symbolic(size) and size > LARGEST:
            reason = f"LAPACK takes no sizes above {LARGEST}, here {size}"
            raise LoweringError(primitive=name, reason=reason)


def _routine(equation: Equation) -> str:
    algorithm = equation.params["algorithm"]
    return _SVD_ROUTINES["DEFAULT" if algorithm is None else algorithm.name]


@lowers("cholesky_update")
def lower_cholesky_update(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """A loop over rows; JAX's rule unrolls it, for which the size must be known."""
    return context.lower_function(_updated, equation.avals_in, operands)


def _updated(factor: Any, vector: Any) -> tuple[Any]:
    """The upper factor of `factor.T @ factor + outer(vector, vector)`, by Givens rotations."""

    def rotate(row: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        factor, vector = state
        x, y = factor[row, row], vector[row]
        scale = jnp.where(abs(x) > abs(y), abs(x), abs(y))
        x, y = x / scale, y / scale
        length = 1 / jax.lax.sqrt(x**2 + y**2)
        is_zero = vector[row] == 0
        cosine = jnp.where(is_zero, 1, x * length)
        sine = jnp.where(is_zero, 0, -y * length)
        first = factor[row, :]
        rotated = cosine * first - sine * vector
        return factor.at[row, :].set(rotated), cosine * vector + sine * first

    return (jax.lax.fori_loop(0, vector.shape[0], rotate, (factor, vector))[0],)


@lowers("custom_linear_solve")
def lower_custom_linear_solve(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Values:
    """Its `solve` function; the others serve differentiation only."""
    lengths, functions = equation.params["const_lengths"], equation.params["jaxprs"]
    counts = (lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve)
    _, _, constants, _, right_sides = split(operands, *counts)
    return region_of(context, functions.solve)(*constants, *right_sides)
