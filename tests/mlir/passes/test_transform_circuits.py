"""Which operations belong to a circuit, from text: marks, copies of a register, other circuits."""

import re

from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS
from diastase_mlir.passes.quantum_to_runtime import quantum_to_runtime
from diastase_mlir.passes.transform_circuits import transform_circuits

REGISTER, BIT = "!quantum.register", "!quantum.bit"
MARK = 'passes = [{name = "cancel_inverses", options = {}}], '


def transformed(body, mark=MARK):
    head = f"""
      %zero = arith.constant 0 : i64
      %two = arith.constant 2 : i64
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = "quantum.alloc"(%two) {{{mark}site = 0 : i64}} : (i64) -> {REGISTER}
    """
    text = "func.func @diastase_entry(%context: !llvm.ptr, %n: index, %v: i64)"
    with session(DIALECTS):
        module = ir.Module.parse(f"{text} {{ {head}{body}\n return }}")
        transform_circuits(module)
        assert module.operation.verify()
        left = str(module)
        quantum_to_runtime(module)
        assert module.operation.verify()
        return left


def hadamard(after, before, wire="%zero"):
    """A gate on one wire of a register: `%after` is the register afterwards."""
    return f"""
      %x{after} = "quantum.extract"(%{before}, {wire}) : ({REGISTER}, i64) -> {BIT}
      %y{after} = "quantum.gate"(%x{after}) {{gate_name = "Hadamard", control_values = array<i1>,
        site = 1 : i64, operandSegmentSizes = array<i32: 0, 1, 0>}} : ({BIT}) -> {BIT}
      %{after} = "quantum.insert"(%{before}, {wire}, %y{after})
        : ({REGISTER}, i64, {BIT}) -> {REGISTER}
    """


def gates(text):
    return len(re.findall('"quantum.gate"', text))


def test_gates_meet_across_insertions():
    assert gates(transformed(hadamard("a", "r") + hadamard("b", "a"))) == 0


def test_without_a_mark_nothing_changes():
    body = hadamard("a", "r") + hadamard("b", "a")
    assert gates(transformed(body, mark="")) == 2


def test_a_check_stays_where_a_wire_is_computed():
    text = transformed(hadamard("a", "r", "%v") + hadamard("b", "a", "%v"))
    assert gates(text) == 0
    assert text.count("quantum.check_wires") == 1


def test_a_copy_is_another_register():
    """The gate on the copy is no part of the circuit, and nothing meets across the copying."""
    copy = f"""
      %c = "quantum.copy"(%a) {{blank = false, site = 1 : i64}} : ({REGISTER}) -> {REGISTER}
    """
    body = hadamard("a", "r") + copy + hadamard("d", "c") + hadamard("b", "a")
    assert gates(transformed(body)) == 3
    assert gates(transformed(hadamard("a", "r") + copy + hadamard("d", "c"))) == 2


def test_loops_that_carry_two_registers_are_left_alone():
    loop = f"""
      %s = "quantum.copy"(%a) {{blank = false, site = 1 : i64}} : ({REGISTER}) -> {REGISTER}
      %l:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %s)
        -> ({REGISTER}, {REGISTER}) {{
        {hadamard("e", "p")}
        {hadamard("f", "q")}
        {hadamard("g", "e")}
        scf.yield %f, %g : {REGISTER}, {REGISTER}
      }}
    """
    body = hadamard("a", "r") + loop + hadamard("h", "l#0")
    assert gates(transformed(body)) == 5


def test_another_circuit_in_between():
    other = f"""
      %o = "quantum.alloc"(%two) {{site = 0 : i64}} : (i64) -> {REGISTER}
    """
    body = hadamard("a", "r") + other + hadamard("p", "o") + hadamard("b", "a")
    assert gates(transformed(body + hadamard("q", "p"))) == 2
