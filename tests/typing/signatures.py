"""What type checkers see of `qjit`: the function's own parameters and result.

`make types` checks this file, also that each mistake is found; nothing in it runs.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

import jax
import pennylane as qml

from diastase import QJIT, qjit


@qjit
def plain(x: float, n: int = 2) -> jax.Array:
    return jax.numpy.ones(n) * x


@qjit(seed=3, keep_intermediate="pass")
def with_options(x: jax.Array, *, scale: float) -> tuple[jax.Array, float]:
    return x, scale


class Model:
    @qjit
    def predict(self, x: jax.Array) -> jax.Array:
        return x


@qjit
@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x: float):
    return qml.expval(qml.Z(0))


@qjit(autograph=True)
@qml.qnode(qml.device("lightning.qubit", wires=1))
def converted(x: float):
    return qml.expval(qml.Z(0))


assert_type(circuit(0.5), Any)
assert_type(converted(0.5), Any)
assert_type(plain(0.5, n=3), jax.Array)
assert_type(with_options(jax.numpy.ones(2), scale=2.0), tuple[jax.Array, float])
assert_type(Model().predict(jax.numpy.ones(2)), jax.Array)
assert_type(qjit(abs)(-1.5), float)
assert_type(plain.original_function(0.5), jax.Array)
functions: list[QJIT] = [plain, with_options]

plain("a")  # pyright: ignore[reportArgumentType]
plain(0.5, m=3)  # pyright: ignore[reportCallIssue]
with_options(jax.numpy.ones(2))  # pyright: ignore[reportCallIssue]
qjit(plain, no_such_option=1)  # pyright: ignore[reportCallIssue]
qjit(plain, seed="a")  # pyright: ignore[reportArgumentType, reportCallIssue]
