"""How operations of a circuit's module become equations again, one by one.

The trap: an operation of a pass's own has no equation of its own. A gate is that of the line of the
one in whose place it stands (`site`), a number that of the line where it is computed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Literal, Primitive, Var

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.pass_pipeline import PassError
from diastase_mlir.circuit_modules.blocks import Block, State, aval_of, equation_of
from diastase_mlir.circuit_modules.origin import EQUATION, LITERAL, SAME, Origin, is_register
from diastase_mlir.jax_compat import is_dropped, new_equation, new_variable
from diastase_mlir.passes.circuits.values import MATRIX, constant_of, defining
from diastase_mlir.passes.operations import bits_of, operands_of


@dataclass(frozen=True)
class Reader:
    """Reads blocks; `rules` say how, by the names of operations, all others being classical."""

    origin: Origin
    primitives: Mapping[str, Primitive]
    rules: "Mapping[str, Rule]"

    def block(self, block: ir.Block, into: Block) -> list[Any]:
        """Read a block; its results."""
        *operations, end = block.operations
        for operation in operations:
            inner = operation.operation
            read = self.rules.get(inner.name, Reader.classical)
            read(self, inner, into)
        operands = list(end.operation.operands)
        if end.operation.name == "scf.condition":
            operands = operands[:1]
        return [self.atom_or_register(value, into) for value in operands]

    # --- values ----------------------------------------------------------------------------------

    def atom_or_register(self, value: ir.Value, block: Block) -> Any:
        """The variable or constant of any value."""
        is_state = str(value.type).endswith("register")
        return self.state(value, block).variable if is_state else self.atom(value, block)

    def atom(self, value: ir.Value, block: Block) -> Any:
        """The variable or constant that a value is, in the jaxpr that is being read."""
        if value in block.atoms:
            return block.atoms[value]
        operation = defining(value)
        if operation is not None:
            constant = self.constant(operation.operation)
            if isinstance(constant, Literal):
                block.atoms[value] = constant
                return constant
            if operation.name in _TRANSPARENT:
                return self.atom(operation.operands[0], block)
        assert block.outer is not None, f"nothing gives {value}"
        outside = self.atom(value, block.outer)
        if not isinstance(outside, Var):
            return outside
        inside = block.captured.setdefault(outside, new_variable(outside.aval))
        block.atoms[value] = inside
        return inside

    def constant(self, operation: ir.Operation) -> Any:
        """The atom of a constant, or None; a variable, if an input is known."""
        if operation.name not in ("arith.constant", "jax.literal", MATRIX):
            return None
        atom = None
        if LITERAL in operation.attributes:
            atom = self.origin.literals[_integer(operation, LITERAL)]
        if operation.name != "arith.constant":
            return atom
        number, aval = constant_of(operation.results[0]), aval_of(operation.results[0])
        if atom is not None and self._is_still(atom, number):
            return atom
        if number is None or aval is None:
            raise unreadable(operation)
        return Literal(aval.dtype.type(number), aval)

    def _is_still(self, atom: Any, number: Any) -> bool:
        """Whether a constant has the number that was written."""
        if isinstance(atom, Var):
            return True
        value = np.asarray(atom.val).item()
        return value == number or value != value

    # --- registers -------------------------------------------------------------------------------

    def state(self, register: ir.Value, block: Block) -> State:
        """What has become of a register, or of that which a bit was taken from."""
        found = block.states.get(register)
        if found is not None:
            return found
        assert block.outer is not None, f"nothing gives {register}"
        outside = self.state(register, block.outer)
        assert block.entering is not None, "a region takes a register that its equation does not"
        assert block.entered in (None, outside), "a region takes two registers"
        block.entered = outside
        block.states[register] = block.entering
        return block.entering

    def advance(self, state: State, equation: Any, block: Block) -> None:
        """An equation that gives the register next."""
        state.variable = equation.outvars[0]
        block.equations.append(equation)

    def allocate(self, operation: ir.Operation, block: Block) -> None:
        """The first register."""
        equation = self.origin.equations[_integer(operation, "site")]
        params, operands = equation.params, list[Any]()
        if equation.invars:
            operands = [self.atom(operation.operands[0], block)]
        else:
            params = {**params, "num_wires": constant_of(operation.operands[0])}
        state = State(None)
        block.states[operation.results[0]] = state
        self.advance(state, equation.replace(invars=operands, params=params), block)

    def release(self, operation: ir.Operation, block: Block) -> None:
        """The end of a register."""
        state = self.state(operation.operands[0], block)
        equation = self.equation(operation)
        block.equations.append(equation.replace(invars=[state.variable]))

    def extract(self, operation: ir.Operation, block: Block) -> None:
        """A qubit: which register it is of, and on which wire."""
        register, wire = operation.operands
        (bit,) = operation.results
        block.states[bit], block.wires[bit] = self.state(register, block), wire

    def insert(self, operation: ir.Operation, block: Block) -> None:
        """The register that a qubit is put back into."""
        block.states[operation.results[0]] = self.state(operation.operands[0], block)

    def _wires(self, values: Sequence[ir.Value], block: Block) -> dict[str, Any]:
        numbers = tuple(map(_known_wire, values))
        operands = [
            self.atom(value, block)
            for value, number in zip(values, numbers, strict=True)
            if number is None
        ]
        return {"wires": numbers, "operands": operands}

    def on_qubits(self, operation: ir.Operation, block: Block) -> None:
        """A gate, of whatever kind, or a preparation or measurement."""
        bits = bits_of(operation)
        others = operands_of(operation)[: -len(bits)]
        states = {self.state(bit, block) for bit in bits}
        if len(states) != 1 or not block.wires.keys() >= set(bits):
            reason = "a gate acts on qubits that are not of one register"
            raise PassError(reason, operation.location)
        (state,) = states
        wires = [block.wires[bit] for bit in bits]
        found = self._wires(wires, block)
        params: dict[str, Any] = {"wires": found["wires"]}
        if "control_values" in operation.attributes:
            values = ir.DenseBoolArrayAttr(operation.attributes["control_values"])
            params["control_values"] = tuple(map(bool, values))
        site = self.origin.equations[_integer(operation, "site")]
        name = operation.name.removeprefix("quantum.")
        if name == "gate":
            params["name"] = ir.StringAttr(operation.attributes["gate_name"]).value
            params["num_parameters"] = len(others)
        elif site.primitive.name == name:
            params = {**site.params, **params}
        results = [new_variable(state.variable.aval)]
        if name == "measure":
            outcome = operation.results[len(bits)]
            params["word"] = ir.StringAttr(operation.attributes["word"]).value
            params["reset"] = ir.BoolAttr(operation.attributes["reset"]).value
            postselect = _integer(operation, "postselect")
            params["postselect"] = None if postselect < 0 else postselect
            is_first = site.primitive.name == name and id(site) not in block.measured
            block.measured.add(id(site))
            own = self.results(site, block)[1] if is_first else new_variable(_OUTCOME)
            results.append(own)
            block.atoms[outcome] = own
        operands = [state.variable, *(self.atom(v, block) for v in others), *found["operands"]]
        primitive = self.primitives[name]
        equation = new_equation(primitive, operands, results, params, site.source_info)
        self.advance(state, equation, block)
        for bit, result in zip(bits, operation.results, strict=False):
            block.states[result], block.wires[result] = state, block.wires[bit]

    def on_register(self, operation: ir.Operation, block: Block) -> None:
        """A phase, or a script to follow."""
        register, operand = operation.operands
        state = self.state(register, block)
        site = self.origin.equations[_integer(operation, "site")]
        primitive = self.primitives[_ON_REGISTERS[operation.name]]
        operands = [state.variable, self.atom(operand, block)]
        results = [new_variable(state.variable.aval)]
        equation = new_equation(primitive, operands, results, {}, site.source_info)
        self.advance(state, equation, block)
        block.states[operation.results[0]] = state

    def check_wires(self, operation: ir.Operation, block: Block) -> None:
        """A check, written or left behind by a gate that is gone."""
        register, *wires = operation.operands
        state = self.state(register, block)
        found = self._wires(wires, block)
        site = self.origin.equations[_integer(operation, "site")]
        params = {"wires": found["wires"], "construct": _construct(site)}
        operands = [state.variable, *found["operands"]]
        results = [new_variable(state.variable.aval)]
        primitive = self.primitives["check_wires"]
        equation = new_equation(primitive, operands, results, params, site.source_info)
        self.advance(state, equation, block)

    # --- classical equations ---------------------------------------------------------------------

    def classical(self, operation: ir.Operation, block: Block) -> None:
        """An equation as it was, on other operands perhaps; a constant; or what a pass computes."""
        if operation.name in _TRANSPARENT:
            self._same(operation, block)
        elif EQUATION in operation.attributes:
            self._as_it_was(operation, block)
        elif operation.name in ("arith.constant", "jax.literal", MATRIX):
            atom = self.constant(operation)
            if isinstance(atom, Var):
                block.atoms[operation.results[0]] = atom
        elif LITERAL in operation.attributes:  # an input that is the opposite of another one
            literal = self.origin.literals[_integer(operation, LITERAL)]
            block.atoms[operation.results[0]] = literal
        else:
            self._computed(operation, block)

    def _same(self, operation: ir.Operation, block: Block) -> None:
        (value,), (result,) = operation.operands, operation.results
        if str(value.type).endswith("register"):
            block.states[result] = self.state(value, block)
        else:
            block.atoms[result] = self.atom(value, block)

    def _as_it_was(self, operation: ir.Operation, block: Block) -> None:
        equation = self.equation(operation)
        given = iter(operation.operands)
        operands = [
            atom if hasattr(atom, "val") else self.atom_or_register(next(given), block)
            for atom in equation.invars
        ]
        results = self.results(equation, block)
        block.equations.append(equation.replace(invars=operands, outvars=results))
        self._define(operation, results, block)

    def _computed(self, operation: ir.Operation, block: Block) -> None:
        template = equation_of(operation)
        if template is None:
            raise unreadable(operation)
        equation = template.equation
        operands = [self.atom(operation.operands[place], block) for place in template.places]
        variable = new_variable(equation.outvars[0].aval)
        source = self.origin.sources.get(str(operation.location), equation.source_info)
        block.equations.append(
            equation.replace(invars=operands, outvars=[variable], source_info=source)
        )
        block.atoms[operation.results[0]] = variable

    # --- equations -------------------------------------------------------------------------------

    def equation(self, operation: ir.Operation) -> Any:
        """The equation that an operation was written from."""
        if EQUATION not in operation.attributes:
            raise unreadable(operation)
        return self.origin.equations[_integer(operation, EQUATION)]

    def results(self, equation: Any, block: Block) -> list[Any]:
        """The variables of an equation, which may be used now where they were not before."""
        return [new_variable(v.aval) if is_dropped(v) else v for v in equation.outvars]

    def _define(self, operation: ir.Operation, results: Sequence[Any], block: Block) -> None:
        for value, variable in zip(operation.results, results, strict=True):
            if is_register(variable.aval):
                block.states[value] = State(variable)
            else:
                block.atoms[value] = variable


def _known_wire(value: ir.Value) -> int | None:
    """The number of a wire that an equation has as a parameter; not what was an operand.

    Wires that are operands are checked when the program runs, also where they are constants.
    """
    operation = defining(value)
    return None if operation is None or LITERAL in operation.attributes else constant_of(value)


def _construct(site: Any) -> str:
    """What errors call the operation of an equation."""
    name = site.primitive.name
    own: str = site.params.get("name") or site.params.get("construct") or name
    return _CONSTRUCTS.get(name, own)


def unreadable(operation: ir.Operation) -> PassError:
    """Refuse an operation that no equation stands for."""
    reason = f"a pass has left {operation.name}, which is no operation of a circuit"
    return PassError(reason, operation.location)


def _integer(operation: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(operation.attributes[name]).value


_OUTCOME = ShapedArray((), np.dtype(np.bool_))

Rule = Callable[[Reader, ir.Operation, Block], None]

_TRANSPARENT = frozenset({SAME, "arith.index_cast"})
_CONSTRUCTS = {
    "unitary": "QubitUnitary", "diagonal": "DiagonalQubitUnitary", "prepare": "StatePrep",
}  # fmt: skip
_ON_QUBITS = (
    "gate", "unitary", "diagonal", "prepare", "measure", "kraus", "superoperator",
    "replace",
)  # fmt: skip
_ON_REGISTERS = {"quantum.global_phase": "global_phase", "quantum.follow": "follow_script"}
OF_QUBITS: dict[str, Rule] = {
    "quantum.alloc": Reader.allocate,
    "quantum.release": Reader.release,
    "quantum.extract": Reader.extract,
    "quantum.insert": Reader.insert,
    **dict.fromkeys(
        [f"quantum.{name}" for name in _ON_QUBITS],
        Reader.on_qubits,
    ),
    **dict.fromkeys(_ON_REGISTERS, Reader.on_register),
    "quantum.check_wires": Reader.check_wires,
}
