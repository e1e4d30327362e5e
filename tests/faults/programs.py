"""Programs that faults befall, small, and what they give.

Each uses something else: compiled code alone, the engine, a library that has to be built, Python.
Made anew each time, as a process that has just been started would make them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import grad, qjit

X = np.linspace(0.1, 0.9, 5)
ANGLES = np.linspace(0.2, 1.4, 6)
MANY = np.linspace(0.0, 1.0, 300_000)


@dataclass(frozen=True)
class Program:
    """A function to compile, its argument and its result."""

    function: Callable[[Any], Any]
    argument: Any
    result: Any
    libraries: tuple[str, ...] = ()
    """Which of our libraries it has to build: all others are there."""

    def compiled(self) -> Callable[[], bool]:
        """Call it, which compiles it the first time; whether the result is right."""
        function = qjit(self.function)

        def call() -> bool:
            return np.allclose(function(self.argument), self.result, atol=1e-10)

        return call


def _arrays(x: jax.Array) -> jax.Array:
    return jnp.outer(x, x).cumsum(axis=0)[2] * 2.0


def _function_of_python(x: jax.Array) -> jax.Array:
    kind = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda value: np.asarray(value) * 3.0, kind, x) + 1.0


def _layers(angles: Any) -> None:
    for wire in range(3):
        qml.RX(angles[wire], wire)
    for wire in range(3):
        qml.CNOT([wire, (wire + 1) % 3])
        qml.RY(angles[3 + wire], wire)


def _circuit(kind: str = "lightning.qubit") -> Callable[[Any], Any]:
    @qml.qnode(qml.device(kind, wires=3))
    def circuit(angles: Any) -> Any:
        _layers(angles)
        return qml.expval(qml.Z(0) @ qml.Z(2))

    return circuit


def _gradient(angles: jax.Array) -> jax.Array:
    return grad(_circuit())(angles)


def _noise(angles: jax.Array) -> jax.Array:
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit(angles: Any) -> Any:
        qml.RX(angles[0], 0)
        qml.DepolarizingChannel(0.3, 0)
        return qml.expval(qml.Z(0))

    return circuit(angles)


def _samples(angles: jax.Array) -> jax.Array:
    @qml.set_shots(100)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit() -> Any:
        qml.X(0)
        return qml.sample(wires=[0, 1])

    return circuit()[:, 0].sum() + 0.0 * angles[0]


def _expected(angles: np.ndarray) -> float:
    """The expectation value that PennyLane's own simulator gives."""
    return float(_circuit("default.qubit")(angles))


def _difference(angles: np.ndarray) -> np.ndarray:
    """By shifts of a quarter turn, which is exact for rotations."""
    shifts = np.eye(len(angles)) * np.pi / 2
    return np.array([(_expected(angles + s) - _expected(angles - s)) / 2 for s in shifts])


_SORTED = np.arange(1000.0)

PROGRAMS = {
    "arrays": Program(_arrays, X, np.outer(X, X).cumsum(axis=0)[2] * 2.0),
    "python": Program(_function_of_python, X, X * 3.0 + 1.0),
    "library": Program(lambda x: jnp.exp(x).sum(), X, np.exp(X).sum(), ("elementary",)),
    "circuit": Program(_circuit(), ANGLES, _expected(ANGLES)),
    "gradient": Program(_gradient, ANGLES, _difference(ANGLES)),
    "noise": Program(_noise, ANGLES, (1 - 4 * 0.3 / 3) * np.cos(ANGLES[0])),
    "samples": Program(_samples, ANGLES, 100.0),
    "sort": Program(jnp.sort, np.random.default_rng(1).permutation(_SORTED), _SORTED),
    "fourier": Program(lambda x: jnp.fft.fft(x), X, np.fft.fft(X)),
    "threads": Program(lambda x: jnp.sqrt(x) * 2.0, MANY, np.sqrt(MANY) * 2.0),
}
