"""Two kernels that show what a processor and its memory can do, compiled as the engine's are."""

from pathlib import Path

from diastase_engine.language import (
    broadcast,
    compile_kernels,
    f64,
    horizontal_sum,
    i64,
    kernel,
    load_unaligned,
    ptr,
    registers,
    static,
    store_unaligned,
    vector,
)
from diastase_engine.libraries.tuning import settings_for
from diastase_toolchain import linker, machine_code

CHAINS = 12
"""Products that do not wait for each other: one takes four cycles, a core begins three at most."""
LANES = 16
PRODUCTS = CHAINS * LANES


@kernel
def multiply_add(repeats: i64, out: ptr[f64]) -> None:
    """Multiply and add in registers."""
    x = registers(vector, CHAINS)
    for k in static(range(CHAINS)):
        x[k] = broadcast(0.1 * k)
    a, b = broadcast(out[0] + 0.999), broadcast(out[1] + 0.001)
    for _ in range(repeats):
        for k in static(range(CHAINS)):
            x[k] = x[k] * a + b
    for k in static(range(CHAINS)):
        out[k] = horizontal_sum(x[k])


@kernel
def triad(count: i64, arrays: ptr[f64]) -> None:
    """`a = b + s c` on the three arrays that lie one after the other."""
    for k in range(count >> 3):
        b, c = load_unaligned(arrays, count + 8 * k), load_unaligned(arrays, 2 * count + 8 * k)
        store_unaligned(arrays, 8 * k, b + c * 3.0)


def built(library: Path) -> Path:
    """Compile and link both for this processor."""
    host = machine_code.host_processor()
    exports = {"multiply_add": multiply_add, "triad": triad}
    text = str(compile_kernels(exports, host.triple, settings_for(host, single=True)))
    with machine_code.optimised(text, exports) as module:
        linker.link(machine_code.emit_object(module), library)
    return library
