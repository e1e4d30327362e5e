"""Dynamic allocation of wires: `qml.allocate` and `qml.deallocate`, with PennyLane's meaning.

An allocated wire is one of the device that nothing else in the circuit names (on a device without
wires, a new one), in the order of PennyLane's `resolve_dynamic_wires`: one that was given back is
taken first. A wire that was promised to be restored is in |0> again when it is given back; any
other one serves only who takes wires in any state.

Where PennyLane would reset a wire by measuring it, as it has no other one in |0>, we refuse: the
measurement would change what the program computes. In a loop or branch, wires must be restored,
because the next iteration gets the same ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from diastase.capture.quantum_errors import AllocationError


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
