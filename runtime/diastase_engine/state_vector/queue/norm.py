"""A state of any norm becomes one of norm 1: what operators that are not unitary leave for later.

Of two passes, one adds the weights of all amplitudes up, one multiplies. The sum is made of fixed
parts, so it does not depend on the number of threads.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import State
from diastase_engine.threads.loops import run_parallel

PARTS = 64
"""Of a large state; a small one is a single part."""


class Norm(Record):
    """A state that is normalised."""

    state: State
    blocks: i64
    """Of a part."""
    scale: f64
    sums: ptr[f64]
    """The weight of each part."""


@kernel
def add_weights(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Add up parts `first` to `last`; `argument` is a `Norm`."""
    run = cast(argument, Norm)
    amplitudes = run.state.amplitudes
    for part in range(first, last):
        total = broadcast_wide(0.0)
        for block in range(part * run.blocks, (part + 1) * run.blocks):
            x, y = widen(amplitudes[2 * block]), widen(amplitudes[2 * block + 1])
            total += x * x + y * y
        run.sums[part] = horizontal_sum(total)


@kernel
def multiply_all(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Multiply parts `first` to `last`; `argument` is a `Norm`."""
    run = cast(argument, Norm)
    amplitudes = run.state.amplitudes
    scale = broadcast(run.scale)
    for k in range(2 * first * run.blocks, 2 * last * run.blocks):
        amplitudes[k] = amplitudes[k] * scale


@kernel
def normalise(state: State) -> None:
    """Divide all amplitudes by the norm, where it is a number; no operation may be waiting."""
    run = stack_record(Norm)
    parts = PARTS if state.qubits >= PARALLEL_QUBITS else 1
    run.state = state
    run.sums = stack_array(f64, PARTS)
    run.blocks = state.blocks >> (6 if parts == PARTS else 0)
    run_parallel(code_of(add_weights), cast(run, ptr[f64]), parts, 1)
    total: f64 = 0.0
    for part in range(parts):
        total += run.sums[part]
    if total > 0.0:
        run.scale = 1.0 / square_root(total)
        run_parallel(code_of(multiply_all), cast(run, ptr[f64]), parts, 1)
