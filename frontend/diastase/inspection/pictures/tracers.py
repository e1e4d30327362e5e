"""Words for what a circuit closes over: tracers of the traces around it, and arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from diastase.inspection.pictures.words import Words
from diastase_mlir.jax_compat import (
    is_extended,
    is_recorded,
    is_recorded_variable,
    tracer_equation,
    tracer_name,
    tracer_variable,
    unwrap_tracer,
)


@dataclass(frozen=True)
class _Recorded:
    """An equation of a trace, as one of a jaxpr."""

    primitive: Any
    invars: list[Any]
    outvars: list[Any]
    params: Any
    effects: Any
    ctx: Any


def read_tracer(words: Words, variable: Any, value: Any, known: Mapping[str, Any]) -> None:
    """A variable is what a circuit has closed over; `known`: values of arguments, by name."""
    value = unwrap_tracer(value)  # derivatives and batches are of the circuit that is drawn
    if is_recorded(value):
        _read(words, value, known, set())
        words.let(variable, tracer_variable(value))
    elif isinstance(value, np.ndarray | np.generic | jax.Array | bool | int | float | complex):
        if not isinstance(value, Tracer) and not is_extended(variable.aval.dtype):
            words.know(variable, value)


def _read(words: Words, tracer: Any, known: Mapping[str, Any], done: set[Any]) -> None:
    """Give words to a tracer, after all that it is computed of."""
    pending = [tracer]
    while pending:
        last = pending[-1]
        variable = tracer_variable(last)
        if not is_recorded_variable(last) or variable in done:
            pending.pop()
            continue
        equation = tracer_equation(last)
        before = [] if equation is None else equation.in_tracers
        missing = [
            each
            for each in before
            if is_recorded_variable(each) and tracer_variable(each) not in done
        ]
        if missing:
            pending += missing
            continue
        pending.pop()
        done.add(variable)
        if equation is None:
            _read_input(words, last, known)
            continue
        done.update(equation.outvars)
        words.read(
            _Recorded(
                equation.primitive,
                [tracer_variable(each) for each in before],
                list(equation.outvars),
                equation.params,
                equation.effects,
                equation.ctx,
            )
        )


def _read_input(words: Words, tracer: Any, known: Mapping[str, Any]) -> None:
    name = tracer_name(tracer)
    if name is not None and name in known:
        words.know(tracer_variable(tracer), known[name])
    elif name:
        words.name(tracer_variable(tracer), name)
