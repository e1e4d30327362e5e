"""Devices with a traced number of wires: `qml.device("lightning.qubit", wires=n)`.

PennyLane makes a `range` of the number, which only a known one has. While a program is traced,
a device is made without wires instead, and the number is kept beside it.

The trap: the number, and that of the basis states, belong to the trace in which the device is made;
loops in it may use them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from diastase.capture.pennylane_compat.private import patch_while_tracing
from diastase.capture.quantum_errors import WireTypeError
from diastase_mlir import user_span

ENGINE_DEVICES = frozenset({"lightning.qubit", "default.qubit", "default.mixed"})
"""Devices that our engine stands for."""

_MOST_WIRES = 60
"""The states of more do not fit into 64 bits; fewer are refused before their size is used."""

_ATTRIBUTE = "_diastase_traced_number"


@dataclass(frozen=True)
class TracedNumber:
    """A number of wires that the program computes, and that of their basis states."""

    number: jax.Array
    states: jax.Array


def traced_number_of_wires(device: Any) -> TracedNumber | None:
    """The traced number that a device was made with."""
    return getattr(device, _ATTRIBUTE, None)


def _with_traced_number(original: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """`qml.device`: without wires where their number is traced."""
    wires = kwargs.get("wires", args[0] if args else None)
    if not isinstance(wires, Tracer):
        return original(name, *args, **kwargs)
    number = _checked(wires, name)
    made = original(name, *args[1:], **{**kwargs, "wires": None})
    setattr(made, _ATTRIBUTE, number)
    return made


def _checked(wires: Any, name: str) -> TracedNumber:
    operation = f"qml.device({name!r})"
    if wires.ndim != 0 or not jnp.issubdtype(wires.dtype, jnp.integer):
        reason = f"a traced number of wires is an integer scalar, not {wires.aval.str_short()}"
        raise WireTypeError(operation=operation, reason=reason, span=user_span())
    if name not in ENGINE_DEVICES:
        devices = ", ".join(sorted(ENGINE_DEVICES))
        reason = f"only {devices} take a traced number of wires"
        raise WireTypeError(operation=operation, reason=reason, span=user_span())
    number = wires.astype(jnp.int64)
    fits = (number >= 0) & (number < _MOST_WIRES)
    return TracedNumber(number, jnp.where(fits, jnp.left_shift(1, number), 0))


patch_while_tracing("device", _with_traced_number)
