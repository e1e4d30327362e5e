"""Programs that say `import catalyst`, and PennyLane's own `qml.qjit`, run here unchanged."""

import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase

PROGRAM = """
import pennylane as qml
import catalyst
import catalyst.debug
from catalyst import CompileError, measure
from catalyst.jit import QJIT
from catalyst.passes import cancel_inverses
from catalyst.utils.exceptions import DifferentiableCompileError

active = []

@qml.qjit(seed=3)
@cancel_inverses
@qml.qnode(qml.device("lightning.qubit", wires=1))
def circuit(x):
    active.append(qml.compiler.active_compiler())
    qml.RX(x, 0)
    return qml.expval(qml.Z(0))

value = circuit(0.3)
"""


def test_import_catalyst_and_qml_qjit():
    names = {}
    with diastase.acting_as_catalyst():
        exec(PROGRAM, names)
        assert names["catalyst"] is diastase
        assert names["catalyst"].debug is sys.modules["diastase.debug"]
        assert diastase.debug.__spec__.name == "diastase.debug"
        assert qml.compiler.available()
    assert isinstance(names["circuit"], names["QJIT"])
    assert names["active"] == ["catalyst"]
    np.testing.assert_allclose(names["value"], np.cos(0.3))
    assert issubclass(names["DifferentiableCompileError"], names["CompileError"])


def test_it_is_undone():
    enable = qml.capture.enable
    with diastase.acting_as_catalyst(), diastase.acting_as_catalyst():
        importlib.import_module("diastase.as_catalyst")  # within, nothing more to do
        assert "catalyst" in qml.compiler.available_compilers()
        with pytest.raises(
            ModuleNotFoundError, match=r"no catalyst\.tracing(?s:.*)catalyst\.debug"
        ):
            importlib.import_module("catalyst.tracing")  # ours, of which there is one already
        sys.modules["catalyst.of_the_users"] = sys
    assert not [module for module in sys.modules if module.split(".")[0] == "catalyst"]
    assert not [each for each in sys.meta_path if type(each).__module__.startswith("diastase.")]
    assert "catalyst" not in qml.compiler.available_compilers()
    assert qml.capture.enable is enable
    with pytest.raises(ImportError):
        importlib.import_module("catalyst")
    with pytest.raises(qml.exceptions.CompileError, match="not installed"):
        qml.qjit(lambda x: x)


def test_pennylanes_capture_stays_off():
    """It needs a version of JAX that is not ours; programs are captured without it."""
    with diastase.acting_as_catalyst():
        with pytest.warns(UserWarning, match="needs JAX 0.7.1 and stays off"):
            qml.capture.enable()
        with qml.capture.pause():
            assert not qml.capture.enabled()


@pytest.mark.parametrize("capture", [True, False, "global"])
def test_each_capture_compiles_what_catalyst_compiles_with_one_only(capture):
    """Catalyst 0.15 has `qml.allocate` with `capture=True` only, its own loops with False only."""

    @diastase.qjit(capture=capture)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def allocates(x):
        with qml.allocate(1, state="zero", restored=True) as wire:
            qml.CNOT([0, wire[0]])
            qml.RZ(x, wire[0])
            qml.CNOT([0, wire[0]])
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    @diastase.qjit(capture=capture)
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def loops(x):
        def rotate(_, angle):
            qml.RX(angle, 0)
            return 2 * angle

        angle = diastase.for_loop(0, 3, 1)(rotate)(x)
        qml.for_loop(0, 2, 1)(rotate)(angle)
        return qml.expval(qml.Z(0))

    np.testing.assert_allclose(allocates(0.3), np.cos(0.3))
    np.testing.assert_allclose(loops(0.3), np.cos(0.3 * 31))


def test_the_dynamic_shapes_of_catalysts_jax():
    """An option that is gone from JAX: sizes are traced without it."""
    with diastase.acting_as_catalyst():
        with pytest.warns(UserWarning, match="jax_dynamic_shapes is gone from JAX"):
            jax.config.update("jax_dynamic_shapes", True)
        jax.config.update("jax_enable_x64", True)
        doubled = qml.qjit(lambda n: jnp.ones(n) * 2)
        np.testing.assert_allclose(doubled(3), [2.0, 2.0, 2.0])
    with pytest.raises(AttributeError, match="Unrecognized"):
        jax.config.update("jax_dynamic_shapes", True)


def test_blocks_that_overlap_end_with_the_last_one():
    update = jax.config.update
    first, other = diastase.acting_as_catalyst(), diastase.acting_as_catalyst()
    first.__enter__()
    other.__enter__()
    first.__exit__(None, None, None)
    try:
        assert importlib.import_module("catalyst") is diastase
        assert jax.config.update != update
    finally:
        other.__exit__(None, None, None)
    assert "catalyst" not in sys.modules
    assert jax.config.update == update


@pytest.mark.parametrize(
    ("module", "instead"),
    [("from_plxpr", r"qjit\(f\)\.trace"), ("jax_primitives", r"qml\.add_decomps")],
)
def test_modules_of_catalysts_own_frontend(module, instead):
    with diastase.acting_as_catalyst(), pytest.raises(ModuleNotFoundError, match=instead):
        importlib.import_module(f"catalyst.{module}")
