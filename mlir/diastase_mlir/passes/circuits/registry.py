"""The table of passes on circuits, and how a pass of a user's own gets into it.

    @register_pass("drop_identities")
    def drop_identities(circuit: Circuit) -> None:
        for gate in circuit.gates():
            if gate.name == "Identity":
                circuit.erase(gate)

A pass is a function of a `Circuit`, or a class whose instances are called with each gate and the
circuit (a rewrite pattern). Its options are its keyword-only parameters, those of the class for a
pattern; their values are numbers, booleans and strings.

Passes of the frontend's are in the table, too (`of`): of a traced body, of operators that are being
recorded, of measurements. They are called with their options alone, when they are asked for, check
them, and give what the frontend works with.

`PassCall` is a pass with its options, as a QNode asks for it: checked.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np

from diastase_mlir.diagnostics import at, user_span
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import (
    InvalidPassError,
    OptionValueError,
    PassOptionError,
    UnknownPassError,
)

Option = bool | int | float | str
_KINDS = {bool: "True or False", int: "an integer", float: "a number", str: "a string"}
Subject = Literal["circuit", "body", "operators", "measurements"]
"""What a pass is given; all but the first are the frontend's."""


@dataclass(frozen=True, repr=False)
class PassCall:
    """A pass with options."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __hash__(self) -> int:
        """Of names alone: values of the frontend's passes may be sets and dictionaries."""
        return hash((self.name, *(option for option, _ in self.options)))

    @property
    def of(self) -> Subject:
        """What the pass is given."""
        return PASSES[self.name].of

    def made(self) -> Any:
        """What a pass of the frontend's gives for these options."""
        return PASSES[self.name].function(**dict(self.options))

    def __repr__(self) -> str:
        """Show it as jaxprs do."""
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.options)})"


@dataclass(frozen=True)
class CircuitPass:
    """A pass that circuits can be given."""

    name: str
    function: Callable[..., Any]
    options: Mapping[str, inspect.Parameter]
    built_in: bool
    of: Subject = "circuit"

    def run(self, circuit: Circuit, options: Mapping[str, Option]) -> None:
        """Apply it to a circuit."""
        if inspect.isclass(self.function):
            pattern: Any = self.function(**options)
            circuit.rewrite(pattern)
        else:
            self.function(circuit, **options)


PASSES: dict[str, CircuitPass] = {}
"""All passes, by name."""


def register_pass(
    name: str, *, built_in: bool = False, of: Subject = "circuit"
) -> Callable[[Any], Any]:
    """Make a function of a circuit, or a class of patterns, a pass of this name.

    The function is called with a `Circuit`, and changes it; instances of a class are called with
    each `Gate` and the circuit. Options are the parameters after the first, given by name; of a
    class, all of them.

    Args:
        name: under which it is asked for; a later pass of the same name takes its place.
        built_in: for the package itself: then it cannot be replaced.
        of: what it is given; all but "circuit" are for the package itself.

    Returns:
        A decorator, which gives the function or class itself.

    Raises:
        InvalidPassError: a `TypeError`, for a name of ours, and what takes no circuit.

    Example:
        >>> import pennylane as qml
        >>> from diastase import passes, qjit
        >>> @passes.register_pass("drop_small_rotations")
        ... def drop_small_rotations(circuit, *, below=1e-9):
        ...     for gate in circuit.gates():
        ...         if gate.name in ("RX", "RY", "RZ"):
        ...             angle = passes.values.constant_of(gate.parameters[0])
        ...             if angle is not None and abs(angle) < below:
        ...                 circuit.erase(gate)
        >>> @qjit
        ... @passes.apply_pass("drop_small_rotations", below=0.01)
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit():
        ...     qml.RX(0.001, 0)
        ...     qml.RY(0.1, 0)
        ...     return qml.state()
        >>> print(qml.draw(circuit)())
        0: ──RY(0.10)─┤  State

    """
    if of not in get_args(Subject):
        raise _invalid(name, f"there are no passes of {of!r}")

    def register(function: Any) -> Any:
        canonical = canonical_name(name)
        found = PASSES.get(canonical)
        if found is not None and found.built_in:
            raise _invalid(name, "there is a pass of that name already")
        options = _options_of(canonical, function, of)
        PASSES[canonical] = CircuitPass(canonical, function, options, built_in, of)
        return function

    return register


def has_pass(name: str, options: Mapping[str, Any]) -> bool:
    """Whether there is a pass of this name that has these options."""
    found = PASSES.get(canonical_name(name))
    return found is not None and set(map(canonical_name, options)) <= found.options.keys()


def pass_call(name: Any, options: Mapping[str, Any]) -> PassCall:
    """Check that there is such a pass with such options."""
    if not isinstance(name, str):
        raise _invalid(repr(name), "a pass is asked for by its name")
    canonical = canonical_name(name)
    found = PASSES.get(canonical)
    if found is None:
        close = get_close_matches(canonical, PASSES, 3) or sorted(PASSES)
        raise UnknownPassError(name=name, suggestions=", ".join(close), span=user_span())
    known = {canonical_name(option): _plain(value) for option, value in options.items()}
    for option, value in known.items():
        if option not in found.options:
            allowed = ", ".join(found.options) or "no options"
            raise PassOptionError(name=canonical, option=option, allowed=allowed, span=user_span())
        if found.of == "circuit":
            _check_value(found, option, value)
    for option, parameter in found.options.items():
        if parameter.default is parameter.empty and option not in known:
            raise _invalid(canonical, f"its option {option} has no value")
    call = PassCall(canonical, tuple(sorted(known.items())))
    if found.of != "circuit":
        with at(user_span()):
            call.made()  # for its checks
    return call


def _check_value(found: CircuitPass, option: str, value: Any) -> None:
    """Refuse what is no value of an option; the compiler's own have the types of the defaults."""
    fits = not isinstance(value, int) or -(2**63) <= value < 2**63
    if not isinstance(value, Option) or not fits:
        reason = "a number of 64 bits, True, False or a string"
        raise PassOptionError(
            name=found.name, option=f"{option}={value!r}", allowed=reason, span=user_span()
        )
    kind = type(found.options[option].default)
    if found.built_in and type(value) is not kind:
        raise OptionValueError(
            name=found.name, option=option, value=repr(value), allowed=_KINDS[kind],
            span=user_span(),
        )  # fmt: skip


def pass_calls(pipeline: Any) -> tuple[PassCall, ...]:
    """Check a pipeline: names with their options, in order."""
    if not isinstance(pipeline, Mapping):
        reason = "a pipeline is a dictionary from names to options: {'cancel_inverses': {}}"
        raise _invalid(repr(pipeline), reason)
    for name, options in pipeline.items():
        if not isinstance(options, Mapping):
            reason = f"its options are a dictionary, not {options!r}"
            raise _invalid(str(name), reason)
    return tuple(pass_call(name, options) for name, options in pipeline.items())


def canonical_name(name: Any) -> str:
    """Names with hyphens mean those with underscores."""
    if not isinstance(name, str):
        raise _invalid(repr(name), "the name of a pass is a string")
    return name.replace("-", "_")


def _invalid(name: str, reason: str) -> InvalidPassError:
    return InvalidPassError(name=name, reason=reason, span=user_span())


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _options_of(name: str, function: Any, of: Subject) -> Mapping[str, inspect.Parameter]:
    """The options of a pass: parameters that are given by name."""
    if not callable(function):
        raise _invalid(name, f"{function!r} is no function and no class")
    parameters = dict(inspect.signature(function).parameters)
    if of == "circuit" and not inspect.isclass(function):
        first = next(iter(parameters), None)
        if first is None or parameters[first].kind is inspect.Parameter.KEYWORD_ONLY:
            raise _invalid(name, "its function must take a circuit")
        del parameters[first]
    for option, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _invalid(name, f"its option {option} has no name")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise _invalid(name, f"its option {option} cannot be given by name")
    return parameters
