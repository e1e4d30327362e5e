"""Lowering of many gates in a row into one operation, `quantum.run`.

A run is a chain of `gate` equations on known wires, each taking the register of the one before.
Equations that compute parameters may stand between them: they touch no register and have no
effects, so all gates of a run can be applied where the last of them stands. Each gate keeps its
site.

Parameters that are computed alike (`scalar_forms`: elements of an array, say) are not values of
their own, but elements of one vector that the run takes, filled by a loop for each form. An
equation that only such parameters need is not lowered at all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from diastase_mlir.emit.operations import create
from diastase_mlir.gate_runs import LEAST, MOST, RunGate
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.moves import concatenate, reshaped
from diastase_mlir.lowering.registers import Register, as_register
from diastase_mlir.lowering.registry import Read, Several, Value, lowers_together
from diastase_mlir.lowering.scalar_forms import ARITHMETIC, Forms
from diastase_mlir.lowering.scalar_tables import insert_scalars

LEAST_ALIKE = 4
"""Parameters of one form from which on they are computed by a loop."""

Groups = Sequence[Sequence[Sequence[Any]]]
"""Parameters of a run, those of each form together, and in there those that are equal."""


@lowers_together
def gate_runs(context: LoweringContext, jaxpr: Any) -> Iterator[Several]:
    """The runs of a jaxpr, each with equations that only the parameters of runs need."""
    runs = list(_runs(jaxpr.eqns))
    if not runs:
        return
    forms = Forms(jaxpr.eqns, jaxpr.outvars)
    gates = [[jaxpr.eqns[position] for position in run] for run in runs]
    groups = [_alike(forms, equations) for equations in gates]
    needless = _needless(context, jaxpr, forms, gates, groups)
    for run, equations, alike in zip(runs, gates, groups, strict=True):
        positions = [*(needless if run is runs[-1] else ()), *run]
        yield Several(positions, partial(_lower_run, context, equations, forms, alike))


def _runs(equations: Sequence[Any]) -> Iterator[Sequence[int]]:
    """Positions of the gates of each run."""
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


# --- parameters ----------------------------------------------------------------------------------


def _parameters(equation: Any) -> Sequence[Any]:
    return equation.invars[1 : 1 + equation.params["num_parameters"]]


def _alike(forms: Forms, gates: Iterable[Any]) -> Groups:
    """The parameters of a run that are computed alike, by their form and then their columns."""
    atoms = {
        atom: None
        for equation in gates
        for atom in _parameters(equation)
        if not hasattr(atom, "val") and atom.aval.dtype == np.float64
    }
    groups: dict[Any, dict[Any, list[Any]]] = {}
    for atom in atoms:
        scalar_form = forms.of(atom)
        groups.setdefault(scalar_form.form, {}).setdefault(scalar_form.row, []).append(atom)
    return [
        list(group.values())
        for group in groups.values()
        if sum(map(len, group.values())) >= LEAST_ALIKE
    ]


def _members(alike: Groups) -> set[Any]:
    return {variable for group in alike for equal in group for variable in equal}


def _needless(
    context: LoweringContext,
    jaxpr: Any,
    forms: Forms,
    runs: Sequence[Sequence[Any]],
    groups: Sequence[Groups],
) -> set[int]:
    """Positions of the equations whose results only parameters in groups need, or nobody."""
    atoms = [atom for equation in jaxpr.eqns for atom in equation.invars]
    uses = Counter(atom for atom in [*atoms, *jaxpr.outvars] if not hasattr(atom, "val"))
    computing: set[int] = set()
    for equations, alike in zip(runs, groups, strict=True):
        members = _members(alike)
        for equation in equations:
            uses.subtract(atom for atom in _parameters(equation) if _is_in(atom, members))
        for scalar_form in map(forms.of, members):
            computing.update(scalar_form.equations)
            uses.update(scalar_form.needs)
    computing.update(
        position
        for position, equation in enumerate(jaxpr.eqns)
        if equation.primitive.name in ARITHMETIC and not any(uses[v] for v in equation.outvars)
    )
    needless: set[int] = set()
    for position in reversed(range(max(computing, default=-1) + 1)):
        if position not in computing:
            continue
        equation = jaxpr.eqns[position]
        (result,) = equation.outvars
        if not uses[result] and not context.dimensions.is_bound(result):
            needless.add(position)
            operands = [atom for atom in equation.invars if not hasattr(atom, "val")]
            uses.subtract(operands)
            computing.update(p for p in map(forms.position, operands) if p is not None)
    return needless


def _is_in(atom: Any, variables: set[Any]) -> bool:
    return not hasattr(atom, "val") and atom in variables


# --- the operation -------------------------------------------------------------------------------


def _lower_run(
    context: LoweringContext, equations: Sequence[Any], forms: Forms, alike: Groups, read: Read
) -> Sequence[Value]:
    """One operation on the register; gives the register after the last gate."""
    register = as_register(read(equations[0].invars[0])).materialise()
    rows = [equal for group in alike for equal in group]
    names = {variable: f"%{number}" for number, equal in enumerate(rows) for variable in equal}
    others: dict[Any, str] = {}

    def parameter(atom: Any) -> float | str:
        """A number known now, or the name of the operand that it is."""
        if hasattr(atom, "val"):
            return float(atom.val)
        return names.get(atom) or others.setdefault(atom, f"%{len(rows) + len(others)}")

    sites: list[int] = []
    gates: list[ir.Attribute] = []
    for equation in equations:
        params = equation.params
        parameters = tuple(parameter(atom) for atom in _parameters(equation))
        gates.append(ir.StringAttr.get(str(_gate(params, parameters))))
        sites.append(context.failures.site(params["name"], equation.source_info))
    context.uses_engine = True
    values = [context.value(read(atom)) for atom in others]
    if alike:
        values = [_vector(context, forms, alike, values, read)]
    attributes = {"gates": ir.ArrayAttr.get(gates), "sites": ir.DenseI64ArrayAttr.get(sites)}
    run = create("quantum.run", [register.type], [register, *values], attributes)
    return [Register(run.result)]


def _vector(
    context: LoweringContext, forms: Forms, alike: Groups, others: Sequence[ir.Value], read: Read
) -> ir.Value:
    """All parameters that are not constants: the groups, then the others."""
    first = sum(map(len, alike))
    kind = ir.RankedTensorType.get([first + len(others)], ir.F64Type.get())
    parts = [context.constant(np.zeros(first)), *(reshaped(value, [1]) for value in others)]
    vector, start = concatenate(kind, parts, 0), 0
    for group in alike:
        scalars = [forms.of(equal[0]) for equal in group]
        vector = insert_scalars(context, scalars, read, vector, start)
        start += len(group)
    return vector


def _gate(params: Mapping[str, Any], parameters: tuple[float | str, ...]) -> RunGate:
    """A gate as a line: the last of its wires are the controls."""
    wires, values = params["wires"], params["control_values"]
    targets = len(wires) - len(values)
    controls = tuple(zip(wires[targets:], values, strict=True))
    return RunGate(params["name"], wires[:targets], controls, parameters)
