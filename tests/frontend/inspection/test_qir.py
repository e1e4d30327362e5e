"""`f.qir`, verified by pyqir, held against its profile, and run to the end of every path."""

import random
from collections import defaultdict

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pyqir
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop
from diastase.inspection.circuit_texts.errors import NotInQirError
from diastase_runtime.gate_table import GATES, gate_of
from dynamic_circuits import WIRES, compiled, distribution, random_program
from qir_reader import QIS, Module, applied, number_of, probabilities


def device(wires):
    return qml.device("lightning.qubit", wires=wires)


def module_of(function, wires):
    return Module(qjit(qml.QNode(function, device(wires))).qir)


def recorded(text, registers):
    """How probable registers and bits are, by the records; registers that are known are given."""
    found = defaultdict(float)
    for records, weight in Module(text).outcomes().items():
        values = dict(records)
        own = [values.get(f"{place}_value_0", known) for place, known in enumerate(registers)]
        bits = "".join(str(values[f"2_probs_{wire}"]) for wire in range(WIRES))
        found[(*own, int(bits, 2))] += weight
    return {key: weight for key, weight in found.items() if weight > 1e-12}


# --- gates ---------------------------------------------------------------------------------------

ROTATIONS = ["PauliRot[XYZ]", "PauliRot[ZX]"]


def operator(name, angles, wires):
    """PennyLane's operator for a row of the gate table."""
    if name.startswith("PauliRot"):
        return qml.PauliRot(*angles, name[9:-1], wires=wires)
    if name.startswith("Adjoint"):
        return qml.adjoint(getattr(qml, name[8:-1]))(wires=wires)
    return getattr(qml, name)(*angles, wires=wires)


def matrix_of(module, wires):
    """The matrix of a circuit without measurements in the middle, on wires that begin with 0."""
    _, body, *_ = module.entry.basic_blocks
    states = np.zeros((2**wires, 2 ** (module.qubits - wires), 2**wires), complex)
    states[:, 0] = np.eye(2**wires)
    states = states.reshape([2] * module.qubits + [-1])
    for call in body.instructions[:-1]:
        angles = [each.value for each in call.args if each.type.is_double]
        qubits = [number_of(each) for each in call.args[len(angles) :]]
        states = applied(call.callee.name.removeprefix(QIS), angles, qubits, states)
    found = states.reshape(2**wires, -1, 2**wires)
    assert not np.any(abs(found[:, 1:]) > 1e-12), "spare qubits are left in another state than 0"
    return found[:, 0]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", [*GATES, *ROTATIONS])
def test_gate_is_its_matrix_controlled_too(name):
    gate = gate_of(name)
    count = gate.wires or 3
    angles = [0.3, -1.1, 2.3][: gate.parameters]
    targets = [5, 0, 2, 1][:count]

    def operations():
        operator(name, angles, targets)
        qml.ctrl(operator(name, angles, targets), 3, control_values=[0])
        qml.ctrl(operator(name, angles, targets), [3, 4], control_values=[1, 0])

    def circuit():
        operations()
        return qml.probs(wires=[0])

    module = module_of(circuit, 6)
    assert module.profile == "base_profile"
    found = matrix_of(module, 6)
    expected = qml.matrix(operations, wire_order=range(6))()
    phase = np.vdot(expected, found) / 64
    np.testing.assert_allclose(abs(phase), 1, atol=1e-12)
    np.testing.assert_allclose(found, phase * expected, atol=1e-12)


def test_many_controls_take_spare_qubits():
    def circuit():
        qml.ctrl(qml.RY(0.7, 5), [0, 1, 2, 3, 4], control_values=[1, 1, 0, 1, 1])
        return qml.probs(wires=[0])

    module = module_of(circuit, 6)
    assert module.qubits == 9
    matrix = qml.ctrl(qml.RY(0.7, 5), [0, 1, 2, 3, 4], control_values=[1, 1, 0, 1, 1]).matrix()
    np.testing.assert_allclose(matrix_of(module, 6), matrix, atol=1e-12)


# --- programs ------------------------------------------------------------------------------------


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(100, 130))
def test_random_dynamic_programs_give_the_same(seed):
    program = random_program(random.Random(seed), 2, 6)
    try:
        text = qjit(compiled(program)).trace().qir
    except NotInQirError as error:
        assert "a floating-point number of an integer" in str(error)  # noqa: PT017
        return
    expected = distribution(program)
    found = recorded(text, next(iter(expected))[:2])
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 4, 7])
def test_the_runner_of_the_qir_alliance_gives_the_same(seed):
    runner = pytest.importorskip("qirrunner")
    program = random_program(random.Random(seed), 2, 6)
    text, expected = qjit(compiled(program)).trace().qir, distribution(program)
    shots, output = 1000, runner.OutputHandler()
    bitcode = pyqir.Module.from_ir(pyqir.Context(), text).bitcode
    runner.run_bytes(bitcode, shots=shots, output_fn=output.handle)
    counts = defaultdict(int)
    for shot in output.get_output().split("START")[1:]:
        records = [line.split("\t") for line in shot.splitlines() if line.startswith("OUTPUT")]
        values = {label: int(value) for _, kind, value, label in records if kind != "TUPLE"}
        known = next(iter(expected))[:2]
        own = [values.get(f"{place}_value_0", each) for place, each in enumerate(known)]
        bits = "".join(str(values[f"2_probs_{wire}"]) for wire in range(WIRES))
        counts[(*own, int(bits, 2))] += 1
    assert set(counts) <= set(expected)
    for key, weight in expected.items():
        spread = np.sqrt(max(weight * (1 - weight), 1 / shots) / shots)
        assert abs(counts[key] / shots - weight) < 6 * spread


def test_the_text_of_a_straight_circuit():
    @qjit
    @qml.qnode(device(2))
    def bell():
        qml.Hadamard(0)
        qml.CNOT([0, 1])
        return qml.expval(0.5 * qml.X(0) @ qml.Z(1))

    assert bell.qir == EXPECTED
    Module(bell.qir)


EXPECTED = """\
@0 = internal constant [9 x i8] c"0_expval\\00"
@1 = internal constant [11 x i8] c"0_expval_0\\00"
@2 = internal constant [11 x i8] c"0_expval_1\\00"

define i64 @bell() #0 {
entry:
  call void @__quantum__rt__initialize(ptr null)
  br label %body

body:
  call void @__quantum__qis__h__body(ptr null)
  call void @__quantum__qis__cx__body(ptr null, ptr inttoptr (i64 1 to ptr))
  call void @__quantum__qis__h__body(ptr null)
  br label %measurements

measurements:
  call void @__quantum__qis__mz__body(ptr null, ptr writeonly null)
  call void @__quantum__qis__mz__body(ptr inttoptr (i64 1 to ptr), \
ptr writeonly inttoptr (i64 1 to ptr))
  br label %output

output:
  ; expval of 0.5 X[0] Z[1]
  call void @__quantum__rt__array_record_output(i64 2, ptr @0)
  call void @__quantum__rt__result_record_output(ptr null, ptr @1)
  call void @__quantum__rt__result_record_output(ptr inttoptr (i64 1 to ptr), ptr @2)
  ret i64 0
}

declare void @__quantum__rt__initialize(ptr)
declare void @__quantum__qis__h__body(ptr)
declare void @__quantum__qis__cx__body(ptr, ptr)
declare void @__quantum__qis__mz__body(ptr, ptr writeonly) #1
declare void @__quantum__rt__array_record_output(i64, ptr)
declare void @__quantum__rt__result_record_output(ptr, ptr)

attributes #0 = { "entry_point" "qir_profiles"="base_profile" "output_labeling_schema"="diastase" \
"required_num_qubits"="2" "required_num_results"="2" }
attributes #1 = { "irreversible" }

!llvm.module.flags = !{!0, !1, !2, !3}
!0 = !{i32 1, !"qir_major_version", i32 2}
!1 = !{i32 7, !"qir_minor_version", i32 0}
!2 = !{i32 1, !"dynamic_qubit_management", i1 false}
!3 = !{i32 1, !"dynamic_result_management", i1 false}
"""


def test_branches_on_outcomes_need_nothing_but_bits():
    """Angles, wires and numbers of turns that outcomes decide are branches."""

    def circuit():
        qml.RX(0.7, wires=0)
        first = measure(0, reset=True)
        qml.Hadamard(2)
        second = measure(2)
        cond(jnp.logical_not(first) & second)(lambda: qml.Z(1))()
        qml.RX(jnp.tanh(0.3 * second), wires=jnp.where(first, 1, 0))
        for_loop(0, 1 + first.astype(int), 1)(lambda i: qml.RY(0.1 * (i + 1), wires=i))()
        return qml.probs(wires=[0, 1])

    module = module_of(circuit, 3)
    assert module.profile == "adaptive_profile"
    assert [module.flag(f"{kind}_computations") for kind in ("int", "float")] == [[], []]
    exact = qjit(qml.QNode(circuit, device(3), mcm_method="deferred"))()
    np.testing.assert_allclose(probabilities(module.outcomes(), "0_probs"), exact, atol=1e-10)


def test_what_a_loop_computes_with_is_in_the_flags():
    def circuit():
        @while_loop(lambda angle, outcome: jnp.logical_not(outcome) & (angle < 2.0))
        def turned(angle, outcome):
            qml.RX(angle, wires=0)
            return 0.5 * angle**2 + 0.3, measure(0)

        angle, outcome = turned(0.9, False)
        return angle, outcome, qml.probs(wires=[0])

    module = module_of(circuit, 1)
    assert (module.flag("int_computations"), module.flag("float_computations")) == (
        ["i1"],
        ["double"],
    )
    assert module.flag("backwards_branching") == 2
    found, left, angle = {}, 1.0, 0.9
    for _ in range(40):
        weight = np.sin(angle / 2) ** 2
        found[angle := 0.5 * angle**2 + 0.3] = left * weight
        left *= 1 - weight
    outcomes = defaultdict(float)
    for records, weight in module.outcomes().items():
        outcomes[round(dict(records)["0_value_0"], 6)] += weight
        assert dict(records)["1_value_0"] == dict(records)["2_probs_0"] == 1
    for angle, weight in list(found.items())[:10]:
        assert outcomes[round(angle, 6)] >= weight - 1e-9


def test_shots_of_a_qnode_are_one_shot_of_the_text():
    @qjit(seed=1)
    @qml.set_shots(100)
    @qml.qnode(device(2))
    def circuit():
        qml.RX(0.4, wires=0)
        outcome = qml.measure(0)
        qml.cond(outcome, qml.CNOT)([0, 1])
        return qml.sample(outcome), qml.counts(wires=[0, 1])

    outcomes = Module(circuit.qir).outcomes()
    assert sorted(outcomes.values()) == pytest.approx([np.sin(0.2) ** 2, np.cos(0.2) ** 2])
    for records in outcomes:
        assert {value for name, value in records if "_" in name and name[-2] == "_"} in ({0}, {1})


def test_the_basis_of_shots_is_in_a_comment():
    @qjit
    @qml.set_shots(10)
    @qml.qnode(device(3))
    def circuit():
        return qml.expval(qml.Y(2) @ qml.Z(0) @ qml.X(1)), qml.sample(qml.X(1))

    assert "  ; shots of Y[2] Z[0] X[1]\n" in circuit.qir


def test_every_stage_has_it_and_llvm_ir_is_something_else():
    @qjit
    @qml.qnode(device(1))
    def circuit():
        qml.X(0)
        return qml.probs()

    traced = circuit.trace()
    assert circuit.qir == traced.qir == traced.lower().qir == traced.lower().compile().qir
    assert circuit.qir != circuit.llvm_ir == circuit.llvmir


# --- numbers and names ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uint8", "int32", "float32"])
def test_numbers_of_any_type_that_are_known_are_computed(name):
    dtype = getattr(jnp, name)

    def circuit():
        qml.Hadamard(0)
        outcome = measure(0)
        number = jnp.where(outcome, dtype(5), dtype(3)) - dtype(4)
        cond(number > dtype(100 if name == "uint8" else 0))(lambda: qml.X(1))()
        return qml.probs(wires=[1])

    compiled = qjit(qml.QNode(circuit, device(2)))
    found = probabilities(Module(compiled.qir).outcomes(), "0_probs")
    np.testing.assert_allclose(found, [0.5, 0.5], atol=1e-12)


def test_names_are_those_of_llvm():
    def θ_2():
        qml.Hadamard(0)
        return qml.probs()

    text = qjit(qml.QNode(θ_2, device(1))).qir
    assert "define i64 @__2()" in text
    assert Module(text).profile == "base_profile"


def test_values_that_are_returned_are_recorded_or_refused():
    def circuit(what):
        qml.Hadamard(0)
        outcome = measure(0)
        energy = qml.expval(qml.Z(0))
        return what(outcome, energy), energy

    def text(what):
        return qjit(qml.QNode(lambda: circuit(what), device(1))).qir

    records = text(lambda outcome, energy: jnp.array([0.5, 2.5]))
    Module(records)
    assert "double 2.5" in records
    assert '"adaptive_profile"' in records

    def grown(outcome, energy):
        @while_loop(lambda number, outcome: outcome)
        def tried(number, outcome):
            qml.Hadamard(0)
            return number + 0.5, measure(0)

        return jnp.tanh(tried(0.5, outcome)[0])

    with pytest.raises(NotInQirError, match="returns a value that depends on tanh"):
        text(grown)
    with pytest.raises(NotInQirError, match=f"needs the number {2**63 + 5}"):
        text(lambda outcome, energy: jnp.uint64(2**63 + 5))
    assert f"i64 {2**63 - 1}" in text(lambda outcome, energy: jnp.uint64(2**63 - 1))
    with pytest.raises(NotInQirError, match="returns complex numbers"):
        text(lambda outcome, energy: 1j * jnp.ones(2))
