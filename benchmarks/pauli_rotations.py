"""Rotations about Pauli words as gates, against the gates that they decompose into.

    python benchmarks/pauli_rotations.py [QUBITS]

Circuits are made of words of one length on random wires, or of the words of fermionic excitations.
Each is compiled both ways in one process, and the two run in turns; printed are the least times of
a call, forward and of the gradient by all angles, and their ratio.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import grad, qjit

Word = tuple[str, list[int]]
WORDS = 40
ROUNDS = 7
DOUBLE = ("XXXY", "XXYX", "XYXX", "YXXX", "XYYY", "YXYY", "YYXY", "YYYX")


def random_words(qubits: int, length: int) -> list[Word]:
    """Words of one length."""
    generator = np.random.default_rng(length)
    return [
        (
            "".join(generator.choice(list("XYZ"), length)),
            [int(wire) for wire in generator.permutation(qubits)[:length]],
        )
        for _ in range(WORDS)
    ]


def excitations(qubits: int) -> list[Word]:
    """Eight words for each double excitation, two for each single one (Jordan and Wigner)."""
    generator = np.random.default_rng(1)
    electrons, words = qubits // 3, list[Word]()
    for _ in range(6):
        i = int(generator.integers(electrons))
        a = int(generator.integers(electrons, qubits))
        between, wires = "Z" * (a - i - 1), list(range(i, a + 1))
        words += [(f"X{between}Y", wires), (f"Y{between}X", wires)]
    for _ in range(24):
        i, j = sorted(map(int, generator.choice(electrons, 2, replace=False)))
        a, b = sorted(map(int, generator.choice(range(electrons, qubits), 2, replace=False)))
        wires = [*range(i, j + 1), *range(a, b + 1)]
        words += [
            (p + "Z" * (j - i - 1) + q + r + "Z" * (b - a - 1) + s, wires) for p, q, r, s in DOUBLE
        ]
    return words


def compiled(qubits: int, words: Sequence[Word], apply: Callable, with_gradient: bool) -> Callable:
    """A circuit of these rotations, or its gradient."""

    @qml.qnode(qml.device("default.qubit", wires=qubits), diff_method="adjoint")
    def circuit(angles: Any) -> Any:
        for wire in range(qubits):
            qml.RY(0.1 * wire + 0.2, wire)
        for k, (word, wires) in enumerate(words):
            apply(angles[k], word, wires)
        return qml.expval(qml.Z(0) @ qml.Z(qubits - 1))

    return qjit(grad(circuit) if with_gradient else circuit)


def rotation(angle: Any, word: str, wires: Sequence[int]) -> None:
    """One gate."""
    qml.PauliRot(angle, word, wires=wires)


def decomposed(angle: Any, word: str, wires: Sequence[int]) -> None:
    """Hadamard gates, quarter turns and MultiRZ."""
    qml.PauliRot.compute_decomposition(angle, wires=wires, pauli_word=word)


def measure(label: str, qubits: int, words: Sequence[Word]) -> None:
    """Print both times, forward and of the gradient."""
    angles = jnp.linspace(0.1, 1.0, len(words))
    for with_gradient in (False, True):
        programs = [
            compiled(qubits, words, apply, with_gradient) for apply in (rotation, decomposed)
        ]
        one, other = (np.asarray(program(angles)) for program in programs)
        np.testing.assert_allclose(one, other, atol=1e-11)
        times = [list[float](), list[float]()]
        for _ in range(ROUNDS):
            for program, found in zip(programs, times, strict=True):
                start = time.perf_counter()
                jax.block_until_ready(program(angles))
                found.append(time.perf_counter() - start)
        ours, theirs = map(min, times)
        kind = "gradient" if with_gradient else "forward"
        print(
            f"{label:24}{kind:9}{1e3 * ours:9.2f} ms {1e3 * theirs:9.2f} ms {ours / theirs:6.2f}",
            flush=True,
        )


def main() -> None:
    """Print a table."""
    qubits = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{qubits} qubits{'':25}one gate   decomposed  ratio")
    for length in (2, 3, 4, 10, 20):
        if length <= qubits:
            measure(f"length {length}, {WORDS} words", qubits, random_words(qubits, length))
    words = excitations(qubits)
    measure(f"excitations, {len(words)} words", qubits, words)


if __name__ == "__main__":
    main()
