"""Random numbers: one for each lane, which only those that are active use up."""

from diastase_engine.call_context import seed_of_element, uniform_of
from diastase_engine.lanes.records import Lanes
from diastase_engine.language import *


@kernel
def begin_streams(lanes: Lanes) -> None:
    """Make the keys, where nothing was drawn yet."""
    if lanes.is_seeded == 0:
        for lane in range(lanes.lanes):
            lanes.seeds[lane] = seed_of_element(lanes.key, lanes.position, lanes.number + lane)
            lanes.counters[lane] = lanes.first_counter
        lanes.is_seeded = 1


@kernel
def draw(lanes: Lanes) -> None:
    """Write the next number of each lane to `uniforms`."""
    begin_streams(lanes)
    write_uniforms(lanes.lanes, lanes.seeds, lanes.counters, lanes.active, lanes.uniforms)


@kernel
def write_uniforms(
    count: i64, seeds: ptr[i64], counters: ptr[i64], active: ptr[i64], uniforms: ptr[f64]
) -> None:
    """Write a number of each stream: a loop that LLVM makes vectors of."""
    for lane in range(count):
        uniforms[lane] = uniform_of(seeds[lane], counters[lane])
        counters[lane] = counters[lane] + active[lane]
