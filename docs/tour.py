"""A tour of the compiler: one small circuit through every stage, printing each form.

Run it with `make docs`. Read the output beside `docs/walkthroughs.md`, which names the folders in
the same order. The program has one of everything: a size that is known only at run time, classical
code, a loop around gates with a traced wire, a measurement.
"""

import tempfile
from contextlib import chdir

import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import for_loop, qjit
from diastase_mlir.driver.pipeline import PIPELINE

WIRES = 3


@qml.qnode(qml.device("lightning.qubit", wires=WIRES))
def circuit(angle):
    """Rotate every qubit, entangle the first two, ask for one expectation value."""

    @for_loop(0, WIRES, 1)
    def rotate(wire):
        qml.RY(angle, wires=wire)

    rotate()
    qml.CNOT(wires=[0, 1])
    return qml.expval(qml.PauliZ(0) @ qml.PauliX(1))


def program(count: int, angle: float):
    """`count` copies of the circuit's result: a size that only the call knows."""
    return jnp.ones(count) * circuit(jnp.sin(angle))


def heading(number: int, title: str, remark: str) -> None:
    """Announce a stage."""
    print(f"\n{'=' * 100}\n{number}. {title}\n   {remark}\n{'=' * 100}")


def excerpt(text: str, lines: int = 40) -> None:
    """Print the first lines of a text."""
    every = text.splitlines()
    print("\n".join(line[:140] for line in every[:lines]))
    if len(every) > lines:
        print(f"… {len(every) - lines} more lines")


def main() -> None:
    """Take the program through the stages one by one."""
    # Intermediate IR is written to `compiled_program.workspace`, a folder below the current one.
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        compiled_program = qjit(program, target="jaxpr", keep_intermediate="stage")

        heading(1, "Traced", "frontend/diastase/tracing: Python run once on tracers")
        traced = compiled_program.trace(3, 0.5)
        print(traced.jaxpr)
        print("\nThe size of the result is the value of an argument:", traced.out_info)

        heading(2, "Lowered", "mlir/diastase_mlir/lowering: the jaxpr as MLIR; gates take qubits")
        lowered = traced.lower()
        excerpt(lowered.as_text(), 60)

        heading(
            3, "The pipeline", "mlir/diastase_mlir/driver/pipeline.py: what will happen, and why"
        )
        print(PIPELINE)

        heading(4, "After each stage", "the IR that keep_intermediate='stage' writes")
        compiled = lowered.compile()
        for file in sorted(compiled_program.workspace.rglob("*.mlir")):
            print(f"\n--- {file.name}")
            excerpt(file.read_text(), 12)

        heading(5, "LLVM IR", "mlir/diastase_mlir/codegen: optimised by llvmlite for this CPU")
        excerpt(compiled.as_text(), 30)

        heading(6, "A shared library", "runtime/diastase_runtime: loaded by ctypes, called")
        print(compiled.library)
        for count, angle in ((1, 0.5), (4, -1.0)):
            result = compiled(count, angle)
            np.testing.assert_allclose(result, np.ones(count) * circuit(np.sin(angle)), atol=1e-12)
            print(f"program({count}, {angle}) = {np.asarray(result)}, as PennyLane says")


if __name__ == "__main__":
    main()
