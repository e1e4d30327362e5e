"""How QNodes are told by which method they are simulated, and what the report says of it."""

import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import CompileOptions, qjit, set_method
from diastase.capture.device_errors import MethodChoiceError
from diastase.jit.options.errors import InvalidOptionError


def circuit_on(device: str):
    @qml.qnode(qml.device(device, wires=1))
    def circuit(x):
        qml.RX(x, wires=0)
        return qml.expval(qml.Z(0))

    return circuit


def methods(function, *args):
    return [tuple(each.method) for each in qjit(function).trace(*args).traced.methods]


@pytest.mark.parametrize(
    ("device", "method"),
    [
        ("lightning.qubit", "statevector"),
        ("default.qubit", "statevector"),
        ("default.mixed", "density"),
    ],
)
def test_devices_have_methods(device, method):
    compiled = qjit(circuit_on(device))
    assert compiled(0.3) == pytest.approx(np.cos(0.3))
    (found,) = compiled.report().methods
    assert (found.qnode, found.method.name) == ("circuit", method)
    assert device in found.method.why
    assert f"circuit: {method} (the device {device}" in str(compiled.report())


def test_the_qnode_comes_before_the_program_and_inner_programs_before_outer_ones():
    circuit = circuit_on("default.mixed")
    own = set_method(circuit, "statevector")

    @qjit(method="statevector", trajectories=7)
    def inner(x):
        return circuit(x)

    @qjit(method="automatic")
    def outer(x):
        return inner(x) + circuit(x) + own(x)

    assert outer(0.3) == pytest.approx(3 * np.cos(0.3))
    found = {(each.method.name, each.method.why) for each in outer.report().methods}
    assert {name for name, _ in found} == {"statevector", "density"}
    assert ("statevector", 'method= of qjit: "statevector"') in found
    assert ("statevector", 'set_method: "statevector"') in found


def test_a_copy_keeps_its_method_and_the_original_has_none():
    circuit = circuit_on("default.mixed")
    own = qml.set_shots(set_method(circuit, method="statevector"), 10)
    folded = qml.transforms.cancel_inverses(own)
    for made in (own, folded):
        ((name, _),) = methods(made, 0.0)
        assert name == "statevector"
    assert methods(circuit, 0.0)[0][0] == "density"


def test_as_a_decorator():
    @set_method("statevector", trajectories=3)
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit():
        return qml.probs()

    assert methods(circuit)[0][0] == "statevector"


def test_circuits_of_one_program_may_differ():
    """What JAX has traced with one method is not found with another."""
    circuit = circuit_on("default.mixed")
    for method in ("statevector", "automatic", "statevector"):
        compiled = qjit(circuit, method=method)
        compiled(0.1)
        name = compiled.report().methods[0].method.name
        assert name == ("statevector" if method == "statevector" else "density")


@pytest.mark.parametrize(
    "choice",
    [
        lambda circuit: set_method(circuit, "qutip"),
        lambda circuit: set_method(circuit),
        lambda circuit: set_method(),
        lambda circuit: set_method("density")(qjit(circuit)),
        lambda circuit: set_method(circuit, "trajectories", trajectories=0),
        lambda circuit: set_method(circuit, "trajectories", trajectories=True),
        lambda circuit: set_method(circuit, "trajectories", trajectories=2.5),
        lambda circuit: set_method(circuit, "trajectories", standard_errors=1),
    ],
)
def test_wrong_choices_are_refused_at_once(choice):
    with pytest.raises(MethodChoiceError):
        choice(circuit_on("default.mixed"))


@pytest.mark.parametrize("option", [{"method": "qutip"}, {"method": 3}, {"trajectories": 0}])
def test_wrong_options_are_refused_at_once(option):
    with pytest.raises(InvalidOptionError):
        qjit(circuit_on("default.mixed"), **option)


def test_the_options_are_kept():
    options = CompileOptions(method="density", trajectories=np.int64(5))
    assert (options.method, options.trajectories) == ("density", 5)
    assert (CompileOptions().method, CompileOptions().trajectories) == (None, None)
    assert "set_method" in dir(diastase)
