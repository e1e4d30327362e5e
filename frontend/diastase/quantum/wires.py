"""From PennyLane's wire labels to positions in the register; `qml.allocate` and `qml.deallocate`.

A position is a plain `int`, or a traced `i64` scalar. Labels of a device may be anything hashable;
they are looked up here. A traced wire *is* a position, so it needs a device labelled 0, 1, 2, ….

An allocated wire is one of the device that nothing else in the circuit names (on a device without
wires, a new one), in the order of PennyLane's `resolve_dynamic_wires`. Where PennyLane would reset
a wire by measuring it, as no other one is in |0>, we refuse: the measurement would change what the
program computes. In a loop or branch wires must be restored, as the next iteration gets the same.

The trap: a device without wires gets those that the circuit names, in an order that depends on all
of them, and which wires are free is known only at the end. So such a circuit is traced twice. In
the first trace positions are stand-ins; `raise WiresFound` gives it up (`traced_again`).
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from pennylane.wires import DynamicWire

from diastase.capture.dynamic_carry import dimension_table
from diastase.capture.pennylane_compat import TracedNumber, is_traced_wire, unwrapped
from diastase.capture.quantum_errors import (
    AllocationError,
    UnknownWireError,
    UnknownWiresError,
    WireTypeError,
)
from diastase.dynamic_shapes.value_numbering import SameValues
from diastase_mlir.jax_compat import is_recorded, is_recorded_variable
from diastase_runtime.errors import InternalError, OverlappingWiresError, WireOutOfRangeError

# --- allocation ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class MadeUp:
    """A wire that stands for one whose label is not known yet."""

    number: int


@dataclass
class Pool:
    """The wires that one circuit has for allocation."""

    unused: list[Any] | None
    """In |0>, the next one last; None where wires are being counted, and there are always more."""
    any_state: list[Any] = field(default_factory=list)
    created: int = 0
    """How many wires were made up, to be counted."""
    was_used: bool = False
    _loans: dict[Any, tuple[Any, bool]] = field(default_factory=dict)
    """From a dynamic wire to the wire that it is, and whether it comes back in |0>."""
    _zeroed: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._zeroed = list(self.unused or ())

    def allocate(self, wires: Iterable[Any], state: str, restored: bool, in_region: bool) -> None:
        """Choose a wire for each dynamic wire."""
        self.was_used = True
        if in_region and state == "zero" and not restored:
            reason = (
                "in a loop or branch, allocate wires with restored=True, and restore them before "
                "they are deallocated"
            )
            raise AllocationError(reason=reason)
        for wire in wires:
            if state == "any" and self.any_state:
                self._loans[wire] = self.any_state.pop(), False
            else:
                self._loans[wire] = self._in_zero(), restored

    def deallocate(self, wires: Iterable[Any]) -> None:
        """Take the wires back."""
        for wire in wires:
            self.wire(wire)
            place, restored = self._loans.pop(wire)
            (self._zeroed if restored else self.any_state).append(place)

    def wire(self, dynamic: Any) -> Any:
        """The wire that a dynamic wire is at the moment."""
        if dynamic not in self._loans:
            reason = "a wire is used that is not allocated, or not any more"
            raise AllocationError(reason=reason)
        return self._loans[dynamic][0]

    def _in_zero(self) -> Any:
        if self._zeroed:
            return self._zeroed.pop()
        if self.unused is None:
            self.created += 1
            return MadeUp(self.created - 1)
        reason = (
            "no wire in |0> is left to allocate: give the device more wires, or restore wires and "
            "say so with restored=True"
        )
        raise AllocationError(reason=reason)


# --- wires that a first trace finds --------------------------------------------------------------


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Found:
    """The wires of a circuit."""

    labels: tuple[Any, ...]
    """All of them, in the order of the register."""
    unused: tuple[Any, ...]
    """Those that are named nowhere, for `qml.allocate`."""


class WiresFound(BaseException):
    """The end of the first trace; not an `Exception`, as no handler of the user's is meant."""

    def __init__(self, found: Found):
        super().__init__(found)
        self.found = found


_found: ContextVar[Found | None] = ContextVar("the wires of a circuit", default=None)


def found_wires() -> Found | None:
    """What a first trace of the circuit has found, in the second one."""
    return _found.get()


def traced_again(trace: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Call a function that traces a circuit again, if the first trace found its wires."""

    @functools.wraps(trace)
    def traced(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        outer = _found.set(None)
        try:
            try:
                return trace(*args, **kwargs)
            except WiresFound as end:
                _found.set(end.found)
            return trace(*args, **kwargs)
        finally:
            _found.reset(outer)

    return traced


# --- labels and positions ------------------------------------------------------------------------


Position = int | jax.Array
"""A number known now, or a traced `i64` scalar."""

_STAND_IN = 1_000_000
"""From here on, positions stand for ones that only the second trace knows."""


@dataclass
class WireMap:
    """The wires of one QNode."""

    qnode: str
    labels: tuple[Any, ...] | None
    """Of the device, in order; None where it has none."""
    traced: TracedNumber | None = None
    """How many wires the device has, numbered 0, 1, 2, …, where only the program knows it."""
    pool: Pool = field(default_factory=lambda: Pool(None))
    """Wires for `qml.allocate`."""
    _named: dict[Any, int] = field(default_factory=dict)
    """Labels that the circuit names, in this order, with their positions."""
    _named_by_operators: int | None = None
    """How many of them; measurements name the others."""
    _traced: str | None = None
    """An operation with a traced wire."""
    _fixed: bool = False
    _wanted_early: bool = False
    """Whether somebody asked for the number of wires before all were named."""
    _values: SameValues = field(default_factory=SameValues)
    _tracers: dict[Any, jax.Array] = field(default_factory=dict)
    """The first of the tracers that are known to be one value; by its variable."""

    def __post_init__(self) -> None:
        self.are_the_devices = self.labels is not None
        """Whether the device says which wires there are; else the circuit does."""
        found = found_wires()
        if found is not None:
            self.labels, self.pool = found.labels, Pool(list(reversed(found.unused)))

    def end_of_operators(self) -> None:
        """From now on, measurements name wires."""
        self._named_by_operators = len(self._named)

    def positions(self, labels: Iterable[Any], construct: str) -> tuple[Position, ...]:
        """Where these wires are; refuses unknown ones and static overlaps."""
        positions = tuple(self._position(label, construct) for label in labels)
        known = [position for position in positions if isinstance(position, int)]
        for index, position in enumerate(known):
            if position in known[:index]:
                raise OverlappingWiresError(construct=construct, wire=position)
        return positions

    def take_note(self, labels: Iterable[Any], construct: str) -> None:
        """These wires belong to the circuit, even if no gate acts on them.

        `PauliRot(x, "XI", wires=[0, 1])` makes two qubits, as in PennyLane.
        """
        self.positions([label for label in labels if not is_traced_wire(label)], construct)

    @property
    def number(self) -> int:
        """How many qubits the register has; final once everything has been recorded."""
        if self.labels is not None and (found_wires() or not self.pool.was_used):
            return len(self.labels)
        if self.traced is not None:
            reason = "the number of wires is traced, which this measurement does not take"
            raise UnknownWiresError(qnode=self.qnode, reason=reason)
        self._fixed = True
        if self._traced is not None:
            raise UnknownWiresError(
                qnode=self.qnode, reason=f"{self._traced} acts on a traced wire"
            )
        if self.labels is not None:
            unused = tuple(label for label in self.labels if label not in self._named)
            raise WiresFound(Found(self.labels, unused))
        if not self._named:
            raise UnknownWiresError(qnode=self.qnode, reason="the circuit names none")
        return self._counted()

    def _counted(self) -> int:
        """How many wires a circuit names, if they are 0, 1, 2, …, as PennyLane counts them."""
        first = 1 + max((label for label in self._named if isinstance(label, int)), default=-1)
        named = tuple(
            first + label.number if isinstance(label, MadeUp) else label for label in self._named
        )
        own = len(named) if self._named_by_operators is None else self._named_by_operators
        in_order = set(named[:own]) == set(range(own)) and set(named) == set(range(len(named)))
        if in_order and not self.pool.was_used and not self._wanted_early:
            return len(named)
        labels = tuple(range(len(named))) if in_order else named
        raise WiresFound(Found(labels, tuple(range(first, first + self.pool.created))))

    @property
    def leaves_out(self) -> bool:
        """Whether a device without wires has gone without one below the largest that is named."""
        numbers = {label for label in self._named if isinstance(label, int)}
        return not self.are_the_devices and numbers != set(range(max(numbers, default=-1) + 1))

    def must_be_found_first(self) -> bool:
        """Whether the register's size is wanted now, and known only once all wires are named."""
        known = self.traced is not None or found_wires() is not None
        self._wanted_early |= not known and (self.labels is None or self.pool.was_used)
        return self._wanted_early

    @property
    def states(self) -> Any:
        """How many basis states the register has: the length of its state."""
        if self.traced is None:
            return 2**self.number
        return dimension_table().size(self.traced.states)

    def _position(self, label: Any, construct: str) -> Position:
        if type(label) is not int:  # most are
            label = unwrapped(label)
            if isinstance(label, DynamicWire):
                label = self.pool.wire(label)
            if isinstance(label, Tracer):
                return self._traced_position(label, construct)
            if isinstance(label, jax.Array | np.generic | np.ndarray) and np.ndim(label) == 0:
                label = np.asarray(label).item()
        if self.traced is not None:
            return self._known_position(label, construct)
        if self.labels is None or isinstance(label, MadeUp):
            return self._new_position(label)
        if label not in self.labels:
            raise self._unknown(label, construct)
        return self._named.setdefault(label, self.labels.index(label))

    def _unknown(self, label: Any, construct: str) -> WireOutOfRangeError | UnknownWireError:
        assert self.labels is not None
        if self._numbered and isinstance(label, int):
            return WireOutOfRangeError(construct=construct, wire=label, num_wires=len(self.labels))
        return UnknownWireError(construct=construct, wire=label, wires=list(self.labels))

    @property
    def _numbered(self) -> bool:
        """Whether the device's wires are 0, 1, 2, …."""
        return self.labels is not None and self.labels == tuple(range(len(self.labels)))

    def _known_position(self, label: Any, construct: str) -> int:
        """A wire of a device with a traced number of them; too large ones are found later."""
        if isinstance(label, int) and label >= 0:
            return label
        reason = "the device's wires are 0, 1, 2, …, as their number is traced"
        raise WireTypeError(operation=f"{construct} on wire {label!r}", reason=reason)

    def _new_position(self, label: Any) -> int:
        """A wire of a device without wires: its number is its position, if all are numbers."""
        if self._fixed and label not in self._named:
            raise InternalError(what=f"wire {label} named after the wires were counted")
        is_number = isinstance(label, int) and label >= 0
        return self._named.setdefault(label, label if is_number else _STAND_IN + len(self._named))

    def _traced_position(self, label: Any, construct: str) -> jax.Array:
        if label.ndim != 0 or not jnp.issubdtype(label.dtype, jnp.integer):
            reason = f"a wire is an integer scalar, not {label.aval.str_short()}"
            raise WireTypeError(operation=construct, reason=reason)
        self._traced = self._traced or construct
        if self.labels is not None and not self._numbered:
            reason = f"a traced wire needs a device with the wires 0, 1, 2, …, not {self.labels}"
            raise WireTypeError(operation=construct, reason=reason)
        return as_dtype(self.first(label), jnp.int64)

    def first(self, label: Any) -> jax.Array:
        """One tracer for wires computed alike: `w[0]`, written twice, is two tracers."""
        if not is_recorded(label) or not is_recorded_variable(label):
            return label
        return self._tracers.setdefault(self._values.representative(label), label)


def as_dtype(value: jax.Array, dtype: Any) -> jax.Array:
    """A traced value of this dtype; `astype` would record an equation for a weak type, too."""
    return value if value.dtype == dtype else value.astype(dtype)


def split_positions(positions: Sequence[Position]) -> tuple[tuple[int | None, ...], list[Any]]:
    """As primitives take them: known ones with None for the others, and those others."""
    known = tuple(wire if isinstance(wire, int) else None for wire in positions)
    return known, [wire for wire in positions if not isinstance(wire, int)]


def bind_on(
    primitive: Any, register: Any, wires: Sequence[Position], *operands: Any, **params: Any
) -> Any:
    """Bind a primitive that takes wires: known ones in `wires`, traced ones as last operands."""
    known, traced = split_positions(wires)
    return primitive.bind(register, *operands, *traced, wires=known, **params)


def as_list(wires: Any) -> list[Any]:
    """One wire, or a collection of them."""
    if isinstance(wires, str) or not hasattr(wires, "__len__") or getattr(wires, "ndim", 1) == 0:
        return [wires]
    return list(wires)
