"""How the tables of calls are written: a full name -> an example call, a function of the arguments.

A call gets one namespace, the arrays of `ARRAYS` by name and `key`, a random key made of the
argument `seed`. What stands in a call besides them (axes, shapes) is static. Names that the
installed JAX does not have are left out of a table, so that one table serves several versions.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import numpy as np

Call = Callable[[SimpleNamespace], Any]
Table = dict[str, Call]


def each(module: ModuleType, names: str, call: Callable[[Any, SimpleNamespace], Any]) -> Table:
    """One way of calling for several functions of a module: `call(function, arguments)`."""
    return {
        f"{module.__name__}.{name}": partial(call, getattr(module, name))
        for name in names.split()
        if hasattr(module, name)
    }


def calls(module: ModuleType, table: Mapping[str, Call]) -> Table:
    """A call of its own for each function of a module; `name:variant` is one more call of it."""
    return {
        f"{module.__name__}.{name}": call
        for name, call in table.items()
        if hasattr(module, name.split(":")[0].split(".")[0])
    }


def _arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    x, y, u = (random.uniform(0.1, 0.9, (2, 3)) for _ in range(3))
    m = random.uniform(-1, 1, (3, 3)) + 3 * np.eye(3)
    return {
        "x": x,
        "y": y,
        "u": u,
        "v": random.uniform(0.1, 0.9, 4),
        "w": random.uniform(0.1, 0.9, 4),
        "m": m,
        "spd": m @ m.T,
        "o": np.array([[1.5, np.nan, -2.0], [np.nan, 0.25, 4.0]]),
        "c": x + 1j * y,
        "i": np.array([[3, -1, 2], [7, 2, -5]]),
        "j": np.array([[1, 2, 3], [4, 1, 2]]),
        "k": np.array([2, 0, 3, 2]),
        "n": np.array([4, 1, 1, 7, 9, 4]),
        "b": np.array([[True, False, True], [False, False, True]]),
        "bits": np.array([[3, 200, 17], [255, 0, 9]], np.uint8),
        "f": random.uniform(0.1, 0.9, (2, 3)).astype(np.float32),
        "image": random.uniform(-1, 1, (1, 2, 5, 4)),
        "filter": random.uniform(-1, 1, (3, 2, 2, 2)),
        "signal": random.uniform(-1, 1, 16),
        "seed": np.array(7),
    }


ARRAYS = _arrays()


def with_arguments(table: Mapping[str, Call]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """One program of all calls of a table; its argument is `ARRAYS`."""

    def program(arrays: Mapping[str, Any]) -> dict[str, Any]:
        arguments = SimpleNamespace(**arrays, key=jax.random.key(arrays["seed"]))
        return {name: call(arguments) for name, call in table.items()}

    return program
