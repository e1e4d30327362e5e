"""From the error that compiled code recorded to the Python exception to raise."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from diastase_runtime import errors
from diastase_runtime.abi import GPU_FUNCTIONS, CallContext, ErrorCode, Site
from diastase_runtime.errors import DiastaseError, InternalError, Span
from diastase_runtime.python import raised_in


def _gpu_function(number: Any) -> str:
    """Name a function of CUDA's driver; in a template, its number's place."""
    return GPU_FUNCTIONS[number] if isinstance(number, int) else str(number)


_GPU_ADVICE = {2: "the GPU has too little memory left, which other processes may use, too"}
"""By CUDA's codes; how much was wanted is known only where the program asked for it."""

_EXCEPTIONS: dict[int, Callable[[str, Sequence[int]], DiastaseError]] = {
    ErrorCode.WIRE_OUT_OF_RANGE: lambda construct, detail: errors.WireOutOfRangeError(
        construct=construct, wire=detail[0], num_wires=detail[1]
    ),
    ErrorCode.OVERLAPPING_WIRES: lambda construct, detail: errors.OverlappingWiresError(
        construct=construct, wire=detail[0]
    ),
    ErrorCode.OUT_OF_MEMORY: lambda construct, detail: errors.OutOfMemoryError(
        construct=construct, size=detail[0]
    ),
    ErrorCode.ZERO_STEP: lambda construct, detail: errors.ZeroStepError(construct=construct),
    ErrorCode.NEGATIVE_SIZE: lambda construct, detail: errors.NegativeSizeError(
        construct=construct, size=detail[0], axis=detail[1]
    ),
    ErrorCode.IMPOSSIBLE_POSTSELECTION: lambda construct, detail: (
        errors.ImpossiblePostselectionError(construct=construct, wire=detail[0], outcome=detail[1])
    ),
    ErrorCode.TOO_MANY_QUBITS: lambda construct, detail: errors.TooManyQubitsError(
        construct=construct, number=detail[0]
    ),
    ErrorCode.NEGATIVE_QUBITS: lambda construct, detail: errors.NegativeQubitsError(
        construct=construct, number=detail[0]
    ),
    ErrorCode.SIZE_MISMATCH: lambda construct, detail: errors.SizeMismatchError(
        construct=construct, found=detail[0], expected=detail[1]
    ),
    ErrorCode.ASSUMPTION_FAILED: lambda construct, detail: errors.AssumptionError(
        assumption=construct, left=detail[0], right=detail[1], number=detail[2]
    ),
    ErrorCode.INVALID_SHOTS: lambda construct, detail: errors.InvalidShotsError(
        construct=construct, shots=detail[0]
    ),
    ErrorCode.SIZE_TOO_LARGE: lambda construct, detail: errors.SizeTooLargeError(
        construct=construct, size=detail[0], largest=detail[1]
    ),
    ErrorCode.NOT_A_NUMBER: lambda construct, detail: errors.NotANumberError(construct=construct),
    ErrorCode.NOT_TRACE_PRESERVING: lambda construct, detail: errors.NotTracePreservingError(
        construct=construct
    ),
    ErrorCode.GPU_FAILED: lambda construct, detail: errors.GpuFailedError(
        construct=construct,
        code=detail[0],
        function=_gpu_function(detail[1]),
        advice=_GPU_ADVICE.get(detail[0], errors.GpuFailedError.advice),
    ),
    ErrorCode.ASSERTION_FAILED: lambda what, detail: errors.DebugAssertionError(what=what),
    ErrorCode.INVALID_VALUE: lambda construct, detail: errors.InvalidValueError(what=construct),
}


def message_templates() -> dict[int, str]:
    """What there is to say of each error, with `{0}` to `{3}` for its numbers, `{c}` for the site.

    For programs that run without Python; the wording stays where it is, in the classes.
    """
    places: Any = ("{0}", "{1}", "{2}", "{3}")
    return {int(code): str(make("{c}", places)) for code, make in _EXCEPTIONS.items()}


def exception_of(
    context: CallContext, sites: Sequence[Site], program: str = "the program"
) -> BaseException:
    """Make the exception for a failed call, once: a callback's own, or one of ours at the line."""
    raised = raised_in(context.detail) if context.code == ErrorCode.CALLBACK_RAISED else None
    site = sites[context.site] if 0 <= context.site < len(sites) else None
    # What no line of the user's stands for (a QNode that is the whole program) has no file.
    span = None
    if site is not None and site.file:
        span = Span(site.file, site.line, site.function, site.text)
    if isinstance(raised, DiastaseError) and raised.span is None:
        raised.span = span
    if raised is not None:
        return raised
    if context.code == ErrorCode.CHECK_FAILED:
        message = ctypes.string_at(context.detail[0]).decode()  # in the program, which is loaded
        return InternalError(what=f"{program}: {message}", span=span)
    construct = program if site is None else site.construct
    make = _EXCEPTIONS.get(context.code)
    if make is None:
        return InternalError(what=f"compiled code recorded error {context.code}", span=span)
    error = make(construct, tuple(context.detail))
    error.span = span
    return error
