"""Which operations belong to a circuit, from text: copies of a register, other circuits."""

from diastase_mlir.circuit_modules import run_again

REGISTER, BIT = "!quantum.register", "!quantum.bit"


def transformed(body):
    """A circuit after `cancel_inverses`."""
    text = f"""
        func.func @circuit(%n: index, %v: i64) {{
          %zero = arith.constant 0 : i64
          %two = arith.constant 2 : i64
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %r = "quantum.alloc"(%two) {{site = 0 : i64}} : (i64) -> {REGISTER}
          {body}
          return
        }}"""
    return run_again(text, "cancel_inverses {}")


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
    return text.count('quantum.gate "Hadamard"')


def test_gates_meet_across_insertions():
    assert gates(transformed(hadamard("a", "r") + hadamard("b", "a"))) == 0


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
    """Each has its own gates, on qubits of the same number."""
    other = f"""
      %o = "quantum.alloc"(%two) {{site = 0 : i64}} : (i64) -> {REGISTER}
    """
    body = hadamard("a", "r") + other + hadamard("p", "o")
    assert gates(transformed(body)) == 2
    assert gates(transformed(body + hadamard("b", "a"))) == 1
    assert gates(transformed(body + hadamard("q", "p"))) == 1
    assert gates(transformed(body + hadamard("b", "a") + hadamard("q", "p"))) == 0
