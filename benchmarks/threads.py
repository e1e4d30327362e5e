"""How circuits gain by threads, beside what the processor and its memory can do.

    python benchmarks/threads.py [--threads 1 2 4 ...] [--qubits 20 22 24 26] [--layers 4]

Measures a TFIM circuit (Hadamards, then layers of IsingZZ and RX, complex64) forwards and with its
gradient, each number of threads in a process of its own, and writes `results/threads.md`. By
default the numbers of threads are the powers of two up to the cores that this process may use. Two
kernels, compiled as the engine is, say what can be reached with as many threads: one multiplies and
adds in registers (the *peak*), one is the triad `a = b + s c` on arrays larger than any cache.

*Work* counts, for each amplitude: RX four products (with or without a sum), of which the engine may
save some; all ZZ of a layer one complex product, four; the sweep back both for two registers, and
the sums of the derivatives: two for each RX, two for all ZZ. *Walks* are how often the state could
have been read and written in the time, at the triad's speed.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "threads.md"
ROUNDS = 5
TRIAD_NUMBERS = 1 << 25
"""Of each array and thread, at eight bytes: all three are larger than a cache."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def least(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The least of the times of some calls, in seconds."""
    times: list[float] = []
    for _ in range(rounds):
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return min(times)


def on_threads(count: int, call: Callable[[int], object]) -> Callable[[], None]:
    """A call of a C function on so many threads at once; ctypes lets them run side by side."""

    def run() -> None:
        threads = [threading.Thread(target=call, args=(k,)) for k in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def limits(threads: int) -> dict[str, float]:
    """Products a second (with sums), and bytes a second, of so many threads."""
    import numpy as np
    from kernels_of_threads import PRODUCTS, built

    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(str(built(Path(folder) / "limits.so")))
        out = np.zeros((threads, 64))
        repeats = 20_000_000
        pointer, integer = ctypes.c_void_p, ctypes.c_int64

        def multiply(k: int) -> None:
            library.multiply_add(integer(repeats), pointer(out[k:].ctypes.data))

        arrays = [np.ones((3, TRIAD_NUMBERS)) for _ in range(threads)]

        def triad(k: int) -> None:
            library.triad(integer(TRIAD_NUMBERS), pointer(arrays[k].ctypes.data))

        products = repeats * PRODUCTS * threads / least(on_threads(threads, multiply))
        # The array that is written is read first: four in all.
        size = 8 * 4 * TRIAD_NUMBERS * threads
        return {"products": products, "bytes": size / least(on_threads(threads, triad))}


def circuit_times(qubits: int, layers: int) -> dict[str, float]:
    """Seconds of a call, forwards and with the gradient."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import pennylane as qml

    from diastase import qjit

    words = [qml.Z(k) @ qml.Z(k + 1) for k in range(qubits - 1)]
    words += [qml.X(k) for k in range(qubits)]
    energy = qml.Hamiltonian([1.0] * (qubits - 1) + [0.7] * qubits, words)
    device = qml.device("lightning.qubit", wires=qubits, c_dtype=np.complex64)

    @qml.qnode(device, diff_method="adjoint")
    def circuit(angles: Any) -> Any:
        for wire in range(qubits):
            qml.Hadamard(wire)
        for layer in range(layers):
            for wire in range(qubits - 1):
                qml.IsingZZ(angles[layer, wire], [wire, wire + 1])
            for wire in range(qubits):
                qml.RX(angles[layer, qubits - 1 + wire], wire)
        return qml.expval(energy)

    angles = jnp.array(np.random.default_rng(0).normal(size=(layers, 2 * qubits - 1)) * 0.3)
    rounds = ROUNDS if qubits < 24 else 2
    times: dict[str, float] = {}
    for name, function in (("forward", circuit), ("both", jax.value_and_grad(circuit))):
        compiled = qjit(function)
        jax.block_until_ready(compiled(angles))
        call = compiled

        def once(call: Any = call) -> None:
            jax.block_until_ready(call(angles))

        times[name] = least(once, rounds)
    return times


def in_process(threads: int, *arguments: str) -> dict[str, float]:
    """Have a process of its own, with so many threads, measure something."""
    environment = {**os.environ, "DIASTASE_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--child", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def rows(threads: list[int], qubits: list[int], layers: int) -> list[str]:
    """Lines of the tables, measured."""
    lines = ["| threads | 10^9 products/s | triad GB/s |", "|--:|--:|--:|"]
    most = {count: in_process(count, "limits", str(count)) for count in threads}
    for count, each in most.items():
        lines.append(f"| {count} | {each['products'] / 1e9:.0f} | {each['bytes'] / 1e9:.1f} |")
    lines += [
        "",
        "| qubits | threads | forward ms | × | % of peak | walks"
        " | back ms | × | % of peak | walks |",
        "|--:" * 10 + "|",
    ]
    for number in qubits:
        first: list[float] = []
        for count in threads:
            times = in_process(count, "circuit", str(number), str(layers))
            seconds = [times["forward"], times["both"] - times["forward"]]
            first = first or seconds
            amplitudes, each = 1 << number, most[count]
            forward = layers * (4 * number + 4)
            back = 2 * forward + layers * (2 * number + 2)
            cells = [str(number), str(count)]
            for k, work in enumerate((forward, back)):
                share = 100 * work * amplitudes / seconds[k] / each["products"]
                walks = seconds[k] * each["bytes"] / (16 * amplitudes)
                cells += [
                    f"{seconds[k] * 1e3:.1f}", f"{first[k] / seconds[k]:.2f}", f"{share:.0f}",
                    f"{walks:.0f}",
                ]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    powers = [1 << k for k in range(10) if 1 << k <= cores()]
    parser.add_argument("--threads", type=int, nargs="+", default=powers)
    parser.add_argument("--qubits", type=int, nargs="+", default=[20, 22, 24, 26])
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    lines = rows(options.threads, options.qubits, options.layers)
    head = [
        "# Threads",
        "",
        f"Written by `python benchmarks/threads.py` on a machine of {cores()} cores: TFIM,"
        f" {options.layers} layers, complex64; the module says what is counted. × is the time on"
        " the first number of threads over this one. Other work on the machine spoils that: its"
        f" load was {load:.1f} before.",
        "",
    ]
    RESULTS.write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        kind, *numbers = sys.argv[2:]
        values = [int(number) for number in numbers]
        print(json.dumps(limits(*values) if kind == "limits" else circuit_times(*values)))
    else:
        main()
