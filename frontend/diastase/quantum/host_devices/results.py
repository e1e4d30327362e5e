"""What a device's results are: promised while tracing, checked when they come.

`promised` gives a `Promise` from PennyLane's `shape` and `numeric_type` of a measurement;
`as_promised` turns what the device returned into arrays of these types. Counts have room for all
outcomes, as their number is not known.

The trap: `shape` speaks of state vectors, whatever the device; `_STATES` has those that return
something else for `qml.state()`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from pennylane import measurements
from pennylane.exceptions import MeasurementShapeError

from diastase.capture.device_errors import DeviceResultError, UnknownResultError
from diastase.capture.pennylane_compat import is_native_outcome
from diastase.quantum.measurements.counts import LARGEST_HISTOGRAM, Counts
from diastase.quantum.measurements.measurements import (
    NO_SHOTS,
    SET_SHOTS,
    needs_shots,
    process_name,
)

_DTYPES: Mapping[Any, Any] = {
    int: np.int64, float: np.float64, complex: np.complex128, bool: np.bool_
}  # fmt: skip


@dataclass(frozen=True)
class Promise:
    """The result of one measurement, for one number of shots."""

    name: str
    avals: tuple[ShapedArray, ...]
    convert: Callable[[Any], Sequence[Any]]
    """From what the device returns to as many arrays."""
    build: Callable[[Sequence[Any]], Any]
    """From traced arrays to the result."""


def promised(process: Any, device: Any, shots: Any, wires: int, batch: int | None) -> Promise:
    """What one measurement gives, for one number of shots."""
    if isinstance(process, measurements.CountsMP):
        return _counts(process, shots, wires, batch)
    name = process_name(process)
    try:
        shape, numeric_type = process.shape(shots, wires), process.numeric_type
    except (NotImplementedError, MeasurementShapeError) as error:
        if shots is None and needs_shots(process):
            raise _without_shots(name) from error
        reason, hint = f"has no size that is known: {error}", "call the QNode without qjit"
        raise UnknownResultError(measurement=name, reason=reason, hint=hint) from error
    if type(process) is measurements.StateMP and device.name in _STATES:
        shape, numeric_type = _STATES[device.name](device, len(process.wires) or wires)
    if isinstance(process, measurements.SampleMP) and is_native_outcome(process.mv):
        shape, numeric_type = (shots,), _keys(process, wires)[1]
    if isinstance(process, measurements.ClassicalShadowMP):
        numeric_type = np.int8  # PennyLane says int, and its devices return this
    shape = tuple(shape) if batch is None else (batch, *shape)
    aval = ShapedArray(shape, np.dtype(_DTYPES.get(numeric_type, numeric_type)))
    return Promise(name, (aval,), lambda value: [value], lambda values: values[0])


def _without_shots(name: str) -> UnknownResultError:
    return UnknownResultError(measurement=name, reason=NO_SHOTS, hint=SET_SHOTS)


def _counts(process: Any, shots: Any, wires: int, batch: int | None) -> Promise:
    """Outcomes and how often each was found, with room for all that there may be."""
    if shots is None:
        raise _without_shots("counts")
    bits, dtype = _keys(process, wires)
    room = 2**bits if bits <= LARGEST_HISTOGRAM else shots
    if batch is not None or not isinstance(room, int):
        what = "broadcast parameters" if batch is not None else "many wires and traced shots"
        reason, hint = f"of {what} has no type", "call the QNode without qjit"
        raise UnknownResultError(measurement="counts", reason=reason, hint=hint)
    width = bits if dtype is None else None
    avals = (
        ShapedArray((room,), np.dtype(dtype or np.int64)),
        ShapedArray((room,), np.dtype(np.int64)),
    )

    def convert(counted: Any) -> Sequence[Any]:
        if width is not None and any(len(key) != width for key in counted):
            raise ValueError(f"bit strings {list(counted)} where {width} bits are promised")
        outcomes = [key if width is None else int(key or "0", 2) for key in counted]
        # Room that is left repeats an outcome, as found no more often.
        rest = room - len(outcomes)
        padding = [outcomes[0] if outcomes else 0] * rest
        return [*outcomes, *padding], [*counted.values(), *([0] * rest)]

    def build(arrays: Sequence[Any]) -> Counts:
        outcomes, numbers = arrays
        return Counts(outcomes, numbers, width, process.all_outcomes)

    return Promise("counts", avals, convert, build)


def _keys(process: Any, wires: int) -> tuple[int, Any]:
    """How many bits decide about an outcome, and the dtype of its value; None for bit strings."""
    if process.obs is not None:
        return len(process.obs.wires), np.float64
    if process.mv is None:
        return len(process.wires) or wires, None
    if not is_native_outcome(process.mv):
        return len(process.mv), None
    values = np.asarray(list(process.mv.branches.values()))
    dtype = np.float64 if values.dtype.kind == "f" else np.int64
    return len(process.mv.measurements), dtype


def as_promised(
    values: Sequence[Any], promises: Sequence[Promise], device: str
) -> list[np.ndarray]:
    """Results of a device as arrays of the promised types; sizes that were unknown may be any."""
    if len(values) != len(promises):
        what = f"{len(values)} results where the QNode has {len(promises)}"
        raise DeviceResultError(device=device, what=what)
    arrays: list[np.ndarray] = []
    for value, promise in zip(values, promises, strict=True):
        what = f"for {promise.name}"
        try:
            parts = promise.convert(value)
        except (TypeError, ValueError, AttributeError) as error:
            raise DeviceResultError(device=device, what=f"{what} {error}") from error
        for part, aval in zip(parts, promise.avals, strict=True):
            arrays.append(_converted(part, aval, what, device))
    return arrays


def _converted(value: Any, aval: ShapedArray, what: str, device: str) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        found = f"{what} a {type(value).__name__}, which is no array"
        raise DeviceResultError(device=device, what=found) from error
    sizes = zip(array.shape, aval.shape, strict=False)
    fits = array.ndim == aval.ndim and all(
        found == size or not isinstance(size, int) for found, size in sizes
    )
    if array.dtype.kind not in "biufc" or not fits:
        found = f"{what} {array.dtype}{list(array.shape)} where {_type(aval)} is promised"
        raise DeviceResultError(device=device, what=found)
    converted = np.real(array) if _is_real_in_fact(array, aval.dtype) else array
    if not _holds(converted, aval.dtype):
        found = f"{what} {array.dtype} numbers where {_type(aval)} is promised"
        raise DeviceResultError(device=device, what=found)
    return converted.astype(aval.dtype)


def _is_real_in_fact(array: np.ndarray, dtype: Any) -> bool:
    """Whether complex numbers without imaginary parts stand where real ones are expected."""
    is_complex = np.issubdtype(array.dtype, np.complexfloating)
    if not is_complex or np.issubdtype(dtype, np.complexfloating):
        return False
    scale = max(1.0, float(np.max(np.abs(array), initial=0.0)))
    return bool(np.all(np.abs(np.imag(array)) <= 1e-9 * scale))


def _holds(array: np.ndarray, dtype: Any) -> bool:
    """Whether the numbers keep their values; a float32 may become a float64, 1.0 an integer."""
    if np.can_cast(array.dtype, dtype, casting="same_kind"):
        return True
    if array.dtype.kind != "f" or not np.all(np.isfinite(array)):
        return False
    return bool(np.all(array.astype(dtype) == array))


def _type(aval: ShapedArray) -> str:
    return f"{jnp.dtype(aval.dtype).name}{list(aval.shape)}"


def _density_matrix(_: Any, wires: int) -> tuple[tuple[int, ...], type]:
    return (2**wires, 2**wires), complex


def _stabilizers(device: Any, wires: int) -> tuple[tuple[int, ...], type]:
    """`default.clifford` returns the tableau, unless it was asked for a state vector."""
    if device._tableau:  # pyright: ignore[reportPrivateUsage]
        return (2 * wires, 2 * wires + 1), int
    return (2**wires,), complex


_STATES: Mapping[str, Callable[[Any, int], tuple[tuple[int, ...], type]]] = {
    "default.mixed": _density_matrix,
    "default.clifford": _stabilizers,
}
"""What `qml.state()` gives on devices whose states are no vectors."""
