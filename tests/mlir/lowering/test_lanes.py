"""Registers in lanes: equations become operations, and what comes of arrays in the end.

The primitives are stand-ins: rules are found by name.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import AbstractValue, ShapedArray
from jax.extend.core import Primitive

from diastase_mlir import CompileOptions, Program, lower
from diastase_mlir.dialects import module_text
from diastase_mlir.driver.compilation import stage_text

INTEGER, REAL, COMPLEX = (np.dtype(name) for name in ("int64", "float64", "complex128"))
LANES = 8


class Register(AbstractValue):
    """The type of a register in lanes."""

    mlir_type = "!quantum.lane_register"

    def __init__(self, lanes):
        self.lanes = lanes

    def __eq__(self, other):
        return isinstance(other, Register) and other.lanes == self.lanes

    def __hash__(self):
        return hash((Register, self.lanes))

    def str_short(self, short_dtypes=False, mesh_axis_types=False):
        return "lane_register"


def primitive(name, abstract_eval, several=False):
    made = Primitive(name)
    made.multiple_results = several
    made.def_abstract_eval(abstract_eval)
    return made.bind


def array(*shape, dtype=REAL):
    return ShapedArray(shape, dtype)


def same(register, *_, **__):
    return register


allocate = primitive("lanes_allocate", lambda _, *, num_wires, lanes, qnode: Register(lanes))
activate = primitive("lanes_activate", same)
gate = primitive("lanes_gate", same)
run = primitive("lanes_run", same)
unitary = primitive("lanes_unitary", same)
measure = primitive(
    "lanes_measure", lambda register, *_, **__: [register, array(LANES, dtype=INTEGER)], True
)
sample = primitive(
    "lanes_sample", lambda _, *__, wires, shots, lanes: array(lanes, shots, dtype=INTEGER)
)
probs = primitive("lanes_probs", lambda _, *__, wires, size: array(LANES, size))
state = primitive("lanes_state", lambda _, *, size: array(LANES, size, dtype=COMPLEX))
values = primitive("lanes_pauli_values", lambda _, *__, words, lanes: array(len(words), lanes))
release = primitive("release_qubits", lambda _: [], True)


def start(lanes=LANES):
    return allocate(jnp.int64(0), num_wires=2, lanes=lanes, qnode="circuit")


def rotated(register, angles, *wires, name="RX", on=(0,), controls=()):
    params = {"name": name, "num_parameters": 1, "wires": on, "control_values": controls}
    return gate(register, angles, *wires, **params)


def lowered(function, *arguments):
    return lower(Program("program", jax.make_jaxpr(function)(*arguments)))


def operations(program):
    """The lines of operations on registers, without their results."""
    lines = module_text(program.bytecode).splitlines()
    return [line.partition("quantum.")[2] for line in lines if " quantum." in line]


def test_gates_have_their_sites_wires_and_controls():
    def function(angles, wire):
        register = rotated(start(), angles, wire, on=(1, None), controls=(False,))
        release(register)

    program = lowered(function, jnp.zeros(LANES), 1)
    allocation, made, _ = operations(program)
    assert re.match(
        r"lanes_alloc\(%\w+\) {lanes = 8 : i64, num_wires = 2 : i64, site = 0", allocation
    )
    assert re.match(r"lanes_gate\(%\w+, %arg0, %\w+, %arg1\)", made)
    assert 'control_values = array<i1: false>, gate_name = "RX"' in made
    assert "operandSegmentSizes = array<i32: 1, 1, 2>, site = 1" in made
    assert [site.construct for site in program.sites] == ["QNode circuit", "RX"]
    assert program.uses_engine


@pytest.mark.parametrize("rows", [2, 0])
def test_a_run_has_a_site_for_each_gate(rows):
    gates = ("RX 0 : %1", "CNOT 0 1", "RX 1 : 0.5") if rows else ("S 0", "CNOT 0 1", "S 1")
    lines = (("circuit.py", 7, "circuit"), None, ("circuit.py", 7, "circuit"))

    def function(angles):
        release(run(start(), *[angles][:rows], gates=gates, lines=lines))

    program = lowered(function, jnp.zeros((rows or 1, LANES)))
    _, made, _ = operations(program)
    assert made.startswith("lanes_run(%0, %arg0)" if rows else "lanes_run(%0)"), made
    assert f"gates = {list(gates)}".replace("'", '"') in made
    assert "sites = array<i64: 1, 2, 1>" in made
    site = program.sites[1]
    assert (site.file, site.line, site.construct) == ("circuit.py", 7, gates[0].split()[0])


@pytest.mark.parametrize("mapped", [False, True])
def test_matrices_measurements_and_masks(mapped):
    def function(matrix, mask):
        register = activate(start(), mask)
        register = unitary(register, matrix, wires=(1,), control_values=(), per_lane=mapped)
        register, outcomes = measure(register, wires=(1,), reset=True)
        release(register)
        return outcomes

    shape = (LANES, 2, 2) if mapped else (2, 2)
    program = lowered(function, jnp.zeros(shape, complex), jnp.zeros(LANES, int))
    names = [line.partition("(")[0] for line in operations(program)]
    assert names == [
        "lanes_alloc", "lanes_activate", "lanes_unitary", "lanes_measure", "release"
    ]  # fmt: skip
    assert [site.construct for site in program.sites][1:] == ["QubitUnitary", "measure"]
    assert "reset = true" in operations(program)[3]


def test_what_is_read_at_the_end():
    def function(wire):
        register = start()
        found = (
            sample(register, wires=(), shots=5, lanes=LANES),
            probs(register, wire, wires=(None,), size=2),
            state(register, size=4),
            values(register, wire, words=((("X", 0), ("Z", None)), ()), lanes=LANES),
        )
        release(register)
        return found

    program = lowered(function, 1)
    _, samples, chances, amplitudes, words, _ = operations(program)
    assert "tensor<0xi64>, tensor<i64>) -> tensor<8x5xi64>" in samples
    assert "tensor<1xi64>) -> tensor<8x2xf64>" in chances
    assert "site" not in amplitudes
    assert "offsets = array<i64: 0, 2, 2>, paulis = array<i64: 1, 3>" in words
    assert "tensor<2xi64>) -> tensor<2x8xf64>" in words
    constructs = [site.construct for site in program.sites]
    assert constructs == ["QNode circuit", "the QNode", "probs", "expval"]


def test_arrays_have_as_many_numbers_as_there_are_lanes():
    with pytest.raises(AssertionError, match=r"lanes_gate: \[8\] for 16 lanes"):
        lowered(lambda angles: release(rotated(start(16), angles)), jnp.zeros(LANES))
    with pytest.raises(AssertionError, match=r"lanes_run: \[16\] for 8 lanes"):
        lowered(
            lambda rows: release(run(start(), rows, gates=("RX 0 : %0",), lines=(None,))),
            jnp.zeros((1, 16)),
        )


def test_in_loops_nothing_is_allocated_for_gates_and_outcomes():
    """Parameters that are computed, outcomes that are computed with: on the stack."""

    def function(angles, count):
        def body(_, carried):
            register, ones = carried
            register = rotated(register, jnp.sin(angles) + ones)
            register, outcomes = measure(register, wires=(0,), reset=False)
            return activate(register, 1 - outcomes), ones + outcomes

        register, ones = jax.lax.fori_loop(0, count, body, (start(), jnp.zeros(LANES, int)))
        release(register)
        return ones

    program = lowered(function, jnp.zeros(LANES), 3)
    text = stage_text(program, CompileOptions(), "deallocate")
    (loop,) = re.findall(r"^    [^\n]* scf\.while .*?^    \}$", text, re.MULTILINE | re.DOTALL)
    called = re.findall(r"import__lanes__(\w+)\(", loop)
    assert called == ["gate", "measure", "activate"]
    assert "memref.alloc(" not in loop
    assert len(re.findall(r"memref.alloca\(\)", text)) >= 3
    optimised = stage_text(program, CompileOptions(), "optimise")
    assert len(re.findall(r"call .*ptr @malloc\(", optimised)) == 1  # for the result
