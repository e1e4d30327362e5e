"""diastase among the compilers that PennyLane knows (entry points of `pennylane.compilers`).

PennyLane's `cond`, `for_loop`, `adjoint`, … ask at each call whether a compiler is active in this
thread, and call the function of the same name of that compiler. It finds compilers by the metadata
of installed packages. A checkout on `PYTHONPATH` has none: `register_compiler` puts what the
metadata would say in its place, and again each time PennyLane looks for compilers.
"""

from importlib.metadata import EntryPoint

from pennylane.compiler import compiler

GROUP = "pennylane.compilers"
NAME = "diastase"

ENTRY_POINTS: dict[str, str] = {
    "context": "diastase.api.dispatch",
    "ops": "diastase.api.dispatch",
    "qjit": "diastase:qjit",
}
"""As in `pyproject.toml`."""


def register_compiler() -> None:
    """Make PennyLane know diastase, installed or not; called once."""
    refresh = compiler._refresh_compilers  # pyright: ignore[reportPrivateUsage]

    def refresh_and_register() -> None:
        refresh()
        _register()

    compiler._refresh_compilers = refresh_and_register  # pyright: ignore[reportPrivateUsage]
    _register()


def _register() -> None:
    known = compiler.AvailableCompilers.names_entrypoints
    if NAME in known:
        return
    known[NAME] = {
        name: EntryPoint(f"{NAME}.{name}", value, GROUP) for name, value in ENTRY_POINTS.items()
    }
