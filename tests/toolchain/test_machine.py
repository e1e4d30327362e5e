"""Programs without loops are told from those with loops, and get less optimisation."""

import pytest

from diastase_engine.libraries.build import engine_ir
from diastase_mlir import CompileOptions, llvm_ir_text
from diastase_toolchain.machine_code import Level, level_for, optimised, target_machine

CHOICE = """
define i64 @f(i1 %choice) {
  br i1 %choice, label %then, label %done
then:                                             ; preds = %1
  br label %done
done:                                             ; preds = %then, %1
  ret i64 0
}
"""

LOOP = """
define void @f(i1 %again) {
  br label %1
1:
  br i1 %again, label %1, label %2
2:
  ret void
}
"""

QUOTED = """
define void @f(i1 %again)
{
".2":
  br label %"for.body"
for.body:
  br i1 %again, label %"for.body", label %"for.end"
for.end:
  ret void
}
"""

SWITCH = """
define void @f(i32 %where) {
  br label %here
here:
  switch i32 %where, label %there [
    i32 0, label %there
    i32 1, label %here
  ]
there:
  ret void
}
"""


@pytest.mark.parametrize("text", [LOOP, QUOTED, SWITCH, LOOP + CHOICE, CHOICE + LOOP])
def test_a_jump_backwards_is_a_loop(text):
    assert level_for(text) is Level.WITH_LOOPS


def test_equal_labels_of_two_functions_are_no_loop():
    assert level_for(CHOICE + CHOICE.replace("@f", "@g")) is Level.WITHOUT_LOOPS


def test_the_engine_is_fully_optimised():
    assert level_for(engine_ir()) is Level.WITH_LOOPS


def test_loops_over_arrays_are_vectorised_and_scalar_programs_are_inlined(mlir_program):
    arrays = mlir_program(
        """(%x: tensor<1000xf64>) -> tensor<1000xf64> {
            %y = stablehlo.add %x, %x : tensor<1000xf64>
            return %y : tensor<1000xf64>
        }""",
        "float64[1]",
        "float64[1]",
    )
    scalars = mlir_program(
        """(%x: tensor<f64>) -> tensor<f64> {
            %y = stablehlo.add %x, %x : tensor<f64>
            return %y : tensor<f64>
        }""",
        "float64[0]",
        "float64[0]",
    )
    assert "x double>" in llvm_ir_text(arrays, CompileOptions())
    text = llvm_ir_text(scalars, CompileOptions())
    assert level_for(text) is Level.WITHOUT_LOOPS
    assert "@_mlir_memref_to_llvm_alloc" not in text


FIELDS = """
@given = global { i64, i1, i64 } zeroinitializer
define i64 @third() {
  %third = getelementptr { i64, i1, i64 }, ptr @given, i64 0, i32 2
  %offset = ptrtoint ptr %third to i64
  %base = ptrtoint ptr @given to i64
  %bytes = sub i64 %offset, %base
  br label %1
1:
  br i1 true, label %2, label %1
2:
  ret i64 %bytes
}
"""


def test_fields_are_where_machine_code_has_them():
    """Passes that know no layout would place the third field at byte 12."""
    with optimised(FIELDS, {"third", "given"}) as module:
        assert module.module.data_layout == str(target_machine().target_data)
        assert "ret i64 16" in str(module.module)
