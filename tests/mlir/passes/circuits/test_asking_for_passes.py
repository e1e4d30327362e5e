"""Decorators, pipelines, options, and which circuit a pass acts on."""

import re
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import DiastaseError, for_loop, passes, qjit
from diastase_mlir import FailedPassError
from diastase_mlir.bindings.pass_pipeline import PassError
from diastase_mlir.driver import reproducer

DEVICE = qml.device("lightning.qubit", wires=2)


def body(x=0.3):
    qml.H(0)
    qml.H(0)
    qml.RX(x, 0)
    qml.RX(x, 0)
    return qml.expval(qml.Z(0))


@pytest.fixture
def found():
    return lambda compiled: [
        part.split('"')[1] for part in compiled.mlir.split("quantum.gate ")[1:]
    ]


def test_decorators_run_from_the_inside_out(found):
    order = []

    @passes.register_pass("note_gates")
    def note_gates(circuit, *, label):
        order.append((label, len(circuit.gates())))

    @qjit
    @passes.apply_pass("note_gates", label="last")
    @passes.merge_rotations
    @passes.apply_pass("note-gates", label="second")
    @passes.cancel_inverses
    @passes.apply_pass("note_gates", label="first")
    @qml.qnode(DEVICE)
    def circuit(x):
        return body(x)

    np.testing.assert_allclose(circuit(0.3), np.cos(0.6))
    assert order[:3] == [("first", 4), ("second", 2), ("last", 1)]
    assert found(circuit) == ["RX"]
    assert re.findall(r"name=(RX|Hadamard)", str(circuit.jaxpr)) == ["RX"]


def test_before_and_after(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qnode = passes.merge_rotations(passes.cancel_inverses(qml.QNode(body, DEVICE)))
    circuit = qjit(qnode, keep_intermediate=True)
    circuit()
    assert found(circuit) == ["RX"]
    lowered = circuit.lower()
    assert lowered.as_text("circuits") == lowered.as_text() == circuit.mlir
    assert qjit(qml.QNode(body, DEVICE)).lower().as_text("circuits").count("quantum.gate") == 4
    kept = sorted((circuit.workspace / "circuits" / "body").iterdir())
    assert {file.name: file.read_text().count("quantum.gate ") for file in kept} == {
        "00_as_written.mlir": 4, "01_cancel_inverses.mlir": 2, "02_merge_rotations.mlir": 1,
    }  # fmt: skip


def test_outside_of_compiled_functions_they_do_nothing():
    circuit = passes.pipeline({"cancel_inverses": {}})(qml.QNode(body, DEVICE))
    assert circuit is not None
    np.testing.assert_allclose(circuit(0.3), np.cos(0.6))
    assert "H" in qml.draw(circuit)(0.3)


def test_each_circuit_has_its_own(found):
    plain = qml.QNode(body, DEVICE)
    simplified = passes.pipeline({"cancel_inverses": {}, "merge_rotations": {}})(plain)
    merged = passes.merge_rotations(plain)

    @qjit
    def program(x):
        @for_loop(0, 2, 1)
        def loop(i, total):
            return total + merged(x) * simplified(x)

        return plain(x), simplified(x), loop(0.0)

    expected = np.cos(0.6)
    np.testing.assert_allclose(program(0.3), [expected, expected, 2 * expected**2])
    both = ["Hadamard", "Hadamard", "RX"]
    assert found(program) == [*both, "RX", "RX", *both, "RX"]


def test_a_pipeline_for_all_circuits_is_for_those_without_their_own(found):
    merged = passes.merge_rotations(qml.QNode(body, DEVICE))
    none = passes.pipeline({})(qml.QNode(body, DEVICE))
    other = qml.QNode(body, DEVICE)

    @qjit(circuit_transform_pipeline={"cancel_inverses": {}})
    def program(x):
        return merged(x), none(x), other(x)

    program(0.3)
    assert found(program) == ["Hadamard"] * 2 + ["RX"] + ["Hadamard"] * 2 + ["RX"] * 4

    inner = qjit(other, circuit_transform_pipeline={"merge_rotations": {}})
    outer = qjit(lambda x: (inner(x), other(x)), circuit_transform_pipeline={"cancel_inverses": {}})
    outer(0.3)
    assert found(outer) == ["Hadamard", "Hadamard", "RX", "RX", "RX"]


def test_shots_and_other_settings_keep_passes(found):
    qnode = qml.QNode(body, qml.device("default.qubit", wires=1))
    circuit = qjit(qml.set_shots(passes.cancel_inverses(qnode), None))
    circuit()
    assert found(circuit) == ["RX", "RX"]


def test_together_with_transforms_of_pennylane(found):
    """PennyLane's transforms make tapes; passes act on the circuits of those."""
    seen = []

    @passes.register_pass("count_gates")
    def count_gates(circuit):
        seen.append(len(circuit.gates()))

    @qjit
    @passes.merge_rotations
    @partial(qml.compile, pipeline=[qml.transforms.cancel_inverses])
    @passes.apply_pass("count_gates")
    @qml.qnode(DEVICE)
    def circuit(x):
        return body(x)

    np.testing.assert_allclose(circuit(0.3), np.cos(0.6))
    assert seen[0] == 2
    assert found(circuit) == ["RX"]


def test_transforms_of_pennylane_that_are_passes(found):
    """They keep control flow, which a tape has not; but with options that the pass has not."""

    @qml.transform(pass_name="merge-rotations")
    @qml.transforms.cancel_inverses
    @qml.qnode(DEVICE)
    def circuit(x, n):
        for_loop(0, n, 1)(lambda i: (qml.RX(x, 0), qml.Hadamard(0), qml.Hadamard(0), None)[-1])()
        return qml.expval(qml.Z(0))

    compiled = qjit(circuit)
    np.testing.assert_allclose(compiled(0.3, 2), np.cos(0.6))
    assert found(compiled) == ["RX"]

    @qjit
    @partial(qml.transforms.merge_rotations, atol=0.7)
    @qml.qnode(DEVICE)
    def without_small_angles():
        return body(0.3)

    without_small_angles()
    assert found(without_small_angles) == ["Hadamard", "Hadamard"]


def test_the_compiler_by_its_name_in_pennylane(found):
    circuit = passes.cancel_inverses(qml.QNode(body, DEVICE))
    compiled = qml.qjit(circuit, compiler="diastase")
    np.testing.assert_allclose(compiled(0.3), np.cos(0.6))
    assert found(compiled) == ["RX", "RX"]
    pipeline = {"merge_rotations": {"loops": False}}
    plain = qml.QNode(body, DEVICE)
    compiled = qml.qjit(plain, compiler="diastase", circuit_transform_pipeline=pipeline)
    compiled(0.3)
    assert found(compiled) == ["Hadamard", "Hadamard", "RX"]


def test_a_pattern_with_options(found):
    """A class of patterns; its parameters are the options of the pass."""

    @passes.register_pass("drop_small_rotations")
    @dataclass
    class DropSmallRotations:
        below: float = 1e-9
        axis: str = "X"

        def __call__(self, gate, circuit):
            if gate.name != f"R{self.axis}":
                return
            angle = passes.values.constant_of(gate.parameters[0])
            if angle is not None and abs(angle) < self.below:
                circuit.erase(gate)

    def rotations():
        qml.RX(1e-5, 0)
        qml.RY(1e-5, 0)
        qml.RX(0.1, 0)
        return qml.expval(qml.Z(0))

    for options, left in (
        ({}, ["RX", "RY", "RX"]),
        ({"below": 0.01}, ["RY", "RX"]),
        ({"below": 1, "axis": "Y"}, ["RX", "RX"]),
    ):
        qnode = passes.apply_pass("drop-small-rotations", **options)(qml.QNode(rotations, DEVICE))
        circuit = qjit(qnode)
        circuit()
        assert found(circuit) == left


def test_a_pass_that_has_changed_is_run_again(found):
    """The cache on disk does not know what a user's pass does."""

    def compiled(name):
        @passes.register_pass("replace_rotations")
        def replace_rotations(circuit):
            for gate in circuit.gates():
                if gate.name == "RX":
                    circuit.replace(gate, [passes.New(name, [0], gate.parameters)])

        return qjit(passes.apply_pass("replace_rotations")(qml.QNode(body, DEVICE)))

    np.testing.assert_allclose(compiled("RZ")(0.4), 1.0, atol=1e-12)
    np.testing.assert_allclose(compiled("RX")(0.4), np.cos(0.8), atol=1e-12)


def test_flags_are_options_that_are_true():
    seen = []

    @passes.register_pass("see_flags")
    def see_flags(circuit, *, deep=False, rounds=1):
        seen.append((deep, rounds))

    qjit(passes.apply_pass("see-flags", "deep", rounds=3)(qml.QNode(body, DEVICE)))(0.1)
    assert seen[0] == (True, 3)


def test_a_pass_of_the_users_that_loses_a_qubit_is_refused():
    @passes.register_pass("lose_a_qubit")
    def lose_a_qubit(circuit):
        last = circuit.gates()[-1]
        last.results[0].replace_all_uses_with(last.bits[0])

    circuit = qjit(passes.apply_pass("lose_a_qubit")(qml.QNode(body, DEVICE)))
    with pytest.raises(
        FailedPassError, match="after the pass lose_a_qubit a qubit is not"
    ) as caught:
        circuit(0.1)
    assert caught.value.span is not None
    assert caught.value.span.file == __file__
    with pytest.raises(PassError, match="after the pass lose_a_qubit a qubit is not used"):
        reproducer.main(str(caught.value.reproducer))


def test_an_operation_that_is_none_of_a_circuit_is_refused():
    @passes.register_pass("compute_something_else")
    def compute_something_else(circuit):
        gate = next(gate for gate in circuit.gates() if gate.name == "RX")
        with circuit.before(gate):
            angle = passes.values.apply("sincos_of", gate.parameters[0])
        circuit.replace(gate, [passes.New("RX", [0], [angle])])

    circuit = qjit(passes.apply_pass("compute_something_else")(qml.QNode(body, DEVICE)))
    with pytest.raises(FailedPassError, match=r"math\.sincos_of"):
        circuit(0.1)


def test_gates_that_do_not_follow_each_other_cannot_be_replaced_together():
    @passes.register_pass("join_anything")
    def join_anything(circuit):
        gates = circuit.gates()
        circuit.replace([gates[0], gates[-1]], [])

    circuit = qjit(passes.apply_pass("join_anything")(qml.QNode(body, DEVICE)))
    with pytest.raises(DiastaseError, match="RX does not follow Hadamard on the same qubits"):
        circuit(0.1)


def test_an_exception_in_a_pass_is_the_users_own():
    @passes.register_pass("fail")
    def fail(circuit):
        raise ZeroDivisionError("my pass")

    with pytest.raises(ZeroDivisionError, match="my pass"):
        qjit(passes.apply_pass("fail")(qml.QNode(body, DEVICE)))(0.1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: passes.register_pass("cancel-inverses")(lambda circuit: None), "of that name"),
        (lambda: passes.register_pass("a")(lambda: None), "must take a circuit"),
        (lambda: passes.register_pass("a")(lambda circuit, **options: None), "has no name"),
        (lambda: passes.register_pass("a")(3), "no function and no class"),
        (lambda: passes.apply_pass(3), "by its name"),
        (lambda: passes.apply_pass("cancel_inverses", deep=[1]), "has no option deep"),
        (lambda: passes.pipeline({"cancel_inverses": None}), "options are a dictionary"),
        (lambda: qjit(lambda: 0, circuit_transform_pipeline={"x": {}}), "no pass named x"),
        (lambda: passes.cancel_inverses(body), "applied to a function"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(DiastaseError, match=message):
        ask()


def test_an_option_must_be_a_plain_value():
    @passes.register_pass("with_an_option")
    def with_an_option(circuit, *, value=1):
        pass

    for value in (jnp.ones(3), 2**70, [1]):
        with pytest.raises(DiastaseError, match="a number of 64 bits, True, False or a string"):
            passes.apply_pass("with_an_option", value=value)
    assert passes.apply_pass("with_an_option", value=np.int64(3)) is not None


def test_the_public_names():
    assert diastase.passes is passes
    assert set(passes.__all__) <= set(dir(passes))
