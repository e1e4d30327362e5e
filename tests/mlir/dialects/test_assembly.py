"""The assembly format of the quantum dialect: what is printed is read again as the same module."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import CompileOptions, cond, debug, for_loop, measure, qjit
from diastase_mlir.dialects import module_text
from diastase_mlir.dialects.assembly import generic_form, short_form

DEVICE = qml.device("lightning.qubit", wires=3)


@qml.qnode(DEVICE)
def loop(angles):
    @for_loop(0, angles.shape[0], 1)
    def layers(i):
        qml.RY(angles[i], wires=0)
        qml.CNOT(wires=[0, 1])

    layers()
    return qml.expval(qml.Z(0) @ qml.Z(1)), qml.probs(wires=[1])


@qml.qnode(DEVICE)
def every_kind(angles):
    qml.ctrl(qml.RX(angles[0], 0), control=[1, 2], control_values=[1, 0])
    qml.Rot(*angles, wires=jnp.argmax(angles))
    outcome = measure(1, reset=True)

    @cond(outcome)
    def branch():
        qml.X(0)
        qml.X(jnp.argmin(angles))

    @branch.otherwise
    def otherwise():
        qml.Y(0)

    branch()
    qml.QubitUnitary(jnp.eye(2), 0)
    qml.DiagonalQubitUnitary(jnp.array([1, -1]), 1)
    qml.adjoint(qml.S(2))
    qml.GlobalPhase(angles[1])
    qml.MultiRZ(angles[2], [0, 1, 2])
    return (
        qml.expval(qml.Hamiltonian([angles[0], 0.4], [qml.Z(0) @ qml.X(1), qml.Y(2)])),
        qml.state(),
        qml.var(qml.Hermitian(jnp.eye(2), 0)),
    )


@qml.qnode(DEVICE)
def run_of_gates(angles):
    for number in range(20):
        qml.RX(angles[number % 3] * number, number % 3)
        qml.ctrl(qml.PhaseShift(0.1, 0), 1, control_values=[number % 2])
    return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1])


@qml.qnode(qml.device("lightning.qubit", wires=2, c_dtype=np.complex64))
def single_precision(angles):
    qml.RX(angles[0], 0)
    qml.CNOT([0, 1])
    return qml.expval(qml.Z(1))


@qml.qnode(DEVICE, mcm_method="tree-traversal")
def every_branch(angles):
    qml.RX(angles[0], 0)
    measure(0, postselect=1)
    outcome = measure(1)

    @cond(outcome)
    def branch():
        qml.RX(angles[1], 2)

    branch()
    return qml.expval(qml.Z(2))


@qml.set_shots(20)
@qml.qnode(DEVICE, mcm_method="one-shot")
def shot_by_shot(angles):
    qml.RX(angles[0], 0)
    return qml.expval(measure(0))


def batch(angles):
    """Elements of two axes, where one operand has the first only."""
    values = jax.vmap(jax.vmap(lambda x, y: loop(x * y)[0], (0, None)), (None, 0))
    return values(angles[:2, None] + angles, angles)


def without_numbers(text):
    """Numbers of constants of one value and of locations count those that are left out, too."""
    lines = [line for line in text.split("\n") if not line.startswith("#loc")]
    return re.sub(r"(%c|#loc)\w+", r"\1", "\n".join(lines))


PROGRAMS = [
    loop,
    every_kind,
    run_of_gates,
    single_precision,
    every_branch,
    shot_by_shot,
    jax.grad(lambda x: loop(x)[0]),
    lambda x: [every_kind(x * factor)[0] for factor in range(3)],
    lambda x: jax.vmap(jax.vmap(lambda a, b: loop(a * b), (0, None)), (None, 0))(
        x[:2, None] + x, x
    ),
]
ANGLES = jnp.array([0.1, 0.7, -0.3])


@pytest.mark.sample(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_printed_compiles_to_the_same(program):
    compiled = qjit(program, seed=3)
    expected = jax.tree.leaves(compiled(ANGLES))
    again = debug.compile_from_mlir(compiled.mlir, CompileOptions(seed=3))
    for result, wanted in zip(jax.tree.leaves(again(ANGLES)), expected, strict=True):
        np.testing.assert_allclose(result, wanted, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("options", [{}, {"debug_info": True}])
def test_the_form_is_read_and_printed_alike(program, options):
    text = qjit(program).lower(ANGLES).as_text(**options)
    generic = generic_form(text)
    assert generic.count("\n") == text.count("\n")
    assert "quantum." not in generic.replace('"quantum.', "").replace("!quantum.", "")
    assert "runtime." not in generic.replace('"runtime.', "")
    again = module_text(text.encode(), with_locations="debug_info" in options)
    assert without_numbers(again) == without_numbers(text)


def test_the_circuit_of_the_readme_fits_a_screen():
    text = qjit(loop).lower(ANGLES).as_text()
    assert len(text.splitlines()) <= 40
    assert re.search(r'%\d+ = quantum.gate "RY"\(%\d+\) %\d+ \{site = 1\}', text)
    assert "runtime.scalar 3 : index" in text
    assert re.search(r"scf.for %\w+ = %\d+ to %\d+ step %\d+", text)


def test_a_run_has_one_gate_a_line():
    lines = qjit(run_of_gates).lower(ANGLES).as_text().splitlines()
    start = next(n for n, line in enumerate(lines) if "quantum.run" in line)
    assert lines[start + 1].split() == ["RX", "0", ":", "%0", "{site", "=", "1}"]
    assert lines[start + 2].strip() == "PhaseShift 0 ctrl 1=0 : 0.1 {site = 2}"
    assert lines[start + 41].startswith("    } : (!quantum.register, ")


def test_constants_that_others_use_stay():
    text = """
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = "quantum.extract"(%r, %c) : (!quantum.register, tensor<i64>) -> !quantum.bit
    %1 = stablehlo.add %c, %n : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %2 = "quantum.extract"(%r, %c_0) : (!quantum.single_register, tensor<i64>) -> !quantum.bit"""
    assert (
        short_form(text)
        == """
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = quantum.extract %r[1]
    %1 = stablehlo.add %c, %n : tensor<i64>
    %2 = quantum.extract %r[2] : !quantum.single_register"""
    )


def test_a_name_may_come_again_in_another_region():
    text = """
    scf.if %flag {
      %c = stablehlo.constant dense<1> : tensor<i64>
      %0 = "quantum.extract"(%r, %c) : (!quantum.register, tensor<i64>) -> !quantum.bit
    } else {
      %c = stablehlo.constant dense<-1> : tensor<i64>
      %0 = "quantum.extract"(%r, %c) : (!quantum.register, tensor<i64>) -> !quantum.bit
    }"""
    assert (
        short_form(text)
        == """
    scf.if %flag {
      %0 = quantum.extract %r[1]
    } else {
      %0 = quantum.extract %r[-1]
    }"""
    )


def test_a_name_may_be_another_value_in_another_function():
    """As with names of locations, which are those of the user's variables."""
    text = """
  func.func private @a(%r: !quantum.register) -> !quantum.bit {
    %wire = stablehlo.constant dense<1> : tensor<i64>
    %0 = "quantum.extract"(%r, %wire) : (!quantum.register, tensor<i64>) -> !quantum.bit
  }
  func.func private @b(%r: !quantum.register, %wire: i64) -> !quantum.bit {
    %0 = "quantum.extract"(%r, %wire) : (!quantum.register, tensor<i64>) -> !quantum.bit
    %flag = stablehlo.constant dense<0> : tensor<i64>
    %flag_0:2 = scf.for %flag = %wire to %wire step %wire iter_args(%wire_1 = %r) {
      %1 = "quantum.extract"(%r, %flag) : (!quantum.register, tensor<i64>) -> !quantum.bit"""
    shown = short_form(text)
    assert shown.count("quantum.extract %r[1]") == 1
    assert shown.count("quantum.extract %r[%wire]") == 1
    assert shown.count("quantum.extract %r[%flag]") == 1


def test_constants_that_are_made_have_names_of_their_own():
    read = generic_form("(%_wire0: i64) %0 = 1\n  %1 = quantum.extract %r[3]")
    assert "%_wire_0 = stablehlo.constant dense<3> : tensor<i64>" in read


def test_numbers_that_are_scalars_say_so():
    text = """
    %c1_i64 = arith.constant 1 : i64
    %0 = "quantum.extract"(%r, %c1_i64) : (!quantum.register, i64) -> !quantum.bit
    %1 = quantum.gate "RX"(%x : f64) %0 {site = 1}
    %2 = "quantum.extract"(%r, %w) : (!quantum.register, i64) -> !quantum.bit"""
    shown = short_form(text)
    assert "quantum.extract %r[1 : i64]" in shown
    assert "quantum.extract %r[%w : i64]" in shown
    read = generic_form(shown)
    assert "arith.constant 1 : i64" in read
    assert ": (f64, !quantum.bit) -> !quantum.bit" in read


def test_an_error_in_the_text_names_its_line():
    compiled = qjit(loop)
    compiled(ANGLES)
    text = re.sub(r'quantum.gate "RY"\(%\d+\)', 'quantum.gate "RY"(%nothing)', compiled.mlir)
    number = next(n for n, line in enumerate(text.splitlines(), 1) if "%nothing" in line)
    with pytest.raises(ValueError, match=rf":{number}\b"):
        debug.replace_ir(compiled, "mlir", text)
