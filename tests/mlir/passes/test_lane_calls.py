"""Operations on registers in lanes become calls of their engine, with arrays in memory."""

import re

import pytest

from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.passes.runtime.quantum_to_runtime import quantum_to_runtime
from diastase_runtime.gate_table import GATES, run_row

CALL = "diastase_import__lanes__"
LANES = "!quantum.lane_register"
ARGUMENTS = (
    "%n: index, %v: i64, %x: tensor<8xf64> {bufferization.writable = false}, "
    "%p: tensor<2x8xf64> {bufferization.writable = false}"
)

ALLOC = f"""
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r = "quantum.lanes_alloc"(%zero) {{num_wires = 3 : i64, lanes = 8 : i64, site = 4 : i64}}
    : (i64) -> {LANES}
"""
NEGATED = "%y = stablehlo.negate %x : tensor<8xf64>\n"


def converted(body):
    text = f"func.func @diastase_entry(%context: !llvm.ptr, {ARGUMENTS}) {{ {body}\n return }}"
    with session(DIALECTS):
        module = ir.Module.parse(text)
        quantum_to_runtime(module)
        assert module.operation.verify()
        assert "quantum." not in str(module)
        return str(module)


def calls(text, function):
    """The operands of all calls of a function; those that are constants as what they are."""
    constants = dict(re.findall(r"(%\S+) = arith.constant (-?\d+) : i64", text))
    constants |= dict.fromkeys(re.findall(r"(%\S+) = llvm.mlir.zero", text), "null")
    tables = dict(re.findall(r"@(\w+)\(dense<\[?([^\]>]*)\]?> : tensor<\d+x[if]64>\)", text))
    addresses = re.findall(r"(%\S+) = llvm.mlir.addressof @(\w+)", text)
    constants |= {name: f"[{tables[table]}]" for name, table in addresses}
    found = re.findall(rf"call @{CALL}{function}\(([^)]*)\)", text)
    return [[constants.get(one, one) for one in operands.split(", ")] for operands in found]


def gate(name, parameters, wires, controls=""):
    segments = f"array<i32: 1, {len(parameters)}, {len(wires)}>"
    types = ", ".join([LANES, *["tensor<8xf64>"] * len(parameters), *["i64"] * len(wires)])
    return (
        f'%g = "quantum.lanes_gate"({", ".join(["%r", *parameters, *wires])}) '
        f'{{gate_name = "{name}", control_values = array<i1{controls}>, site = 5 : i64, '
        f"operandSegmentSizes = {segments}}} : ({types}) -> {LANES}\n"
    )


def test_a_register_is_created_and_released():
    text = converted(ALLOC + f'"quantum.release"(%r) : ({LANES}) -> ()')
    assert calls(text, "state_create") == [["%arg0", "4", "3", "8", "0"]]
    assert len(calls(text, "state_release")) == 1


def test_a_gate_takes_the_addresses_of_its_parameters_and_null_for_others():
    text = converted(ALLOC + gate("RX", ["%x"], ["%one"]))
    ((context, _, *numbers, parameter, second, third),) = calls(text, "gate")
    assert (context, second, third) == ("%arg0", "null", "null")
    assert numbers == ["5", str(GATES["RX"].code), "0", "null", "null", "1", "0"]
    # An argument of the program is used where it lies.
    assert "memref.alloc" not in text
    assert re.search(rf"{parameter} = llvm.inttoptr", text)


def test_controls_come_after_targets_and_are_a_table():
    body = gate("CRX", ["%x"], ["%one", "%v", "%zero", "%one"], ": true, false")
    ((*_, count, controls, values, wire0, wire1, _, _, _),) = calls(converted(ALLOC + body), "gate")
    assert (count, controls, values) == ("2", "[0, 1]", "[1, 0]")
    assert (wire0, wire1) == ("1", "%arg2")


def test_computed_parameters_are_copied_when_the_gate_is_applied():
    """Not views of them: bufferization could write into the tensor before the call."""
    text = converted(ALLOC + NEGATED + gate("Rot", ["%y", "%y", "%x"], ["%one"]))
    assert text.count("bufferization.materialize_in_destination") == 2
    assert text.count("bufferization.to_buffer") == 1
    assert "null" not in calls(text, "gate")[0][-3:]


@pytest.mark.parametrize("rows", ["%p", ""])
def test_a_run_has_a_table_constants_and_rows_of_parameters(rows):
    number = "%1" if rows else "0.25"
    body = f"""
      %g = "quantum.lanes_run"(%r{", " if rows else ""}{rows}) {{
        gates = ["CRot 2 0 ctrl 1=0 : 0.5 {number} 0.5", "CNOT 0 1"], sites = array<i64: 5, 6>}}
        : ({LANES}{", tensor<2x8xf64>" if rows else ""}) -> {LANES}
    """
    text = converted(ALLOC + body)
    ((_, _, count, table, constants, parameters),) = calls(text, "gate_run")
    references = [0, -2, 0] if rows else [0, 1, 0]
    expected = run_row(GATES["CRot"], 5, [2, 0], [(1, False)], references)
    expected += run_row(GATES["CNOT"], 6, [0, 1], [], [])
    assert (count, table) == ("2", str(expected))
    known = [0.5] if rows else [0.5, 0.25]
    assert [float(number) for number in constants.strip("[]").split(",")] == known
    assert (parameters == "null") == (not rows)
    assert "memref.alloc" not in text  # an argument is used where it lies


@pytest.mark.parametrize(
    ("kind", "mapped"),
    [("tensor<4x4xcomplex<f64>>", "0"), ("tensor<8x4x4xcomplex<f64>>", "1")],
)
def test_a_matrix_is_of_all_lanes_or_of_each(kind, mapped):
    body = f"""
      %m = tensor.empty() : {kind}
      %g = "quantum.lanes_unitary"(%r, %m, %one, %zero, %v) {{control_values = array<i1: false>,
        site = 5 : i64, operandSegmentSizes = array<i32: 1, 1, 3>}}
        : ({LANES}, {kind}, i64, i64, i64) -> {LANES}
    """
    text = converted(ALLOC + body)
    ((_, _, site, targets, table, count, controls, values, found, _),) = calls(text, "unitary")
    assert (site, targets, count, values, found) == ("5", "2", "1", "[0]", mapped)
    assert f"{controls} = llvm.getelementptr {table}[2]" in text
    stored = re.findall(r"llvm.store (%\w+), (%\w+) :", text)
    assert [number for number, _ in stored][2] == "%arg2"
    assert stored[0][1] == table


def test_outcomes_are_written_by_the_engine_into_memory_of_their_own():
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = arith.constant dense<0> : tensor<8xi64>
      %l:2 = scf.for %i = %c0 to %n step %c1 iter_args(%q = %r, %o = %m)
          -> ({LANES}, tensor<8xi64>) {{
        %a = "quantum.lanes_activate"(%q, %o) : ({LANES}, tensor<8xi64>) -> {LANES}
        %b:2 = "quantum.lanes_measure"(%a, %v) {{reset = true, site = 6 : i64}}
          : ({LANES}, i64) -> ({LANES}, tensor<8xi64>)
        scf.yield %b#0, %b#1 : {LANES}, tensor<8xi64>
      }}
    """
    text = converted(ALLOC + body)
    assert re.search(r"iter_args\(.*\) -> \(!llvm.ptr, tensor<8xi64>\)", text)
    ((_, register, site, wire, reset, _),) = calls(text, "measure")
    assert (site, wire, reset) == ("6", "%arg2", "1")
    assert calls(text, "activate")[0][1] == register
    loop = text[text.index("scf.for") :]
    assert loop.index("memref.alloc() ") < loop.index(f"{CALL}measure")
    assert "bufferization.to_tensor" in loop


def test_what_is_read_at_the_end_has_a_row_for_each_lane():
    body = f"""
      %w = arith.constant dense<[0, 2]> : tensor<2xi64>
      %a = "quantum.lanes_probs"(%r, %w) {{site = 7 : i64}}
        : ({LANES}, tensor<2xi64>) -> tensor<8x4xf64>
      %b = "quantum.lanes_sample"(%r, %w, %v) {{site = 8 : i64}}
        : ({LANES}, tensor<2xi64>, i64) -> tensor<8x?xi64>
      %c = "quantum.lanes_state"(%r) : ({LANES}) -> tensor<8x8xcomplex<f64>>
      %d = "quantum.lanes_pauli_values"(%r, %w) {{site = 9 : i64,
        offsets = array<i64: 0, 0, 2>, paulis = array<i64: 1, 3>}}
        : ({LANES}, tensor<2xi64>) -> tensor<2x8xf64>
    """
    text = converted(ALLOC + body)
    assert calls(text, "probabilities")[0][2:4] == ["7", "2"]
    site, count, _, shots, _ = calls(text, "sample")[0][2:]
    assert (site, count, shots) == ("8", "2", "%arg2")
    assert re.search(r"memref.alloc\(%\w+\) .* : memref<8x\?xi64>", text)
    assert len(calls(text, "amplitudes")[0]) == 3
    assert calls(text, "pauli_values")[0][2:6] == ["9", "2", "[0, 0, 2]", "[1, 3]"]
    sizes = re.findall(r"memref.alloc\(\) .* : memref<([^>]*)", text)
    assert sizes == ["8x4xf64", "8x8xcomplex<f64", "2x8xf64"]
