"""Passes as objects, and from files."""

import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, passes, qjit

PLUGIN = """
from diastase.passes import New, register_pass

@register_pass("{name}")
def x_as_y(circuit, *, only_first: bool = False):
    for gate in circuit.gates():
        if gate.name == "PauliX":
            circuit.replace(gate, [New("PauliY", wires=[0])])
            if only_first:
                return
"""


def circuit():
    qml.X(0)
    qml.X(0)
    qml.X(0)
    return qml.state()


QNODE = qml.QNode(circuit, qml.device("lightning.qubit", wires=1))


def gates(qnode, **options):
    compiled = qjit(qnode, **options)
    compiled()
    return compiled.mlir.count('"PauliY"')


@pytest.fixture
def plugin(tmp_path):
    def make(name, as_package=False):
        file = tmp_path / (f"{name}/__init__.py" if as_package else f"{name}.py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(PLUGIN.format(name=name))
        return file.parent if as_package else file

    return make


def test_a_file_and_a_package(plugin):
    path = plugin("from_file")
    assert gates(passes.apply_pass_plugin(path, "from_file")(QNODE)) == 3
    assert gates(passes.apply_pass_plugin(str(path), "from_file", "only_first")(QNODE)) == 1
    package = plugin("from_package", as_package=True)
    requested = passes.PassPlugin(package, "from_package", only_first=True)
    assert gates(passes.pipeline([requested])(QNODE)) == 1


def test_of_all_circuits_of_a_program(plugin):
    path = plugin("of_all")
    pipeline = {"of_all": {}}
    assert gates(QNODE, pass_plugins=[path], circuit_transform_pipeline=pipeline) == 3
    listed = [passes.Pass("of_all", "only_first"), passes.Pass("cancel_inverses")]
    assert gates(QNODE, circuit_transform_pipeline=listed) == 1


def test_the_frontends_passes_are_in_pipelines():
    listed = [passes.Pass("gridsynth", epsilon=0.1), passes.Pass("ions_decomposition")]
    compiled = qjit(QNODE, circuit_transform_pipeline=listed)
    np.testing.assert_allclose(compiled(), qjit(QNODE)(), atol=1e-12)
    assert "PauliX" not in compiled.mlir


@pytest.mark.parametrize(
    ("path", "reason"), [("passes.so", "write a pass"), ("nowhere.py", "no such file"), (3, "path")]
)
def test_no_plugins(path, reason):
    with pytest.raises(DiastaseError, match=reason):
        passes.apply_pass_plugin(path, "some_pass")
