"""What puts passes on a QNode: by name, several at once, from a plugin.

In: names and options, checked by the table of passes. Out: decorators of QNodes, which are marked
and stay what they are in Python.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pennylane as qml

from diastase.quantum.settings.circuit_passes import with_passes
from diastase_mlir.diagnostics import user_span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from diastase.quantum.passes import plugins, table
    from diastase.quantum.passes.plugins import Pass
    from diastase_mlir.passes import circuits
else:
    circuits = LazyModule("diastase_mlir.passes.circuits")
    plugins = LazyModule("diastase.quantum.passes.plugins")
    table = LazyModule("diastase.quantum.passes.table")

Decorator = Callable[[Any], Any]


def pipeline(pass_pipeline: "Mapping[str, Mapping[str, Any]] | Sequence[Pass]") -> Decorator:
    """Apply several passes in order.

    Args:
        pass_pipeline: names of passes, each with a dictionary of its options, or a list of `Pass`.

    Returns:
        A decorator of QNodes.

    Raises:
        UnknownPassError: a `ValueError`, for a pass that there is not.
        PassOptionError: a `TypeError`, for an option that a pass does not have.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        InvalidPassError: a `TypeError`, for what is no such dictionary or list.
        NotAQNodeError: a `TypeError`, if anything but a QNode is decorated.

    Example:
        >>> import pennylane as qml
        >>> from diastase import pipeline, qjit
        >>> @qjit
        ... @pipeline({"cancel_inverses": {}, "merge_rotations": {"loops": False}})
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(x):
        ...     qml.RX(x, 0)
        ...     qml.X(0)
        ...     qml.X(0)
        ...     qml.RX(0.5, 0)
        ...     return qml.state()
        >>> print(qml.draw(circuit)(0.1))
        0: ──RX(x + 0.5)─┤  State

    """
    return decorator("pipeline", plugins.read_pipeline(pass_pipeline))


def apply_pass(name: str, *flags: str, **options: Any) -> Decorator:
    """Apply a pass by its name, one of a user's own, say.

    Args:
        name: of a pass of ours, or one given to `register_pass`; hyphens mean underscores.
        *flags: names of options that are True.
        **options: other options, numbers, booleans and strings.

    Returns:
        A decorator of QNodes.

    Raises:
        UnknownPassError: a `ValueError`, for a pass that there is not.
        PassOptionError: a `TypeError`, for an option that the pass does not have.
        OptionValueError: a `ValueError`, for a value that an option does not take.
        NotAQNodeError: a `TypeError`, if anything but a QNode is decorated.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @qjit
        ... @passes.apply_pass("cancel-inverses")
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.X(0)
        ...     qml.X(0)
        ...     return qml.state()
        >>> qml.specs(circuit)().resources.gate_types
        {}

    """
    return decorator(name, (table.pass_call(name, {**dict.fromkeys(flags, True), **options}),))


def apply_pass_plugin(path: str | Path, name: str, *flags: str, **options: Any) -> Decorator:
    """Apply a pass that a plugin registers.

    Args:
        path: of a Python file, or of a package's folder, or the name of an entry point. It is run
            once in a process.
        name: of the pass, which it gives to `register_pass`.
        *flags: names of options that are True.
        **options: other options, numbers, booleans and strings.

    Returns:
        A decorator of QNodes.

    Raises:
        PassPluginError: a `ValueError`, for what is no plugin, a library of MLIR's among it.
        UnknownPassError: a `ValueError`, for a pass that it does not register.
        NotAQNodeError: a `TypeError`, if anything but a QNode is decorated.

    Example:
        >>> from pathlib import Path
        >>> from diastase.passes import apply_pass_plugin
        >>> _ = Path("my_passes.py").write_text('''
        ... from diastase.passes import register_pass
        ...
        ... @register_pass("nothing")
        ... def nothing(circuit): ...
        ... ''')
        >>> decorator = apply_pass_plugin("my_passes.py", "nothing")

    """
    return decorator(name, (plugins.PassPlugin(path, name, *flags, **options).call,))


def given(name: str, qnode: Any, **options: Any) -> Any:
    """A pass with options of a QNode, or, without one, a decorator."""
    decorate = decorator(name, (table.pass_call(name, options),))
    return decorate if qnode is None else decorate(qnode)


def applied(name: str, qnode: Any) -> Any:
    """A QNode with a pass that has no options."""
    return decorator(name, (table.pass_call(name, {}),))(qnode)


def decorator(name: str, passes: "tuple[circuits.PassCall, ...]") -> Decorator:
    """What puts passes on a QNode, and refuses anything else in the name of what was asked for."""

    def decorate(qnode: Any) -> Any:
        if not isinstance(qnode, qml.QNode):
            raise circuits.NotAQNodeError(name=name, type=_kind(qnode), span=user_span())
        return with_passes(qnode, passes)

    return decorate


def _kind(value: Any) -> str:
    """What something is, with its name if it has one."""
    name = getattr(value, "__name__", None)
    kind = f"a {type(value).__name__}"
    return f"{kind} ({name})" if name else kind
