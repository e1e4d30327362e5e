"""Turn the `quantum` dialect into calls of the state-vector engine.

    %1 = quantum.extract(%0, %wire)
    %2 = quantum.gate(%x, %1) {gate_name = "RX", site = 3}
    %3 = quantum.insert(%0, %wire, %2)
    ->
    func.call @diastase_import__engine__gate(%context, %0, %site, %code, %wire, %none, %x, …)

A register becomes the engine's pointer, a bit the number of its wire; the engine changes the state
in place, so the order of the calls, which is that of the operations, now carries the meaning.

Tables (wires, controls, coefficients, matrices) are passed as pointers: constant ones are globals,
integers found at run time go through one stack array per function (made in its entry block, never
in a loop), other arrays are copied into a buffer of their own. The copy is not idle: a read-only
view of a tensor may be merged by CSE with an earlier one, and bufferization, which sees only the
first, may write between the two; `materialize_in_destination` is a read here and now.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.kernels.gate_table import GATES
from diastase_mlir.passes.runtime_calls import RuntimeCalls


@dataclass(frozen=True)
class Qubit:
    """What a bit has become."""

    register: ir.Value
    wire: ir.Value


@dataclass
class Conversion:
    """The state of converting one module."""

    calls: RuntimeCalls
    qubits: dict[ir.Value, Qubit]

    def qubits_of(self, operation: Any) -> tuple[list[Qubit], list[Qubit]]:
        """Targets and controls of a gate; its results become the same qubits."""
        targets = [self.qubits[bit] for bit in operation.targets]
        controls = [self.qubits[bit] for bit in operation.controls]
        for result, qubit in zip(operation.results, [*targets, *controls], strict=True):
            self.qubits[result] = qubit
        return targets, controls


def quantum_to_runtime(module: ir.Module) -> None:
    """Convert every quantum operation and type of the module."""
    operations: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("quantum."):
            operations.append(operation.opview)
        else:
            _convert_types(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    conversion = Conversion(RuntimeCalls(module), {})
    for operation in operations:
        conversion.calls.move_to(operation)
        with ir.InsertionPoint(operation), operation.location:
            _RULES[operation.OPERATION_NAME](operation, conversion)
    for operation in reversed(operations):
        operation.operation.erase()
    conversion.calls.finish()


def _convert_types(operation: ir.Operation) -> None:
    """Registers that control flow carries become pointers."""
    values: list[ir.Value] = list(operation.results)
    for region in operation.regions:
        for block in region.blocks:
            values.extend(block.arguments)
    for value in values:
        if str(value.type) == "!quantum.register":
            value.set_type(ir.Type.parse("!llvm.ptr"))


def _convert_alloc(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [calls.site(operation), operation.num_wires]
    state = calls.call("state_create", arguments, ir.Type.parse("!llvm.ptr"))
    operation.register.replace_all_uses_with(state)


def _convert_release(operation: Any, conversion: Conversion) -> None:
    conversion.calls.call("state_release", [operation.register])


def _convert_extract(operation: Any, conversion: Conversion) -> None:
    conversion.qubits[operation.bit] = Qubit(operation.register, operation.wire)


def _convert_insert(operation: Any, conversion: Conversion) -> None:
    operation.result.replace_all_uses_with(operation.register)


def _convert_gate(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    gate = GATES[operation.gate_name.value]
    targets, controls = conversion.qubits_of(operation)
    head = [targets[0].register, calls.site(operation), calls.integer(gate.code)]
    wires = [target.wire for target in targets]
    parameters = list(operation.parameters)
    if gate.entry == "array":
        _call_on_wires(operation, wires, controls, head, calls)
        return
    padded = [
        *wires, *[calls.integer(0)] * (2 - len(wires)),
        *parameters, *[calls.real(0.0)] * (3 - len(parameters)),
    ]  # fmt: skip
    if not controls:
        calls.call("gate", [*head, *padded])
        return
    calls.call("controlled_gate", [*head, *_control_tables(operation, controls, calls), *padded])


def _call_on_wires(
    operation: Any,
    wires: Sequence[ir.Value],
    controls: Sequence[Qubit],
    head: Sequence[ir.Value],
    calls: RuntimeCalls,
) -> None:
    """A gate on an array of wires; targets and controls are one table."""
    numbers = [*wires, *(control.wire for control in controls)]
    _, table = calls.integer_table(numbers)
    targets = [calls.integer(len(wires)), table]
    parameters = calls.real_table(list(operation.parameters))
    if not controls:
        calls.call("gate_on_wires", [*head, *targets, *parameters])
        return
    control_table = calls.offset(table, len(wires))
    values = calls.constant_integers(_control_values(operation))
    arguments = [calls.integer(len(controls)), control_table, values, *targets, *parameters]
    calls.call("controlled_gate_on_wires", [*head, *arguments])


def _convert_unitary(operation: Any, conversion: Conversion) -> None:
    _call_with_array(operation, operation.matrix, "unitary", conversion)


def _convert_diagonal(operation: Any, conversion: Conversion) -> None:
    _call_with_array(operation, operation.elements, "diagonal", conversion)


def _call_with_array(operation: Any, array: ir.Value, name: str, conversion: Conversion) -> None:
    """A gate on any wires that is given by an array; targets and controls are one table."""
    calls = conversion.calls
    targets, controls = conversion.qubits_of(operation)
    head = [targets[0].register, calls.site(operation)]
    wires = [qubit.wire for qubit in [*targets, *controls]]
    _, table = calls.integer_table(wires)
    control_table = calls.offset(table, len(targets))
    values = calls.constant_integers(_control_values(operation))
    pointer = calls.array(array)
    counts = calls.integer(len(targets)), calls.integer(len(controls))
    calls.call(name, [*head, counts[0], table, counts[1], control_table, values, pointer])


def _convert_prepare(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    targets = [conversion.qubits[bit] for bit in operation.targets]
    conversion.qubits.update(zip(operation.results, targets, strict=True))
    amplitudes = calls.array(operation.amplitudes)
    wires = calls.integer_table([target.wire for target in targets])
    calls.call("prepare", [targets[0].register, calls.site(operation), *wires, amplitudes])


def _convert_global_phase(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("global_phase", [operation.register, calls.site(operation), operation.phi])
    operation.result.replace_all_uses_with(operation.register)


def _convert_check_wires(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    register, *wires = operation.operation.operands
    calls.call("check_wires", [register, calls.site(operation), *calls.integer_table(wires)])


def _convert_follow(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    calls.call("state_follow", [operation.register, calls.pointer(operation.script)])
    operation.result.replace_all_uses_with(operation.register)


def _convert_measure(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    qubit = conversion.qubits[operation.bit]
    conversion.qubits[operation.result] = qubit
    reset = calls.integer(int(ir.BoolAttr(operation.reset).value))
    postselect = calls.integer(operation.postselect.value)
    arguments = [qubit.register, calls.site(operation), qubit.wire, reset, postselect]
    outcome = calls.call("measure", arguments, ir.IntegerType.get_signless(64))
    operation.outcome.replace_all_uses_with(calls.to_flag(outcome))


def _convert_pauli_statistic(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [operation.register, *_pauli_tables(operation, calls)]
    name = operation.OPERATION_NAME.removeprefix("quantum.")
    operation.value.replace_all_uses_with(calls.call(name, arguments, ir.F64Type.get()))


def _pauli_tables(operation: Any, calls: RuntimeCalls) -> list[ir.Value]:
    """The site, the number of words, coefficients, offsets, letters and wires."""
    offsets = list(ir.DenseI64ArrayAttr(operation.offsets))
    paulis = list(ir.DenseI64ArrayAttr(operation.paulis))
    return [
        calls.site(operation),
        calls.integer(len(offsets) - 1),
        calls.array(operation.coefficients),
        calls.constant_integers(offsets),
        calls.constant_integers(paulis),
        calls.array(operation.wires),
    ]


def _convert_matrix_statistic(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [*_on_wires(operation, calls), calls.array(operation.matrix)]
    name = operation.OPERATION_NAME.removeprefix("quantum.")
    operation.value.replace_all_uses_with(calls.call(name, arguments, ir.F64Type.get()))


def _convert_probabilities(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = _on_wires(operation, calls)
    _fill_result(operation, "probabilities", arguments, calls, list(operation.sizes))


def _convert_sample(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [*_on_wires(operation, calls), operation.shots]
    _fill_result(operation, "sample", arguments, calls, [operation.shots])


def _convert_state(operation: Any, conversion: Conversion) -> None:
    arguments, calls = [operation.register], conversion.calls
    _fill_result(operation, "amplitudes", arguments, calls, list(operation.sizes))


def _convert_density_matrix(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    _fill_result(operation, "density_matrix", _on_wires(operation, calls), calls)


def _convert_copy(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [operation.register, calls.site(operation)]
    copy = calls.call("state_copy", arguments, ir.Type.parse("!llvm.ptr"))
    if ir.BoolAttr(operation.blank).value:
        calls.call("state_zero", [copy])
    operation.result.replace_all_uses_with(copy)


def _convert_add_scaled(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [operation.target, operation.source, calls.site(operation)]
    _change(operation, "state_scale_add", [*arguments, calls.array(operation.factor)], conversion)


def _convert_add_pauli_sum(operation: Any, conversion: Conversion) -> None:
    states = [operation.target, operation.source]
    tables = _pauli_tables(operation, conversion.calls)
    _change(operation, "add_pauli_sum", [*states, *tables], conversion)


def _convert_inner_product(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    buffer, pointer = calls.buffer(operation.value.type)
    site = calls.site(operation)
    calls.call("inner_product", [operation.bra, operation.ket, site, pointer])
    operation.value.replace_all_uses_with(calls.as_tensor(buffer, operation.value.type))


def _convert_apply_sparse(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    tables = [operation.row_starts, operation.columns, operation.values]
    arguments = [*_on_wires(operation, calls), *(calls.array(table) for table in tables)]
    _change(operation, "apply_sparse", arguments, conversion)


def _convert_project_on(operation: Any, conversion: Conversion) -> None:
    calls = conversion.calls
    arguments = [*_on_wires(operation, calls), calls.array(operation.vector)]
    _change(operation, "project_on", arguments, conversion)


def _on_wires(operation: Any, calls: RuntimeCalls) -> list[ir.Value]:
    """The register, the site, the number of wires and their table."""
    number = ir.RankedTensorType(operation.wires.type).shape[0]
    head = [operation.register, calls.site(operation), calls.integer(number)]
    return [*head, calls.array(operation.wires)]


def _change(
    operation: Any, function: str, arguments: Sequence[ir.Value], conversion: Conversion
) -> None:
    """A call that changes the first of its arguments, which the operation gives."""
    conversion.calls.call(function, arguments)
    operation.result.replace_all_uses_with(arguments[0])


def _fill_result(
    operation: Any,
    function: str,
    arguments: Sequence[ir.Value],
    calls: RuntimeCalls,
    sizes: Sequence[ir.Value] = (),
) -> None:
    """The engine writes into memory of ours, which then is the result."""
    buffer, pointer = calls.buffer(operation.result.type, sizes)
    calls.call(function, [*arguments, pointer])
    operation.result.replace_all_uses_with(calls.as_tensor(buffer, operation.result.type))


def _control_tables(
    operation: Any, controls: Sequence[Qubit], calls: RuntimeCalls
) -> list[ir.Value]:
    """Number of controls, their wires, and the values that activate them."""
    tables = calls.integer_table([control.wire for control in controls])
    return [*tables, calls.constant_integers(_control_values(operation))]


def _control_values(operation: Any) -> list[int]:
    return [int(value) for value in ir.DenseBoolArrayAttr(operation.control_values)]


_RULES: dict[str, Callable[[Any, Conversion], None]] = {
    "quantum.alloc": _convert_alloc,
    "quantum.release": _convert_release,
    "quantum.extract": _convert_extract,
    "quantum.insert": _convert_insert,
    "quantum.gate": _convert_gate,
    "quantum.unitary": _convert_unitary,
    "quantum.diagonal": _convert_diagonal,
    "quantum.prepare": _convert_prepare,
    "quantum.global_phase": _convert_global_phase,
    "quantum.check_wires": _convert_check_wires,
    "quantum.follow": _convert_follow,
    "quantum.measure": _convert_measure,
    "quantum.expval_pauli": _convert_pauli_statistic,
    "quantum.var_pauli": _convert_pauli_statistic,
    "quantum.expval_matrix": _convert_matrix_statistic,
    "quantum.var_matrix": _convert_matrix_statistic,
    "quantum.probabilities": _convert_probabilities,
    "quantum.sample": _convert_sample,
    "quantum.state": _convert_state,
    "quantum.density_matrix": _convert_density_matrix,
    "quantum.copy": _convert_copy,
    "quantum.add_scaled": _convert_add_scaled,
    "quantum.add_pauli_sum": _convert_add_pauli_sum,
    "quantum.inner_product": _convert_inner_product,
    "quantum.apply_sparse": _convert_apply_sparse,
    "quantum.project_on": _convert_project_on,
}
