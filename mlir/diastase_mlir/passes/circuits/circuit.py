"""One circuit of a module, and how a pass changes it.

A circuit is what happens to the register that one `quantum.alloc` makes: the operations that take
it, in program order, in all loops and branches that it is carried through. Another QNode that is
called in between has a circuit of its own; what becomes of a copy of the register is none.

    circuit.gates()                    all gates, in program order, as they are now
    gate.before, gate_before(bit)      what came before, along the qubits
    circuit.replace(gate, [New(…)])    another sequence of gates in its place
    circuit.replace([first, gate], …)  the same for gates that follow each other on the same qubits
    circuit.erase(gate)                nothing in its place
    with circuit.before(gate): …       compute angles there (`values.py`)

A gate on wires that are computed at run time checks that they exist and differ. What takes it away
leaves that check behind (`quantum.check_wires`), so a program that fails without passes fails with
them, with the same message.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.diagnostics import span_at
from diastase_mlir.emit.operations import create, scalar_constant
from diastase_mlir.passes.circuits.errors import InvalidPassError, UnsuitableCircuitError
from diastase_mlir.passes.circuits.gates import Gate, New
from diastase_mlir.passes.circuits.values import as_value
from diastase_mlir.passes.operations import REGISTERS, constant_of, operands_of, operations_in

BIT = "!quantum.bit"


@dataclass(eq=False)
class Block:
    """The operations of one block that take the circuit's register or bits, in order."""

    operations: list[Any]


@dataclass(eq=False)
class Circuit:
    """The operations on one register: what a pass is given.

    `docs/adding-a-pass.md` says what a pass may rely on, and what it must not do.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @passes.register_pass("halve_rotations")
        ... def halve_rotations(circuit):
        ...     def pattern(gate, circuit):
        ...         if gate.name != "RX":
        ...             circuit.erase(gate)
        ...             return
        ...         with circuit.before(gate):
        ...             half = passes.values.multiply(gate.parameters[0], 0.5)
        ...         circuit.replace(gate, [passes.New.like(gate, [half])] * 2)
        ...     circuit.rewrite(pattern)
        ...     circuit.collect()
        ...     print([gate.name for gate in circuit.gates()])
        >>> @qjit
        ... @passes.apply_pass("halve_rotations")
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(x):
        ...     qml.Identity(0)
        ...     qml.RX(x, 0)
        ...     return qml.expval(qml.Z(0))
        >>> print(qml.draw(circuit)(0.1))
        ['RX', 'RX']
        0: ──RX(x*0.5)──RX(x*0.5)─┤  <Z>

    """

    allocation: Any
    """Its `quantum.alloc`."""
    blocks: list[Block] = field(default_factory=list)
    """Outer blocks before the ones inside them."""
    wires: dict[ir.Value, tuple[ir.Value, ir.Value]] = field(default_factory=dict)
    """For each bit the register that it was taken from, and its wire."""
    members: set[Any] = field(default_factory=set)
    """All of its operations."""
    stale: bool = False
    """Whether operations have been changed since they were collected."""

    @staticmethod
    def of(allocation: Any) -> "Circuit":
        """Collect the circuit of an allocation."""
        circuit = Circuit(allocation)
        circuit.collect()
        return circuit

    def collect(self) -> None:
        """Find all operations anew: after they were changed by other means than these methods."""
        self.stale = False
        self.blocks, self.wires, self.members = [], {}, set()
        _collect(self, self.allocation.operation.block, {self.allocation.register})

    def refresh(self) -> None:
        """Find all operations, if any have been changed."""
        if self.stale:
            self.collect()

    # --- what there is ---------------------------------------------------------------------------

    def gates(self) -> list[Gate]:
        """All gates as they are now.

        Returns:
            A list of `Gate`s, in program order within a block, outer blocks first.

        """
        self.refresh()
        named = ("quantum.gate", "quantum.unitary")
        operations = (operation for block in self.blocks for operation in block.operations)
        return [Gate(operation) for operation in operations if operation.operation.name in named]

    def rewrite(self, pattern: Callable[[Gate, "Circuit"], Any]) -> None:
        """Call a pattern with each gate once, in program order.

        Args:
            pattern: takes the gate and the circuit; it may replace the gate, and those before. A
                gate that it makes is not given to it, but the ones after see it.

        """
        for gate in self.gates():
            pattern(gate, self)

    # --- changes ---------------------------------------------------------------------------------

    @contextmanager
    def before(self, gate: Gate) -> Generator[None]:
        """Emit what is created inside just before a gate, as on its line.

        Args:
            gate: one of the circuit's, as it is now.

        Yields:
            Nothing.

        """
        with ir.InsertionPoint(gate.operation), gate.operation.operation.location:
            yield

    def erase(self, gates: Gate | Sequence[Gate]) -> None:
        """Take gates away, whose product is the identity.

        Args:
            gates: one, or several that directly follow each other on the same qubits.

        Raises:
            InvalidPassError: a `TypeError`, if they do not.

        """
        self.replace(gates, [])

    def replace(self, gates: Gate | Sequence[Gate], by: Sequence[New]) -> None:
        """Put new gates in the place of one, or of several that directly follow each other.

        The new ones stand where the last one stood, and say that they come from the line of the
        first one. Their product must be the same, global phase included.

        Args:
            gates: one, or several that directly follow each other on the same qubits.
            by: `New` gates, in order, on positions among the bits of the first one.

        Raises:
            InvalidPassError: a `TypeError`, if they do not follow each other.

        """
        self.stale = True
        chain = [gates] if isinstance(gates, Gate) else list(gates)
        first, last = chain[0], chain[-1]
        site = first.operation.site
        position = {bit: number for number, bit in enumerate(first.bits)}
        for gate in chain:
            if not position.keys() >= set(gate.bits):
                reason = f"{gate.name} does not follow {first.name} on the same qubits"
                raise InvalidPassError(name="replace", reason=reason)
            for bit, result in zip(gate.bits, gate.results, strict=True):
                position[result] = position[bit]
        self._keep_check(first, by)
        current = first.bits
        with self.before(last):
            for new in by:
                parameters = [as_value(parameter) for parameter in new.parameters]
                made = new.create(current, parameters, site)
                for place, result in zip((*new.wires, *new.controls), made.results, strict=True):
                    self.wires[result] = self.wires[current[place]]
                    current[place] = result
        for result in last.results:
            result.replace_all_uses_with(current[position[result]])
        for gate in reversed(chain):
            gate.operation.operation.erase()

    def auxiliary_wire(self, place: int) -> int:
        """A wire that the circuit has beside the user's, one of as many as passes ask for.

        It is in |0> between segments (`segments.py`): whoever uses it leaves it so.
        `UnsuitableCircuitError` where the number of wires is known only when the program runs.
        """
        size, added = constant_of(self.allocation.num_wires), auxiliary_wires(self.allocation)
        if size is None:
            raise UnsuitableCircuitError(
                name="a pass that needs auxiliary wires", instead="give the device its wires",
                construct="this circuit", span=span_at(str(self.allocation.operation.location)),
                reason="its number of wires is known only when the program runs",
            )  # fmt: skip
        if place >= added:
            operation, long = self.allocation.operation, ir.IntegerType.get_signless(64)
            with ir.InsertionPoint(operation), operation.location:
                operation.operands[0] = scalar_constant(long, size - added + place + 1)
            operation.attributes[AUXILIARY] = ir.IntegerAttr.get(long, place + 1)
        return size - added + place

    def _keep_check(self, gate: Gate, by: Sequence[New]) -> None:
        """Check the wires of a gate that goes, unless they are known to exist and differ."""
        bits = gate.bits
        everything = set(range(len(bits)))
        if any({*new.wires, *new.controls} == everything for new in by):
            return
        wires = [self.wires[bit][1] for bit in bits]
        numbers = [constant_of(wire) for wire in wires]
        size = constant_of(self.allocation.num_wires)
        if size is not None and None not in numbers:
            return
        with self.before(gate):
            operands = [self.wires[bits[0]][0], *wires]
            create("quantum.check_wires", [], operands, {"site": gate.operation.site})


AUXILIARY = "auxiliary"
"""An attribute of `quantum.alloc`: how many of the wires, the last ones, passes have added."""


def auxiliary_wires(operation: Any) -> int:
    """How many wires passes have added to a register, by the operation that makes it."""
    attributes = operation.operation.attributes
    return ir.IntegerAttr(attributes[AUXILIARY]).value if AUXILIARY in attributes else 0


def _collect(circuit: Circuit, block: ir.Block, mine: set[ir.Value]) -> bool:
    """Collect what takes values of the circuit in a block and inside; whether there is anything."""
    found = Block([])
    circuit.blocks.append(found)
    for operation in block.operations:
        inner = operation.operation
        takes = any(operand in mine for operand in operands_of(inner))
        if len(inner.regions):
            takes = _collect_regions(circuit, inner, mine, takes)
        elif takes:
            _note_results(circuit, inner, mine)
        if takes or inner == circuit.allocation.operation:
            found.operations.append(operation)
            circuit.members.add(inner)
    if not found.operations:
        circuit.blocks.remove(found)
    return bool(found.operations)


def _collect_regions(circuit: Circuit, inner: Any, mine: set[ir.Value], takes: bool) -> bool:
    """Control flow: the register goes in, and what comes out is the circuit's if it went through.

    Where two registers go in, which is which is not followed: nothing inside is the circuit's.
    """
    blocks = [block for region in inner.regions for block in region.blocks]
    entering = [_registers(block.arguments) for block in blocks]
    leaving = _registers(inner.results)
    if any(len(registers) > 1 for registers in (*entering, leaving)):
        return takes or _takes_inside(inner, mine)
    for block, registers in zip(blocks, entering, strict=True):
        if takes:
            mine.update(registers)
        takes |= _collect(circuit, block, mine)
    ends = [_registers(list(block.operations)[-1].operation.operands) for block in blocks]
    if all(value in mine for registers in ends for value in registers):
        mine.update(leaving if takes else ())
    return takes


def _registers(values: Iterable[ir.Value]) -> list[ir.Value]:
    return [value for value in values if str(value.type) in REGISTERS]


def _takes_inside(operation: Any, mine: set[ir.Value]) -> bool:
    inside = operations_in(operation)
    return any(operand in mine for inner in inside for operand in inner.operands)


def _note_results(circuit: Circuit, inner: Any, mine: set[ir.Value]) -> None:
    """The bits that an operation gives are the circuit's, and a register that is the same one.

    An operation that is not known here may give another register: a copy, say.
    """
    results, operands = list(inner.results), operands_of(inner)
    bits: list[ir.Value] = []
    match inner.name:
        case "quantum.extract":
            circuit.wires[results[0]] = (operands[0], operands[1])
        case "quantum.gate" | "quantum.unitary":
            bits = operands[-len(results) :]
        case "quantum.measure":
            bits, results = operands, results[:-1]
        case "quantum.insert" | "quantum.global_phase" | "quantum.follow":
            pass
        case _:
            bits = [value for value in operands if str(value.type) == BIT]
            results = [value for value in results if str(value.type) == BIT]
    mine.update(results)
    if bits:
        for bit, result in zip(bits, results, strict=True):
            circuit.wires[result] = circuit.wires[bit]
