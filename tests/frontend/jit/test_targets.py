"""Saved functions with machine code for several processors; the best one that can run is taken."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase_runtime
from diastase import debug, qjit, value_and_grad
from diastase.jit.options.ir_errors import ReplacedIRError
from diastase_runtime.errors import InternalError
from diastase_runtime.saved import processors
from diastase_runtime.saved.errors import MissingProcessorFeaturesError
from diastase_toolchain.errors import TargetProcessorError
from diastase_toolchain.processor import LEVELS
from other_processors import at_hand

FILE = "f.diastase"


@pytest.fixture
def having(monkeypatch):
    """Let this computer's processor have fewer features."""

    def have(flags):
        monkeypatch.setattr(processors, "flags", lambda: frozenset(flags))

    return have


def test_a_process_that_compiles_for_others(having):
    function = qjit(lambda x: x * 2 + 1)
    function.save(FILE, types="f64[3]", target_cpu=["baseline", "native"])
    native, baseline = processors.flags(), processors.needed(LEVELS["x86-64-v2"])
    x = np.arange(3.0)
    for flags, name in ((native, None), (baseline, "x86-64-v2")):
        having(flags)
        saved = diastase_runtime.load(FILE)
        assert name is None or saved.target.name == name
        assert saved(x).tobytes() == np.asarray(function(x)).tobytes()
    features = [set(target.features) for target in saved.manifest.targets]
    assert features[0] > features[1] == set(baseline)
    having(set(baseline) - {"sse4_1"})
    with pytest.raises(MissingProcessorFeaturesError, match=r"x86-64-v2 .* has no sse4_1"):
        diastase_runtime.load(FILE)


@pytest.mark.thorough
@pytest.mark.parametrize("level", at_hand())
def test_circuits_and_linear_algebra(level):
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(x):
        qml.AngleEmbedding(x, wires=range(3))
        qml.CRY(x[0], wires=[0, 1])
        return qml.expval(qml.Z(1) @ qml.X(2))

    function = qjit(lambda x: (value_and_grad(circuit)(x), jnp.linalg.inv(jnp.outer(x, x) + 1)))
    x = jnp.array([0.1, 0.2, 0.7])
    wanted = function(x)
    function.save(FILE, target_cpu=level)
    saved = diastase_runtime.load(FILE)
    assert saved.target.name == level
    for got, want in zip(
        jax.tree.leaves(saved(np.asarray(x))), jax.tree.leaves(wanted), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["avx2", "x86-64-v9", "", 3])
def test_processors_that_there_are_not(name):
    with pytest.raises(TargetProcessorError, match="which is none of native, baseline, x86-64-v2"):
        qjit(lambda x: x).save(FILE, types="f64", target_cpu=[name])


def test_levels_that_this_computer_has_not(having):
    having({"sse4_2", "pni"})
    with pytest.raises(TargetProcessorError, match=r"this computer has no .*avx2"):
        qjit(lambda x: x).save(FILE, types="f64", target_cpu="x86-64-v3")


def test_each_level_has_words_of_linux():
    """Of what this computer has, Linux says the same."""
    for level in at_hand():
        assert set(processors.needed(LEVELS[level])) <= processors.flags()
    assert set(processors.needed_here(LEVELS["x86-64-v2"])) == set(
        processors.needed(LEVELS["x86-64-v2"])
    )


def test_a_process_that_cannot_be(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(InternalError, match="compiling for x86-64-v2 ended with 1"):
        qjit(lambda x: x).save(FILE, types="f64", target_cpu="baseline")


@pytest.mark.thorough
def test_what_does_not_compile_there(monkeypatch):
    """Its error comes back as it is told there."""
    run = subprocess.run

    def without_linker(*arguments, env, **options):
        return run(
            *arguments, env={**env, "DIASTASE_CC": "/bin/none", "DIASTASE_CACHE": "0"}, **options
        )

    monkeypatch.setattr(subprocess, "run", without_linker)
    with pytest.raises(InternalError, match=r"(?s)compiling for x86-64-v2:.*DIASTASE_CC"):
        qjit(lambda x: x * 3).save(FILE, types="f64", target_cpu="baseline")


def test_ir_that_was_replaced_is_saved_for_this_processor_only():
    function = qjit(lambda x: x * 2)
    function(1.0)
    text = debug.get_compilation_stage(function, "mlir").replace("2.0", "5.0")
    debug.replace_ir(function, "mlir", text)
    assert function(1.0) == 5.0
    function.save(FILE)
    assert diastase_runtime.load(FILE)(1.0) == 5.0
    with pytest.raises(ReplacedIRError):
        function.save(FILE, target_cpu="baseline")
