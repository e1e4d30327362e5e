"""Programs for processors that are not at hand: they need nothing but the C library there, too.

What is computed there is compared where it can run: `test_half_floats`, `tests/test_processors.py`.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir import CompileOptions, stage_text
from diastase_mlir.bindings import session, translated_to_llvm_ir
from diastase_mlir.codegen.allocation_runtime import with_memory
from diastase_mlir.codegen.half_floats import emulated_float_types, with_half_floats
from diastase_mlir.codegen.import_table import link_imports
from diastase_mlir.codegen.llvm_text import for_llvmlite
from diastase_mlir.dialects import parse
from diastase_mlir.driver.compilation import EXPORTED
from diastase_toolchain.linker import is_provided, link, undefined_symbols
from diastase_toolchain.machine_code import emit_object, optimised
from other_processors import PROCESSORS, compiling_for

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint32", "int64", "uint64")


def functions(numbers, integers):
    """What LLVM may make calls of: conversions, divisions, rounding, powers, sums, comparisons."""
    for dtype in FLOATS:
        x = numbers.astype(dtype)
        yield [x.astype(other) for other in (*FLOATS, *INTEGERS)]
        yield [jnp.exp(x) * x, jnp.sin(x) + jnp.log(x), x**x, jnp.sqrt(x), x % 3, jnp.round(x)]
        yield [jnp.sum(x), jnp.max(x), jnp.sort(x), x[::-1], jnp.isnan(x)]
    for dtype in INTEGERS:
        i = integers.astype(dtype)
        yield [i.astype(other) for other in (*FLOATS, "complex64")]
        yield [i // 3, i % (i + 7), i**3, jnp.bitwise_count(i), jnp.sum(i)]


@cache
def llvm_ir() -> str:
    """A program of them all, as the pipeline leaves it."""
    program = qjit(lambda *arrays: list(functions(*arrays)))
    lowered = program.lower(np.zeros(100), np.zeros(100, int)).module
    with session():
        module = parse(stage_text(lowered, CompileOptions(), "to-llvm").encode())
        return translated_to_llvm_ir(module)


@pytest.mark.sample(2)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_programs_need_the_c_library_only(processor, monkeypatch, tmp_path):
    text = llvm_ir()
    compiling_for(processor, monkeypatch)
    text = for_llvmlite(with_half_floats(text), as_bits=emulated_float_types())
    linked = link_imports(with_memory(text, returns=True))
    with optimised(linked.text, EXPORTED) as module:
        machine_code = emit_object(module)
    assert "malloc" in undefined_symbols(machine_code)
    assert [name for name in undefined_symbols(machine_code) if not is_provided(name)] == []
    if processor != "AArch64":  # whose objects the linker at hand does not know
        link(machine_code, tmp_path / "program.so")
