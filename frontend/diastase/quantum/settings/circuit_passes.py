"""Which passes the compiler is to apply to a QNode's circuit.

A pass is an entry of the QNode's own `CompilePipeline`, among PennyLane's transforms: a transform
with a `pass_name`, as `diastase.passes`, `qml.transform(pass_name=…)` and PennyLane's own passes
make it. So markers (`qml.marker`) and levels count both. A QNode without passes has those that the
program was compiled with (`qjit(circuit_transform_pipeline=…)`). They run as soon as the body is
traced, on its jaxpr (`transformed`): whatever is made of the circuit then is made of what they
have left. Passes of measurements and of operators are the frontend's (`quantum.passes`), and have
their say before there is a body, wherever in the pipeline they stand.

A transform of PennyLane's that exists as a pass here, with the options that it is given, runs as
one, since a pass leaves control flow as it is. Transforms that need tapes run before all passes,
and so do those before them that have both forms: a tape is unrolled, and there are no passes on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pennylane as qml
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr
from pennylane import transforms
from pennylane.devices import preprocess
from pennylane.transforms.core import BoundTransform

import diastase_mlir
from diastase.capture.context import current_settings
from diastase.capture.pennylane_compat import qnode_of_tape
from diastase.capture.pennylane_compat.devices import ENGINE_DEVICES
from diastase.primitives.define import PRIMITIVES
from diastase.primitives.errors import NoDerivativeError, undifferentiable
from diastase_mlir import span_of
from diastase_mlir.jax_compat import (
    is_extended,
    is_recorded,
    is_recorded_variable,
    tracer_equation,
    tracer_variable,
)
from diastase_mlir.rewritings import tell_of_bodies
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.passes import table
    from diastase_mlir import PassCall
else:
    table = LazyModule("diastase.quantum.passes.table")

_KNOWN = (np.ndarray, np.generic, jax.Array, bool, int, float, complex)


@cache
def _transform_of(name: str) -> Any:
    """A pass as a transform of PennyLane's, which changes nothing where PennyLane runs it."""

    def unchanged(tape: Any, **options: Any) -> Any:
        return [tape], lambda results: results[0]

    unchanged.__name__ = name
    return qml.transform(unchanged, pass_name=name)


def with_passes(qnode: qml.QNode, passes: Sequence[PassCall]) -> qml.QNode:
    """A copy of a QNode that has these passes after its own."""
    changed = copy.copy(qnode)
    changed.compile_pipeline.extend(list(map(_entry, passes)))
    setattr(changed, _OWN, True)  # they may be none, instead of the program's
    return changed


def _entry(call: PassCall) -> BoundTransform:
    return BoundTransform(_transform_of(call.name), kwargs=dict(call.options))


@dataclass(frozen=True)
class Steps:
    """What is done to a circuit before it is run: first transforms of its tape, then passes."""

    transforms: tuple[Any, ...]
    passes: tuple[PassCall, ...]
    pipeline: Any
    """A `CompilePipeline`: all that was asked for, and markers, whichever level is looked at."""

    def of(self, subject: str) -> list[Any]:
        """What the passes of one kind of the frontend's give, in order."""
        return [call.made() for call in self.passes if call.of == subject]

    @property
    def of_tapes(self) -> Steps:
        """What is left to do to the tapes that the transforms make."""
        return Steps((), self.passes, self.pipeline)


_STEPS, _OWN = "_diastase_steps", "_diastase_own_passes"


def with_steps(qnode: qml.QNode, function: Callable[[], Any], shots: Any, steps: Steps) -> Any:
    """A QNode like another one, of a function of its own, for which just this is to be done."""
    made = qnode_of_tape(qnode, function, shots)
    setattr(made, _STEPS, steps)
    return made


def steps_of(qnode: qml.QNode) -> Steps:
    """The transforms and passes of a QNode that is called now, up to the level that is asked for.

    `CompileError`s where there is no such pass, or none with such options.
    """
    decided = getattr(qnode, _STEPS, None)
    if decided is not None:
        return decided
    pipeline: Any = qnode.compile_pipeline
    program = current_settings().passes
    is_pass = partial(_is_pass, qnode.device.name in ENGINE_DEVICES)
    if program and not hasattr(qnode, _OWN) and not any(map(is_pass, pipeline)):
        pipeline = pipeline + qml.CompilePipeline(list(map(_entry, program)))
    entries = list(pipeline)[: current_settings().level]
    needs_tape = [place for place, entry in enumerate(entries) if not is_pass(entry)]
    end = max(needs_tape, default=-1) + 1
    transforms = [entry for entry in entries[:end] if not _is_pass_only(entry)]
    passes = [*filter(_is_pass_only, entries[:end]), *entries[end:]]
    return Steps(tuple(transforms), tuple(map(_call, passes)), pipeline)


def has_own_passes(qnode: qml.QNode) -> bool:
    """Whether passes were asked for this QNode itself."""
    pipeline: Any = qnode.compile_pipeline
    return any(map(_is_pass_only, pipeline))


def _is_pass_only(entry: BoundTransform) -> bool:
    """Whether an entry means nothing to PennyLane."""
    if entry.pass_name is None:
        return False
    own = _transform_of(entry.pass_name).tape_transform
    return entry.tape_transform is None or entry.tape_transform is own


_OF_PENNYLANE = {
    transform.tape_transform: name
    for name, transform in {
        "decompose": transforms.decompose,
        "split_non_commuting": transforms.split_non_commuting,
        "split_to_single_terms": transforms.split_to_single_terms,
        "diagonalize_measurements": transforms.diagonalize_measurements,
        "measurements_from_samples": preprocess.measurements_from_samples,
    }.items()
}
"""Transforms of PennyLane's that are passes here, though it has no name of a pass for them."""


def _name(entry: BoundTransform) -> str | None:
    """The pass that an entry asks for, if it can be one."""
    return entry.pass_name or _OF_PENNYLANE.get(entry.tape_transform)


def _is_pass(on_engine: bool, entry: BoundTransform) -> bool:
    """Whether an entry can be a pass of ours; a device in Python sees those of circuits only."""
    name = _name(entry)
    if name is None or _is_pass_only(entry):
        return name is not None
    options = table.options_by_name(name, entry.args, entry.kwargs)
    if not table.has_pass(name, options):
        return False
    return on_engine or table.pass_call(name, options).of == "circuit"


def _call(entry: BoundTransform) -> PassCall:
    name = _name(entry)
    assert name is not None
    return table.pass_call(name, table.options_by_name(name, entry.args, entry.kwargs))


def transformed(
    jaxpr: ClosedJaxpr, captured: Sequence[Any], passes: tuple[PassCall, ...], name: str
) -> tuple[ClosedJaxpr, list[Any]]:
    """What passes make of a QNode's body, whose leading operands are `captured`; and of these."""
    given = list(captured)
    for subject, calls in groupby(passes, key=lambda call: call.of):
        if subject == "circuit":
            jaxpr = _transformed(jaxpr, given, tuple(calls), name)
        elif subject == "body":
            for call in calls:
                jaxpr = _rewritten(jaxpr, given, call)
    return jaxpr, given


def _rewritten(jaxpr: ClosedJaxpr, captured: list[Any], call: PassCall) -> ClosedJaxpr:
    """What one pass of bodies makes of a body."""
    rewrite = call.made()
    known = _known(jaxpr, captured)
    found = rewrite(jaxpr, known)
    tell_of_bodies(call.name, jaxpr, found.jaxpr, known=known, tolerance=rewrite.epsilon)
    for place, equation in found.unmoved.items():
        if place < len(captured) and isinstance(captured[place], Tracer):
            span = span_of(equation.source_info)
            error = partial(
                NoDerivativeError, construct=call.name, reason=rewrite.reason, span=span
            )
            (captured[place],) = undifferentiable([captured[place]], error)
    return found.jaxpr


def _known(jaxpr: ClosedJaxpr, captured: Sequence[Any]) -> dict[Any, np.ndarray]:
    """The leading inputs that are constants."""
    inputs = jaxpr.jaxpr.invars[: len(captured)]
    return {
        variable: np.asarray(value)
        for variable, value in zip(inputs, captured, strict=True)
        if isinstance(value, _KNOWN) and not isinstance(value, Tracer)
        if not is_extended(variable.aval.dtype)
    }


def _transformed(
    jaxpr: ClosedJaxpr, captured: Sequence[Any], passes: tuple[PassCall, ...], name: str
) -> ClosedJaxpr:
    inputs = jaxpr.jaxpr.invars[: len(captured)]
    primitives = {name: record.primitive for name, record in PRIMITIVES.items()}
    related = _related(dict(zip(inputs, captured, strict=True)))
    known = _known(jaxpr, captured)
    body = diastase_mlir.TracedBody(name, jaxpr, known, related, primitives)
    options = current_settings().compiler or diastase_mlir.CompileOptions()
    return diastase_mlir.transform_circuit(body, passes, options)


def _related(captured: Mapping[Any, Any]) -> dict[Any, tuple[Any, bool]]:
    """Inputs that are equal to one before them, or to its opposite, as `circuit(x, -x)` has."""
    first: dict[Hashable, tuple[Any, bool]] = {}
    related: dict[Any, tuple[Any, bool]] = {}
    for variable, value in captured.items():
        if not is_recorded(value) or not is_recorded_variable(value):
            continue
        is_negative, key = _signed(value)
        before, was_negative = first.setdefault(key, (variable, is_negative))
        if before is not variable:
            related[variable] = (before, is_negative != was_negative)
    return related


def _signed(tracer: Any) -> tuple[bool, Hashable]:
    """Whether a value is the opposite of what its key stands for: equal keys, equal values."""
    is_negative, moves = False, list[Hashable]()
    while (equation := tracer_equation(tracer)) is not None:
        operand = equation.in_tracers[0] if len(equation.in_tracers) == 1 else None
        if operand is None or not is_recorded_variable(operand) or not _is_float(tracer, operand):
            break
        if equation.primitive.name == "neg":
            is_negative = not is_negative
        elif equation.primitive.name in diastase_mlir.MOVING:
            moves.append((equation.primitive, str(equation.params)))
        else:
            break
        tracer = operand
    return is_negative, (tracer_variable(tracer), tuple(moves))


def _is_float(*tracers: Any) -> bool:
    dtypes = [getattr(tracer.aval, "dtype", None) for tracer in tracers]
    return all(isinstance(d, np.dtype) and np.issubdtype(d, np.inexact) for d in dtypes)
