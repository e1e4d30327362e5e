"""Random numbers of programs with a seed: the same in every process, version and machine.

`python -m fuzz.streams` prints what each program gives, which `streams.json` holds; that file is
written anew only where a change of the streams is meant, and said in the change log.
"""

import json
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pennylane as qml

import diastase
import settings
from diastase import qjit

GOLDEN = Path(__file__).with_name("streams.json")


def _circuit(device: str, wires: int, measure: Callable, body: Callable, **options) -> Callable:
    @qml.qnode(qml.device(device, wires=wires), **options)
    def circuit(x):
        for wire in range(wires):
            qml.RY(x + 0.3 * wire, wire)
        for wire in range(wires - 1):
            qml.CNOT([wire, wire + 1])
        body()
        return measure()

    return circuit


def _noise() -> None:
    qml.DepolarizingChannel(0.2, wires=0)
    qml.AmplitudeDamping(0.3, wires=1)


def _feedback() -> None:
    qml.cond(qml.measure(0, reset=True), qml.X)(1)


def _samples(wires: int) -> Callable:
    circuit = _circuit("lightning.qubit", wires, qml.sample, lambda: None)
    return qjit(qml.set_shots(circuit, 12), seed=7)


def _feedback_samples() -> Callable:
    options = {"mcm_method": "one-shot"}
    circuit = _circuit("lightning.qubit", 2, qml.sample, _feedback, **options)
    return qjit(qml.set_shots(circuit, 12), seed=7)


def _trajectories() -> Callable:
    circuit = _circuit("default.mixed", 3, lambda: qml.expval(qml.Z(1)), _noise)
    return qjit(diastase.set_method("trajectories", trajectories=100)(circuit), seed=7)


def _measured() -> Callable:
    @qjit(seed=7)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x):
        outcomes = []
        for _ in range(24):
            qml.RX(x, 0)
            outcomes.append(diastase.measure(0))
        return outcomes

    return circuit


PROGRAMS: dict[str, Callable] = {
    "samples of 3 wires": lambda: _samples(3),
    "samples of 15 wires": lambda: _samples(15),
    "one-shot": _feedback_samples,
    "trajectories": _trajectories,
    "outcomes": _measured,
    "bits": lambda: qjit(lambda x: jax.random.bits(jax.random.key(3), (6,))),
}


def stream(name: str) -> list:
    """What a program gives, rounded to what no order of summation changes."""
    leaves = jax.tree.leaves(PROGRAMS[name]()(0.7))
    return np.ravel(np.stack(leaves)).astype(float).round(9).tolist()


if __name__ == "__main__":
    settings.begin()
    jax.config.update("jax_enable_x64", True)
    print(json.dumps({name: stream(name) for name in PROGRAMS}, indent=1))
