"""The table of passes on circuits, and how a pass of a user's own gets into it.

    @register_pass("drop_identities")
    def drop_identities(circuit: Circuit) -> None:
        for gate in circuit.gates():
            if gate.name == "Identity":
                circuit.erase(gate)

A pass is a function of a `Circuit`, or a class whose instances are called with each gate and the
circuit (a rewrite pattern). Its options are its keyword-only parameters, those of the class for a
pattern; their values are numbers, booleans and strings.

`PassCall` is a pass with its options, as a QNode asks for it: checked, hashable, part of the jaxpr
and of the lowered module.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from diastase_mlir.diagnostics import user_span
from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.errors import InvalidPassError, PassOptionError, UnknownPassError

Option = bool | int | float | str


@dataclass(frozen=True, repr=False)
class PassCall:
    """A pass with options."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()

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

    def run(self, circuit: Circuit, options: Mapping[str, Option]) -> None:
        """Apply it to a circuit."""
        if inspect.isclass(self.function):
            pattern: Any = self.function(**options)
            circuit.rewrite(pattern)
        else:
            self.function(circuit, **options)


PASSES: dict[str, CircuitPass] = {}
"""All passes, by name."""


def register_pass(name: str, *, built_in: bool = False) -> Callable[[Any], Any]:
    """Make a function of a circuit, or a class of patterns, a pass of this name."""

    def register(function: Any) -> Any:
        canonical = canonical_name(name)
        found = PASSES.get(canonical)
        if found is not None and found.built_in:
            raise _invalid(name, "there is a pass of that name already")
        options = _options_of(canonical, function)
        PASSES[canonical] = CircuitPass(canonical, function, options, built_in)
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
        fits = not isinstance(value, int) or -(2**63) <= value < 2**63
        if not isinstance(value, Option) or not fits:
            reason = "a number of 64 bits, True, False or a string"
            raise PassOptionError(
                name=canonical, option=f"{option}={value!r}", allowed=reason, span=user_span()
            )
    for option, parameter in found.options.items():
        if parameter.default is parameter.empty and option not in known:
            raise _invalid(canonical, f"its option {option} has no value")
    return PassCall(canonical, tuple(sorted(known.items())))


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


def canonical_name(name: str) -> str:
    """Names with hyphens mean those with underscores."""
    return name.replace("-", "_")


def _invalid(name: str, reason: str) -> InvalidPassError:
    return InvalidPassError(name=name, reason=reason, span=user_span())


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _options_of(name: str, function: Any) -> Mapping[str, inspect.Parameter]:
    """The options of a pass: parameters that are given by name."""
    if not callable(function):
        raise _invalid(name, f"{function!r} is no function and no class")
    parameters = dict(inspect.signature(function).parameters)
    if not inspect.isclass(function):
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
