"""`program`: a program of ours as an equation of plain JAX.

    program    [*operands]    program: `EmbeddedProgram`    -> results

The last `program.linear` operands are such that the results are linear in them. Derivatives of a
program are programs, and there are two kinds of them, one the transpose of the other:

    D g      [*x, *directions of some x]   D g(x)[v]            linear in v
    D g^T    [*x, *cotangents]             gradient of ct . g   linear in ct

Each may be differentiated by its other operands again, as any program; so these are enough for all
orders. Only results that are inexact have derivatives, in their order. In reverse mode a program of
one real result is called once, for the value and the gradient (`with_gradient`).

The trap: a jaxpr with this equation may be evaluated within a trace of ours, and there the function
itself is meant: a compiled program has no place in another one.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from diastase.capture.context import is_tracing
from diastase.jit.interop.embedded_program import EmbeddedProgram, is_inexact
from diastase.jit.interop.xla import lower_program
from diastase_mlir.jax_compat import never_move_out_of_loops, set_linearisation


class ProgramPrimitive(Primitive):
    """The primitive; within a trace of ours the function itself."""

    def bind(self, *operands: Any, program: EmbeddedProgram, **_: Any) -> Any:
        """Make the equation."""
        if is_tracing():
            return list(program.function(*operands))
        return super().bind(*operands, program=program)


program_p = ProgramPrimitive("program")
program_p.multiple_results = True


@program_p.def_abstract_eval
def _abstract_eval(*_: Any, program: EmbeddedProgram) -> Sequence[Any]:
    return program.out_avals


@program_p.def_impl
def _evaluate(*operands: Any, program: EmbeddedProgram) -> Sequence[Any]:
    return program.compiled.prepared(operands)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, program: EmbeddedProgram
) -> tuple[Sequence[Any], Sequence[Any]]:
    """In linear operands the program itself is its derivative."""
    results = program_p.bind(*primals, program=program)
    others = len(primals) - program.linear
    active = [
        position
        for position, tangent in enumerate(tangents)
        if type(tangent) is not ad.Zero and is_inexact(program.in_avals[position])
    ]
    terms: list[Sequence[Any]] = []
    if any(position >= others for position in active):
        changes = map(ad.instantiate_zeros, tangents[others:])
        terms.append(program_p.bind(*primals[:others], *changes, program=program))
    along = tuple(position for position in active if position < others)
    if along:
        entries = [tangents[position] for position in along]
        terms.append(program_p.bind(*primals, *entries, program=program.tangent(along)))
    found = iter(_sums(terms))
    changes = [
        next(found) if terms and is_inexact(aval) else ad.Zero(aval.to_tangent_aval())
        for aval in program.out_avals
    ]
    return results, changes


def _linearise(nonzeros: Sequence[bool], *operands: Any, program: EmbeddedProgram) -> Any:
    """For reverse mode: one call gives the value, and the gradient that cotangents multiply."""
    along = tuple(
        position
        for position, (aval, moves) in enumerate(zip(program.in_avals, nonzeros, strict=True))
        if moves and is_inexact(aval)
    )
    found = program_p.bind(*operands, program=program.with_gradient(along))
    count = len(program.out_avals)

    def linear(gradient: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        terms = [
            jnp.real(jnp.sum(entry * tangents[position]))
            for position, entry in zip(along, gradient, strict=True)
        ]
        return [
            sum(terms[1:], terms[0]).astype(aval.dtype)
            if terms and is_inexact(aval)
            else ad.Zero(aval.to_tangent_aval())
            for aval in program.out_avals
        ]

    moves = [bool(along) and is_inexact(aval) for aval in program.out_avals]
    return found[:count], moves, found[count:], linear


def _sums(terms: Sequence[Sequence[Any]]) -> list[Any]:
    if len(terms) < 2:
        return [value for term in terms for value in term]
    return [ad.add_jaxvals(first, second) for first, second in zip(*terms, strict=True)]


def _transpose(
    cotangents: Sequence[Any], *operands: Any, program: EmbeddedProgram
) -> Sequence[Any]:
    others = len(operands) - program.linear
    known = list(map(ad.instantiate_zeros, cotangents))
    found = program_p.bind(*operands[:others], *known, program=program.transposed())
    return [
        *[None] * others,
        *(
            value if ad.is_undefined_primal(operand) else None
            for operand, value in zip(operands[others:], found, strict=True)
        ),
    ]


def _vmap(
    axis: Any, operands: Sequence[Any], axes: Sequence[Any], *, program: EmbeddedProgram
) -> tuple[Sequence[Any], Sequence[int | None]]:
    if all(place is None for place in axes):
        results = program_p.bind(*operands, program=program)
        return results, [None] * len(results)
    batch = program.batched(tuple(axes), axis.size, axis.name)
    results = program_p.bind(*operands, program=batch)
    return results, [0] * len(results)


never_move_out_of_loops(program_p, lambda program: not program.is_pure)
ad.primitive_jvps[program_p] = _jvp
ad.primitive_transposes[program_p] = _transpose
set_linearisation(
    program_p,
    _linearise,
    applies=lambda program, is_vjp: is_vjp and program.has_gradient,
)
batching.fancy_primitive_batchers[program_p] = _vmap
mlir.register_lowering(program_p, lower_program, platform="cpu")
