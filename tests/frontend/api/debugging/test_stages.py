"""IR between stages: what is seen is what runs, and what is given in its place runs instead."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import debug, qjit
from diastase_mlir import PIPELINE

OURS = ("mlir", *(stage.name for stage in PIPELINE.stages), "translate", "optimise")
CATALYSTS = (
    "mlir", "QuantumCompilationStage", "HLOLoweringStage", "GradientLoweringStage",
    "BufferizationStage", "MLIRToLLVMDialectConversion", "LLVMIRTranslation", "O2Opt", "last",
    "HLOLoweringPass", "QuantumCompilationPass", "BufferizationPass", "MLIRToLLVMDialect",
)  # fmt: skip
EDITS = (
    ("stablehlo.multiply", "stablehlo.add"),
    ("arith.mulf", "arith.addf"),
    ("llvm.fmul", "llvm.fadd"),
    ("fmul double", "fadd double"),
)


def edited(text):
    for before, after in EDITS:
        text = text.replace(before, after)
    return text


@pytest.mark.sample(7)
@pytest.mark.parametrize("stage", [*dict.fromkeys(OURS + CATALYSTS)])
def test_compilation_goes_on_from_edited_ir(stage):
    f = qjit(lambda x: x * x)
    assert f(5.0) == 25.0
    text = debug.get_compilation_stage(f, stage)
    new = edited(text)
    assert new != text
    assert debug.replace_ir(f, stage, new) is None
    assert f(5.0) == 10.0
    assert f(7.0) == 14.0
    assert debug.get_compilation_stage(f, stage) == new
    assert "fadd double" in debug.get_compilation_stage(f, "last") == f.llvm_ir
    f.clear_cache()
    assert f(5.0) == 25.0


def test_each_edit_starts_from_the_ones_before_it_and_ends_those_after_it():
    f = qjit(lambda x: x * x + 1.0)
    f(3.0)
    late = debug.get_compilation_stage(f, "to-llvm")
    debug.replace_ir(f, "scalars", edited(debug.get_compilation_stage(f, "scalars")))
    assert f(3.0) == 7.0
    llvm = debug.get_compilation_stage(f, "last").replace("1.000000e+00", "2.000000e+00")
    debug.replace_ir(f, "last", llvm)
    assert f(3.0) == 8.0
    assert "stablehlo.multiply" in debug.get_compilation_stage(f, "mlir")  # before the first edit
    debug.replace_ir(f, "to-llvm", late)
    assert f(3.0) == 10.0


def test_circuits_with_their_own_passes_dynamic_sizes_and_pytrees():
    @qjit(dynamic_dims="auto")
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(angles):
        qml.RX(angles["x"][0], wires=0)
        qml.CNOT(wires=[0, 1])
        return {"both": qml.probs(), "z": qml.expval(qml.PauliZ(1))}

    for size in (2, 3):
        circuit({"x": jnp.full(size, 0.4)})
    text = debug.get_compilation_stage(circuit, "capture")
    debug.replace_ir(circuit, "capture", text.replace('"RX"', '"RY"'))
    for size in (3, 5):
        result = circuit({"x": jnp.full(size, 0.4)})
        np.testing.assert_allclose(result["z"], np.cos(0.4))
        np.testing.assert_allclose(result["both"], [np.cos(0.2) ** 2, 0, 0, np.sin(0.2) ** 2])
    text = debug.get_compilation_stage(circuit, "capture")
    debug.replace_ir(circuit, "capture", text.replace('"CNOT"', '"CZ"'))
    np.testing.assert_allclose(circuit({"x": jnp.full(5, 0.4)})["z"], 1.0)


def test_programs_whose_python_function_is_not_what_runs_are_no_part_of_others():
    f = qjit(lambda x: x * x)
    f(3.0)
    debug.replace_ir(f, "mlir", edited(debug.get_compilation_stage(f, "mlir")))
    uses = (
        lambda: jax.grad(f)(1.0),
        lambda: jax.jit(f)(1.0),
        lambda: jax.vmap(f)(jnp.ones(3)),
        lambda: qjit(lambda x: f(x) + 1)(1.0),
        lambda: qml.grad(f)(qml.numpy.array(1.0)),
    )
    for use in uses:
        with pytest.raises(RuntimeError, match=r"runs IR that debug\.replace_ir was given"):
            use()
    f.clear_cache()
    assert jax.grad(f)(3.0) == 6.0


def test_text_that_is_not_edited_replaces_nothing():
    f = qjit(lambda x: x * x)
    f(3.0)
    with pytest.warns(UserWarning, match="nothing is replaced"):
        debug.replace_ir(f, "scalars", debug.get_compilation_stage(f, "scalars"))
    assert jax.grad(f)(3.0) == 6.0


def test_stages_of_functions_that_are_only_lowered():
    @qjit(target="mlir")
    def f(x: float):
        return x * x

    assert "stablehlo.multiply" in debug.get_compilation_stage(f, "mlir")
    assert "fmul double" in debug.get_compilation_stage(f, "last")
    assert f(3.0) == 9.0


def test_groups_of_stages():
    groups = debug.get_compilation_stages_groups(qjit(lambda x: x).compile_options)
    assert [name for name, _ in groups] == [stage.name for stage in PIPELINE.stages]
    assert "stablehlo-legalize-to-linalg" in dict(groups)["stablehlo-to-linalg"]
