"""What XLA hands to a handler, and what a handler must know of a program.

The first half is XLA's: structures of `xla/ffi/api/c_api.h`, as far as they are read. They begin
with their size and a list of extensions, and a 32-bit field is followed by padding, so it is read
as a number of 64 bits of which the upper half says nothing.

The trap: `Plan` must match `diastase_runtime.xla_plans.Plan`, and `CallContext` that of the engine
and of `diastase_runtime.abi`; a test compares them.
"""

from typing import Annotated

from diastase_engine.language import Record, code, f64, i64, ptr, shared


class Metadata(Record):
    """`XLA_FFI_Metadata`: what XLA asks a handler once; written by the handler."""

    size: i64
    version_size: i64
    version_extension: i64
    version: i64
    """Two numbers of 32 bits: major, minor."""
    traits: i64
    state_type: i64


class MetadataExtension(Record):
    """`XLA_FFI_Metadata_Extension`: there where XLA asks for the metadata and nothing else."""

    size: i64
    kind: i64
    next: i64
    metadata: ptr[f64]


class Buffer(Record):
    """`XLA_FFI_Buffer`."""

    size: i64
    extension: i64
    kind: i64
    memory: ptr[f64]
    rank: i64
    sizes: i64


class Pointer(Record):
    """One element of an array of pointers."""

    target: ptr[f64]


class Attribute(Record):
    """`XLA_FFI_Array`, of the two numbers of `PlanName`."""

    kind: i64
    count: i64
    numbers: ptr[f64]


class PlanName(Record):
    """The one attribute of a call: which program; and of which process, to be sure."""

    plan: ptr[f64]
    process: i64


class CallFrame(Record):
    """`XLA_FFI_CallFrame`, with the structures that it holds."""

    size: i64
    extension: ptr[f64]
    api: ptr[f64]
    context: i64
    stage: i64
    arguments_size: i64
    arguments_extension: i64
    num_arguments: i64
    argument_kinds: i64
    arguments: ptr[Pointer]
    results_size: i64
    results_extension: i64
    num_results: i64
    result_kinds: i64
    results: ptr[Pointer]
    attributes_size: i64
    attributes_extension: i64
    num_attributes: i64
    attribute_kinds: i64
    attribute_names: i64
    attributes: ptr[Pointer]


class Api(Record):
    """The beginning of `XLA_FFI_Api`."""

    size: i64
    extension: i64
    version_size: i64
    version_extension: i64
    version: i64
    internal: i64
    create_error: code


class NewError(Record):
    """`XLA_FFI_Error_Create_Args`."""

    size: i64
    extension: i64
    message: ptr[f64]
    kind: i64


# --- ours -----------------------------------------------------------------------------------------


class CallContext(Record):
    """The beginning of the call context."""

    code: i64
    site: i64
    detail: Annotated[ptr[i64], 4]
    seed: i64


class Descriptor(Record):
    """The beginning of a memref descriptor."""

    allocated: ptr[f64]
    aligned: ptr[f64]


class Plan(Record):
    """How one program is called; made once, never changed."""

    entry: code
    bytes: i64
    """Of a call's memory, which begins as a copy of `template`."""
    template: ptr[f64]
    num_arguments: i64
    arguments: ptr[i64]
    """Where in a call's memory the descriptors of arguments are, in words of eight bytes."""
    num_results: i64
    results: ptr[i64]
    """The same for results."""
    result_bytes: ptr[i64]
    pointers: i64
    """Where the pointers are."""
    num_pointers: i64
    targets: ptr[i64]
    """What each points to."""
    draws: i64
    """Whether each call has a seed of its own; else the template has it."""


class Process(Record):
    """What there is once."""

    name: i64
    """A number that no other process has: addresses in programs of XLA's are of one process."""
    version: i64
    """Of XLA's interface: two numbers of 32 bits."""
    report: code
    interrupt: code
    """Python's function that says what went wrong in a call, and frees what is left of it."""
    key: i64
    calls: Annotated[ptr[i64], 8]
    """How many seeds were drawn."""


PROCESS = shared(Process)
