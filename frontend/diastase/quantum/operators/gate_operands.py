"""What gate equations are made of: the recorder that takes them, their wires and parameters.

In come PennyLane's operators; out go positions of wires, numbers and arrays as the primitives of
gates take them. What cannot be one is refused, with the operator's name.

`Controls` are pairs of a wire label and the value that activates the gate. The trap: a parameter
may be traced, and PennyLane may look at it; so its methods are called through `silently` only.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import ParameterTypeError, UnsupportedOperationError
from diastase.primitives.quantum import AbstractRegister
from diastase.quantum.noise.strengths import is_own
from diastase.quantum.operators.decompositions import DATA_DEPENDENT
from diastase.quantum.wires import Position, WireMap, as_dtype, bind_on
from diastase_mlir.jax_compat import abstract_value

Controls = tuple[tuple[Any, bool], ...]

LOOKS_AT_TRACED_VALUES = "is built by PennyLane in a way that depends on a traced value"


class Recorder(Protocol):
    """A register, and the equations that change it."""

    wires: WireMap
    register: Any
    is_outermost: bool
    """Whether this is the QNode's body itself, not a loop or branch in it."""
    is_undone: bool = False
    """Whether the inverse of what is recorded is executed: inside of an `adjoint`."""
    unitary_in: str | None = None
    """`adjoint` or `ctrl`, where only what is unitary can be recorded."""

    @property
    def known_arrays(self) -> dict[Any, Any]:
        """What has been computed for this region, and may be used again in it."""
        return {}

    @property
    def is_untouched(self) -> bool:
        """Whether the register is known to be |0...0>."""
        return False

    def advance(self, primitive: Any, *operands: Any, **params: Any) -> None:
        """Apply a primitive `register, *operands -> register`."""
        self.register = primitive.bind(self.register, *operands, **params)

    def advance_on(
        self, wires: Sequence[Position], primitive: Any, *operands: Any, **params: Any
    ) -> None:
        """Apply a primitive that takes wires."""
        self.register = bind_on(primitive, self.register, wires, *operands, **params)

    def run_decomposition(
        self, function: Callable[[], Sequence[Any] | None], controls: Controls
    ) -> Sequence[Any] | None:
        """The factors that a user's function gives, but those that it has recorded itself."""
        ...

    def take_snapshot(self, operator: Any) -> None:
        """Measure what a snapshot sees."""
        ...


def wires_of(
    operator: Any, recorder: Recorder, controls: Controls
) -> tuple[tuple[Position, ...], tuple[bool, ...]]:
    """Positions of an operator's wires, then of controls; and the control values."""
    labels = [*operator.wires, *(wire for wire, _ in controls)]
    return recorder.wires.positions(labels, operator.name), tuple(value for _, value in controls)


def real_scalar(parameter: Any, operator: Any) -> Any:
    """A parameter as f64: a number known now, or a traced scalar."""
    if isinstance(parameter, list | tuple):
        parameter = jnp.asarray(parameter)
    if np.ndim(parameter) != 0:
        reason = f"a parameter has the shape {tuple(np.shape(parameter))}, not ()"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    dtype = getattr(parameter, "dtype", None) or np.min_scalar_type(parameter)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        raise ParameterTypeError(operation=describe(operator), reason="a parameter is complex")
    is_number = jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
    if not (is_number or isinstance(parameter, int)):  # an int may have more than 64 bits
        reason = f"a parameter is no number: {parameter!r}"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    if isinstance(parameter, Tracer):
        return as_dtype(parameter, jnp.float64)
    return np.float64(parameter)


def shared(make: Callable[[Any], Any], channel: Any, recorder: Recorder) -> Any:
    """What `make` makes of a channel; one for all with traced strengths computed alike in a region.

    Of known strengths, and other parameters, it is made each time.
    """
    if not is_own(channel) or not any(isinstance(value, Tracer) for value in channel.data):
        return make(channel)
    words = "".join(channel.hyperparameters.get("operators", ()))
    strengths = [_identity(value, recorder) for value in channel.data]
    key = (make, type(channel), len(channel.wires), words, *strengths)
    known = recorder.known_arrays
    if key not in known:
        known[key] = make(channel), channel.data  # kept alive with its identity
    return known[key][0]


def _identity(value: Any, recorder: Recorder) -> Any:
    if isinstance(value, Tracer):
        return id(recorder.wires.first(value))
    return np.asarray(value).tobytes()


def complex_array(matrix: Any) -> Any:
    """A matrix as complex128: an array known now, or a traced one."""
    if isinstance(matrix, Tracer):
        return as_dtype(matrix, jnp.complex128)
    return np.asarray(matrix, dtype=np.complex128)


def is_density_matrix(register: Any) -> bool:
    """Whether a register holds a density matrix, not a state vector."""
    kind = abstract_value(register)
    return isinstance(kind, AbstractRegister) and kind.mixed


def silently(operator: Any, function: Callable[[], Any]) -> Any:
    """Call PennyLane without recording what it makes; it may look at traced values: refused."""
    with qml.QueuingManager.stop_recording():
        try:
            return function()
        except DATA_DEPENDENT as error:
            raise unsupported(operator, LOOKS_AT_TRACED_VALUES) from error


def unsupported(operator: Any, reason: str) -> UnsupportedOperationError:
    """The refusal of an operator."""
    return UnsupportedOperationError(operation=describe(operator), reason=reason)
