"""Resident memory over 100,000 calls with array results and over 1,000 compilations.

Not a test: it takes minutes. It prints resident memory at intervals, and fails if the last half of
a run grew by more than a megabyte for each 10,000 calls or 100 compilations.
"""

import argparse
import gc
import sys
from pathlib import Path

import jax.numpy as jnp
import pennylane as qml

from diastase import qjit


def resident_megabytes() -> float:
    """Resident memory of this process."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def watch(name: str, steps: int, step, units: int, allowed: float) -> bool:
    """Run `step(0 … steps-1)`, sampling memory ten times; whether the last half stayed flat."""
    samples = []
    for number in range(steps):
        step(number)
        if (number + 1) % (steps // 10) == 0:
            gc.collect()
            samples.append(resident_megabytes())
    growth = samples[-1] - samples[4]
    print(f"{name}: MiB at each tenth: {' '.join(f'{sample:.1f}' for sample in samples)}")
    print(f"{name}: growth over the last half: {growth:.2f} MiB in {units // 2} {name}")
    return growth <= allowed


def calls(count: int) -> bool:
    """Calls of a program with results large (owned) and small (copied), and of a circuit."""

    @qjit
    def arrays(x):
        return x * 2, jnp.sum(x), jnp.concatenate([x, x]), {"sorted": jnp.sort(x)}

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(angle):
        qml.RX(angle, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(0)), qml.probs(wires=[0, 1]), qml.state()

    x = jnp.arange(2000.0)

    def step(number: int) -> None:
        arrays(x)
        circuit(0.1)

    return watch("calls", count, step, count, allowed=count / 20_000)


def compilations(count: int) -> bool:
    """Different programs, each compiled, called once and dropped."""

    def step(number: int) -> None:
        def program(x):
            return jnp.sin(x) * number + jnp.arange(3.0)

        function = qjit(program)
        function(float(number))

    return watch("compilations", count, step, count, allowed=count / 200)


def main() -> int:
    """Run both; the exit code says whether memory stayed flat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--compilations", type=int, default=1_000)
    options = parser.parse_args()
    flat = [calls(options.calls), compilations(options.compilations)]
    return 0 if all(flat) else 1


if __name__ == "__main__":
    sys.exit(main())
