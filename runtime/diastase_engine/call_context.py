"""The call context: all that the libraries know of the call that they serve.

*Errors are sticky*: the first failure of a call is kept in its context, later ones are ignored.
After it nothing happens any more: exported functions ask for one first, and give zero.

*Random numbers* have no hidden state: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel
random numbers: as easy as 1, 2, 3" (SC 2011, doi:10.1145/2063384.2063405). The k-th number of a
seed's stream (the key) is the same on every machine. The authors' known answers are in the tests.

*The floating-point environment* is the thread's: rounding, and whether subnormal numbers are kept.
XLA flushes them to zero in each of its threads, and while it calls others; and a thread that is
made then begins with that. Programs compute alike wherever they run.

The trap: `CallContext` must match `diastase_runtime.abi.CallContext`; a test compares them.
"""

from typing import Annotated

from diastase_engine.language import *
from diastase_runtime.abi import ErrorCode


class CallContext(Record):
    """State of one call of a compiled program: errors, random numbers, quantum states."""

    code: i64
    site: i64
    detail: Annotated[ptr[i64], 4]
    seed: i64
    counter: i64
    states: ptr[f64]
    """The first of the `State`s that are alive, or null."""
    scripts: ptr[f64]
    """The first of the `OutcomeScript`s that are alive, or null."""
    gates: i64
    operations: i64
    stages: i64
    """The sums of what the states that were released have counted."""
    launches: i64
    to_device: i64
    to_host: i64
    """What was launched on a GPU, and how many bytes were copied there and back."""
    memory: i64
    """Bytes that the process can have, 0 where that is not known."""
    polls: i64
    """How often the call polls for signals until it reads the clock; see `threads.python`."""
    outer: ptr[f64]
    """The context of the call that this is a part of, an element of a batch; or null."""
    position: i64
    """Of an element: that of the call's random numbers from which those of elements are derived."""


WIRE_OUT_OF_RANGE = int(ErrorCode.WIRE_OUT_OF_RANGE)
OVERLAPPING_WIRES = int(ErrorCode.OVERLAPPING_WIRES)
OUT_OF_MEMORY = int(ErrorCode.OUT_OF_MEMORY)
IMPOSSIBLE_POSTSELECTION = int(ErrorCode.IMPOSSIBLE_POSTSELECTION)
NEGATIVE_QUBITS = int(ErrorCode.NEGATIVE_QUBITS)
TOO_MANY_QUBITS = int(ErrorCode.TOO_MANY_QUBITS)
SIZE_MISMATCH = int(ErrorCode.SIZE_MISMATCH)
INVALID_SHOTS = int(ErrorCode.INVALID_SHOTS)
NOT_A_NUMBER = int(ErrorCode.NOT_A_NUMBER)
NOT_TRACE_PRESERVING = int(ErrorCode.NOT_TRACE_PRESERVING)
INTERRUPTED = int(ErrorCode.INTERRUPTED)
CALLBACK_RAISED = int(ErrorCode.CALLBACK_RAISED)
GPU_FAILED = int(ErrorCode.GPU_FAILED)


@kernel
def fail(context: CallContext, code: i64, site: i64, first: i64, second: i64) -> None:
    """Record an error, unless there is one."""
    if context.code == 0:
        context.code = code
        context.site = site
        context.detail[0] = first
        context.detail[1] = second


_WORD = 0xFFFFFFFF
_PHILOX_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


@inline
def encrypted(words: list[i64], key_low: i64, key_high: i64) -> list[i64]:
    """Philox of four 32-bit words."""
    a: i64 = words[0]
    b: i64 = words[1]
    c: i64 = words[2]
    d: i64 = words[3]
    low, high = key_low, key_high
    for _ in static(range(_PHILOX_ROUNDS)):
        product_low = wrapping_product(a, _MULTIPLIERS[0])
        product_high = wrapping_product(c, _MULTIPLIERS[1])
        a, c = (
            shift_right_logical(product_high, 32) ^ b ^ low,
            shift_right_logical(product_low, 32) ^ d ^ high,
        )
        b, d = product_high & _WORD, product_low & _WORD
        low = (low + _WEYL[0]) & _WORD
        high = (high + _WEYL[1]) & _WORD
    return [a, b, c, d]


@kernel
def philox(counter: ptr[i64], key_low: i64, key_high: i64) -> None:
    """Encrypt the four 32-bit words of `counter` in place."""
    before = [counter[0], counter[1], counter[2], counter[3]]
    after = encrypted(before, key_low, key_high)
    for k in static(range(4)):
        counter[k] = after[k]


@inline
def uniform_of(seed: i64, counter: i64) -> f64:
    """The number of a stream in a position, in [0, 1), with 53 random bits."""
    before = [counter & _WORD, shift_right_logical(counter, 32), 0, 0]
    words = encrypted(before, seed & _WORD, shift_right_logical(seed, 32))
    return to_float(shift_right_logical((words[1] << 32) | words[0], 11)) * 2.0**-53


@kernel
def next_uniform(context: CallContext) -> f64:
    """Return the next number of the call in [0, 1)."""
    uniform = uniform_of(context.seed, context.counter)
    context.counter += 1
    return uniform


_OF_ELEMENTS = 1 << 30
"""In the last word of a counter: no counter of a call's own numbers has it."""


@kernel
def seed_of_element(seed: i64, position: i64, number: i64) -> i64:
    """Return the key of an element of a batch, by the call's seed and position."""
    last = shift_right_logical(number, 32) | _OF_ELEMENTS
    before = [position & _WORD, shift_right_logical(position, 32), number & _WORD, last]
    words = encrypted(before, seed & _WORD, shift_right_logical(seed, 32))
    return words[0] | (words[1] << 32)


save_environment = external("fegetenv", [ptr[i64]], i32)
set_environment = external("fesetenv", [i64], i32)
"""Takes the address of one that was saved, or `DEFAULT_ENVIRONMENT`."""

DEFAULT_ENVIRONMENT = -1
"""`FE_DFL_ENV`, the environment that a program begins with, in the C libraries of Linux."""
ENVIRONMENT_WORDS = 4
"""A `fenv_t` has 32 bytes on x86-64, fewer elsewhere."""
