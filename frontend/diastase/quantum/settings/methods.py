"""By which method a QNode is simulated: what the user chose, what that means, and why.

In: a QNode (`set_method` has put a `Choice` on it), the settings of the program
(`qjit(method=…, trajectories=…)`), the device. Out: a `Method`, a name with a reason in the user's
words. The QNode's own choice comes first, then the program's, then the device:

    statevector    one state vector: lightning.qubit, default.qubit
    density        one density matrix: default.mixed
    trajectories   state vectors whose noise is drawn, many of them (Monte Carlo wave functions)
    clifford       a stabilizer tableau: default.clifford
    device         PennyLane's device itself, in Python

Whoever runs QNodes notes how (`note_method`); `f.report()` tells (`watching_methods`).

The trap: `automatic` asks for what fits the circuit, which is known only when it has been traced
(`qnode.automatic`); here it is what the device says.
"""

import copy
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
import pennylane as qml

from diastase.capture.context import METHODS, SimulationMethod, current_settings
from diastase.capture.device_errors import MethodChoiceError
from diastase.capture.quantum_errors import InvalidSettingError
from diastase_mlir import user_span

DEFAULT_TRAJECTORIES = 1000
"""How many are averaged where nothing is said."""

_ATTRIBUTE = "_diastase_method"
"""Of a QNode; copies of it, which transforms and `qml.set_shots` make, have it, too."""

_OF_DEVICE = {
    "lightning.qubit": ("statevector", "holds state vectors"),
    "default.qubit": ("statevector", "holds state vectors"),
    "default.mixed": ("density", "holds density matrices"),
    "default.clifford": ("clifford", "holds stabilizer tableaus"),
}


class Method(NamedTuple):
    """How a QNode is simulated."""

    name: str
    why: str
    """What decided it: "method= of qjit", "the device default.mixed holds density matrices"."""


class QNodeMethod(NamedTuple):
    """How one QNode of a program is simulated."""

    qnode: str
    method: Method

    def __str__(self) -> str:
        return f"{self.qnode}: {self.method.name} ({self.method.why})"


@dataclass(frozen=True)
class Choice:
    """What `set_method` was told."""

    method: SimulationMethod | None
    trajectories: int | None
    standard_errors: bool


@overload
def set_method(
    qnode: qml.QNode,
    method: SimulationMethod | None,
    trajectories: int | None = None,
    *,
    standard_errors: bool = False,
) -> qml.QNode: ...
@overload
def set_method(
    method: SimulationMethod | None,
    /,
    trajectories: int | None = None,
    *,
    standard_errors: bool = False,
) -> Callable[[qml.QNode], qml.QNode]: ...
@overload
def set_method(
    *,
    method: SimulationMethod | None,
    trajectories: int | None = None,
    standard_errors: bool = False,
) -> Callable[[qml.QNode], qml.QNode]: ...
def set_method(*args: Any, **kwargs: Any) -> Any:
    """Say by which method a QNode is simulated, whatever `qjit(method=…)` says of others.

    A decorator, or a function of a QNode, which it copies: `set_method(circuit, "density")`.

    Args:
        *args: the method, or a QNode and the method; then the number of trajectories. Methods are
            "statevector", without noise; "density", exact and with derivatives, for up to a dozen
            or so wires; "trajectories", state vectors whose noise is drawn at random; "clifford", a
            stabilizer tableau; "automatic"; None for what the program or the device says.
        **kwargs: `method` and `trajectories`, the same by name: how many are averaged where there
            are no shots (1000); with shots, each shot is a trajectory. `standard_errors=True`: with
            trajectories and without shots, results are pairs: what the QNode returns, and as much
            again with the standard error of each number.

    Returns:
        A QNode, or a decorator of one.

    Raises:
        MethodChoiceError: a `ValueError`, for a method or a number that there is not, and for what
            is no QNode.

    Example:
        >>> import pennylane as qml
        >>> import diastase
        >>> @diastase.qjit(seed=1)
        ... @diastase.set_method("trajectories", trajectories=200)
        ... @qml.qnode(qml.device("default.mixed", wires=1))
        ... def circuit(p):
        ...     qml.BitFlip(p, wires=0)
        ...     return qml.probs(wires=0)
        >>> circuit(0.0)
        Array([1., 0.], dtype=float64)

    """
    if "qnode" in kwargs:
        return set_method(kwargs.pop("qnode"), *args, **kwargs)
    if args and callable(args[0]):
        return _decorator(_choice(*args[1:], **kwargs))(args[0])
    return _decorator(_choice(*args, **kwargs))


def _decorator(choice: Choice) -> Callable[[Any], qml.QNode]:
    def decorate(qnode: Any) -> qml.QNode:
        if not isinstance(qnode, qml.QNode):
            given = getattr(qnode, "__name__", repr(qnode))
            raise _refused(given, "it takes a QNode: put it right above @qml.qnode, below @qjit")
        return _with_choice(qnode, choice)

    return decorate


def _with_choice(qnode: qml.QNode, choice: Choice) -> qml.QNode:
    made = copy.copy(qnode)
    setattr(made, _ATTRIBUTE, choice)
    return made


_MISSING: Any = object()


def _choice(
    method: Any = _MISSING, trajectories: Any = None, *, standard_errors: Any = False
) -> Choice:
    """Check what `set_method` is told."""
    if method is _MISSING or not (
        method is None or (isinstance(method, str) and method in METHODS)
    ):
        given = "no method" if method is _MISSING else f"the method {method!r}"
        raise _refused(given, f"the methods are {', '.join(map(repr, METHODS))} and None")
    if trajectories is not None and not is_count(trajectories):
        raise _refused(f"trajectories={trajectories!r}", "trajectories is a positive integer")
    if not isinstance(standard_errors, bool):
        raise _refused(f"standard_errors={standard_errors!r}", "standard_errors is True or False")
    number = None if trajectories is None else int(trajectories)
    return Choice(method, number, standard_errors)


def is_count(value: Any) -> bool:
    """Whether a value is a positive integer that is known."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return bool(is_integer and value > 0)


def _refused(given: str, allowed: str) -> MethodChoiceError:
    return MethodChoiceError(given=given, allowed=allowed, span=user_span())


# --- what a choice means -------------------------------------------------------------------------


def method_of(qnode: qml.QNode) -> Method:
    """By which method a QNode that is called now is simulated."""
    asked, by = _asked(qnode)
    device = qnode.device.name
    if asked in (None, "automatic"):
        name, why = _OF_DEVICE.get(device, ("device", "runs its circuits in Python"))
        because = f"the device {device} {why}"
        return Method(name, because if asked is None else f'{by}"automatic", and {because}')
    if device not in _OF_DEVICE:
        devices = ", ".join(_OF_DEVICE)
        reason = f"the device {device} runs its circuits itself: the methods are for {devices}"
        name = getattr(qnode.func, "__name__", "qnode")
        raise InvalidSettingError(
            qnode=name, setting=f"method={asked!r}", reason=reason, span=user_span()
        )
    return Method(asked, f"{by}{asked!r}".replace("'", '"'))


def automatic_by(qnode: qml.QNode) -> str:
    """Who says that the method is to be what fits the circuit; nothing where nobody does."""
    asked, by = _asked(qnode)
    return f'{by}"automatic"' if asked == "automatic" else ""


def trajectories_of(qnode: qml.QNode) -> int:
    """How many trajectories are averaged where there are no shots."""
    choice = _choice_of(qnode)
    own = choice.trajectories if choice is not None else None
    return own or current_settings().trajectories or DEFAULT_TRAJECTORIES


def gives_standard_errors(qnode: qml.QNode) -> bool:
    """Whether results come with their standard errors."""
    choice = _choice_of(qnode)
    return choice is not None and choice.standard_errors


def _asked(qnode: qml.QNode) -> tuple[Any, str]:
    """The method that was asked for, if any, and by what."""
    choice = _choice_of(qnode)
    if choice is not None and choice.method is not None:
        return choice.method, "set_method: "
    return current_settings().method, "method= of qjit: "


def _choice_of(qnode: qml.QNode) -> Choice | None:
    return getattr(qnode, _ATTRIBUTE, None)


# --- for the report ------------------------------------------------------------------------------


class _Watched(threading.local):
    seen: dict[QNodeMethod, None] | None = None


_watched = _Watched()


@contextmanager
def watching_methods() -> Generator[dict[QNodeMethod, None]]:
    """The methods of the QNodes that this thread traces inside, each once, in order."""
    outer, _watched.seen = _watched.seen, {}
    try:
        yield _watched.seen
    finally:
        if outer is not None:
            outer.update(_watched.seen)
        _watched.seen = outer


@contextmanager
def unnoted_if_it_fails() -> Generator[None]:
    """Methods that are noted inside were not, if an error is raised."""
    seen = _watched.seen
    before = {} if seen is None else dict(seen)
    try:
        yield
    except BaseException:
        if seen is not None:
            seen.clear()
            seen.update(before)
        raise


def note_method(qnode: str, method: Method) -> None:
    """Tell whoever watches how a QNode is simulated."""
    if _watched.seen is not None:
        _watched.seen[QNodeMethod(qnode, method)] = None
