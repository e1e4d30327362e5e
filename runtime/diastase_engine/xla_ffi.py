"""The handler by which XLA calls compiled programs, in a library that is never unloaded.

On one side is XLA's typed foreign function interface, on the other a program's entry.

One handler serves all programs: which one is called stands in the one attribute of the call, the
address of a `Plan`. A call's memory is copied from the plan's template, in which all sizes stand
already; what is missing are addresses and the seed. Python is called where the program fails, and
nowhere else. XLA calls from any of its threads, several at a time.

The first records are XLA's: structures of `xla/ffi/api/c_api.h`, as far as they are read. They
begin with their size and a list of extensions, and a 32-bit field is followed by padding, so it is
read as a number of 64 bits of which the upper half says nothing.

The trap: `Plan` must match `diastase_runtime.calls.xla_plans.Plan`; a test compares them.
"""

from typing import Annotated

from diastase_engine.call_context import (
    DEFAULT_ENVIRONMENT,
    ENVIRONMENT_WORDS,
    CallContext,
    save_environment,
    set_environment,
)
from diastase_engine.language import *


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


_ENTRY = signature([ptr[f64]])
_REPORT = signature([Plan, ptr[f64]], ptr[f64])
_INTERRUPT = signature([])
_CREATE = signature([NewError], ptr[f64])
_ABORTED = 10
"""XLA's code: a few others become other classes of exceptions, depending on when one is found."""
_MULTIPLIERS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))
_WEYL = 0x9E3779B97F4A7C15 - (1 << 64)

malloc = external("malloc", [i64], ptr[f64])
free = external("free", [ptr[f64]])
memset = external("memset", [ptr[f64], i32, i64], ptr[f64])
memcpy = external("memcpy", [ptr[f64], ptr[f64], i64], ptr[f64])


@kernel
def configure(name: i64, version: i64, report: code, interrupt: code) -> None:
    """Say what there is once; called before the first program is handed to XLA."""
    PROCESS.name = name
    PROCESS.version = version
    PROCESS.report = report
    PROCESS.interrupt = interrupt


@kernel
def set_key(key: i64) -> None:
    """Say what seeds are made of; in a forked process again."""
    PROCESS.key = key


@kernel
def handler(frame: CallFrame) -> ptr[f64]:
    """Answer XLA's question for the metadata, or call a program; null, or an error of XLA's."""
    if not is_null(frame.extension):
        metadata = cast(cast(frame.extension, MetadataExtension).metadata, Metadata)
        metadata.version = PROCESS.version
        metadata.traits = 0
        metadata.state_type = 0
        return null(ptr[f64])
    name = cast(cast(frame.attributes[0].target, Attribute).numbers, PlanName)
    plan = cast(name.plan, Plan)
    if name.process != PROCESS.name:
        # Compiled by another process, whose addresses mean nothing here.
        plan = null(Plan)
        return failure(frame, plan, null(ptr[f64]))
    memory = malloc(plan.bytes)
    if is_null(memory):
        return failure(frame, plan, memory)
    memcpy(memory, plan.template, plan.bytes)
    write_arguments(frame, plan, memory)
    environment = stack_array(i64, ENVIRONMENT_WORDS)
    save_environment(environment)
    set_environment(DEFAULT_ENVIRONMENT)
    call_through(plan.entry, _ENTRY, memory + plan.pointers)
    set_environment(address(environment))
    if cast(memory, CallContext).code != 0:
        return failure(frame, plan, memory)
    take_results(frame, plan, memory)
    free(memory)
    return null(ptr[f64])


@kernel
def write_arguments(frame: CallFrame, plan: Plan, memory: ptr[f64]) -> None:
    """Fill in the addresses and the seed."""
    for number in range(plan.num_arguments):
        buffer = cast(frame.arguments[number].target, Buffer)
        descriptor = cast(memory + plan.arguments[number], Descriptor)
        descriptor.allocated = buffer.memory
        descriptor.aligned = buffer.memory
    pointers = cast(memory + plan.pointers, ptr[Pointer])
    for number in range(plan.num_pointers):
        pointers[number].target = memory + plan.targets[number]
    if plan.draws != 0:
        cast(memory, CallContext).seed = new_seed()


@kernel
def new_seed() -> i64:
    """Draw the next number of SplitMix64, without its last shift, which adds nothing here."""
    number = atomic_add(PROCESS.calls, 1) + 1
    state: i64 = PROCESS.key + wrapping_product(number, _WEYL)
    state = wrapping_product(state ^ shift_right_logical(state, 30), _MULTIPLIERS[0])
    return wrapping_product(state ^ shift_right_logical(state, 27), _MULTIPLIERS[1])


@kernel
def take_results(frame: CallFrame, plan: Plan, memory: ptr[f64]) -> None:
    """Copy the results into XLA's buffers, and free them; several may be the same memory."""
    for number in range(plan.num_results):
        descriptor = cast(memory + plan.results[number], Descriptor)
        buffer = cast(frame.results[number].target, Buffer)
        memcpy(buffer.memory, descriptor.aligned, plan.result_bytes[number])
    for number in range(plan.num_results):
        allocated = cast(memory + plan.results[number], Descriptor).allocated
        later: i64 = number + 1
        while later < plan.num_results and address(
            cast(memory + plan.results[later], Descriptor).allocated
        ) != address(allocated):
            later += 1
        if later >= plan.num_results:
            free(allocated)


@kernel
def failure(frame: CallFrame, plan: Plan, memory: ptr[f64]) -> ptr[f64]:
    """Make XLA's error of what Python says of the call, and free the call's memory.

    Where it says nothing, Python is told to raise as on Ctrl-C; the results are zeros until then.
    """
    message = call_through(PROCESS.report, _REPORT, plan, memory)
    free(memory)
    if is_null(message):
        for number in range(plan.num_results):
            buffer = cast(frame.results[number].target, Buffer)
            memset(buffer.memory, 0, plan.result_bytes[number])
        call_through(PROCESS.interrupt, _INTERRUPT)
        return null(ptr[f64])
    new = cast(stack_array(i64, 4), NewError)
    new.size = size_of(NewError)
    new.extension = 0
    new.message = message
    new.kind = _ABORTED
    return call_through(cast(frame.api, Api).create_error, _CREATE, new)


EXPORTS = {"handler": handler, "configure": configure, "set_key": set_key}
"""Functions of the library."""
