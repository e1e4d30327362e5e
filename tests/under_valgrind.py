"""Programs without Python under Valgrind's memcheck: `python tests/under_valgrind.py [NAME ...]`.

What it finds and AddressSanitizer does not is what is read before it is written, wherever the value
comes from: here all results are printed, and memcheck follows each bit to where a decision hangs on
it. Valgrind 3.19 knows no AVX-512: `DIASTASE_TARGET_CPU=x86-64-v3`. One of the programs has such a
fault, which must be found.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import debug, grad, qjit

FAULTY = "never written"
# What the dynamic loader reads of a word that it has only a part of is its own affair.
_SUPPRESSED = """
{
   loader
   Memcheck:Addr8
   fun:strncmp
   ...
   fun:_dl_map_object*
}
"""
_MEMCHECK = ("valgrind", "--quiet", "--error-exitcode=66", "--track-origins=yes")


def sorted_and_summed(x: jax.Array, n: Any) -> Any:
    y = jnp.sort(x @ x.T, axis=0)
    z = jax.lax.fori_loop(0, n, lambda k, carry: carry.at[k].add(jnp.cumsum(carry[0])), y)
    return z, jnp.argsort(z[0]), jnp.median(z, axis=1), z > 0, jnp.unique(jnp.round(z), size=7)


def transformed(x: jax.Array, n: Any) -> Any:
    y = jnp.linalg.inv(x + n * jnp.eye(len(x)))
    return jnp.fft.fft(x, axis=0), jnp.fft.rfft(x[0]), y, jnp.linalg.eigh(x + x.T), jnp.exp(-x)


@qml.qnode(qml.device("lightning.qubit", wires=4))
def circuit(x: Any) -> Any:
    for wire in range(4):
        qml.RX(x * wire, wire)
        qml.CNOT([wire, (wire + 1) % 4])
    qml.CRY(x, [1, 2])
    return qml.expval(qml.Z(2) @ qml.X(0)), qml.probs(wires=[0, 1]), qml.state()


def derivative(x: jax.Array, n: Any) -> Any:
    return grad(lambda angle: circuit(angle * n)[0])(x[0, 0])


def sampled(x: jax.Array, n: Any) -> Any:
    @qml.set_shots(50)
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def shots() -> Any:
        qml.RY(x[0, 0], 0)
        outcome = qml.measure(0)
        qml.cond(outcome, qml.X)(1)
        qml.Hadamard(2)
        return qml.sample(wires=[0, 1, 2])

    return shots()


def noisy(x: jax.Array, n: Any) -> Any:
    @qml.qnode(qml.device("default.mixed", wires=3))
    def mixed() -> Any:
        qml.RY(x[0, 0] * n, 0)
        qml.CNOT([0, 1])
        qml.DepolarizingChannel(0.1, 1)
        qml.AmplitudeDamping(0.2, 0)
        return qml.expval(qml.Z(1)), qml.probs()

    return mixed()


PROGRAMS = {
    FAULTY: None,
    "sorts, loops": sorted_and_summed,
    "transforms, LAPACK": transformed,
    "circuit": lambda x, n: circuit(x[0, 0]),
    "derivative": derivative,
    "samples": sampled,
    "noise": noisy,
}


def never_written() -> Any:
    """A program that reads the memory of its result instead of its argument."""
    function = qjit(lambda x: x + 1.5)
    function(np.arange(4.0))
    text = debug.get_compilation_stage(function, "deallocate")
    edited, count = re.subn(r"ins\(%\w+ (:[^)]*\)) outs\((%\w+) ", r"ins(\2 \1 outs(\2 ", text)
    assert count == 1, text
    debug.replace_ir(function, "deallocate", edited)
    return function


def executable(name: str) -> str:
    """Compile one of the programs, for a matrix and a number."""
    if name == FAULTY:
        return debug.compile_executable(never_written(), np.arange(4.0))
    function = qjit(PROGRAMS[name], seed=1)
    return debug.compile_executable(function, np.random.default_rng(0).normal(size=(5, 5)), 3)


def report(binary: str, suppressions: Path) -> str:
    """What memcheck has to say, if anything."""
    command = [*_MEMCHECK, f"--suppressions={suppressions}", binary]
    ended = subprocess.run(command, capture_output=True, text=True)
    return "" if ended.returncode == 0 else ended.stderr or f"exit: {ended.returncode}"


def main(*names: str) -> None:
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        suppressions = Path(folder, "suppressions")
        suppressions.write_text(_SUPPRESSED)
        os.chdir(folder)  # where executables and what they need go
        for name in names or PROGRAMS:
            said = report(executable(name), suppressions)
            is_right = ("uninitialised" in said) if name == FAULTY else not said
            faults += not is_right
            print(f"{name}: {'as it should be' if is_right else said or 'nothing found'}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main(*sys.argv[1:])
