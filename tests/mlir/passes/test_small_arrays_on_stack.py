"""What is put on the stack, and what must not be."""

import pytest

from diastase_mlir.bindings import ir, session
from diastase_mlir.passes.buffers.small_arrays_on_stack import (
    MOST_OF_A_FUNCTION,
    MOST_OF_AN_ARRAY,
    small_arrays_on_stack,
)


def after(body, results="", returned=""):
    text = f"""
      func.func private @use(memref<?xf64>)
      func.func @f(%n: index, %flag: i1){results} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        {body}
        return {returned}
      }}"""
    with session():
        module = ir.Module.parse(text)
        small_arrays_on_stack(module)
        assert module.operation.verify()
        return str(module)


def array(name, size=8, before=""):
    """An array that its block allocates, uses, and frees."""
    kind = f"memref<{size}xf64>"
    return f"""
      {name} = memref.alloc() {{alignment = 64 : i64}} : {kind}
      {before}
      {name}_any = memref.cast {name} : {kind} to memref<?xf64>
      func.call @use({name}_any) : (memref<?xf64>) -> ()
      memref.dealloc {name} : {kind}
    """


def loop(body):
    return f"scf.for %i = %c0 to %n step %c1 {{ {body} }}"


def test_an_array_of_a_loop_is_on_the_stack_of_the_function():
    text = after(loop(array("%a")))
    assert "memref.alloca() {alignment = 64 : i64} : memref<8xf64>" in text
    assert text.index("memref.alloca") < text.index("scf.for")
    assert "memref.alloc(" not in text
    assert "dealloc" not in text


def test_arrays_that_are_alive_at_once_are_apart():
    assert after(loop(array("%a", before=array("%b")))).count("memref.alloca") == 2


def test_inner_arrays_come_first_where_there_is_not_room_for_all():
    count = MOST_OF_A_FUNCTION // MOST_OF_AN_ARRAY
    size = MOST_OF_AN_ARRAY // 8
    outer = "".join(array(f"%a{number}", size) for number in range(count))
    text = after(outer + loop(array("%b", 16)))
    assert "memref.alloca() {alignment = 64 : i64} : memref<16xf64>" in text
    assert text.count("memref.alloca") == count  # with the inner one, which leaves no room for one
    assert text.count("memref.alloc(") == text.count("memref.dealloc") == 1


@pytest.mark.parametrize(
    ("body", "results", "returned"),
    [
        (array("%a", MOST_OF_AN_ARRAY // 8 + 1), "", ""),
        (array("%a", 0), "", ""),
        # the caller's
        ("%a = memref.alloc() : memref<8xf64>", " -> memref<8xf64>", "%a : memref<8xf64>"),
        # freed elsewhere
        (
            """%a = memref.alloc() : memref<8xf64>
            scf.if %flag { memref.dealloc %a : memref<8xf64> }""",
            "",
            "",
        ),
        # the number of which is not known
        ("%a = memref.alloc(%n) : memref<?xf64>\nmemref.dealloc %a : memref<?xf64>", "", ""),
        # of loops that need not run one iteration after the other
        (
            f"""scf.parallel (%i) = (%c0) to (%n) step (%c1) {{ {array("%a")}
            scf.reduce }}""",
            "",
            "",
        ),
    ],
)
def test_what_stays_on_the_heap(body, results, returned):
    text = after(body, results, returned)
    assert "memref.alloca" not in text
    assert "memref.alloc(" in text
