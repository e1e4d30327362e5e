"""What both sides of a comparison are given: numbers that are drawn for their inputs.

Integers are small, as they are wires and numbers of iterations; complex arrays are unitary or
normalised, where they may be gates or states.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from diastase_mlir.rewritings import Equations, Rewriting
from translation.circuit_text import known_wires
from translation.classical import Skip
from translation.registers import random_state

INTEGERS = ((0, 3), (0, 1), (0, 2), (1, 4), (2, 5), (0, 3), (3, 6), (1, 3))
"""Integers from here to below there, in attempts of which those before may have had no wires."""


def inputs_of(*sides: Equations) -> list[Any]:
    """What both sides read, and do not compute, in order."""
    found: dict[Any, None] = {}
    for side in sides:
        defined = {variable for equation in side.equations for variable in equation.outvars}
        read = [atom for equation in side.equations for atom in equation.invars]
        free = (a for a in (*read, *side.results) if not hasattr(a, "val") and a not in defined)
        found.update(dict.fromkeys(free))
    return list(found)


def _dtype(variable: Any) -> Any:
    found = getattr(variable.aval, "dtype", None)
    return found if isinstance(found, np.dtype) else np.dtype(object)


def is_whole(variable: Any) -> bool:
    """Whether an input has integers or booleans, by which the way through a circuit is decided."""
    return _dtype(variable).kind in "iub"


def drawn_inputs(
    inputs: Sequence[Any], rewriting: Rewriting, random: np.random.Generator, attempt: int
) -> dict[Any, Any]:
    """Values for all inputs, those that are known, or related to others, as they are."""
    values = dict[Any, Any]()
    for variable in inputs:
        if variable in rewriting.known:
            values[variable] = np.asarray(rewriting.known[variable])
        elif hasattr(variable.aval, "mlir_type"):
            values[variable] = _register(variable.aval, rewriting, random)
        else:
            values[variable] = _drawn(variable, random, *INTEGERS[attempt])
    for variable, (other, is_opposite) in rewriting.related.items():
        if variable in values and other in values:
            values[variable] = -values[other] if is_opposite else values[other]
    return values


def _register(aval: Any, rewriting: Rewriting, random: np.random.Generator) -> Any:
    if aval.shape:
        raise Skip("a lane register")
    return random_state(
        random, max(map(known_wires, (rewriting.before, rewriting.after))), aval.mixed
    )


def _drawn(variable: Any, random: np.random.Generator, least: int, end: int) -> Any:
    shape, dtype = getattr(variable.aval, "shape", None), _dtype(variable)
    if shape is None or not all(type(size) is int for size in shape):
        raise Skip("dynamic sizes")
    if "key" in str(getattr(variable.aval, "dtype", "")):
        if shape:
            raise Skip("arrays of keys")
        return jax.random.key(int(random.integers(2**31)))
    match dtype.kind:
        case "b":
            return random.integers(0, 2, shape).astype(bool)
        case "i" | "u":
            return random.integers(least, end, shape).astype(dtype)
        case "c":
            return _complex(random, shape).astype(dtype)
        case "f" | "V":
            return random.uniform(-3, 3, shape).astype(dtype)
        case _:
            raise Skip(f"inputs of type {dtype}")


def _complex(random: np.random.Generator, shape: Sequence[int]) -> Any:
    """Unitary where it may be a gate, normalised where it may be a state."""
    array = random.normal(size=shape) + 1j * random.normal(size=shape)
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] > 0:
        return np.linalg.qr(array)[0]
    return array / np.linalg.norm(array) if len(shape) == 1 and array.size else array
