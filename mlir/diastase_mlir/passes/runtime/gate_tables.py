"""The table of a run of gates, as the engines' `gate_run` reads it.

    ["RX 0 : %0", "RZ 1 : 0.5"]    ->    2 gates; a row of numbers each; the constant 0.5

Parameters that the program computes stand in the table by their number.
"""

import struct
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.gate_runs import read_gate
from diastase_mlir.passes.runtime.engine_calls import EngineCalls
from diastase_runtime.gate_table import gate_of, run_row


def gate_table(operation: Any, conversion: EngineCalls) -> list[ir.Value]:
    """How many gates an operation has, their table, and their constants."""
    sites = ir.DenseI64ArrayAttr(operation.sites)
    table: list[int] = []
    constants: dict[bytes, int] = {}
    for text, site in zip(operation.gates, sites, strict=True):
        gate = read_gate(text.value)
        references = [_reference(number, constants) for number in gate.parameters]
        row = gate_of(gate.name)
        assert row is not None, "the verifier has found it"
        table += run_row(row, site, gate.wires, gate.controls, references)
    rows = [conversion.integer(len(sites)), conversion.constant_integers(table)]
    return [*rows, conversion.constant_reals(b"".join(constants))]


def _reference(number: float | str, constants: dict[bytes, int]) -> int:
    """How a table names a parameter: a constant, by its bits, or one found at run time."""
    if isinstance(number, str):
        return -1 - int(number[1:])
    return constants.setdefault(struct.pack("=d", number), len(constants))
