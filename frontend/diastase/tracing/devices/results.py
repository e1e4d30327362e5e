"""What a device's results are: promised while tracing, checked when they come.

`promised` gives the types of a measurement's results from PennyLane's `shape` and `numeric_type`;
`as_promised` turns what the device returned into arrays of these types.

The trap: `shape` speaks of state vectors, whatever the device; `_STATES` has those that return
something else for `qml.state()`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from pennylane import measurements
from pennylane.exceptions import MeasurementShapeError

from diastase.tracing.device_errors import DeviceResultError, UnknownResultError
from diastase.tracing.measurements import process_name

_DTYPES: Mapping[Any, Any] = {
    int: np.int64, float: np.float64, complex: np.complex128, bool: np.bool_
}  # fmt: skip


def promised(process: Any, device: Any, shots: Any, wires: int, batch: int | None) -> ShapedArray:
    """The type of one measurement's result, for one number of shots."""
    name = process_name(process)
    try:
        shape, numeric_type = process.shape(shots, wires), process.numeric_type
    except (NotImplementedError, MeasurementShapeError) as error:
        if shots is None and isinstance(process, measurements.SampleMeasurement):
            reason, hint = "needs shots, and the QNode has none", "set them with qml.set_shots"
        else:
            reason, hint = f"has no size that is known: {error}", "call the QNode without qjit"
        raise UnknownResultError(measurement=name, reason=reason, hint=hint) from error
    if type(process) is measurements.StateMP and device.name in _STATES:
        shape, numeric_type = _STATES[device.name](device, len(process.wires) or wires)
    if isinstance(process, measurements.ClassicalShadowMP):
        numeric_type = np.int8  # PennyLane says int, and its devices return this
    shape = tuple(shape) if batch is None else (batch, *shape)
    return ShapedArray(shape, np.dtype(_DTYPES.get(numeric_type, numeric_type)))


def as_promised(
    values: Sequence[Any], avals: Sequence[ShapedArray], names: Sequence[str], device: str
) -> list[np.ndarray]:
    """Results of a device as arrays of the promised types; sizes that were unknown may be any."""
    if len(values) != len(avals):
        what = f"{len(values)} results where the QNode has {len(avals)}"
        raise DeviceResultError(device=device, what=what)
    return [
        _converted(value, aval, f"for {name}", device)
        for value, aval, name in zip(values, avals, names, strict=True)
    ]


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
