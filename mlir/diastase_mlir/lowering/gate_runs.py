"""Lowering of many gates in a row into one operation, `quantum.run`.

A run is a chain of `gate` equations on known wires, each taking the register of the one before.
Equations that compute parameters may stand between them: they touch no register and have no
effects, so all gates of a run can be applied where the last of them stands. Each gate keeps its
site. Circuits that passes are to transform have none: there, every gate is an operation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from diastase_mlir.gate_runs import LEAST, MOST, RunGate
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.operations import create
from diastase_mlir.lowering.registers import Register, as_register, register_type, scalar
from diastase_mlir.lowering.registry import Value, lowers_together


def gate_runs(context: LoweringContext, equations: Sequence[Any]) -> Iterator[Sequence[int]]:
    """Positions of the gates of each run."""
    if context.circuit_passes:
        return
    run: list[int] = []
    for position, equation in enumerate(equations):
        is_gate = equation.primitive.name == "gate" and None not in equation.params["wires"]
        follows = run and is_gate and equation.invars[0] is equations[run[-1]].outvars[0]
        if not follows and (is_gate or equation.effects or _takes_register(equation)):
            yield from _worthwhile(run)
            run = []
        if is_gate:
            run.append(position)
    yield from _worthwhile(run)


def _takes_register(equation: Any) -> bool:
    return any(hasattr(atom.aval, "mlir_type") for atom in equation.invars)


def _worthwhile(run: Sequence[int]) -> Iterator[Sequence[int]]:
    parts = (run[start : start + MOST] for start in range(0, len(run), MOST))
    return (part for part in parts if len(part) >= LEAST)


@lowers_together(gate_runs)
def lower_gate_run(
    context: LoweringContext, equations: Sequence[Any], read: Callable[[Any], Value]
) -> Sequence[Value]:
    """One operation on the register; gives the register after the last gate."""
    register = as_register(read(equations[0].invars[0])).materialise()
    operands: dict[Any, str] = {}
    sites: list[int] = []
    gates: list[ir.Attribute] = []
    for equation in equations:
        params = equation.params
        numbers = equation.invars[1 : 1 + params["num_parameters"]]
        parameters = tuple(_parameter(number, operands) for number in numbers)
        gates.append(ir.StringAttr.get(str(_gate(params, parameters))))
        sites.append(context.site_number(params["name"], equation.source_info))
    context.uses_engine = True
    values = [scalar(context.value(read(variable))) for variable in operands]
    attributes = {"gates": ir.ArrayAttr.get(gates), "sites": ir.DenseI64ArrayAttr.get(sites)}
    run = create("quantum.run", [register_type()], [register, *values], attributes)
    return [Register(run.result)]


def _parameter(atom: Any, operands: dict[Any, str]) -> float | str:
    """A number known now, or the name of the operand that it is."""
    if hasattr(atom, "val"):
        return float(atom.val)
    return operands.setdefault(atom, f"%{len(operands)}")


def _gate(params: Mapping[str, Any], parameters: tuple[float | str, ...]) -> RunGate:
    """A gate as a line: the last of its wires are the controls."""
    wires, values = params["wires"], params["control_values"]
    targets = len(wires) - len(values)
    controls = tuple(zip(wires[targets:], values, strict=True))
    return RunGate(params["name"], wires[:targets], controls, parameters)
