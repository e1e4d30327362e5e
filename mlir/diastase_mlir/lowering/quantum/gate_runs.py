"""Lowering of many gates in a row, one equation by now (`rerolling.gates`), into `quantum.run`.

Each gate keeps its site. Parameters that are no numbers are elements of one vector.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diastase_mlir.emit.operations import create
from diastase_mlir.gate_runs import RunGate
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.moves import concatenate, reshaped
from diastase_mlir.lowering.quantum.registers import Register, as_register
from diastase_mlir.rerolling import Places, parameters_of_gate


@lowers("operations", lazy=True)
def lower_run(
    context: LoweringContext, equation: Equation, register: Value, *operands: Value
) -> Sequence[Value]:
    """One operation on the register; gives the register after the last gate."""
    register = as_register(register).materialise()
    values = [context.value(operand) for operand in operands]
    gates, places = equation.params["operations"], equation.params["places"]
    names = iter(_names(places, values))
    lines: list[ir.Attribute] = []
    sites: list[int] = []
    for gate in gates:
        parameters = tuple(
            float(atom.val) if name is None else name
            for atom, name in zip(parameters_of_gate(gate), names, strict=False)
        )
        lines.append(ir.StringAttr.get(str(_gate(gate.params, parameters))))
        sites.append(context.failures.site(gate.params["name"], gate.source_info))
    context.uses_engine = True
    context.counts.several(gates)
    vector = [_vector(values)] if any(value.type.rank for value in values) else values
    attributes = {"gates": ir.ArrayAttr.get(lines), "sites": ir.DenseI64ArrayAttr.get(sites)}
    run = create("quantum.run", [register.type], [register, *vector], attributes)
    return [Register(run.result)]


def _names(places: Places, values: Sequence[ir.Value]) -> Sequence[str | None]:
    """Of each parameter the place among all elements of all operands; None for known numbers."""
    sizes = [value.type.shape[0] if value.type.rank else 1 for value in values]
    firsts = np.concatenate([np.cumsum([0, *sizes])[:-1], [0]]).astype(int)
    numbers = (firsts[places.operands] + places.elements).tolist()
    return [
        None if operand < 0 else f"%{number}"
        for operand, number in zip(places.operands.tolist(), numbers, strict=True)
    ]


def _vector(values: Sequence[ir.Value]) -> ir.Value:
    """All elements of vectors and numbers."""
    parts = [value if value.type.rank else reshaped(value, [1]) for value in values]
    size = sum(part.type.shape[0] for part in parts)
    return concatenate(ir.RankedTensorType.get([size], ir.F64Type.get()), parts, 0)


def _gate(params: Mapping[str, Any], parameters: tuple[float | str, ...]) -> RunGate:
    """A gate as a line: the last of its wires are the controls."""
    wires, values = params["wires"], params["control_values"]
    targets = len(wires) - len(values)
    controls = tuple(zip(wires[targets:], values, strict=True))
    return RunGate(params["name"], wires[:targets], controls, parameters)
