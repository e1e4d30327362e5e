"""What a row of the tables is: an example of an operator, by its class's name.

`build(parameters, wires)` constructs the operator; `parameters` may be traced, and so may the
labels in `wires`. `name` may have a suffix after a colon where a class has several examples.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Build = Callable[[tuple[Any, ...], list[Any]], Any]


@dataclass(frozen=True)
class Example:
    """One way to construct an operator."""

    build: Build
    wires: int
    parameters: tuple[Any, ...] = ()
    first_wires: bool = False
    """Whether the operator acts on wires 0, 1, 2, … whatever it is given."""


Table = Mapping[str, Example]


def example(build: Build, wires: int, *parameters: Any, first_wires: bool = False) -> Example:
    """Make a row; what is static is written into `build`."""
    arrays = tuple(np.asarray(parameter) for parameter in parameters)
    return Example(build, wires, arrays, first_wires)


def angles(seed: int, *shape: int) -> np.ndarray:
    """Some angles."""
    return np.random.default_rng(seed).uniform(-3, 3, shape)


def amplitudes(seed: int, wires: int) -> np.ndarray:
    """A normalised state on some wires."""
    generator = np.random.default_rng(seed)
    vector = generator.normal(size=2**wires) + 1j * generator.normal(size=2**wires)
    return vector / np.linalg.norm(vector)


def unitary(seed: int, wires: int) -> np.ndarray:
    """A unitary matrix on some wires."""
    generator = np.random.default_rng(seed)
    size = (2**wires, 2**wires)
    matrix = generator.normal(size=size) + 1j * generator.normal(size=size)
    return np.linalg.qr(matrix)[0]
