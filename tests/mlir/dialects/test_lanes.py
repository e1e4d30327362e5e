"""Operations on registers in lanes: what their verifiers accept and refuse, and how they print."""

import pytest

from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import DIALECTS, parse, printed

LANES = "!quantum.lane_register"
ARGUMENTS = {
    "%r": LANES,
    "%q": "!quantum.register",
    "%w": "i64",
    "%x": "tensor<8xf64>",
    "%p": "tensor<2x8xf64>",
    "%l": "tensor<2x12xf64>",
    "%n": "tensor<?x8xf64>",
    "%y": "tensor<16xf64>",
    "%s": "tensor<12xf64>",
    "%d": "tensor<?xf64>",
    "%m": "tensor<8xi64>",
    "%u": "tensor<2x2xcomplex<f64>>",
    "%k": "tensor<8x4x4xcomplex<f64>>",
    "%f": "tensor<2x2xf64>",
    "%v": "tensor<2xi64>",
    "%e": "tensor<2x1xi64>",
}


def operation(name, operands, results, attributes="", segments=None):
    """`name` in its generic form, of the arguments above."""
    if segments is not None:
        attributes += f", operandSegmentSizes = array<i32: {', '.join(map(str, segments))}>"
    types = ", ".join(ARGUMENTS[one] for one in operands)
    named = f"%o:{len(results)} = " if results else ""
    given = f'{named}"quantum.{name}"({", ".join(operands)}) {{{attributes.removeprefix(", ")}}}'
    return f"{given} : ({types}) -> ({', '.join(results)})"


def alloc(wires=2, lanes=8):
    attributes = f"num_wires = {wires} : i64, lanes = {lanes} : i64, site = 0 : i64"
    return operation("lanes_alloc", ["%w"], [LANES], attributes)


def gate(name, parameters, wires, controls=""):
    attributes = f'gate_name = "{name}", control_values = array<i1{controls}>, site = 1 : i64'
    operands = ["%r", *parameters, *["%w"] * wires]
    return operation("lanes_gate", operands, [LANES], attributes, [1, len(parameters), wires])


def run(gates, parameters=("%p",), sites="1, 2"):
    texts = ", ".join(f'"{gate}"' for gate in gates)
    attributes = f"gates = [{texts}], sites = array<i64: {sites}>"
    return operation("lanes_run", ["%r", *parameters], [LANES], attributes)


def unitary(matrix, wires, controls=""):
    attributes = f"control_values = array<i1{controls}>, site = 1 : i64"
    operands = ["%r", matrix, *["%w"] * wires]
    return operation("lanes_unitary", operands, [LANES], attributes, [1, 1, wires])


def measure(outcomes="tensor<8xi64>"):
    attributes = "reset = false, site = 1 : i64"
    return operation("lanes_measure", ["%r", "%w"], [LANES, outcomes], attributes)


def sample(result, wires="%v"):
    return operation("lanes_sample", ["%r", wires, "%w"], [result], "site = 1 : i64")


def probs(result, wires="%v"):
    return operation("lanes_probs", ["%r", wires], [result], "site = 1 : i64")


def words(result, offsets="0, 2, 2", paulis="1, 3"):
    tables = f"offsets = array<i64: {offsets}>, paulis = array<i64: {paulis}>, site = 1 : i64"
    return operation("lanes_pauli_values", ["%r", "%v"], [result], tables)


def state(result):
    return operation("lanes_state", ["%r"], [result])


def activate(mask):
    return operation("lanes_activate", ["%r", mask], [LANES])


def module(body):
    arguments = ", ".join(f"{name}: {kind}" for name, kind in ARGUMENTS.items())
    return ir.Module.parse(f"func.func @f({arguments}) {{ {body}\n return }}")


@pytest.mark.parametrize(
    "body",
    [
        alloc(),
        alloc(0, 64),
        activate("%m"),
        gate("RX", ["%x"], 1),
        gate("Rot", ["%y"] * 3, 2, ": false"),
        gate("CNOT", [], 2),
        gate("CRX", ["%x"], 4, ": true, false"),
        run(["RX 0 : %1", "Rot 1 ctrl 0=1 2=0 : %0 0.5 %1"]),
        run(["CNOT 0 1", "RX 0 : -0.5"], ()),
        unitary("%u", 1),
        unitary("%u", 3, ": true, true"),
        unitary("%k", 2),
        measure(),
        sample("tensor<8x?xi64>"),
        sample("tensor<16x100xi64>"),
        probs("tensor<8x4xf64>"),
        state("tensor<32x8xcomplex<f64>>"),
        words("tensor<2x8xf64>"),
        operation("release", ["%r"], []),
    ],
)
def test_what_is_valid_stays_what_it_is_when_printed_and_read(body):
    with session(DIALECTS):
        accepted = module(body)
        assert accepted.operation.verify()
        assert str(parse(printed(accepted))) == str(accepted)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (alloc(-1), "there are no registers of -1 wires"),
        (alloc(2, 4), "a multiple of 8, not 4 lanes"),
        (alloc(2, 12), "not 12 lanes"),
        (activate("%x"), "the mask must be a vector of i64, not tensor<8xf64>"),
        (gate("Rx", ["%x"], 1), "there is no gate named Rx"),
        (gate("MultiRZ", ["%x"], 2), "MultiRZ is no gate of lanes"),
        (gate("PauliRot[X]", ["%x"], 1), "PauliRot[X] is no gate of lanes"),
        (gate("RX", [], 1), "RX takes 1 parameters"),
        (gate("RX", ["%x"], 2), "RX acts on 1 wires"),
        (gate("RX", ["%x"], 1, ": true"), "RX acts on 1 wires"),
        (gate("RX", ["%m"], 1), "a parameter must be a vector of f64, not tensor<8xi64>"),
        (gate("RX", ["%s"], 1), "not 12 lanes"),
        (gate("RX", ["%d"], 1), "a number of lanes that is not known"),
        (gate("Rot", ["%x", "%x", "%y"], 1), "all parameters are of as many lanes"),
        (run(["RX 0 : %1", "RX 0 : %2"]), "there is no operand %2"),
        (run(["RX 0 : %0", "CNOT 0 1"], ()), "there is no operand %0"),
        (run(["RX 0 : %0"]), "1 gates need 1 sites"),
        (run(["RX 0 : %0", "CNOT 0"]), "CNOT acts on 2 wires"),
        (run(["RX 0 : %0", "MultiRZ 0 1 : %0"]), "MultiRZ is no gate of lanes"),
        (run(["RX 0 : %0", "PauliRot[X] 0 : %0"]), "PauliRot[X] is no gate of lanes"),
        (run(["S 0", "S 0"], ("%x",)), "rows of f64 of known sizes, not tensor<8xf64>"),
        (run(["S 0", "S 0"], ("%n",)), "rows of f64 of known sizes, not tensor<?x8xf64>"),
        (run(["S 0", "S 0"], ("%l",)), "not 12 lanes"),
        (run(["S 0", "S 0"], ("%p", "%p")), "rows of one array"),
        (unitary("%u", 2), "neither a matrix on 2 wires nor a stack"),
        (unitary("%k", 1), "neither a matrix on 1 wires nor a stack"),
        (unitary("%f", 1), "a matrix is complex<f64> of known sizes"),
        (unitary("%u", 1, ": true"), "no wires but the controls"),
        (measure("tensor<8xi1>"), "the outcomes must be a vector of i64"),
        (sample("tensor<8xi64>"), "a row of i64 for each lane"),
        (sample("tensor<8x3xi64>", "%e"), "wires are a vector of i64 of known size"),
        (probs("tensor<8x2xf64>"), "2 wires have 4 outcomes, not 2"),
        (probs("tensor<8x?xf64>"), "the length of a row must be known"),
        (state("tensor<8x4xf64>"), "a row of complex<f64> for each lane"),
        (words("tensor<3x8xf64>"), "2 words have so many rows of f64"),
        (words("tensor<2x8xf64>", "0, 2, 1"), "offsets must run"),
        (words("tensor<2x8xf64>", "0, 2, 2", "1, 4"), "a Pauli factor is"),
        (operation("lanes_state", ["%q"], ["tensor<8x4xcomplex<f64>>"]), ""),
        (operation("global_phase", ["%r", "%w"], [LANES], "site = 0 : i64"), ""),
    ],
)
def test_what_does_not_fit_together_is_refused(body, message):
    with session(DIALECTS), pytest.raises(ir.MLIRError) as raised:
        module(body)
    assert message in str(raised.value)
