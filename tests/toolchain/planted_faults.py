"""Kernels with a fault each: `python planted_faults.py NAME ...`, in whatever build is asked for.

Prints, as JSON, how a process ends that runs the kernel, and what it says.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from diastase_engine.language import (
    Record,
    atomic_add,
    cast,
    code,
    code_of,
    compile_kernels,
    external,
    f64,
    i32,
    i64,
    kernel,
    null,
    ptr,
    shared,
    stack_array,
    stack_record,
    to_float,
)
from diastase_toolchain import linker, machine_code

create_thread = external("pthread_create", [ptr[i64], ptr[i64], code, ptr[f64]], i32)
join_thread = external("pthread_join", [i64, ptr[i64]], i32)
malloc = external("malloc", [i64], ptr[f64])
free = external("free", [ptr[f64]])


@kernel
def one_too_many(count: i64) -> f64:
    numbers = malloc(8 * count)
    for k in range(count + 1):
        numbers[k] = 1.0
    total = numbers[0]
    free(numbers)
    return total


@kernel
def after_free(count: i64) -> f64:
    numbers = malloc(8 * count)
    numbers[0] = 1.0
    free(numbers)
    return numbers[0]


@kernel
def beyond_the_stack(count: i64) -> f64:
    numbers = stack_array(f64, 10)
    for k in range(count + 1):
        numbers[k] = 1.0
    return numbers[0]


@kernel
def misaligned(count: i64) -> f64:
    numbers = malloc(8 * count)
    whole = cast(cast(numbers, ptr[i32]) + 1, ptr[i64])
    whole[0] = 1
    free(numbers)
    return 1.0


class Two(Record):
    first: Annotated[ptr[i64], 10]
    second: Annotated[ptr[i64], 10]


@kernel
def other_field(count: i64) -> f64:
    two = stack_record(Two)
    two.second[0] = 1
    two.first[count] = 2
    return to_float(two.second[0])


@kernel
def too_large_a_size(count: i64) -> f64:
    sizes = stack_array(i64, 1)
    sizes[0] = count << 59
    sizes[0] = sizes[0] * 8
    return to_float(sizes[0])


@kernel
def too_large_a_shift(count: i64) -> f64:
    return to_float(1 << (8 * count))


@kernel
def never_written(count: i64) -> f64:
    numbers = malloc(8 * count)
    for k in range(count - 1):
        numbers[k] = 1.0
    total: f64 = 0.0
    for k in range(count):
        total += numbers[k] * 0.5
    free(numbers)
    return total


class Counters(Record):
    calls: i64
    total: Annotated[ptr[i64], 1]


COUNTERS = shared(Counters)


@kernel
def count_up(nothing: ptr[f64]) -> i64:
    COUNTERS.calls += 1
    return 0


@kernel
def count_up_together(nothing: ptr[f64]) -> i64:
    atomic_add(COUNTERS.total, 1)
    return 0


@kernel
def racing(count: i64) -> f64:
    thread = stack_array(i64, 1)
    create_thread(thread, null(ptr[i64]), code_of(count_up), null(ptr[f64]))
    COUNTERS.calls += 1
    join_thread(thread[0], null(ptr[i64]))
    return to_float(COUNTERS.calls)


@kernel
def atomic(count: i64) -> f64:
    """No fault: the same with an atomic operation."""
    thread = stack_array(i64, 1)
    create_thread(thread, null(ptr[i64]), code_of(count_up_together), null(ptr[f64]))
    atomic_add(COUNTERS.total, 1)
    join_thread(thread[0], null(ptr[i64]))
    return to_float(COUNTERS.total[0])


FAULTS = {
    kernel.name: kernel
    for kernel in (
        one_too_many, after_free, beyond_the_stack, misaligned, other_field, too_large_a_size,
        too_large_a_shift, never_written, racing, atomic,
    )
}  # fmt: skip


CALL = """
import ctypes, os, sys
kernel = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])
kernel.restype = ctypes.c_double
print(kernel(ctypes.c_int64(10)), flush=True)
os._exit(0)
"""


def compile_faults(library: Path) -> None:
    text = str(compile_kernels(FAULTS, machine_code.host_processor().triple))
    with machine_code.optimised(text, FAULTS) as module:
        linker.link(machine_code.emit_object(module), library)


def outcome(library: Path, name: str) -> tuple[int, str]:
    """What a process of its own says that calls a kernel for ten numbers, and how it ends.

    None that is forked: where there was another thread, ThreadSanitizer sees nothing in those.
    """
    command = [sys.executable, "-c", CALL, str(library), name]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ended.returncode, ended.stdout


def main(*names: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "faults.so")
        compile_faults(library)
        outcomes = {name: outcome(library, name) for name in names}
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
