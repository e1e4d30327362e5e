"""MLIR's contexts: what is loaded into them, and how long they are kept."""

import sys

import numpy as np
import pytest

from diastase_mlir import bindings, jax_compat
from diastase_mlir.bindings import ir, session
from diastase_mlir.dialects import parse

TANGENT = """(%x: tensor<f64>) -> tensor<f64> {
    %y = chlo.tan %x : tensor<f64> -> tensor<f64>
    return %y : tensor<f64>
}"""


@pytest.fixture
def fresh_context(monkeypatch):
    """A session's context that no other test has used; the other one comes back afterwards."""
    monkeypatch.setattr(bindings, "_shared", bindings._Shared())


def test_dialects_are_loaded_when_a_module_names_them(fresh_context):
    with session() as context:
        parse("func.func private @f()")
        assert not context.is_dialect_loaded("quantum")
        parse("func.func private @f(!quantum.register)")
        assert context.is_dialect_loaded("quantum")
        assert not context.is_dialect_loaded("chlo")


def test_dialects_may_be_loaded_after_passes_have_run(load_mlir, fresh_context):
    double = TANGENT.replace(
        "chlo.tan %x : tensor<f64> -> tensor<f64>", "stablehlo.add %x, %x : tensor<f64>"
    )
    x = np.array(0.5)
    for program, expected in ((double, 1.0), (TANGENT, np.tan(0.5)), (double, 1.0)):
        compiled = load_mlir(program, "float64[0]", "float64[0]")
        np.testing.assert_allclose(compiled([x])[0], expected, rtol=1e-15)


def test_large_modules_wear_a_context_out(fresh_context):
    with session() as first:
        parse("func.func private @f()")
    with session() as second:
        constant = ir.DenseElementsAttr.get(np.random.default_rng(0).normal(size=2_000_000))
        parse(f"func.func private @f() attributes {{data = {constant}}}")
    with session() as third:
        pass
    assert first is second
    assert third is not second


def test_a_thread_lowers_in_one_context_until_it_is_told_to_forget_it():
    with jax_compat.ir_context() as first:
        pass
    with jax_compat.ir_context() as second:
        pass
    jax_compat.forget_ir_context()
    with jax_compat.ir_context() as third:
        pass
    assert first is second
    assert third is not second


def test_no_module_is_imported_for_classes_of_operations(load_mlir):
    before = {name for name in sys.modules if ".mlir.dialects." in name or "torch_mlir" in name}
    load_mlir(TANGENT, "float64[0]", "float64[0]")
    after = {name for name in sys.modules if ".mlir.dialects." in name or "torch_mlir" in name}
    assert after == before
