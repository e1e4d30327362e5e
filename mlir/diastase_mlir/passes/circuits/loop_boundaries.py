"""Gates at the two ends of a loop's body: the last of one iteration meets the first of the next.

    for { F; R; L }    ->    F; for { R }; L                    where L then F is the identity
    for { F; R; L }    ->    F; for { R; LF }; inverse of F     where L then F is one rotation LF

This is so for any number of iterations, none included, and whatever R is: what is moved out at the
front is undone at the back. Only the order counts: nothing in the body acts on F's qubits before F,
or on L's after L. Wires are known, so the gates cannot fail where the loop is not entered; F's
parameters are computed outside of the loop. The condition of a `while` must leave the qubits alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.circuits.circuit import BIT, Circuit
from diastase_mlir.passes.circuits.forwarding import forward_qubits, touched_wires
from diastase_mlir.passes.circuits.gates import Form, Gate, New, form_on
from diastase_mlir.passes.circuits.values import Number, as_value
from diastase_mlir.passes.memory import word
from diastase_mlir.passes.operations import REGISTERS, constant_of

_PASSIVE = frozenset({
    "quantum.extract", "quantum.insert", "quantum.global_phase", "quantum.check_wires",
    "scf.yield", "scf.condition",
})  # fmt: skip
"""Operations that act on no qubit, or, as a phase, commute with all that do."""


@dataclass(frozen=True)
class Boundary:
    """A gate at the start of a loop's body, and one at its end, on the same known wires."""

    loop: Any
    first: Gate
    last: Gate
    first_wires: list[int]
    last_wires: list[int]

    @property
    def forms(self) -> tuple[Form, Form]:
        """What the two gates do, on wires: the last one, then the first."""
        return form_on(self.last, self.last_wires), form_on(self.first, self.first_wires)


def move_out(circuit: Circuit, found: Boundary, before: New, after: New) -> None:
    """Put one gate before the loop and one after it; the gates inside are the caller's."""
    loop, location = found.loop, found.first.operation.operation.location
    position = next(k for k, v in enumerate(loop.operands) if str(v.type) in REGISTERS)
    site = found.first.operation.site
    with ir.InsertionPoint(loop), location:
        register = loop.operands[position]
        loop.operands[position] = _applied(register, before, found.first_wires, site)
    result = next(value for value in loop.results if str(value.type) in REGISTERS)
    uses = [(use.owner, use.operand_number) for use in result.uses]
    with ir.InsertionPoint.after(loop), location:
        applied = _applied(result, after, found.last_wires, site)
    for user, number in uses:
        user.operands[number] = applied
    circuit.stale = True


def repeat_with_loops(
    circuit: Circuit, pattern: Callable[[Gate, Circuit], Any], at_boundary: Callable[..., bool]
) -> None:
    """Apply a pattern, and its like at the ends of loops, until no loop has anything left.

    `at_boundary(boundary, circuit)` says whether it has changed anything.
    """
    circuit.rewrite(pattern)
    while _changed_at_boundaries(circuit, at_boundary):
        forward_qubits(circuit)
        circuit.rewrite(pattern)


def outside(parameters: Sequence[ir.Value], loop: Any) -> list[Number] | None:
    """Parameters as they are before a loop starts; None if one is computed inside."""
    numbers = [constant_of(parameter) for parameter in parameters]
    pairs = list(zip(parameters, numbers, strict=True))
    if any(number is None and not _is_outside(value, loop) for value, number in pairs):
        return None
    return [value if number is None else number for value, number in pairs]


def _changed_at_boundaries(circuit: Circuit, at_boundary: Callable[..., bool]) -> bool:
    """Go through all loops, inner ones first, and change each at most once."""
    circuit.refresh()
    if constant_of(circuit.allocation.num_wires) is None:
        return False
    loops = [
        operation.operation
        for block in reversed(circuit.blocks)
        for operation in block.operations
        if operation.operation.name in ("scf.for", "scf.while")
    ]
    changed = False
    for loop in loops:
        circuit.refresh()
        changed |= any(at_boundary(found, circuit) for found in _boundaries_of(loop, circuit))
    return changed


def _is_outside(value: ir.Value, loop: Any) -> bool:
    owner: Any = value.owner
    operation = owner.owner if isinstance(owner, ir.Block) else owner
    while operation is not None:
        if operation.operation == loop:
            return False
        operation = operation.operation.parent
    return True


def _applied(register: ir.Value, new: New, wires: Sequence[int], site: Any) -> ir.Value:
    """A register after one more gate; emitted here."""
    numbers = [word(wire) for wire in wires]
    bit, whole = ir.Type.parse(BIT), register.type
    bits = [create("quantum.extract", [bit], [register, wire]).result for wire in numbers]
    gate = new.create(bits, [as_value(parameter) for parameter in new.parameters], site)
    places = (*new.wires, *new.controls)
    for place, result in zip(places, gate.results, strict=True):
        operands = [register, numbers[place], result]
        register = create("quantum.insert", [whole], operands).result
    return register


def _boundaries_of(loop: Any, circuit: Circuit) -> Iterable[Boundary]:
    regions = list(loop.regions)
    body = [op for op in regions[-1].blocks[0].operations if op.operation in circuit.members]
    excluded: set[int] | None = set()
    if len(regions) == 2:
        excluded = touched_wires(regions[0].blocks[0].operations)
    if excluded is None or len([v for v in loop.results if str(v.type) in REGISTERS]) != 1:
        return
    firsts = _first_gates(body, circuit)
    lasts = _first_gates(reversed(body), circuit)
    for first, wires in firsts:
        for last, last_wires in lasts:
            same = first.operation.operation == last.operation.operation
            if not same and set(wires) == set(last_wires) and excluded.isdisjoint(wires):
                yield Boundary(loop, first, last, wires, last_wires)


def _first_gates(operations: Iterable[Any], circuit: Circuit) -> list[tuple[Gate, list[int]]]:
    """Gates by name before which nothing acts on their wires, with these."""
    found: list[tuple[Gate, list[int]]] = []
    touched: set[int] = set()
    for operation in operations:
        if operation.operation.name in _PASSIVE:
            continue
        wires = _wires_of(operation, circuit)
        if wires is None:
            break
        if operation.operation.name == "quantum.gate" and touched.isdisjoint(wires):
            found.append((Gate(operation), wires))
        touched.update(wires)
    return found


def _wires_of(operation: Any, circuit: Circuit) -> list[int] | None:
    """The wires that an operation acts on, None if they are not known."""
    inner = operation.operation
    if len(inner.regions):
        wires = touched_wires([inner])
        return None if wires is None else list(wires)
    bits = [value for value in inner.operands if str(value.type) == BIT]
    if any(str(value.type) in REGISTERS for value in inner.operands) or not bits:
        return None
    numbers = [constant_of(circuit.wires[bit][1]) for bit in bits]
    return None if None in numbers else numbers
