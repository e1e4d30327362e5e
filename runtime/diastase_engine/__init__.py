"""Libraries that compiled programs call: engines, thread pool, elementary functions, sorting.

In: names of functions that a program imports. Out: shared libraries for this processor, written in
`language`, found in the cache or built. Nothing here knows MLIR, JAX or PennyLane: the compiler and
tests call the functions by their C types (`state_vector.exports`, `libraries.build`).
"""

from diastase_engine.libraries.engine import (
    elementary_library,
    engine_library,
    foreign_library,
    fourier_library,
    gpu_library,
    lanes_gpu_library,
    lanes_library,
    mixed_library,
    single_gpu_library,
    single_library,
    single_mixed_library,
    sorting_library,
    threads_library,
    when_whole,
    with_libraries,
)
from diastase_engine.vector_math import ELEMENTARY_FUNCTIONS
from diastase_runtime.gate_table import GATES, Gate, gate_of, into_z, rotation_about, word_of

__all__ = [
    "ELEMENTARY_FUNCTIONS",
    "GATES",
    "Gate",
    "elementary_library",
    "engine_library",
    "foreign_library",
    "fourier_library",
    "gate_of",
    "gpu_library",
    "into_z",
    "lanes_gpu_library",
    "lanes_library",
    "mixed_library",
    "rotation_about",
    "single_gpu_library",
    "single_library",
    "single_mixed_library",
    "sorting_library",
    "threads_library",
    "when_whole",
    "with_libraries",
    "word_of",
]
