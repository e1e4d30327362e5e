"""Traced wires as labels that PennyLane can handle.

PennyLane compares, hashes and sorts wires: in sets, as keys of dictionaries, in templates that look
up where a wire stands. A tracer can do none of this. So while a program is being traced, each
tracer that PennyLane takes for a wire is wrapped into a `TracedWire`, a label with an identity:
that of its tracer. `WireMap.positions` unwraps it again.

The trap: two labels may stand for one wire, where it is computed in different ways. PennyLane takes
them for different ones; the engine finds out when the program runs, and reports an overlap.
"""

from collections.abc import Callable, Iterable
from typing import Any

from jax.core import Tracer

from diastase.capture.pennylane_compat.private import patch_while_tracing
from diastase.capture.regions import current_scope


class TracedWire:
    """A wire known only when the program runs; computes like its tracer."""

    __slots__ = ("tracer",)

    def __init__(self, tracer: Any):
        self.tracer = tracer

    @property
    def aval(self) -> Any:
        """The type of the tracer."""
        return self.tracer.aval

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Tracer):  # a wire as the user wrote it
            other = _label(other)
        return isinstance(other, TracedWire) and other.tracer is self.tracer

    def __hash__(self) -> int:
        return id(self.tracer)

    def __repr__(self) -> str:
        return "<traced>"

    def __index__(self) -> int:
        return self.tracer.__index__()

    def __int__(self) -> int:
        return int(self.tracer)

    def __add__(self, other: Any) -> Any:
        return self.tracer + unwrapped(other)

    def __radd__(self, other: Any) -> Any:
        return other + self.tracer

    def __sub__(self, other: Any) -> Any:
        return self.tracer - unwrapped(other)

    def __rsub__(self, other: Any) -> Any:
        return other - self.tracer

    def __mul__(self, other: Any) -> Any:
        return self.tracer * unwrapped(other)

    def __rmul__(self, other: Any) -> Any:
        return other * self.tracer

    def __mod__(self, other: Any) -> Any:
        return self.tracer % unwrapped(other)

    def __floordiv__(self, other: Any) -> Any:
        return self.tracer // unwrapped(other)


def unwrapped(label: Any) -> Any:
    """The tracer of a traced wire; any other label as it is."""
    return label.tracer if isinstance(label, TracedWire) else label


def is_traced_wire(label: Any) -> bool:
    """Whether a label stands for a wire known only when the program runs."""
    return isinstance(label, TracedWire | Tracer)


def with_labels(wires: Any) -> Any:
    """What PennyLane was given for wires, with labels instead of tracers."""
    if isinstance(wires, Tracer):
        return _label(wires) if wires.ndim == 0 else [_label(wire) for wire in wires]
    if not isinstance(wires, Iterable) or isinstance(wires, str):
        return wires
    labels = list(wires)
    if not any(isinstance(label, Tracer) for label in labels):
        return wires if isinstance(wires, list | tuple) else labels
    return [_label(label) if isinstance(label, Tracer) else label for label in labels]


def _label(tracer: Any) -> TracedWire:
    """One label for wires that the circuit computes alike: `w + 1`, written twice."""
    circuit: Any = current_scope()
    known = getattr(circuit, "wires", None)
    return TracedWire(tracer if known is None else known.first(tracer))


def _labelled(original: Callable[[Any], Any], wires: Any) -> Any:
    """`_process`, which sees whatever is given as wires."""
    return original(with_labels(wires))


def _permuted(
    original: Callable[..., None], self: Any, permutation: Any, wires: Any, **others: Any
) -> None:
    """`Permute`, which compares labels before they come to `_process`."""
    original(self, with_labels(permutation), with_labels(wires), **others)


patch_while_tracing("wires", _labelled)
patch_while_tracing("permute", _permuted)
