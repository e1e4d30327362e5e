"""QNodes by trajectories: state vectors whose noise, and whose outcomes, are drawn.

With shots each of them is a trajectory (`run_shots`, for `shot_qnode`); without, so many as were
asked for are averaged (`call_by_trajectories`): moments, as in `averages`, of which results are
computed, and if it is asked for, their standard errors.

Trajectories are divided into *chunks*, elements of a batch, which run on all threads. Each has a
script (`primitives.trajectories`), and runs the body once for those of its trajectories that have
drawn alike: the engine goes through the tree of what they draw. Chunks have the same sizes however
many threads there are, so results do not depend on that.

The trap: what a run draws beside the script (a classical shadow, a callback of Python's) is of one
trajectory. So chunks are of one then.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from pennylane import measurements

from diastase.capture.control_flow.loops import trace_while_loop
from diastase.capture.quantum_errors import (
    InvalidSettingError,
    UnsupportedMeasurementError,
    UnsupportedReturnError,
)
from diastase.primitives.batching import note_batch, several_runs_p
from diastase.primitives.checks import require
from diastase.primitives.sampling import (
    end_script_p,
    next_run_p,
    run_weight_p,
)
from diastase.primitives.trajectories import run_members_p, trajectories_p
from diastase.quantum.measurements.measurements import process_name
from diastase.quantum.operators.circuit_scope import CircuitScope
from diastase.quantum.qnode.averages import average_snapshot, averaged
from diastase.quantum.qnode.circuits import QNodeCall, TracedCircuit, trace_circuit
from diastase.quantum.qnode.repeated_runs import bind_several_runs
from diastase.quantum.qnode.standard_errors import StandardErrors
from diastase.quantum.qnode.statistics import Averaged
from diastase.quantum.qnode.undifferentiated import without_derivatives
from diastase.quantum.run_dependence import differs
from diastase.quantum.settings.qnode_settings import QNodeSettings, classical_result
from diastase_mlir import user_span
from diastase_mlir.jax_compat import equations_in, trace_to_jaxpr

NO_DERIVATIVE = (
    "its noise is drawn, and what is drawn jumps: method='density' has derivatives; or keep it out "
    "by jax.lax.stop_gradient on its arguments"
)
_CHUNKS = 32
_SMALLEST_CHUNK = 64
_LARGEST_CHUNK = 1024
"""Of shots: a run writes its own among all of its chunk."""
_FOR_ONE = ("uniform", "io_callback")
"""What draws for one trajectory, or may."""
_LARGE = 18
"""Wires from which on the engine has all threads for one state: there is one chunk then."""


def call_by_trajectories(call: QNodeCall) -> Any:
    """Record the call of a QNode without shots: results are averages over trajectories."""
    leaves: list[Averaged | None] = []
    errors = StandardErrors(call.settings)

    def finish(returned: Sequence[Any], scope: CircuitScope) -> Sequence[Any]:
        leaves[:] = [_averaged(leaf, scope) for leaf in returned]  # it may be called again
        errors.begin(returned, leaves, scope)
        moments = [moment for leaf in leaves if leaf is not None for moment in leaf.moments]
        values = [
            classical_result(value, call.settings.qnode)
            for value, leaf in zip(returned, leaves, strict=True)
            if leaf is None
        ]
        return [*moments, *values]

    traced = trace_circuit(call, finish, takes_script=True, measure_snapshot=_average_snapshot)
    count = sum(len(leaf.moments) for leaf in leaves if leaf is not None)
    if traced.circuit.measures:
        _refuse_outcomes_as_values(traced, count)
        found = _averages(without_derivatives(traced, NO_DERIVATIVE), count, errors)
    else:
        found = bind_several_runs(traced.run)
    found = traced.beside(found)
    moments, values = iter(found[:count]), iter(found[count:])
    results = [
        next(values) if leaf is None else leaf.result([next(moments) for _ in leaf.moments])
        for leaf in leaves
    ]
    tree = jax.tree_util.tree_unflatten(traced.tree, results)
    if not errors.asked:
        return tree
    uncertain = errors.of(found[:count], results)
    return tree, jax.tree_util.tree_unflatten(traced.tree, uncertain)


def _averaged(leaf: Any, scope: CircuitScope) -> Averaged | None:
    with scope.as_from(leaf):
        _refuse_state(leaf)
    return averaged(leaf, scope)


def _average_snapshot(settings: QNodeSettings, operator: Any, scope: CircuitScope) -> Any:
    if scope.has_measured:
        _refuse_state(operator.hyperparameters["measurement"])
    return average_snapshot(settings, operator, scope)


def _refuse_state(leaf: Any) -> None:
    if isinstance(leaf, measurements.StateMP) and type(leaf) is not measurements.DensityMatrixMP:
        raise UnsupportedMeasurementError(
            measurement=process_name(leaf),
            reason="of trajectories is not defined, as each has a state of its own",
            hint="return qml.density_matrix(wires), or expectation values",
        )


def _refuse_outcomes_as_values(traced: TracedCircuit, count: int) -> None:
    if any(differs(traced.jaxpr)[count:]):
        raise UnsupportedReturnError(
            function=f"the QNode {traced.settings.qnode}",
            value="a value that depends on mid-circuit outcomes",
            hint="without shots, trajectories are averaged: return qml.expval or qml.probs of it",
            span=user_span(),
        )


def _averages(traced: TracedCircuit, count: int, errors: StandardErrors) -> list[Any]:
    """Averages of the first results over all trajectories, and the others."""
    number = traced.settings.trajectories
    size = _chunk_size(traced, number)
    avals = traced.jaxpr.out_avals

    def chunk(trajectories: Any, *captured: Any) -> list[Any]:
        circuit = replace(traced, captured=captured)
        script = trajectories_p.bind(trajectories, shots=False)

        def run(_: Any, total: Any, *sums: Any) -> Any:
            found = circuit.run(script)
            weight = run_weight_p.bind(script)
            added = [
                old + weight * new for old, new in zip(sums[:count], found[:count], strict=True)
            ]
            members = jnp.sum(run_members_p.bind(script, size=size)) if errors.asked else 1
            spread = errors.added(sums[len(avals) :], found[:count], weight, members)
            return next_run_p.bind(script), total + weight, *added, *found[count:], *spread

        zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in avals]
        zeros += errors.zeros(avals[:count])
        start = (next_run_p.bind(script), jnp.zeros((), jnp.float64), *zeros)
        _, total, *results = trace_while_loop(lambda more, *_: more, run, start)
        end_script_p.bind(script)
        return [total, *results]

    total, *results = _in_chunks(chunk, number, size, traced.captured)
    weight = jnp.sum(total)
    _require(traced, weight)
    averages = [jnp.sum(result, axis=0) / weight for result in results[:count]]
    errors.note(results[len(avals) :], weight, number)
    return [*averages, *(result[0] for result in results[count : len(avals)])]


def _require(traced: TracedCircuit, weight: Any) -> None:
    """An error where no trajectory is left, as its postselected outcomes are impossible."""
    if traced.circuit.postselects:
        name, number = traced.settings.qnode, traced.settings.trajectories
        what = (
            f"the QNode {name}: postselected outcomes that none of {number} trajectories can have"
        )
        require(weight > 0, what)


def run_shots(
    traced: TracedCircuit, num_drawn: int, differing: Sequence[bool], number: Any, size: int
) -> tuple[list[Any], Any]:
    """Record all runs, as `run_for_each_shot` does, in chunks of that size.

    The first `num_drawn` results of the body are vectors over a chunk.
    """
    settings, avals = traced.settings, traced.jaxpr.out_avals
    drops = traced.circuit.postselects
    if drops and settings.postselect_mode != "hw-like":
        reason = "shots of trajectories that miss are left out: use hw-like"
        raise InvalidSettingError(
            qnode=settings.qnode,
            setting=f"postselect_mode={settings.postselect_mode!r}",
            reason=reason,
            span=user_span(),
        )
    shapes = [
        (aval.shape if place < num_drawn else (size, *aval.shape)) if differs else aval.shape
        for place, (aval, differs) in enumerate(zip(avals, differing, strict=True))
    ]

    def chunk(trajectories: Any, *captured: Any) -> list[Any]:
        circuit = replace(traced, captured=captured)
        script = trajectories_p.bind(trajectories, shots=True)

        def run(_: Any, valid: Any, *collected: Any) -> Any:
            found = circuit.run(script)
            members = run_members_p.bind(script, size=size) != 0
            arrays = [
                _where(members, new, old) if differs else new
                for old, new, differs in zip(collected, found, differing, strict=True)
            ]
            return next_run_p.bind(script), valid | members, *arrays

        zeros = [jnp.zeros(shape, aval.dtype) for shape, aval in zip(shapes, avals, strict=True)]
        start = (next_run_p.bind(script), jnp.zeros((size,), bool), *zeros)
        _, valid, *results = trace_while_loop(lambda more, *_: more, run, start)
        end_script_p.bind(script)
        return [valid, *results]

    valid, *results = _in_chunks(chunk, number, size, traced.captured)
    arrays = [
        _joined(result, number) if differs else result[0]
        for result, differs in zip(results, differing, strict=True)
    ]
    return arrays, _joined(valid, number) if drops else None


def _where(members: Any, new: Any, old: Any) -> Any:
    """Rows of what a run found where it was theirs; a value of all of them has no axis for them."""
    rows = members.reshape(members.shape + (1,) * (old.ndim - 1))
    return jnp.where(rows, new, old)


def _joined(result: Any, number: Any) -> Any:
    """The rows of all chunks, of which the last may be smaller."""
    return result.reshape((-1, *result.shape[2:]))[:number]


# --- chunks --------------------------------------------------------------------------------------


def are_alone(traced: TracedCircuit) -> bool:
    """Whether no two trajectories may share a run: it draws, or asks Python, for one of them."""
    return any(each.primitive.name in _FOR_ONE for each in equations_in(traced.jaxpr))


def chunk_of_shots(settings: QNodeSettings, number: Any) -> int:
    """How many shots a chunk has, where each is a trajectory."""
    if not isinstance(number, int):
        return _LARGEST_CHUNK
    wires = settings.device.wires
    size = _size(number, None if wires is None else len(wires))
    return size if size == number else min(size, _LARGEST_CHUNK)


def _chunk_size(traced: TracedCircuit, number: int) -> int:
    return 1 if are_alone(traced) else _size(number, traced.num_wires)


def _size(number: int, wires: int | None) -> int:
    if wires is not None and wires >= _LARGE:
        return number
    return max(-(-number // _CHUNKS), _SMALLEST_CHUNK)


def _in_chunks(chunk: Any, number: Any, size: int, captured: Sequence[Any]) -> list[Any]:
    """The results of all chunks, which have the same operands but for how many they are."""
    note_batch()
    chunks = (number + size - 1) // size
    counts = jnp.clip(number - size * jnp.arange(chunks), 0, size)
    avals = [jax.typeof(jnp.int64(0)), *map(jax.typeof, captured)]
    jaxpr, more = trace_to_jaxpr(chunk, avals, "chunk")
    mapped = (*((False,) for _ in more), (True,), *((False,) for _ in captured))
    return list(several_runs_p.bind(*more, counts, *captured, jaxpr=jaxpr, mapped=mapped))
