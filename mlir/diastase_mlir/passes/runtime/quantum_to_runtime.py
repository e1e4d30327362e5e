"""Turn the `quantum` dialect into calls of the state-vector engine.

    %1 = quantum.extract(%0, %wire)
    %2 = quantum.gate(%x, %1) {gate_name = "RX", site = 3}
    %3 = quantum.insert(%0, %wire, %2)
    ->
    func.call @diastase_import__engine__gate(%context, %0, %site, %code, %wire, %none, %x, …)

A register becomes the engine's pointer, a bit a `Qubit`: its register and the number of its wire.
The engine changes the state in place, so the order of the calls, which is that of the operations,
now carries the meaning. Values that control flow carries change their types first; which library
serves a register, by its type, is kept for each pointer.

Tables (wires, controls, coefficients, matrices) are passed as pointers: constant ones are globals,
integers found at run time go through one stack array per function (made in its entry block, never
in a loop), other arrays are copied into a buffer of their own. The copy is not idle: a read-only
view of a tensor may be merged by CSE with an earlier one, and bufferization, which sees only the
first, may write between the two; `materialize_in_destination` is a read here and now.

The traps: operations are erased last, in reverse, as rules look at the operands of operations that
were converted before; targets and controls share one table of wires, targets first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.dialects.quantum import SCRIPT_MODES
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.memory import pointer_type, to_pointer, word_type
from diastase_mlir.passes.operations import LIBRARIES, REGISTERS
from diastase_mlir.passes.runtime import lane_calls
from diastase_mlir.passes.runtime.engine_calls import EngineCalls
from diastase_mlir.passes.runtime.gate_tables import gate_table
from diastase_runtime.abi import Engine
from diastase_runtime.gate_table import Applied, Gate, gate_of, into_z


@dataclass(frozen=True)
class Qubit:
    """What a bit has become."""

    register: ir.Value
    wire: ir.Value


class Conversion(EngineCalls):
    """The state of converting one module."""

    def __init__(self, module: ir.Module):
        super().__init__(module)
        self.qubits: dict[ir.Value, Qubit] = {}

    def qubits_of(self, operation: Any) -> tuple[list[Qubit], list[Qubit]]:
        """Targets and controls of a gate; its results become the same qubits."""
        targets = [self.qubits[bit] for bit in operation.targets]
        controls = [self.qubits[bit] for bit in operation.controls]
        self.qubits.update(zip(operation.results, [*targets, *controls], strict=True))
        return targets, controls


Rule = Callable[[Any, Conversion], None]
"""Converts one operation, at the current insertion point."""


def quantum_to_runtime(module: ir.Module) -> None:
    """Convert every quantum operation and type of the module."""
    operations: list[Any] = []
    conversion = Conversion(module)

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("quantum."):
            operations.append(operation.opview)
        else:
            _convert_types(operation, conversion)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    conversion.usual_library = _library_of_first(operations)
    for operation in operations:
        conversion.move_to(operation)
        with ir.InsertionPoint(operation), operation.location:
            RULES[operation.OPERATION_NAME.removeprefix("quantum.")](operation, conversion)
    for operation in reversed(operations):
        operation.operation.erase()
    conversion.finish()


def _library_of_first(operations: Sequence[Any]) -> Engine:
    """Where scripts and random numbers come from, which are the same in all libraries."""
    kinds = (str(one.register.type) for one in operations if one.OPERATION_NAME == "quantum.alloc")
    return LIBRARIES[next(kinds, "!quantum.register")]


def _convert_types(operation: ir.Operation, conversion: Conversion) -> None:
    """Registers that control flow carries become pointers."""
    values: list[ir.Value] = list(operation.results)
    for region in operation.regions:
        for block in region.blocks:
            values.extend(block.arguments)
    for value in values:
        library = LIBRARIES.get(str(value.type))
        if library is not None:
            conversion.library_of[value] = library
            value.set_type(pointer_type())


# --- operations that are one call ----------------------------------------------------------------


def _call(function: str, arguments: str, sizes: str = "") -> Rule:
    """One call of the engine; `arguments`, and `sizes` of an array, are what `_given` knows.

    What the operation gives is, by its type, the register that is the first argument; an array,
    which the engine writes into memory of ours; or the number that the function returns.
    """

    def rule(operation: Any, conversion: Conversion) -> None:
        given = [
            value for name in arguments.split() for value in _given(name, operation, conversion)
        ]
        results = list(operation.operation.results)
        if not results:
            conversion.call(function, given)
            return
        (result,) = results
        if str(result.type) in REGISTERS:
            conversion.call(function, given)
            new = given[0]
        elif isinstance(result.type, ir.RankedTensorType):
            extents = getattr(operation, sizes) if sizes else []
            extents = [extents] if isinstance(extents, ir.Value) else list(extents)
            new = conversion.filled_by(function, given, result.type, extents)
        elif str(result.type) == "i1":
            new = conversion.to_flag(conversion.call(function, given, word_type()))
        else:
            new = conversion.call(function, given, result.type)
        result.replace_all_uses_with(new)

    return rule


def _given(name: str, operation: Any, conversion: Conversion) -> list[ir.Value]:
    """What the engine is given for an attribute or an operand.

    Of an array its address, of a script the pointer that it is; `wires` with their number before
    them, `words` as all the tables of a sum of Pauli words.
    """
    if name == "site":
        return [conversion.site(operation)]
    if name == "words":
        offsets, paulis = (
            list(ir.DenseI64ArrayAttr(getattr(operation, own))) for own in ("offsets", "paulis")
        )
        return [
            conversion.integer(len(offsets) - 1),
            conversion.array(operation.coefficients),
            conversion.constant_integers(offsets),
            conversion.constant_integers(paulis),
            conversion.array(operation.wires),
        ]
    value = getattr(operation, name)
    if name == "wires":
        return [conversion.integer(value.type.shape[0]), conversion.array(value)]
    if name == "script":
        return [to_pointer(value)]
    is_array = isinstance(value.type, ir.RankedTensorType)
    return [conversion.array(value) if is_array else value]


# --- registers -----------------------------------------------------------------------------------


def _alloc(operation: Any, conversion: Conversion) -> None:
    arguments = [conversion.site(operation), operation.num_wires]
    kind = str(operation.register.type)
    if kind in _MIXED:
        arguments.append(conversion.integer(_derivative_wires(operation)))
    state = conversion.create_state("state_create", arguments, LIBRARIES[kind])
    operation.register.replace_all_uses_with(state)


_MIXED = ("!quantum.mixed_register", "!quantum.single_mixed_register")


def _derivative_wires(operation: Any) -> int:
    attributes = operation.operation.attributes
    name = "derivative_wires"
    return ir.IntegerAttr(attributes[name]).value if name in attributes else 0


def _copy(operation: Any, conversion: Conversion) -> None:
    arguments = [operation.register, conversion.site(operation)]
    copy = conversion.create_state("state_copy", arguments)
    if ir.BoolAttr(operation.blank).value:
        conversion.call("state_zero", [copy])
    operation.result.replace_all_uses_with(copy)


def _half(operation: Any, conversion: Conversion) -> None:
    which = conversion.integer(operation.which.value)
    arguments = [operation.register, conversion.site(operation), which]
    operation.result.replace_all_uses_with(conversion.create_state("half", arguments))


def _extract(operation: Any, conversion: Conversion) -> None:
    conversion.qubits[operation.bit] = Qubit(operation.register, operation.wire)


def _insert(operation: Any, _: Conversion) -> None:
    operation.result.replace_all_uses_with(operation.register)


def _check_wires(operation: Any, conversion: Conversion) -> None:
    register, *wires = operation.operation.operands
    arguments = [register, conversion.site(operation), *conversion.integer_table(wires)]
    conversion.call("check_wires", arguments)


def _outcome_script(operation: Any, conversion: Conversion) -> None:
    """The engine's pointer, as a number."""
    mode = conversion.integer(SCRIPT_MODES[operation.mode.value])
    script = conversion.call("script_begin", [mode], pointer_type())
    address = create("llvm.ptrtoint", [word_type()], [script]).result
    operation.script.replace_all_uses_with(address)


def _trajectories(operation: Any, conversion: Conversion) -> None:
    """The engine's pointer, as a number."""
    mode = conversion.integer(3 if ir.BoolAttr(operation.shots).value else 2)
    script = conversion.call("trajectories_begin", [mode, operation.count], pointer_type())
    address = create("llvm.ptrtoint", [word_type()], [script]).result
    operation.script.replace_all_uses_with(address)


# --- gates, and what else changes qubits ---------------------------------------------------------


def _gate(operation: Any, conversion: Conversion) -> None:
    """One of four functions: with the wires as arguments or as a table, and these with controls."""
    gate = _known(operation.gate_name.value)
    targets, controls = conversion.qubits_of(operation)
    targets = gate.arranged(targets)
    head = [targets[0].register, conversion.site(operation), conversion.integer(gate.code)]
    parameters = list(operation.parameters)
    controlled: list[ir.Value] = []
    if gate.entry == "array":
        name, (table, rest) = "gate_on_wires", _tables(operation, targets, controls, conversion)
        controlled = rest if controls else []
        given = [conversion.integer(len(targets)), table, *conversion.real_table(parameters)]
    else:
        name = "gate"
        if controls:
            table = conversion.integer_table([control.wire for control in controls])
            controlled = [*table, _control_values(operation, conversion)]
        given = _in_registers([target.wire for target in targets], parameters, conversion)
    conversion.call(f"controlled_{name}" if controls else name, [*head, *controlled, *given])


def _known(name: str) -> Gate:
    """The gate of a name, which the verifier has found."""
    gate = gate_of(name)
    assert gate is not None
    return gate


def _tables(
    operation: Any, targets: Sequence[Qubit], controls: Sequence[Qubit], conversion: Conversion
) -> tuple[ir.Value, list[ir.Value]]:
    """The wires of targets; number and wires of controls, and the values at which they act."""
    _, table = conversion.integer_table([qubit.wire for qubit in (*targets, *controls)])
    rest = conversion.offset(table, len(targets))
    values = _control_values(operation, conversion)
    return table, [conversion.integer(len(controls)), rest, values]


def _control_values(operation: Any, conversion: Conversion) -> ir.Value:
    values = [int(value) for value in ir.DenseBoolArrayAttr(operation.control_values)]
    return conversion.constant_integers(values)


def _array_gate(operation: Any, conversion: Conversion, function: str, array: str) -> None:
    """A gate on any wires that is given by an array."""
    targets, controls = conversion.qubits_of(operation)
    head = [targets[0].register, conversion.site(operation), conversion.integer(len(targets))]
    table, rest = _tables(operation, targets, controls, conversion)
    conversion.call(function, [*head, table, *rest, conversion.array(getattr(operation, array))])


def _run(operation: Any, conversion: Conversion) -> None:
    """A table of the gates, their constants, and the parameters that the program computes."""
    register, *computed = operation.operation.operands
    is_vector = len(computed) == 1 and isinstance(computed[0].type, ir.RankedTensorType)
    parameters = conversion.array(computed[0]) if is_vector else conversion.real_table(computed)[1]
    conversion.call("gate_run", [register, *gate_table(operation, conversion), parameters])
    operation.result.replace_all_uses_with(register)


def _prepare(operation: Any, conversion: Conversion) -> None:
    targets = [conversion.qubits[bit] for bit in operation.targets]
    conversion.qubits.update(zip(operation.results, targets, strict=True))
    amplitudes = conversion.array(operation.amplitudes)
    wires = conversion.integer_table([target.wire for target in targets])
    head = [targets[0].register, conversion.site(operation)]
    conversion.call("prepare", [*head, *wires, amplitudes])


def _superoperator(operation: Any, conversion: Conversion) -> None:
    checked = conversion.integer(int(ir.BoolAttr(operation.checked).value))
    _on_matrix(operation, conversion, "superoperator", [checked])


def _on_matrix(
    operation: Any, conversion: Conversion, function: str, more: Sequence[ir.Value] = ()
) -> None:
    """What is given by a matrix and has no controls."""
    targets = [conversion.qubits[bit] for bit in operation.targets]
    conversion.qubits.update(zip(operation.results, targets, strict=True))
    matrix = conversion.small_array(operation.matrix)
    wires = conversion.integer_table([target.wire for target in targets])
    head = [targets[0].register, conversion.site(operation)]
    conversion.call(function, [*head, *wires, matrix, *more])


def _kraus(operation: Any, conversion: Conversion) -> None:
    targets = [conversion.qubits[bit] for bit in operation.targets]
    conversion.qubits.update(zip(operation.results, targets, strict=True))
    count = conversion.integer(ir.RankedTensorType(operation.matrices.type).shape[0])
    matrices = conversion.array(operation.matrices)
    wires = conversion.integer_table([target.wire for target in targets])
    head = [targets[0].register, conversion.site(operation)]
    conversion.call("kraus", [*head, *wires, count, matrices])


def _measure(operation: Any, conversion: Conversion) -> None:
    """A word is turned into Z on its last wire, which is measured, and back."""
    qubits = [conversion.qubits[bit] for bit in operation.operation.operands]
    *bits, found = operation.operation.results
    conversion.qubits.update(zip(bits, qubits, strict=True))
    register, site, wires = qubits[0].register, conversion.site(operation), [q.wire for q in qubits]
    resets = bool(ir.BoolAttr(operation.reset).value)
    forth, back = into_z(operation.word.value, wires, resets)
    _fixed_gates(forth, register, site, conversion)
    reset = conversion.integer(int(resets))
    postselect = conversion.integer(operation.postselect.value)
    arguments = [register, site, wires[-1], reset, postselect]
    outcome = conversion.call("measure", arguments, word_type())
    _fixed_gates(back, register, site, conversion)
    found.replace_all_uses_with(conversion.to_flag(outcome))


def _fixed_gates(
    gates: Sequence[Applied], register: ir.Value, site: ir.Value, conversion: Conversion
) -> None:
    """Gates without parameters on one or two wires."""
    for name, wires in gates:
        head = [register, site, conversion.integer(_known(name).code)]
        conversion.call("gate", [*head, *_in_registers(wires, [], conversion)])


def _in_registers(
    wires: Sequence[ir.Value], parameters: Sequence[ir.Value], conversion: Conversion
) -> list[ir.Value]:
    """Wires and parameters as arguments, filled up to those that the function has."""
    return [
        *wires, *[conversion.integer(0)] * (2 - len(wires)),
        *parameters, *[conversion.real(0.0)] * (3 - len(parameters)),
    ]  # fmt: skip


RULES: dict[str, Rule] = {
    # registers
    "alloc": _alloc,
    "copy": _copy,
    "release": _call("state_release", "register"),
    "extract": _extract,
    "insert": _insert,
    "check_wires": _check_wires,
    # gates
    "gate": _gate,
    "run": _run,
    "unitary": partial(_array_gate, function="unitary", array="matrix"),
    "diagonal": partial(_array_gate, function="diagonal", array="elements"),
    "prepare": _prepare,
    "superoperator": _superoperator,
    "replace": partial(_on_matrix, function="replace"),
    "kraus": _kraus,
    "global_phase": _call("global_phase", "register site phi"),
    "measure": _measure,
    # what is found out about a state, which stays as it is
    "expval_pauli": _call("expval_pauli", "register site words"),
    "var_pauli": _call("var_pauli", "register site words"),
    "square_pauli": _call("square_pauli", "register site words"),
    "expval_matrix": _call("expval_matrix", "register site wires matrix"),
    "var_matrix": _call("var_matrix", "register site wires matrix"),
    "probabilities": _call("probabilities", "register site wires", "sizes"),
    "sample": _call("sample", "register site wires shots", "shots"),
    "state": _call("amplitudes", "register", "sizes"),
    "density_matrix": _call("density_matrix", "register site wires"),
    # registers as vectors
    "add_scaled": _call("state_scale_add", "target source site factor"),
    "add_pauli_sum": _call("add_pauli_sum", "target source site words"),
    "inner_product": _call("inner_product", "bra ket site"),
    "apply_sparse": _call("apply_sparse", "register site wires row_starts columns values"),
    "project_on": _call("project_on", "register site wires vector"),
    "half": _half,
    "add_pauli_words": _call("add_pauli_words", "register site words"),
    "add_operator": _call("add_operator", "register site wires matrix"),
    "add_diagonal": _call("add_diagonal", "register site wires elements"),
    # adjoint differentiation: the tape of a register is the engine's
    "record": _call("tape_record", "register site"),
    "differentiated": _call("tape_differentiated", "register"),
    "tape_length": _call("tape_length", "register"),
    "sweep": _call("tape_sweep", "register adjoint site size", "size"),
    "set_amplitudes": _call("set_amplitudes", "register amplitudes"),
    # outcome scripts, which the engine keeps
    "uniform": _call("uniform", ""),
    "outcome_script": _outcome_script,
    "trajectories": _trajectories,
    "run_members": _call("run_members", "script size", "size"),
    "follow": _call("state_follow", "register script"),
    "next_run": _call("script_next", "script"),
    "run_weight": _call("script_weight", "script"),
    "run_is_valid": _call("script_is_valid", "script"),
    "require_weight": _call("script_require", "script total"),
    "end_script": _call("script_end", "script"),
    **lane_calls.RULES,
}
"""By the operation's name, without the dialect's."""
