"""What the worker does for `compile_scaling.py`: one program of a family, compiled and called once.

In: a family's name and k. Out: seconds to the first result, of the clock and of all processors;
those of each step (tracing, lowering, the pipeline's stages, LLVM's steps), of all processors; and
the most memory that the process had meanwhile beyond what it had before.
"""

import gc
import time
from pathlib import Path

import jax
from families import all_families

from diastase import QJIT, qjit
from diastase_toolchain.steps import watch_steps

_STEPS = {"capture": "tracing", "generate_ir": "lowering"}
"""Words of the architecture for those of Catalyst."""


def measured(name, k):
    function, *arguments = all_families()[name].make(k)
    gc.collect()
    before = _resident_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak, from now on
    steps = Steps()
    watch_steps(steps.add)
    start, processor_start = time.perf_counter(), time.process_time()
    compiled = function if isinstance(function, QJIT) else qjit(function)  # may compile at once
    jax.block_until_ready(compiled(*arguments))
    seconds, processor = time.perf_counter() - start, time.process_time() - processor_start
    watch_steps(None)
    steps.seconds["rest"] = processor - sum(steps.seconds.values())
    return {
        "seconds": seconds,
        "processor": processor,
        "bytes": max(0, _resident_bytes("VmHWM") - before),
        "steps": steps.seconds,
    }


class Steps:
    """Seconds by step; of `compile`, whose parts are told one by one, only the parts."""

    def __init__(self):
        self.seconds = {}

    def add(self, step):
        if step.name == "compile":
            return
        name = step.name if step.part else _STEPS[step.name]
        self.seconds[name] = self.seconds.get(name, 0.0) + step.processor_seconds


def _resident_bytes(field):
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024
