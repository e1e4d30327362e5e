"""Every float that MLIR can print arrives in llvmlite's LLVM with the same bits."""

import numpy as np
import pytest

from diastase_mlir.codegen.llvm_text import for_llvmlite

SPECIAL_BITS = {
    "float16": [0x3C00, 0x7C00, 0xFC00, 0x7E00, 0x8000, 0x0001, 0x83FF, 0x3555, 0x7BFF],
    "bfloat16": [0x3F80, 0x7F80, 0xFF80, 0x7FC0, 0x8000, 0x0001, 0x807F, 0x3EAB, 0x7F7F],
    "float32": [0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 1, 0x3EAAAAAB, 0xFFC00001],
    "float64": [
        0x7FF << 52,
        0xFFF << 52,
        0x7FF8 << 48,
        1 << 63,
        1,
        0x3FD5555555555555,
        0x7FF8000000000001,
    ],
}
MLIR_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def bit_type(dtype: str) -> np.dtype:
    return np.dtype(f"uint{16 if '16' in dtype else dtype[-2:]}")


@pytest.mark.parametrize("dtype", SPECIAL_BITS)
def test_special_values_as_scalars(load_mlir, dtype):
    kind, digits = MLIR_TYPES[dtype], bit_type(dtype).itemsize * 2
    for bits in SPECIAL_BITS[dtype]:
        constant = f"arith.constant 0x{bits:0{digits}X} : {kind}"
        program = load_mlir(
            f"""() -> tensor<{kind}> {{
                %bits = {constant}
                %result = tensor.from_elements %bits : tensor<{kind}>
                return %result : tensor<{kind}>
            }}""",
            "",
            f"{dtype}[0]",
        )
        (result,) = program([])
        assert result.view(bit_type(dtype)) == bits


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_float_in_an_array(load_mlir, dtype):
    bits = np.arange(65536, dtype=np.uint16)
    text = bits.tobytes().hex().upper()
    kind = f"tensor<65536x{MLIR_TYPES[dtype]}>"
    program = load_mlir(
        f"""() -> {kind} {{
            %result = arith.constant dense<"0x{text}"> : {kind}
            return %result : {kind}
        }}""",
        "",
        f"{dtype}[1]",
    )
    (result,) = program([])
    np.testing.assert_array_equal(result.view(np.uint16), bits)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_of_random_bits(load_mlir, dtype):
    bits = np.frombuffer(np.random.default_rng(0).bytes(8192), bit_type(dtype))
    kind = f"tensor<{len(bits)}x{MLIR_TYPES[dtype]}>"
    program = load_mlir(
        f"""() -> {kind} {{
            %result = arith.constant dense<"0x{bits.tobytes().hex().upper()}"> : {kind}
            return %result : {kind}
        }}""",
        "",
        f"{dtype}[1]",
    )
    (result,) = program([])
    np.testing.assert_array_equal(result.view(bit_type(dtype)), bits)


def test_names_and_strings_are_not_literals():
    text = '@"float +inf f0x0000" = constant [4 x i8] c"+inf"\n%double.f0x1 = fadd float %x, +inf'
    first, second = for_llvmlite(text).split("\n")
    assert first == text.split("\n")[0]
    assert second == "%double.f0x1 = fadd float %x, 0x7FF0000000000000"


def test_type_changes_along_a_line():
    text = "call void @f(float f0x3EAAAAAB, double -inf, half +qnan, bfloat -snan(0x1))"
    assert for_llvmlite(text) == (
        "call void @f(float 0x3FD5555560000000, double 0xFFF0000000000000, half 0xH7E00, i16 65409)"
    )
