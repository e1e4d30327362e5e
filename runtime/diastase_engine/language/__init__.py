"""The kernel language: a subset of Python that is compiled to LLVM IR, nothing else.

Modules that are written in it import all of its names, as keywords (`import *`). A kernel is a
Python function with typed parameters, marked `@kernel`. Its body is read as a syntax tree, never
run. Two kinds of values meet in it:

* *static* values are known while the kernel is compiled: numbers, lists, tables, anything that
  Python can hold. Arithmetic on them is done at once, `if` on them picks a branch, and
  `for x in static(...)` is unrolled;
* *dynamic* values (numbers, vectors, pointers, references to records: `types`) become LLVM
  instructions.

A name that is first given a static value stays static; to change it under a run-time `if` or
loop, declare it: `found: i64 = 0`. Names first assigned inside a run-time block end with it.
`@inline` functions are expanded where they are called and may take and return lists.
`shared(Record)` is a record of the library that all threads see; atomic operations, `code_of` and
`call_through` are what a thread pool is made of.
There is no implicit conversion between `i64` and `f64`, no exception, no allocation that is not
written out; `and`, `or` and conditional expressions evaluate only what Python would.
"""

from diastase_engine.language.compile import called_by, compile_kernels, compile_part, named_kernels
from diastase_engine.language.functions import (
    KernelLanguageError,
    derived,
    external,
    inline,
    kernel,
    setting,
    shared,
    signature,
)
from diastase_engine.language.intrinsics import (
    address,
    atomic_add,
    atomic_compare_exchange,
    atomic_load,
    atomic_store,
    broadcast,
    broadcast_wide,
    call_through,
    cast,
    code_of,
    count_ones,
    count_trailing_zeros,
    first_lane,
    horizontal_sum,
    is_null,
    lane_numbers,
    lane_of,
    lanes_match,
    load_unaligned,
    null,
    pack,
    pause,
    prefetch,
    registers,
    select,
    shift_right_logical,
    shuffle,
    shuffle_pair,
    square_root,
    stack_array,
    stack_record,
    static,
    store_unaligned,
    ticks,
    to_float,
    to_integer,
    widen,
)
from diastase_engine.language.types import (
    Record,
    code,
    f64,
    i1,
    i32,
    i64,
    lane_set,
    ptr,
    size_of,
    stored,
    v8,
    vector,
    wide,
)

__all__ = [
    "KernelLanguageError",
    "Record",
    "address",
    "atomic_add",
    "atomic_compare_exchange",
    "atomic_load",
    "atomic_store",
    "broadcast",
    "broadcast_wide",
    "call_through",
    "called_by",
    "cast",
    "code",
    "code_of",
    "compile_kernels",
    "compile_part",
    "count_ones",
    "count_trailing_zeros",
    "derived",
    "external",
    "f64",
    "first_lane",
    "horizontal_sum",
    "i1",
    "i32",
    "i64",
    "inline",
    "is_null",
    "kernel",
    "lane_numbers",
    "lane_of",
    "lane_set",
    "lanes_match",
    "load_unaligned",
    "named_kernels",
    "null",
    "pack",
    "pause",
    "prefetch",
    "ptr",
    "registers",
    "select",
    "setting",
    "shared",
    "shift_right_logical",
    "shuffle",
    "shuffle_pair",
    "signature",
    "size_of",
    "square_root",
    "stack_array",
    "stack_record",
    "static",
    "store_unaligned",
    "stored",
    "ticks",
    "to_float",
    "to_integer",
    "v8",
    "vector",
    "wide",
    "widen",
]
