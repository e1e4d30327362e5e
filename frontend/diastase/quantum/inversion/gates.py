"""The adjoints of the named gates: name and parameters of the gate that undoes another.

One entry for each row of the gate table; a test compares all of them with their matrices.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from diastase_mlir import GATES

Parameters = tuple[Any, ...]
AdjointGate = Callable[..., tuple[str, Parameters]]
"""From the parameters of a gate to name and parameters of its adjoint."""


def _negated(name: str) -> AdjointGate:
    return lambda *angles: (name, tuple(-angle for angle in angles))


def _reversed_and_negated(name: str) -> AdjointGate:
    return lambda *angles: (name, tuple(-angle for angle in reversed(angles)))


def _without_parameters(name: str) -> AdjointGate:
    """Of a pair like `S` and `Adjoint(S)` the other one; a gate without such a pair is its own."""
    other = name.removeprefix("Adjoint(").removesuffix(")")
    other = f"Adjoint({name})" if other == name else other
    adjoint = other if other in GATES else name
    return lambda: (adjoint, ())


_IRREGULAR: Mapping[str, AdjointGate] = {
    "Rot": _reversed_and_negated("Rot"),
    "CRot": _reversed_and_negated("CRot"),
    "U2": lambda phi, delta: ("U2", (np.pi - delta, np.pi - phi)),
    "U3": lambda theta, phi, delta: ("U3", (-theta, -delta, -phi)),
}


def _adjoint_gate(name: str) -> AdjointGate:
    if name in _IRREGULAR:
        return _IRREGULAR[name]
    return _negated(name) if GATES[name].parameters else _without_parameters(name)


ADJOINT_GATES: Mapping[str, AdjointGate] = {name: _adjoint_gate(name) for name in GATES}
"""By name, as in the gate table."""
