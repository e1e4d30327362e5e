"""Measure one system in a process of its own; prints one JSON object.

    python subject.py (diastase | jax.jit | catalyst) (calls | compile PROGRAM | engine)

Runs in the environment of the system that it measures, so it imports nothing else of this folder
and only what every system needs. Times are in seconds and begin after the imports.
"""

import json
import statistics
import sys
import time
import timeit
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

QUBITS, LAYERS = 4, 2
LATER = 10
"""How many programs to compile after the first."""


def system(name):
    """The function that compiles, and the device that it compiles circuits for."""
    if name == "diastase":
        from diastase import qjit  # noqa: PLC0415

        return qjit, "lightning.qubit"
    if name == "catalyst":
        from catalyst import qjit  # noqa: PLC0415

        return qjit, "lightning.qubit"
    jax.config.update("jax_enable_x64", True)
    return jax.jit, "default.qubit"


def scalar_program(number):
    """One line of classical code; another program for each number."""
    factor = 2.0 + number
    return lambda x: x * factor + 1.0


def rotation_program(device, number):
    """One gate on one qubit, and <Z>."""

    @qml.qnode(qml.device(device, wires=1))
    def rotation(x):
        qml.RX(x + number, wires=0)
        return qml.expval(qml.PauliZ(0))

    return rotation


def circuit_program(device, number):
    """22 gates on 4 qubits: layers of RY and RZ on every qubit, then CNOTs; <Z0 Z3>."""

    @qml.qnode(qml.device(device, wires=QUBITS))
    def circuit(angles):
        for layer in range(LAYERS):
            for wire in range(QUBITS):
                qml.RY(angles[layer, wire, 0] + number, wires=wire)
                qml.RZ(angles[layer, wire, 1], wires=wire)
            for wire in range(QUBITS - 1):
                qml.CNOT(wires=[wire, wire + 1])
        return qml.expval(qml.PauliZ(0) @ qml.PauliZ(QUBITS - 1))

    return circuit


def programs(device):
    """By name: what makes the program of a number, and its argument."""
    # No array of JAX: making one would initialise JAX before the first program is compiled.
    angles = np.linspace(0.1, 1.7, LAYERS * QUBITS * 2).reshape(LAYERS, QUBITS, 2)
    return {
        "scalar": (scalar_program, 1.5),
        "rotation": (lambda number: rotation_program(device, number), 0.3),
        "circuit": (lambda number: circuit_program(device, number), angles),
    }


def seconds_until_result(compiler, program, argument):
    """How long compiling and a first call take, until the result is there."""
    start = time.perf_counter()
    jax.block_until_ready(compiler(program)(argument))
    return time.perf_counter() - start


def measure_calls(compiler, device):
    """Seconds of one call of each compiled program, and the values for comparison."""
    times = {}
    for name, (make, argument) in programs(device).items():
        compiled = compiler(make(0))
        argument = jnp.asarray(argument) if isinstance(argument, np.ndarray) else argument
        times[f"{name} value"] = float(compiled(argument))
        times[name] = seconds_per_call(compiled, argument)
    return times


def seconds_per_call(compiled, argument):
    """The median of several runs, each of some 50 ms."""

    def call():
        compiled(argument)

    number = max(10, int(0.05 / (timeit.timeit(call, number=10) / 10)))
    return statistics.median(timeit.repeat(call, number=number, repeat=15)) / number


def measure_compilation(compiler, device, name):
    """Seconds until the first result: of the first program in this process, and of later ones."""
    make, argument = programs(device)[name]
    first, *later = (seconds_until_result(compiler, make(n), argument) for n in range(LATER + 1))
    return {"first": first, "later": statistics.median(later)}


def build_engine(compiler, device):
    """Seconds to build the state-vector engine, or to find it in the cache."""
    from diastase_mlir.kernels import engine_library  # noqa: PLC0415

    start = time.perf_counter()
    engine_library()
    return {"engine": time.perf_counter() - start}


MEASURES = {"calls": measure_calls, "compile": measure_compilation, "engine": build_engine}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen, measure, *arguments = sys.argv[1:]
    print(json.dumps(MEASURES[measure](*system(chosen), *arguments)))
