"""How equations of a circuit become operations of its module, one by one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.circuit_modules.origin import (
    EQUATION,
    LITERAL,
    Origin,
    is_number,
    is_register,
    number_attribute,
    type_of,
)
from diastase_mlir.circuit_modules.written_values import EqualValues, Register
from diastase_mlir.emit import registers
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.circuits.values import MATRIX

Value = ir.Value | registers.Register

LARGEST_MATRIX = 2**14
"""Elements of a known matrix, beyond which passes are not told what it is."""


@dataclass(frozen=True)
class Scope:
    """What the variables of one jaxpr are while it is written; equal values also of outer ones."""

    values: dict[Any, Value] = field(default_factory=dict[Any, Value])
    equal: EqualValues = field(default_factory=EqualValues)


@dataclass(frozen=True)
class Writer:
    """Writes equations; `rules` say how, by primitives, all others being opaque."""

    origin: Origin
    ours: frozenset[str]
    rules: "Mapping[str, Rule]"

    # --- values ----------------------------------------------------------------------------------

    def known_input(self, variable: Any, value: np.ndarray | None) -> ir.Value | None:
        """An input as a constant, if it is known and passes can do something with it."""
        if value is None:
            return None
        attribute = number_attribute(value, variable.aval)
        literal = self._literal_attribute(variable)
        if attribute is not None:
            kinds = [type_of(variable.aval)]
            return create("arith.constant", kinds, [], {"value": attribute, **literal}).result
        if value.dtype != np.complex128 or value.ndim != 2 or value.size > LARGEST_MATRIX:
            return None
        elements = ir.DenseF64ArrayAttr.get(value.reshape(-1).view(np.float64).tolist())
        attributes = {"elements": elements, **literal}
        return create(MATRIX, [type_of(variable.aval)], [], attributes).result

    def related_input(self, variable: Any, other: Any, is_opposite: bool, scope: Scope) -> None:
        """An input that is another one, or its opposite."""
        one, before = self.value(variable, scope), self.value(other, scope)
        if is_opposite and is_number(variable.aval, "float64"):
            literal = self._literal_attribute(variable)
            one = create("arith.negf", [before.type], [before], literal).result
        scope.values[variable] = one if is_opposite else before
        if is_opposite:
            scope.equal.note_opposite(one, before)

    def read(self, atom: Any, scope: Scope) -> Value:
        """The value of a variable or constant."""
        if not hasattr(atom, "val"):
            return scope.values[atom]
        attribute = number_attribute(atom.val, atom.aval)
        attributes = self._literal_attribute(atom)
        kinds = [type_of(atom.aval)]
        if attribute is None:
            return create("jax.literal", kinds, [], attributes).result
        return create("arith.constant", kinds, [], {"value": attribute, **attributes}).result

    def value(self, atom: Any, scope: Scope) -> ir.Value:
        """The same; a register with all of its qubits."""
        value = self.read(atom, scope)
        return value.materialise() if isinstance(value, registers.Register) else value

    def _literal_attribute(self, atom: Any) -> dict[str, ir.Attribute]:
        return {LITERAL: integer(self.origin.number_of_literal(atom))}

    # --- equations -------------------------------------------------------------------------------

    def equations(self, equations: Sequence[Any], scope: Scope) -> None:
        """Write equations at the current insertion point."""
        for equation in equations:
            number = self.origin.number(equation)
            write = self.rules.get(equation.primitive.name)
            with self.origin.location(equation.source_info):
                if write is None or not write(self, equation, number, scope):
                    self._opaque(equation, number, scope)

    def _opaque(self, equation: Any, number: int, scope: Scope) -> None:
        operands = [self.value(v, scope) for v in equation.invars if not hasattr(v, "val")]
        name = equation.primitive.name
        made = create(
            f"jax.{name.replace('-', '_')}",
            [type_of(variable.aval) for variable in equation.outvars],
            operands,
            {EQUATION: integer(number)},
        )
        results: Sequence[ir.Value] = list(made.results)
        if name not in self.ours:
            results = self._equal(equation, operands, results, scope)
        for variable, result in zip(equation.outvars, results, strict=True):
            scope.values[variable] = Register(result) if is_register(variable.aval) else result

    def _equal(
        self,
        equation: Any,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Value],
        scope: Scope,
    ) -> Sequence[ir.Value]:
        """The values that an equation gives, as those of an equal or opposite one before."""
        equal = scope.equal
        found = equal.first(equation, operands, results)
        if found is not results:
            return found
        if equation.primitive.name == "neg" and operands:
            equal.note_opposite(results[0], operands[0])
        opposite = equal.opposite(equation, operands)
        if opposite is None:
            return results
        if is_number(equation.outvars[0].aval, "float64"):
            results = [create("arith.negf", [opposite.type], [opposite]).result]
            equal.replace(equation, operands, results)
        equal.note_opposite(results[0], opposite)
        return results

    # --- operations on qubits --------------------------------------------------------------------

    def wires(self, given: Sequence[int | None], operands: Sequence[Any], scope: Scope) -> Any:
        """All wires: numbers, and values for those that are computed."""
        rest = iter(operands)
        return [self.value(next(rest), scope) if wire is None else wire for wire in given]

    def allocate(self, equation: Any, number: int, scope: Scope) -> bool:
        """The register."""
        known = equation.params["num_wires"]
        if not all(is_number(atom.aval, "int64") for atom in equation.invars):
            return False
        wires = Register.wire(known) if known is not None else self.value(equation.invars[0], scope)
        (register,) = equation.outvars
        made = create("quantum.alloc", [type_of(register.aval)], [wires], _site(number))
        scope.values[register] = Register(made.result)
        return True

    def release(self, equation: Any, number: int, scope: Scope) -> bool:
        """The end of the register."""
        (register,) = equation.invars
        attributes = {EQUATION: integer(number)}
        create("quantum.release", [], [self.value(register, scope)], attributes)
        return True

    def gate(self, equation: Any, number: int, scope: Scope) -> bool:
        """A gate by name."""
        params = equation.params
        register, *operands = equation.invars
        count = params["num_parameters"]
        angles, wire_operands = operands[:count], operands[count:]
        if not all(is_number(atom.aval, "float64") for atom in angles):
            return False
        parameters = [self.value(atom, scope) for atom in angles]
        attributes: dict[str, ir.Attribute] = {"gate_name": ir.StringAttr.get(params["name"])}
        gate = _OnQubits("quantum.gate", number, register, equation.outvars[0], wire_operands)
        return self._on_qubits(gate, parameters, params, attributes, scope)

    def by_array(self, equation: Any, number: int, scope: Scope) -> bool:
        """A gate or preparation that is given by an array."""
        register, array, *wire_operands = equation.invars
        name = equation.primitive.name
        params = {"control_values": (), **equation.params}
        kind = type_of(array.aval)
        if params.get("differentiated") or "complex<f64>" not in str(kind):
            return False
        gate = _OnQubits(f"quantum.{name}", number, register, equation.outvars[0], wire_operands)
        return self._on_qubits(gate, [self.value(array, scope)], params, {}, scope)

    def by_transfer_matrix(self, equation: Any, number: int, scope: Scope) -> bool:
        """A channel, or a density matrix that is put in."""
        register, matrix, *wire_operands = equation.invars
        params: dict[str, Any] = {"control_values": (), **equation.params}
        if params.get("differentiated"):
            return False
        name = equation.primitive.name
        attributes: dict[str, ir.Attribute] = {}
        if "checked" in params:
            attributes["checked"] = ir.BoolAttr.get(params["checked"])
        on = _OnQubits(f"quantum.{name}", number, register, equation.outvars[0], wire_operands)
        return self._on_qubits(on, [self.value(matrix, scope)], params, attributes, scope)

    def _on_qubits(
        self,
        gate: "_OnQubits",
        parameters: list[ir.Value],
        params: Mapping[str, Any],
        attributes: dict[str, ir.Attribute],
        scope: Scope,
    ) -> bool:
        if not all(is_number(atom.aval, "int64") for atom in gate.wire_operands):
            return False
        wires = self.wires(params["wires"], gate.wire_operands, scope)
        register = scope.values[gate.before]
        assert isinstance(register, registers.Register)
        taken = register.take(wires)
        bits = taken.bits
        controls = list(params["control_values"])
        segments = [len(parameters), len(bits) - len(controls)]
        if gate.name not in _UNCONTROLLED:
            segments.append(len(controls))
            attributes["control_values"] = ir.DenseBoolArrayAttr.get(controls)
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
        attributes.update(_site(gate.number))
        made = create(gate.name, [bit.type for bit in bits], [*parameters, *bits], attributes)
        scope.values[gate.after] = taken.give_back(made.results)
        return True

    def measure(self, equation: Any, number: int, scope: Scope) -> bool:
        """A measurement in the middle."""
        register, *wire_operands = equation.invars
        if not all(is_number(atom.aval, "int64") for atom in wire_operands):
            return False
        params = equation.params
        wires = self.wires(params["wires"], wire_operands, scope)
        state = scope.values[register]
        assert isinstance(state, registers.Register)
        taken = state.take(wires)
        bits = taken.bits
        postselect = params["postselect"]
        attributes = {
            "word": ir.StringAttr.get(params["word"]),
            "reset": ir.BoolAttr.get(params["reset"]),
            "postselect": integer(-1 if postselect is None else postselect),
            **_site(number),
        }
        types = [*(bit.type for bit in bits), boolean()]
        made = create("quantum.measure", types, bits, attributes)
        after, outcome = equation.outvars
        scope.values[after] = taken.give_back(list(made.results)[:-1])
        scope.values[outcome] = made.results[len(bits)]
        return True

    def check_wires(self, equation: Any, number: int, scope: Scope) -> bool:
        """A check of wires on which nothing acts."""
        register, *wire_operands = equation.invars
        if not all(is_number(atom.aval, "int64") for atom in wire_operands):
            return False
        wires = self.wires(equation.params["wires"], wire_operands, scope)
        values = [Register.wire(wire) if isinstance(wire, int) else wire for wire in wires]
        create("quantum.check_wires", [], [self.value(register, scope), *values], _site(number))
        scope.values[equation.outvars[0]] = scope.values[register]
        return True

    def on_register(self, equation: Any, number: int, scope: Scope) -> bool:
        """A phase, or a script to follow: the register and a number."""
        name, dtype = _ON_REGISTERS[equation.primitive.name]
        register, operand = equation.invars
        if not is_number(operand.aval, dtype):
            return False
        operands = [self.value(register, scope), self.value(operand, scope)]
        made = create(name, [operands[0].type], operands, _site(number))
        scope.values[equation.outvars[0]] = Register(made.result)
        return True

    # --- classical equations that passes see -----------------------------------------------------

    def negation(self, equation: Any, number: int, scope: Scope) -> bool:
        """The opposite of an angle."""
        (operand,) = equation.invars
        if not is_number(operand.aval, "float64") or hasattr(operand, "val"):
            return False
        value = self.value(operand, scope)
        made = create("arith.negf", [value.type], [value], {EQUATION: integer(number)})
        (result,) = scope.equal.first(equation, [value], [made.result])
        scope.equal.note_opposite(result, value)
        scope.values[equation.outvars[0]] = result
        return True


@dataclass(frozen=True)
class _OnQubits:
    """An operation on qubits of a register: its equation's number, and variables."""

    name: str
    number: int
    before: Any
    after: Any
    wire_operands: Sequence[Any]


def integer(number: int) -> ir.Attribute:
    """A number as an attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def boolean() -> ir.Type:
    """The type of outcomes."""
    return ir.IntegerType.get_signless(1)


def _site(number: int) -> dict[str, ir.Attribute]:
    return {"site": integer(number)}


Rule = Callable[[Writer, Any, int, Scope], bool]

_UNCONTROLLED = ("quantum.prepare", "quantum.kraus", "quantum.superoperator", "quantum.replace")

_ON_REGISTERS = {
    "global_phase": ("quantum.global_phase", "float64"),
    "follow_script": ("quantum.follow", "int64"),
}

OF_QUBITS: dict[str, Rule] = {
    "allocate_qubits": Writer.allocate,
    "release_qubits": Writer.release,
    "gate": Writer.gate,
    "unitary": Writer.by_array,
    "diagonal": Writer.by_array,
    "prepare": Writer.by_array,
    "kraus": Writer.by_array,
    "superoperator": Writer.by_transfer_matrix,
    "replace": Writer.by_transfer_matrix,
    "measure": Writer.measure,
    "check_wires": Writer.check_wires,
    **dict.fromkeys(_ON_REGISTERS, Writer.on_register),
    "neg": Writer.negation,
}
"""Each says whether it has written the equation; it emits nothing else."""
