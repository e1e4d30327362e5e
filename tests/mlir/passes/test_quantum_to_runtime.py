"""Quantum operations become calls of the engine, with their tables in memory."""

import re

import pytest

from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.passes.runtime.quantum_to_runtime import quantum_to_runtime

CALL = "diastase_import__engine__"


def converted(body, arguments="%x: f64, %n: index, %v: i64"):
    text = f"func.func @diastase_entry(%context: !llvm.ptr, {arguments}) {{ {body}\n return }}"
    with session(DIALECTS):
        module = ir.Module.parse(text)
        quantum_to_runtime(module)
        assert module.operation.verify()
        return str(module)


def extract(name, wire, register="%r"):
    return (
        f'{name} = "quantum.extract"({register}, {wire}) '
        ": (!quantum.register, i64) -> !quantum.bit\n"
    )


def gate(result, name, operands, segments, values=""):
    types = ", ".join(["f64"] * segments[0] + ["!quantum.bit"] * sum(segments[1:]))
    bits = ", ".join(["!quantum.bit"] * sum(segments[1:]))
    return (
        f'{result} = "quantum.gate"({operands}) {{gate_name = "{name}", '
        f"control_values = array<i1{values}>, site = 5 : i64, "
        f"operandSegmentSizes = array<i32: {', '.join(map(str, segments))}>}} "
        f": ({types}) -> ({bits})\n"
    )


ALLOC = """
  %two = arith.constant 2 : i64
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r = "quantum.alloc"(%two) {site = 0 : i64} : (i64) -> !quantum.register
"""


def test_a_register_is_created_and_released():
    text = converted(ALLOC + '"quantum.release"(%r) : (!quantum.register) -> ()')
    assert f"call @{CALL}state_create(%arg0" in text
    assert f"call @{CALL}state_release(%arg0" in text
    assert f"func.func private @{CALL}state_create(!llvm.ptr, i64, i64) -> !llvm.ptr" in text
    assert "quantum" not in text


def test_gates_keep_their_order_and_take_wires_as_numbers():
    body = ALLOC + extract("%a", "%zero") + extract("%b", "%v")
    body += gate("%c", "RX", "%x, %a", (1, 1, 0)) + gate("%d:2", "CNOT", "%c, %b", (0, 2, 0))
    calls = re.findall(rf"call @{CALL}gate\((.*)\) :", converted(body))
    assert len(calls) == 2
    assert "%arg1" in calls[0]
    assert "%arg3" in calls[1]


def test_registers_carried_by_loops_become_pointers():
    body = (
        ALLOC
        + """
      %i0 = arith.constant 0 : index
      %i1 = arith.constant 1 : index
      %o = scf.for %i = %i0 to %n step %i1 iter_args(%q = %r) -> !quantum.register {
    """
        + extract("%a", "%v", "%q")
        + gate("%b", "RX", "%x, %a", (1, 1, 0))
        + """
        %s = "quantum.insert"(%q, %v, %b)
          : (!quantum.register, i64, !quantum.bit) -> !quantum.register
        scf.yield %s : !quantum.register
      }
    """
    )
    assert re.search(r"iter_args\(%\w+ = %\w+\) -> \(!llvm.ptr\)", converted(body))


def test_tables_of_known_wires_are_shared_globals():
    body = ALLOC + extract("%a", "%zero") + extract("%b", "%one")
    first = gate("%c:2", "RX", "%x, %a, %b", (1, 1, 1), ": true")
    second = gate("%d:2", "RY", "%x, %c#0, %c#1", (1, 1, 1), ": true")
    text = converted(body + first + second)
    assert "alloca" not in text
    assert text.count("llvm.mlir.global") == 1  # the wires [1] and the control values [1]
    assert text.count(f"call @{CALL}controlled_gate") == 2


def test_tables_of_traced_wires_never_grow_the_stack_in_a_loop():
    body = (
        ALLOC
        + """
      %i0 = arith.constant 0 : index
      %i1 = arith.constant 1 : index
      scf.for %i = %i0 to %n step %i1 {
    """
        + extract("%a", "%zero")
        + extract("%b", "%v")
        + gate("%c:2", "RX", "%x, %a, %b", (1, 1, 1), ": false")
        + "}"
    )
    text = converted(body)
    assert text.count("llvm.alloca") == 1
    assert text.index("llvm.alloca") < text.index("scf.for")


@pytest.mark.parametrize("name", ["expval_pauli", "var_pauli"])
def test_a_hamiltonian_is_one_call_on_constant_tables(name):
    body = (
        ALLOC
        + f"""
      %c = arith.constant dense<[0.5, -1.0, 2.0]> : tensor<3xf64>
      %w = arith.constant dense<[0, 1, 1]> : tensor<3xi64>
      %e = "quantum.{name}"(%r, %c, %w) {{offsets = array<i64: 0, 2, 3, 3>,
        paulis = array<i64: 3, 3, 1>, site = 0 : i64}}
        : (!quantum.register, tensor<3xf64>, tensor<3xi64>) -> f64
    """
    )
    text = converted(body)
    assert text.count(f"call @{CALL}{name}") == 1
    assert "memref.alloc" not in text


def test_a_traced_matrix_is_copied_when_the_gate_is_applied():
    """Not a view of it: bufferization could write into the tensor before the call."""
    body = (
        ALLOC
        + extract("%a", "%zero")
        + """
      %b = "quantum.unitary"(%m, %a) {control_values = array<i1>, site = 0 : i64,
        operandSegmentSizes = array<i32: 1, 1, 0>}
        : (tensor<2x2xcomplex<f64>>, !quantum.bit) -> !quantum.bit
    """
    )
    text = converted(body, "%m: tensor<2x2xcomplex<f64>>")
    assert "bufferization.materialize_in_destination" in text
    assert "bufferization.to_buffer" not in text


UNITARY = (
    '%c:2 = "quantum.unitary"(%m, %a, %b) {control_values = array<i1>, site = 1 : i64, '
    "operandSegmentSizes = array<i32: 1, 2, 0>} : (tensor<4x4xcomplex<f64>>, !quantum.bit, "
    "!quantum.bit) -> (!quantum.bit, !quantum.bit)\n"
)


def slice_of(shape, offsets, sizes, steps):
    piece = "x".join(map(str, sizes))
    dims = "x".join(map(str, shape))
    axes = ", ".join(str(axis) for axis in range(len(sizes)))
    return (
        f"%s = tensor.extract_slice %us{offsets} {sizes} {steps} "
        f": tensor<{dims}xcomplex<f64>> to tensor<{piece}xcomplex<f64>>\n"
        f"%f = tensor.collapse_shape %s [[{axes}]] "
        f": tensor<{piece}xcomplex<f64>> into tensor<16xcomplex<f64>>\n"
        "%m = tensor.expand_shape %f [[0, 1]] output_shape [4, 4] "
        ": tensor<16xcomplex<f64>> into tensor<4x4xcomplex<f64>>\n"
    )


@pytest.mark.parametrize(
    ("shape", "offsets", "sizes", "steps", "numbers"),
    [
        ([5, 4, 4], [0, 0, 0], [1, 4, 4], [1, 1, 1], 0),
        ([5, 4, 4], [3, 0, 0], [1, 4, 4], [1, 1, 1], 96),
        ([3, 2, 4, 4], [2, 1, 0, 0], [1, 1, 4, 4], [1, 1, 1, 1], 160),
        ([8, 8], [4, 0], [2, 8], [1, 1], 64),
        ([3, 4, 2, 4], [1, 0, 1, 0], [1, 4, 1, 4], [1, 1, 1, 1], None),
        ([8, 8], [0, 4], [4, 4], [1, 1], None),
        ([8, 4], [0, 0], [4, 4], [2, 1], None),
    ],
)
@pytest.mark.parametrize("writable", [False, True])
def test_a_piece_of_an_argument_is_used_where_it_lies(
    shape, offsets, sizes, steps, numbers, writable
):
    dims = "x".join(map(str, shape))
    argument = f"%us: tensor<{dims}xcomplex<f64>>"
    if not writable:
        argument += " {bufferization.writable = false}"
    body = ALLOC + slice_of(shape, offsets, sizes, steps)
    body += extract("%a", "%zero") + extract("%b", "%one") + UNITARY
    text = converted(body, argument)
    if writable or numbers is None:
        assert "materialize_in_destination" in text
        assert "to_buffer" not in text
    else:
        assert "memref.alloc" not in text
        assert "to_buffer %arg1 read_only" in text
        assert (f"[{numbers}]" in text) == (numbers > 0)


def test_outcome_scripts_are_kept_by_the_engine():
    body = """
      %s = "quantum.outcome_script"() {mode = "tree"} : () -> i64
      %more = "quantum.next_run"(%s) : (i64) -> i1
      %w = "quantum.run_weight"(%s) : (i64) -> f64
      %valid = "quantum.run_is_valid"(%s) : (i64) -> i1
      %u = "quantum.uniform"() : () -> f64
      "quantum.require_weight"(%s, %w) : (i64, f64) -> ()
      "quantum.end_script"(%s) : (i64) -> ()
    """
    text = converted(body)
    names = ["begin", "next", "weight", "is_valid", "require", "end"]
    assert re.findall(rf"call @{CALL}script_(\w+)\(%arg0", text) == names
    assert re.findall(rf"call @{CALL}uniform\(%arg0\)", text)
    assert "quantum" not in text


def test_an_outcome_script_has_a_mode_of_the_engine():
    with pytest.raises(ir.MLIRError, match="no mode of outcome scripts: walk"):
        converted('%s = "quantum.outcome_script"() {mode = "walk"} : () -> i64')
