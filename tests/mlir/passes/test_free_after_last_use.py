"""`free_after_last_use`: memory is given back once nothing that shares it is used again."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.buffers.free_after_last_use import free_after_last_use

MODULE = """
func.func private @diastase_import__engine__gate(!llvm.ptr)
func.func private @diastase_import__lapack__dgetrf(!llvm.ptr)
func.func private @same(%p: !llvm.ptr) -> !llvm.ptr {{
  return %p : !llvm.ptr
}}
func.func private @sum(%a: memref<9xf64>) -> f64 {{
  %c0 = arith.constant 0 : index
  %r = memref.load %a[%c0] : memref<9xf64>
  return %r : f64
}}
func.func private @gate(%a: memref<9xf64>) -> f64 {{
  %c0 = arith.constant 0 : index
  %p = memref.extract_aligned_pointer_as_index %a : memref<9xf64> -> index
  %q = arith.index_cast %p : index to i64
  %s = llvm.inttoptr %q : i64 to !llvm.ptr
  call @diastase_import__engine__gate(%s) : (!llvm.ptr) -> ()
  %r = memref.load %a[%c0] : memref<9xf64>
  return %r : f64
}}
func.func @f(%n: index, %is: i1, %x: memref<9xf64>) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %a = memref.alloc() : memref<9xf64>
  %b = memref.alloc() : memref<9xf64>
  memref.copy %x, %a : memref<9xf64> to memref<9xf64>
  {uses}
  "test.end"() : () -> ()
  memref.dealloc %a : memref<9xf64>
  memref.dealloc %b : memref<9xf64>
  return %z : f64
}}
"""
POINTER = """
  %p = memref.extract_aligned_pointer_as_index %a : memref<9xf64> -> index
  %q = arith.index_cast %p : index to i64
  %s = llvm.inttoptr %q : i64 to !llvm.ptr
"""
FREED = {
    "at once": '"test.last"() : () -> ()',
    "after a view": """
  %v = memref.subview %a[2] [3] [1] : memref<9xf64> to memref<3xf64, strided<[1], offset: 2>>
  %w = memref.cast %v
      : memref<3xf64, strided<[1], offset: 2>> to memref<?xf64, strided<[1], offset: 2>>
  "test.other"() : () -> ()
  %l = memref.load %w[%c0] : memref<?xf64, strided<[1], offset: 2>>
  "test.last"() : () -> ()
""",
    "after a loop that reads it": """
  "test.other"() : () -> ()
  scf.for %i = %c0 to %n step %c1 {
    %l = memref.load %a[%i] : memref<9xf64>
    memref.store %l, %x[%i] : memref<9xf64>
  }
  "test.last"() : () -> ()
""",
    "after what a loop has carried": """
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%c = %a) -> (memref<9xf64>) {
    scf.yield %c : memref<9xf64>
  }
  "test.other"() : () -> ()
  memref.copy %l, %x : memref<9xf64> to memref<9xf64>
  "test.last"() : () -> ()
""",
    "after what a branch has given": """
  %l = scf.if %is -> (memref<9xf64>) {
    scf.yield %a : memref<9xf64>
  } else {
    scf.yield %x : memref<9xf64>
  }
  "test.other"() : () -> ()
  memref.copy %l, %x : memref<9xf64> to memref<9xf64>
  "test.last"() : () -> ()
""",
    "after what one of many branches has given": """
  %l = scf.index_switch %n -> memref<9xf64>
  case 0 {
    scf.yield %a : memref<9xf64>
  }
  default {
    scf.yield %x : memref<9xf64>
  }
  "test.other"() : () -> ()
  memref.copy %l, %x : memref<9xf64> to memref<9xf64>
  "test.last"() : () -> ()
""",
    "after what a region has given": """
  %l = scf.execute_region -> memref<9xf64> {
    scf.yield %a : memref<9xf64>
  }
  "test.other"() : () -> ()
  memref.copy %l, %x : memref<9xf64> to memref<9xf64>
  "test.last"() : () -> ()
""",
    "after a use as an array of any rank": """
  %l = memref.cast %a : memref<9xf64> to memref<*xf64>
  "test.other"() : () -> ()
  %m = memref.cast %l : memref<*xf64> to memref<?xf64>
  memref.store %z, %m[%c0] : memref<?xf64>
  "test.last"() : () -> ()
""",
    "after one of two": """
  %l = arith.select %is, %a, %x : memref<9xf64>
  "test.other"() : () -> ()
  memref.copy %x, %l : memref<9xf64> to memref<9xf64>
  "test.last"() : () -> ()
""",
    "after a call": '%l = call @sum(%a) : (memref<9xf64>) -> f64 "test.last"() : () -> ()',
    "after LAPACK": POINTER
    + """
  "test.other"() : () -> ()
  call @diastase_import__lapack__dgetrf(%s) : (!llvm.ptr) -> ()
  "test.last"() : () -> ()
""",
    "after writing to a pointer": POINTER
    + """
  %l = arith.constant 1.0 : f64
  llvm.store %l, %s : f64, !llvm.ptr
  "test.last"() : () -> ()
""",
}
KEPT = {
    "by the engine": POINTER + "call @diastase_import__engine__gate(%s) : (!llvm.ptr) -> ()",
    "by what calls the engine": "%l = call @gate(%a) : (memref<9xf64>) -> f64",
    "by who gives a pointer back": POINTER
    + """
  %t = call @same(%s) : (!llvm.ptr) -> !llvm.ptr
  %l = llvm.load %t : !llvm.ptr -> f64
""",
    "by what has stored the pointer": POINTER
    + """
  %m = llvm.alloca %q x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %s, %m : !llvm.ptr, !llvm.ptr
""",
    "by somebody who compares pointers": POINTER
    + """
  %m = llvm.mlir.zero : !llvm.ptr
  %l = llvm.icmp "eq" %s, %m : !llvm.ptr
""",
}


def after_pass(uses):
    """Names of the operations of `f`, with what is freed."""
    with session() as context:
        context.allow_unregistered_dialects = True
        try:
            module = parse(MODULE.format(uses=uses).encode())
            free_after_last_use(module)
            assert module.operation.verify()
        finally:
            context.allow_unregistered_dialects = False
        function = module.body.operations[len(module.body.operations) - 1]
        return [operation.operation.name for operation in function.regions[0].blocks[0].operations]


@pytest.mark.parametrize("name", FREED)
def test_freed(name):
    names = after_pass(FREED[name])
    last = names.index("test.last")
    before = names[:last]
    assert before.count("memref.dealloc") == 2  # of %a, and of %b, which nobody uses
    assert before[-1] == "memref.dealloc"
    if "test.other" in before:
        assert before.index("test.other") < last - 1
        assert before[: before.index("test.other")].count("memref.dealloc") == 1
    assert "memref.dealloc" not in names[last:]


@pytest.mark.parametrize("name", KEPT)
def test_kept(name):
    names = after_pass(KEPT[name])
    assert names[: names.index("test.end")].count("memref.dealloc") == 1  # of %b
    assert names[names.index("test.end") :].count("memref.dealloc") == 1


OTHER_BLOCKS = {
    "in a branch": """
  scf.if %is {
    memref.copy %a, %x : memref<9xf64> to memref<9xf64>
    memref.store %z, %base[] : memref<f64>
    memref.copy %a, %x : memref<9xf64> to memref<9xf64>
    memref.dealloc %base : memref<f64>
  }
""",
    "in the next block": """
  cf.br ^next
^next:
  memref.copy %a, %x : memref<9xf64> to memref<9xf64>
  memref.store %z, %base[] : memref<f64>
  memref.copy %a, %x : memref<9xf64> to memref<9xf64>
  memref.dealloc %base : memref<f64>
""",
}


@pytest.mark.parametrize("name", OTHER_BLOCKS)
def test_what_comes_from_another_block_stays(name):
    base = """
  %base, %offset, %size, %stride = memref.extract_strided_metadata %a
      : memref<9xf64> -> memref<f64>, index, index, index
"""
    text = MODULE.format(uses=base + OTHER_BLOCKS[name])
    text = text.replace('"test.end"() : () -> ()', "")
    text = text.replace("  memref.dealloc %a : memref<9xf64>\n", "")
    with session():
        module = parse(text.encode())
        free_after_last_use(module)
        assert module.operation.verify()
        text = str(module)
    assert text.index("memref.dealloc %alloc :") > text.rindex("memref.copy %alloc,")
    assert text.rindex("memref.copy %alloc,") > text.index("memref.store")


def test_the_base_of_an_array_is_the_array():
    text = MODULE.format(
        uses="""
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%c = %b) -> (memref<9xf64>) {
    %new = memref.alloc() : memref<9xf64>
    memref.copy %c, %new : memref<9xf64> to memref<9xf64>
    scf.yield %new : memref<9xf64>
  }
  memref.copy %l, %x : memref<9xf64> to memref<9xf64>
  memref.copy %x, %a : memref<9xf64> to memref<9xf64>
  %base, %offset, %size, %stride = memref.extract_strided_metadata %l
      : memref<9xf64> -> memref<f64>, index, index, index
  memref.dealloc %base : memref<f64>
"""
    ).replace('"test.end"() : () -> ()', "")
    with session():
        module = parse(text.encode())
        free_after_last_use(module)
        assert module.operation.verify()
        text = str(module)
    assert "extract_strided_metadata" not in text
    copies = text[text.index("memref.copy %0, %arg2") :]
    assert copies.index("memref.dealloc %0") < copies.index("memref.copy %arg2, %alloc")


def inverses(x):
    for number in range(12):
        x = jnp.linalg.inv(x + (number + 2) * jnp.eye(len(x)))
    return x


def sums(x):
    for _ in range(12):
        x = jnp.cumsum(x, axis=1)[:, ::-1] * 0.01
    return x


def sorts(x):
    for number in range(12):
        x = jnp.sort(x * (1.5 + number), axis=0)[::-1] * 0.5
    return x


def branches(x):
    for _ in range(12):
        larger, smaller = lambda x: jnp.cumsum(x, axis=1), lambda x: x[::-1] * 2
        x = jax.lax.cond(x[0, 0] > 0.5, larger, smaller, x)
    return x


def loops(x):
    def body(x, _):
        for _ in range(6):
            x = jnp.cumsum(x, axis=0)[::-1] * 0.01
        return x, x.sum()

    return jax.lax.scan(body, x, None, length=3)


@pytest.mark.sample(2)
@pytest.mark.parametrize("function", [inverses, sums, sorts, branches, loops])
def test_results_are_jaxs(function):
    x = jnp.asarray(np.random.default_rng(3).uniform(size=(30, 30)))
    for one, other in zip(
        jax.tree.leaves(qjit(function)(x)), jax.tree.leaves(function(x)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-7)


MEMORY = """
import resource, sys
import jax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
sys.path.insert(0, sys.argv[1])
import test_free_after_last_use as programs
from diastase import qjit

x = jnp.linspace(0, 1, 250_000).reshape(500, 500)
for name in ("inverses", "sums", "sorts", "branches", "loops"):
    program = qjit(getattr(programs, name)).lower(x).compile()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program(x)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 // x.nbytes)
"""


@pytest.mark.thorough
def test_a_program_has_the_memory_of_some_of_its_arrays():
    folder = str(__file__).rpartition("/")[0]
    made = subprocess.run(
        [sys.executable, "-c", MEMORY, folder], capture_output=True, text=True, check=True
    )
    arrays = [int(line) for line in made.stdout.split()]
    assert max(arrays) <= 12, arrays  # 12 operations have 24 to 200 arrays
