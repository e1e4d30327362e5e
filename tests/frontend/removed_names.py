"""Run by `test_removed_names`: programs while one private name is missing, for each name given.

In: places on the command line. Out: a line of JSON for each, with what each program did: "right",
or the class of the error and its text. One child process for each, forked before anything of ours
is imported, so that importing JAX and PennyLane is paid once.
"""

import json
import os
import sys
import traceback

import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase_toolchain import private_api

X = np.arange(12.0).reshape(3, 4) / 7


def array_program(number):
    """`number` makes another program of it each time, so that none comes out of the cache."""
    import diastase  # noqa: PLC0415

    found = diastase.qjit(lambda x: jnp.tanh(x @ x.T).sum(0) + jnp.sort(x[:, 1]) + number)(X)
    np.testing.assert_allclose(found, np.tanh(X @ X.T).sum(0) + np.sort(X[:, 1]) + number)


def circuit(number):
    import diastase  # noqa: PLC0415

    @diastase.qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def compiled(x):
        qml.RX(x + number, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(1)), qml.probs(wires=[0])

    value, probs = compiled(0.3)
    np.testing.assert_allclose(value, np.cos(0.3 + number), atol=1e-12)
    np.testing.assert_allclose(probs, [(1 + value) / 2, (1 - value) / 2], atol=1e-12)


def outcome(program, number):
    """What a program does."""
    try:
        program(number)
    except Exception as error:
        return [type(error).__name__, str(error), traceback.format_exc()[-2000:]]
    return ["right"]


def in_a_child(place, number):
    """The outcomes while a place is empty, as JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            private_api.absent.add(place)
            found = {f.__name__: outcome(f, number) for f in (array_program, circuit)}
            os.write(writing, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return json.loads(found or '{"process": ["died"]}')


if __name__ == "__main__":
    for number, place in enumerate(sys.argv[1:]):
        print(json.dumps([place, in_a_child(place, number / 64)]), flush=True)
