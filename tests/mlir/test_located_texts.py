"""The user's lines in MLIR, LLVM IR and assembly; and that asking for them changes no text."""

import re

import jax
import jax.numpy as jnp
import pennylane as qml
import pytest

from diastase import for_loop, grad, measure, qjit
from diastase_mlir import ASSEMBLY, located_texts
from diastase_mlir.codegen.debug_lines import assembly_lines, without_debug
from diastase_mlir.diagnostics import spans_at
from diastase_mlir.dialects.line_locations import UNKNOWN, line_locations
from diastase_mlir.driver import compilation
from diastase_toolchain.machine_code import assembly, optimised


def elementwise(x):
    return jnp.tanh(x) * jnp.exp(-x)


def in_half_precision(x):
    return (x.astype(jnp.bfloat16) * 2).astype(jnp.float16)


def booleans(x):
    return jnp.where(x > 0.5, x, 0.0), x > 0.2, jnp.sort(x)


def sums(x):
    return jax.lax.fori_loop(0, x.size, lambda i, total: total + x[i] @ jnp.ones(3), 0.0)


def derivative(x):
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(y):
        @for_loop(0, 3, 1)
        def layer(i):
            qml.RX(y * i, 0)
            qml.CNOT([0, 1])

        layer()
        return qml.expval(qml.Z(1))

    return grad(circuit)(x[0, 0])


def outcomes(x):
    @qml.qnode(qml.device("lightning.qubit", wires=2), shots=20)
    def circuit():
        qml.RX(x[0, 0], 0)
        measure(0)
        return qml.sample()

    return circuit()


PROGRAMS = [elementwise, in_half_precision, booleans, sums, derivative, outcomes]


@pytest.mark.sample(3)
@pytest.mark.parametrize("function", PROGRAMS)
def test_texts_are_those_of_the_stages(function):
    """Text by text what the compiler itself prints, and as many spans as lines."""
    lowered = qjit(function).lower(jnp.ones((4, 3)))
    options = lowered.interface.options
    *stages, code = located_texts(lowered.module, options)
    for stage in stages:
        own = compilation.stage_text(lowered.module, options, stage.stage).rstrip("\n")
        assert stage.text == own, stage.stage
        assert len(stage.spans) == own.count("\n") + 1
    assert code.stage == ASSEMBLY
    with compilation.session():
        linked = compilation.linked(
            compilation.translated(compilation.after_passes(lowered.module, options, {})),
            lowered.module,
        )
    with optimised(linked.text, compilation.EXPORTED) as module:
        plain = assembly(module)
    unwinding = re.compile(r"\s+\.cfi_")
    kept = [line for line in plain.rstrip("\n").split("\n") if not unwinding.match(line)]
    assert code.text.split("\n") == kept


LOCATED = """\
#loc1 = loc("/u/a.py":1:0)
#loc2 = loc("/u/b.py":2:0)
module {
  func.func @f(%arg0: f64 loc("x )")) -> f64 {
    %0 = scf.if %arg1 -> (f64) {
      scf.yield %arg0 : f64 loc(#loc3)
    } else {
      scf.yield %arg0 : f64 loc(#loc)
    } loc(#loc5)
    return %0 : f64 loc(#loc4)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("name"(#loc1))
#loc4 = loc(fused<"m">[#loc3, #loc2])
#loc5 = loc(callsite(#loc2 at #loc1))"""


def test_operations_with_regions_have_their_location_on_all_their_lines():
    plain = re.sub(r"^#loc.*\n?| loc\((?:\"x \)\"|#loc\d*)\)", "", LOCATED, flags=re.M).rstrip("\n")
    found = line_locations(plain, LOCATED)
    lines = [
        sorted(f"{span.file}:{span.line}" for span in spans_at(location)) for location in found
    ]
    call = ["/u/a.py:1", "/u/b.py:2"]
    assert lines == [[], [], call, ["/u/a.py:1"], call, [], call, call, [], []]
    assert found[0] == UNKNOWN


def test_names_of_files_are_read_as_they_were_written():
    location = r'loc("f"("/tmp/\C3\BC \22q\22\\.py":3:0))'
    (span,) = spans_at(location)
    assert (span.file, span.line) == ('/tmp/ü "q"\\.py', 3)


DEBUG = """\
define i64 @f(i64 %0) !dbg !4 {
  %2 = add i64 %0, 1, !dbg !7
  %3 = load i64, ptr null, align 8, !dbg !8, !range !9
  ret i64 %2
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "numbers", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, unit: !0)
!7 = !DILocation(line: 12, scope: !4)
!8 = !DILocation(line: 13, column: 4, scope: !4)
!9 = !{i64 0, i64 2}"""


def test_debug_information_leaves_no_trace_in_llvm_ir():
    text, numbers = without_debug(DEBUG)
    assert text.split("\n") == [
        "define i64 @f(i64 %0) {",
        "  %2 = add i64 %0, 1",
        "  %3 = load i64, ptr null, align 8, !range !1",
        "  ret i64 %2",
        "}",
        "",
        "!llvm.module.flags = !{!0}",
        "",
        '!0 = !{i32 2, !"Debug Info Version", i32 3}',
        "!1 = !{i64 0, i64 2}",
    ]
    assert numbers == [0, 12, 13, *[0] * 7]


def test_assembly_takes_lines_from_directives():
    code = """\
\t.text
\t.file\t1 "" "numbers"
\t.type\tf,@function
f:
.Lfunc_begin0:
\t.loc\t1 7 0
\tpushq\t%rax
\t.cfi_def_cfa_offset 16
.Ltmp0:
\t.loc\t1 9 0 is_stmt 0
\tretq
\t.type\tg,@function
g:
\tretq
\t.section\t.debug_line,"",@progbits
.Lline_table_start0:
\t.byte\t1
\t.section\t.rodata,"a",@progbits
\t.quad\t1
"""
    text, numbers = assembly_lines(code)
    lines = [*zip(text.split("\n"), numbers, strict=True)]
    assert [(line.strip(), number) for line, number in lines] == [
        (".text", 0),
        (".type\tf,@function", 0),
        ("f:", 0),
        ("pushq\t%rax", 7),
        ("retq", 9),
        (".type\tg,@function", 0),
        ("g:", 0),
        ("retq", 0),
        ('.section\t.rodata,"a",@progbits', 0),
        (".quad\t1", 0),
    ]
