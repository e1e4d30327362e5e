"""The `quantum` dialect: what its verifier accepts and refuses, and that it survives bytecode."""

import io

import pytest

from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS

GATE = """
  %q = "quantum.extract"(%r, %w) : (!quantum.register, i64) -> !quantum.bit
  %p = "quantum.gate"(%x, %q) {{gate_name = "{name}", control_values = array<i1{values}>,
    site = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0>}}
    : (f64, !quantum.bit) -> !quantum.bit
  %s = "quantum.insert"(%r, %w, %p) : (!quantum.register, i64, !quantum.bit) -> !quantum.register
"""


def program(body):
    return f"""func.func @f(%r: !quantum.register, %x: f64, %w: i64, %m: tensor<2x2xcomplex<f64>>,
      %c: tensor<2xf64>, %v: tensor<1xi64>) {{ {body}
      return }}"""


def parse(body):
    with session(DIALECTS):
        return str(ir.Module.parse(program(body)))


def refused(body, message):
    with pytest.raises(ir.MLIRError) as raised:
        parse(body)
    assert message in str(raised.value)


def test_a_gate_is_accepted():
    assert "quantum.gate" in parse(GATE.format(name="RX", values=""))


def test_registers_pass_through_structured_control_flow():
    body = """
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %o = scf.for %i = %0 to %1 step %1 iter_args(%a = %r) -> !quantum.register {
        scf.yield %a : !quantum.register
      }
    """
    assert "!quantum.register" in parse(body)


def test_bytecode_keeps_types_and_operations():
    with session(DIALECTS):
        module = ir.Module.parse(program(GATE.format(name="RX", values="")))
        file = io.BytesIO()
        module.operation.write_bytecode(file)
        assert str(ir.Module.parse(file.getvalue())) == str(module)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("Rx", "", "there is no gate named Rx"),
        ("Hadamard", "", "Hadamard takes 0 parameters"),
        ("Rot", "", "Rot takes 3 parameters"),
        ("CRX", "", "CRX acts on 2 wires"),
        ("RX", ": true", "0 controls need 0 control values"),
    ],
)
def test_gates_are_compared_with_the_table(name, values, message):
    refused(GATE.format(name=name, values=values), message)


def test_a_matrix_must_fit_its_wires():
    body = """
      %q = "quantum.extract"(%r, %w) : (!quantum.register, i64) -> !quantum.bit
      %p:2 = "quantum.unitary"(%m, %q, %q) {control_values = array<i1>, site = 0 : i64,
        operandSegmentSizes = array<i32: 1, 2, 0>} : (tensor<2x2xcomplex<f64>>, !quantum.bit,
        !quantum.bit) -> (!quantum.bit, !quantum.bit)
    """
    refused(body, "a matrix on 2 wires cannot have the shape [2, 2]")


def test_operand_types_are_checked():
    refused('"quantum.release"(%x) : (f64) -> ()', "")
    refused('%q = "quantum.extract"(%r, %x) : (!quantum.register, f64) -> !quantum.bit', "")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('reset = false, word = "Z", postselect = 2 : i64', "postselect must be 0, 1 or -1"),
        ('reset = false, word = "XI", postselect = 0 : i64', "'XI' is no Pauli word on 1 bits"),
        ('reset = false, word = "XX", postselect = 0 : i64', "'XX' is no Pauli word on 1 bits"),
    ],
)
def test_measurements_that_do_not_exist(attributes, message):
    body = f"""
      %q = "quantum.extract"(%r, %w) : (!quantum.register, i64) -> !quantum.bit
      %p, %o = "quantum.measure"(%q) {{{attributes}, site = 0 : i64}}
        : (!quantum.bit) -> (!quantum.bit, i1)
    """
    refused(body, message)


def test_a_word_of_two_letters_does_not_reset():
    body = """
      %q = "quantum.extract"(%r, %w) : (!quantum.register, i64) -> !quantum.bit
      %u = arith.constant 1 : i64
      %p = "quantum.extract"(%r, %u) : (!quantum.register, i64) -> !quantum.bit
      %a, %b, %o = "quantum.measure"(%q, %p)
        {reset = true, word = "XX", postselect = 0 : i64, site = 0 : i64}
        : (!quantum.bit, !quantum.bit) -> (!quantum.bit, !quantum.bit, i1)
    """
    refused(body, "reset goes with words of one letter only")


@pytest.mark.parametrize(
    ("offsets", "paulis", "message"),
    [
        ("0, 0, 1", "3", None),
        ("0, 1", "3", "1 terms need tensor<1xf64>"),
        ("0, 0, 2", "3", "offsets must run"),
        ("0, 2, 1", "3", "offsets must not decrease"),
        ("0, 0, 1", "4", "a Pauli factor is"),
        ("0, 0, 2", "3, 3", "2 factors need tensor<2xi64>"),
    ],
)
def test_tables_of_pauli_words(offsets, paulis, message):
    body = f"""
      %e = "quantum.expval_pauli"(%r, %c, %v) {{offsets = array<i64: {offsets}>,
        paulis = array<i64: {paulis}>, site = 0 : i64}}
        : (!quantum.register, tensor<2xf64>, tensor<1xi64>) -> f64
    """
    if message is None:
        parse(body)
    else:
        refused(body, message)


def test_probabilities_have_a_number_for_each_outcome():
    body = """
      %p = "quantum.probabilities"(%r, %v) {site = 0 : i64,
        operandSegmentSizes = array<i32: 1, 1, 0>}
        : (!quantum.register, tensor<1xi64>) -> tensor<4xf64>
    """
    refused(body, "1 wires have 2 outcomes, not 4")


def test_unknown_sizes_are_operands():
    body = """
      %p = "quantum.state"(%r) {site = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}
        : (!quantum.register) -> tensor<?xcomplex<f64>>
    """
    refused(body, "1 sizes of the result are not known")


def test_sparse_matrices_and_vectors_fit_their_wires():
    sparse = """
      %a = tensor.empty() : tensor<2xi64>
      %z = tensor.empty() : tensor<2xcomplex<f64>>
      %p = "quantum.apply_sparse"(%r, %a, %a, %z, %v) {site = 0 : i64} : (!quantum.register,
        tensor<2xi64>, tensor<2xi64>, tensor<2xcomplex<f64>>, tensor<1xi64>) -> !quantum.register
    """
    refused(sparse, "1 wires need tensor<3xi64> as row starts")
    vector = """
      %z = tensor.empty() : tensor<4xcomplex<f64>>
      %p = "quantum.project_on"(%r, %z, %v) {site = 0 : i64}
        : (!quantum.register, tensor<4xcomplex<f64>>, tensor<1xi64>) -> !quantum.register
    """
    refused(vector, "1 wires need tensor<2xcomplex<f64>>")


RUN = """
  %next = "quantum.run"(%r, %x) {{gates = [{gates}], sites = array<i64: 0, 1>}}
    : (!quantum.register, f64) -> !quantum.register
"""


def test_a_run_of_gates_is_accepted():
    assert "quantum.run" in parse(RUN.format(gates='"RX 0 : %0", "CNOT 0 1"'))


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ('"RX 0 : %0"', "1 gates need 1 sites"),
        ('"RX 0 : %1", "CNOT 0 1"', "there is no operand %1"),
        ('"RX 0 : %0", "CNOT 0"', "CNOT acts on 2 wires"),
    ],
)
def test_the_gates_of_a_run_are_checked(gates, message):
    refused(RUN.format(gates=gates), message)


RUN_OF_VECTOR = """
  %p = tensor.empty() : tensor<{type}>
  %next = "quantum.run"(%r, %p) {{gates = ["RX 0 : %0", "RY 1 : %1"], sites = array<i64: 0, 1>}}
    : (!quantum.register, tensor<{type}>) -> !quantum.register
"""


def test_a_run_of_gates_takes_its_parameters_as_a_vector():
    assert "quantum.run" in parse(RUN_OF_VECTOR.format(type="2xf64"))


@pytest.mark.parametrize(
    ("type_text", "message"),
    [
        ("1xf64", "there is no operand %1"),
        ("2xf32", "one vector of them"),
        ("2x1xf64", "one vector of them"),
    ],
)
def test_the_vector_of_a_run_is_checked(type_text, message):
    refused(RUN_OF_VECTOR.format(type=type_text), message)
