"""The programs of `docs/adding-a-pass.md` run, and do what is said there."""

import re
from pathlib import Path

import numpy as np
import pennylane as qml

from diastase import passes, qjit

PAGE = Path(__file__).parents[4] / "docs" / "adding-a-pass.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
GATE = re.compile(r'quantum\.gate "(.*?)"')


def test_the_pages_programs(capsys):
    first, second, third = BLOCK.findall(PAGE.read_text())
    names: dict = {}
    exec(compile(first, str(PAGE), "exec"), names)
    printed = GATE.findall(capsys.readouterr().out)
    written = ["Hadamard", "RX", "Hadamard", "Hadamard", "CNOT", "CNOT", "RX"]
    assert printed == ["Hadamard", "RZ", "RX"]

    compiled = names["circuit"]
    plain = qjit(qml.QNode(compiled.original_function.func, qml.device("default.qubit", wires=2)))
    assert GATE.findall(plain.lower(0.7).as_text()) == written
    reference = qml.QNode(compiled.original_function.func, qml.device("default.qubit", wires=2))
    np.testing.assert_allclose(compiled(0.7), reference(0.7), atol=1e-12)

    exec(compile(second, str(PAGE), "exec"), names)

    @qjit
    @passes.apply_pass("drop_small_rotations", below=0.01)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.RX(0.001, 0)
        qml.RY(0.1, 0)
        return qml.expval(qml.Z(0))

    circuit()
    assert GATE.findall(circuit.mlir) == ["RY"]

    exec(compile(third.replace("=25", "=5"), str(PAGE), "exec"), names)
    names["test_absorb_hadamards"]()
