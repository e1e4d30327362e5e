"""A pass, a table or a vector of parameters that is wrong is found, and named."""

import re

import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit
from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.lowering.quantum import gates as table_lowering
from diastase_mlir.passes.circuits import Circuit, New, cancel_inverses, merge_rotations
from diastase_mlir.passes.circuits.pauli_products import ppr_to_ppm
from diastase_mlir.passes.circuits.registry import PASSES, CircuitPass
from diastase_mlir.passes.circuits.values import add, constant_of, negate
from diastase_mlir.rerolling import operations as rerolling
from translation import validation
from translation.comparison import TranslationError
from translation.validation import COUNTS, validating

DEVICE = qml.device("lightning.qubit", wires=3)


def trace(function, *arguments, passes=()):
    """What the passes of a circuit leave, checked."""
    pipeline = {name: {} for name in passes}
    with validating():
        compiled = qjit(qml.QNode(function, DEVICE), circuit_transform_pipeline=pipeline)
        return compiled.trace(*arguments)


@pytest.fixture
def wrong(monkeypatch):
    """`wrong(name, function)` puts another function in the place of a pass of the compiler's."""

    def put(name, function):
        monkeypatch.setitem(PASSES, name, CircuitPass(name, function, {}, built_in=True))

    return put


def test_a_merged_angle_with_the_wrong_sign(monkeypatch):
    def circuit(x, y):
        qml.RX(x, 0)
        qml.RX(y, 0)
        return qml.expval(qml.Z(1))  # which does not see it

    monkeypatch.setattr(merge_rotations, "add", lambda a, b: add(a, negate(b)))
    with pytest.raises(TranslationError) as found:
        trace(circuit, 0.3, 0.4, passes=["merge_rotations"])
    first, *lines = str(found.value).splitlines()
    assert first.startswith("merge_rotations: states differ by ")
    gates = [re.sub(r"v\d+", "v", line) for line in lines if "= gate" in line]
    before, after = "-r = gate[name=RX wires=(0,)] r v", "+r = gate[name=RX wires=(0,)] r v"
    assert gates == [before, before, after]


def test_gates_that_do_not_undo_each_other(monkeypatch):
    def circuit(x):
        qml.S(0)
        qml.S(0)
        qml.RX(x, 1)
        return qml.probs(wires=0)

    monkeypatch.setattr(cancel_inverses, "inverse_name", lambda name: name)
    with pytest.raises(TranslationError, match="cancel_inverses: states differ"):
        trace(circuit, 0.3, passes=["cancel_inverses"])


def test_a_phase_that_is_lost_under_a_control(wrong):
    """A phase shift is a rotation but for a phase, which is none of its own once controlled."""

    def rotations(circuit):
        for gate in circuit.gates():
            if gate.name == "PhaseShift":
                circuit.replace(gate, [New("RZ", [0], gate.parameters, range(1, len(gate.bits)))])

    def circuit(x):
        qml.ctrl(qml.PhaseShift(x, 0), [1])
        qml.ctrl(qml.PhaseShift(x, 0), [1, 2])
        return qml.state()

    wrong("to_ppr", rotations)
    with pytest.raises(TranslationError, match="to_ppr: results differ"):
        trace(circuit, 0.3, passes=["to_ppr"])


def test_a_loop_with_one_iteration_more(wrong):
    def once_more(circuit: Circuit):
        for block in circuit.blocks:
            for operation in block.operations:
                if operation.operation.name == "scf.for":
                    upper = operation.operands[1]
                    kind, number = upper.type, constant_of(upper) + 1
                    with ir.InsertionPoint(operation), operation.operation.location:
                        value = {"value": ir.IntegerAttr.get(kind, number)}
                        more = create("arith.constant", [kind], [], value).result
                        operation.operands[1] = more

    def circuit(x):
        for_loop(0, 3, 1)(lambda i: qml.RX(x, i % 2) and None)()
        return qml.expval(qml.Z(2))

    wrong("loop_boundary", once_more)
    with pytest.raises(TranslationError, match="loop_boundary: states differ"):
        trace(circuit, 0.3, passes=["loop_boundary"])


def test_a_correction_after_the_wrong_outcome(monkeypatch):
    """Of four outcomes, two are corrected that are right."""

    def circuit(x):
        qml.RX(x, 0)
        qml.PauliRot(np.pi / 2, "XZ", [0, 1])
        return qml.probs(wires=[0, 1])

    trace(circuit, 0.3, passes=["to_ppr", "ppr_to_ppm"])
    monkeypatch.setattr(ppr_to_ppm, "opposite", lambda condition: condition)
    with pytest.raises(TranslationError, match="ppr_to_ppm: "):
        trace(circuit, 0.3, passes=["to_ppr", "ppr_to_ppm"])


def test_a_gate_on_the_branch_of_the_other_outcome(wrong):
    def unconditional(circuit):
        for gate in circuit.gates():
            if gate.name == "PauliX":
                circuit.erase(gate)

    def circuit(x):
        qml.RX(x, 0)

        @cond(measure(0))
        def flip():
            qml.X(1)

        flip()
        return qml.expval(qml.Z(1))

    trace(circuit, 0.3, passes=["cancel_inverses"])
    wrong("cancel_inverses", unconditional)
    with pytest.raises(TranslationError, match="cancel_inverses: results differ"):
        trace(circuit, 0.3, passes=["cancel_inverses"])


def long_circuit(x):
    for number in range(40):
        (qml.RX if number % 2 else qml.RY)(x[number] * 0.5, number % 3)
        qml.CNOT([number % 3, (number + 1) % 3])
    return qml.expval(qml.Z(0))


@pytest.fixture
def lower():
    def run():
        with validating():
            return trace(long_circuit, np.arange(40.0)).lower()

    return run


def test_a_table_with_two_rows_exchanged(lower, monkeypatch):
    lower()
    lines_of_run = table_lowering.lines_of_run

    def exchanged(*arguments):
        first, second, *rest = lines_of_run(*arguments)
        return [second, first, *rest]

    monkeypatch.setattr(table_lowering, "lines_of_run", exchanged)
    with pytest.raises(TranslationError, match=r"table: states differ by .* after line 0"):
        lower()


def test_a_vector_whose_elements_are_each_others(lower, monkeypatch):
    vector_of = rerolling.vector_of
    monkeypatch.setattr(
        rerolling, "vector_of", lambda scalars, values: vector_of(scalars[::-1], values)
    )
    with pytest.raises(TranslationError, match="re-rolling: results differ"):
        lower()


def test_what_was_checked_is_counted():
    def circuit(x, v):
        qml.Hadamard(v)
        qml.Hadamard(v)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    before = COUNTS["cancel_inverses", "validated"]
    trace(circuit, 0.3, 1, passes=["cancel_inverses"])
    assert COUNTS["cancel_inverses", "validated"] == before + 1
    (line,) = validation.report({("table", "validated"): 2, ("table", "long"): 1})
    assert line == "table: 2 validated (1 long)"
