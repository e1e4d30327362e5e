"""diastase among the compilers that PennyLane knows (entry points of `pennylane.compilers`).

PennyLane's `cond`, `for_loop`, `adjoint`, … ask at each call whether a compiler is active in this
thread, and call the function of the same name of that compiler. It finds compilers by the metadata
of installed packages. A checkout on `PYTHONPATH` has none: `register_compiler` puts what the
metadata would say in its place, and again each time PennyLane looks for compilers.

`stand_in_for_catalyst` gives us the name `catalyst` as well, the default of `qml.qjit`; what
programs written for Catalyst mean differently here, by design, is then said while they are traced
(`docs/from-catalyst.md` has the list, with what cannot be seen while tracing). The trap: PennyLane
calls the first active compiler by its name, and programs compare that with `"catalyst"`, so that
name must come before ours.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import EntryPoint
from typing import Any

import jax
import pennylane as qml
from pennylane.capture import switches

from diastase.capture.pennylane_compat.private import PENNYLANE
from diastase_mlir.diagnostics import stack_level_of_user
from diastase_toolchain.errors import MissingNameError

_compiler = PENNYLANE.module("pennylane.compiler.compiler")

GROUP = "pennylane.compilers"
NAME = "diastase"
CATALYST = "catalyst"

ENTRY_POINTS: dict[str, str] = {
    "context": "diastase.api.pennylane_entry",
    "ops": "diastase.api.pennylane_entry",
    "qjit": "diastase:qjit",
}
"""As in `pyproject.toml`."""

_DYNAMIC_SHAPES = "jax_dynamic_shapes"
_NO_DYNAMIC_SHAPES = (
    f"{_DYNAMIC_SHAPES} is gone from JAX and changes nothing; sizes in programs that qjit compiles "
    "may be traced with or without it"
)

_names = [NAME]
"""What we are known as now."""


def register_compiler() -> None:
    """Make PennyLane know diastase, installed or not; called once."""

    def registering(refresh: Callable[[], None]) -> Callable[[], None]:
        def refresh_and_register() -> None:
            refresh()
            _register()

        return refresh_and_register

    def unless_it_is_us(check: Callable[[str], None]) -> Callable[[str], None]:
        return lambda name: None if stands_in_for_catalyst() and name == CATALYST else check(name)

    PENNYLANE.patch("compilers", registering)
    PENNYLANE.patch("compiler_version", unless_it_is_us)
    with suppress(MissingNameError):  # who looks for the compiler finds none
        _register()


def stand_in_for_catalyst() -> Callable[[], None]:
    """Be the compiler `catalyst`, too; returns what ends that."""
    enable = switches.enable
    _names.insert(0, CATALYST)
    _register()
    if not switches.is_jax_compatible:
        switches.enable = lambda: None  # `qml.capture.pause()` calls it at its end
        qml.capture.enable = _warn_of_capture
    update: Any = jax.config.update
    setattr(jax.config, "update", _without_dynamic_shapes(update))  # noqa: B010

    def end() -> None:
        setattr(jax.config, "update", update)  # noqa: B010
        switches.enable = qml.capture.enable = enable
        _names.remove(CATALYST)
        PENNYLANE.now("pennylane.compiler.compiler:_refresh_compilers")()

    return end


def stands_in_for_catalyst() -> bool:
    """Whether we are the compiler `catalyst` now."""
    return CATALYST in _names


def _register() -> None:
    """Put our names before all others'."""
    known = _compiler.AvailableCompilers.names_entrypoints
    others = {name: points for name, points in known.items() if name not in _names}
    known.clear()
    for name in _names:
        known[name] = {
            point: EntryPoint(f"{name}.{point}", value, GROUP)
            for point, value in ENTRY_POINTS.items()
        }
    known.update(others)


def _warn_of_capture() -> None:
    """`qml.capture.enable()`, which raises an error with this version of JAX."""
    warnings.warn(
        f"PennyLane's program capture needs JAX {switches.REQUIRED_JAX_VERSION} and stays off; "
        "qjit captures programs as jaxprs with or without it",
        stacklevel=2,
    )


def _without_dynamic_shapes(update: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    """`jax.config.update`, which takes the option that Catalyst's JAX has, and warns of it."""

    def updated(name: str, value: Any) -> None:
        if name != _DYNAMIC_SHAPES or name in jax.config.values:
            update(name, value)
        else:
            warnings.warn(_NO_DYNAMIC_SHAPES, stacklevel=2)

    return updated


class UnlikeCatalystWarning(UserWarning):
    """A program that was written for Catalyst has another result here, by design.

        import diastase.as_catalyst

        number = measure(0) + measure(1)     # 0, 1 or 2; with Catalyst 0 or 1

    Given where diastase stands in for Catalyst only; the message says how to write either meaning.
    """


def warn_unlike_catalyst(here: str, there: str, instead: str) -> None:
    """Say what a program means here, what it means with Catalyst, and what to write."""
    if stands_in_for_catalyst():
        message = f"{here}; with Catalyst {there}: {instead}"
        warnings.warn(message, UnlikeCatalystWarning, stacklevel=stack_level_of_user())
