"""Pipelines of the user's own, IR on disk, names of arguments in IR."""

import io
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import debug, qjit
from diastase.jit.options.ir_errors import PipelineError
from diastase.pipelines import (
    default_pipeline,
    insert_pass_after,
    insert_pass_before,
    insert_stage_after,
    insert_stage_before,
)
from diastase_mlir import PIPELINE
from diastase_mlir.bindings.pass_pipeline import pass_name


def circuit(angle, params):
    qml.RX(angle, wires=0)
    qml.RY(params["y"], wires=1)
    return qml.probs(), jnp.arange(3) @ jnp.arange(3.0) * angle


circuit = qml.QNode(circuit, qml.device("lightning.qubit", wires=2))


def test_programs_are_compiled_by_the_users_own_stages():
    stages = default_pipeline()
    insert_stage_after(stages, ("clean", ["canonicalize", "cse"]), ref_stage="scalars")
    insert_stage_before(stages, ("early", ["func.func(cse)"]), ref_stage="quantum-to-runtime")
    insert_stage_after(stages, ("later", ["cse"]), ref_stage="BufferizationStage")
    names = [name for name, _ in stages]
    assert names.index("deallocate") + 1 == names.index("later") == names.index("to-llvm") - 1
    insert_pass_before(dict(stages)["to-llvm"], "symbol-dce", ref_pass="canonicalize")
    insert_pass_after(dict(stages)["clean"], "sccp", ref_pass="canonicalize")
    assert dict(stages)["clean"] == ["canonicalize", "sccp", "cse"]

    compiled = qjit(circuit, pipelines=stages)
    for result, expected in zip(
        compiled(0.3, {"y": 0.2}), qjit(circuit)(0.3, {"y": 0.2}), strict=True
    ):
        np.testing.assert_allclose(result, expected)
    assert debug.get_compilation_stages_groups(compiled.compile_options) == stages
    assert "quantum.gate" in debug.get_compilation_stage(compiled, "early")
    assert "linalg" in debug.get_compilation_stage(compiled, "clean")
    text = debug.get_compilation_stage(compiled, "early").replace('"RX"', '"RY"')
    debug.replace_ir(compiled, "early", text)
    np.testing.assert_allclose(compiled(0.3, {"y": 0.2})[0], qjit(circuit)(0.3, {"y": 0.2})[0])
    assert qjit(lambda x: x + 1, pipelines=[])(1.0) == 2.0  # as without the option


def test_passes_that_are_left_out_do_not_run():
    stages = [(name, [p for p in passes if p != "cse"]) for name, passes in default_pipeline()]

    def twice(x):
        return jnp.sin(x) * jnp.sin(x)

    texts = []
    for pipelines in (None, stages):
        f = qjit(twice, pipelines=pipelines)
        np.testing.assert_allclose(f(0.3), np.sin(0.3) ** 2)
        texts.append(debug.get_compilation_stage(f, "scalars"))
    assert [text.count("math.sin") for text in texts] == [1, 2]


def without(*left_out):
    """The default pipeline without these passes."""
    return [(name, [p for p in passes if p not in left_out]) for name, passes in default_pipeline()]


def test_what_a_pipeline_leaves_must_be_llvms():
    f = qjit(lambda x: jnp.sin(x), pipelines=without("convert-func-to-llvm"), target="mlir")
    with pytest.raises(RuntimeError, match=r"translate: .*no pass converts func\.func"):
        f(1.0)


def test_passes_that_others_count_on_must_be_there_in_their_order():
    """What `element_loops` does not make loops, `clone_empties` not its own, would be wrong."""
    ours = [step for stage in PIPELINE.stages for step in stage.passes if not isinstance(step, str)]
    for name in {pass_name(step) for step in ours}.difference(PIPELINE.optional()):
        with pytest.raises(PipelineError, match=f"the pass {name} is missing"):
            qjit(circuit, pipelines=without(name))
    stages = default_pipeline()
    passes = dict(stages)["to-llvm"]
    passes.remove("element_loops")
    passes.append("element_loops")
    with pytest.raises(PipelineError, match="the pass interruptible_loops is missing, or not"):
        qjit(circuit, pipelines=stages)


def test_optional_passes_may_be_left_out():
    def program(x):
        return jax.vmap(circuit, (0, None))(x, {"y": 0.2}), jnp.exp(x)[:, None] @ x[None]

    x = np.array([0.3, 0.4])
    found = qjit(program, pipelines=without(*PIPELINE.optional()))(x)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(qjit(program)(x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_insertion_beside_nothing():
    with pytest.raises(ValueError, match="there is no pass b in it"):
        insert_pass_after(["a"], "new", "b")
    with pytest.raises(ValueError, match="there is no stage b in it"):
        insert_stage_before([("a", [])], ("new", []), "b")


@pytest.mark.parametrize(
    ("levels", "folders"),
    [
        ((False, 0, "none", None), None),
        ((True, 1, "pipeline"), 0),
        ((2, "changed"), 3),
        ((3, "pass"), 7),
    ],
    ids=str,
)
def test_ir_on_disk(levels, folders, tmp_path, monkeypatch):
    kept = set()
    for number, level in enumerate(levels):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))

        @qjit(keep_intermediate=level)
        def kept_function(x):
            return jnp.sin(x).sum()

        kept_function(jnp.ones(3))
        found = sorted(str(path) for path in Path("kept_function").rglob("*"))
        kept.add(tuple(found))
    assert len(kept) == 1
    (files,) = kept
    if folders is None:
        assert not files
        return
    assert "kept_function/07_to-llvm.mlir" in files
    assert sum(not name.endswith(".mlir") for name in files) >= folders
    texts = [Path(name).read_text() for name in files if name.count("/") == 2]
    if levels[-1] == "changed":
        assert all(before != after for before, after in itertools.pairwise(texts))
    elif levels[-1] == "pass":
        assert len(texts) > len(set(texts))


def test_names_of_arguments_in_ir():
    f = qjit(circuit, use_nameloc=True)
    f(0.3, {"y": 0.2})
    for text in (f.mlir, f.lower(0.3, {"y": 0.2}).as_text(), f.mlir_opt):
        assert "%angle" in text
        assert "%params_y" in text
    assert "%angle" not in qjit(circuit).lower(0.3, {"y": 0.2}).as_text()
    debug.replace_ir(f, "mlir", f.mlir.replace('"RX"', '"RY"'))
    np.testing.assert_allclose(f(0.3, {"y": 0.0})[0][2], np.sin(0.15) ** 2)


def test_what_is_said_while_compiling():
    log = io.StringIO()
    f = qjit(lambda x: x * 2.25, verbose=True, logfile=log, pipelines=default_pipeline())
    f(1.0)
    said = log.getvalue()
    for stage in (*(name for name, _ in default_pipeline()), "translate", "optimise", "link"):
        assert f": {stage}: " in said
    assert said.splitlines()[-1].endswith(".so")
    f(2.0)
    assert log.getvalue() == said


@pytest.mark.parametrize("target", ["jaxpr", "mlir", "llvmir", "binary"])
def test_functions_with_any_target_can_be_called(target):
    @qjit(target=target)
    def f(x: float):
        return x * 3.0

    assert "mul" in str(f.jaxpr)
    assert "stablehlo.multiply" in f.mlir
    assert "llvm.fmul" in f.mlir_opt
    assert "fmul double" in f.llvmir == f.llvm_ir
    assert f(2.0) == 6.0
