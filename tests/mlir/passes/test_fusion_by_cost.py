"""`fusion_by_cost`: what costs is computed once, what costs nothing for each of its readers."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.tensors.fusion_by_cost import fusion_by_cost

jax.config.update("jax_enable_x64", True)

MAPS = """
#all = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>
#own = affine_map<(i) -> (i)>
"""
EXP = "math.exp %x : f64"
SUM = "arith.addf %x, %x : f64"
QUOTIENT = "arith.divf %x, %x : f64"
TWO = 'iterator_types = ["parallel", "parallel"]'
ONE = 'iterator_types = ["parallel"]'


def loop(result, operand, own, read="#own", write="#own", kinds=ONE):
    """Loops over one array; `own` makes an element, or the element stays what it is."""
    (value, kind), (target, target_kind) = operand, result
    body = f"%y = {own}\nlinalg.yield %y : f64" if own else "linalg.yield %x : f64"
    return f"""
      {target}e = tensor.empty() : {target_kind}
      {target} = linalg.generic {{indexing_maps = [{read}, {write}], {kinds}}}
        ins({value} : {kind}) outs({target}e : {target_kind}) {{
      ^bb0(%x: f64, %o: f64):
        {body}
      }} -> {target_kind}"""


def after(signature, body):
    with session():
        module = parse(f"{MAPS} func.func @f{signature} {{ {body} }}".encode())
        fusion_by_cost(module)
        assert module.operation.verify()
        return str(module)


def hidden(text):
    return text.count("unrealized_conversion_cast")


@pytest.mark.parametrize(
    ("own", "costs"), [(EXP, True), (QUOTIENT, True), (SUM, False), ("", False)]
)
@pytest.mark.parametrize("read", ["#columns", "#rows"])
@pytest.mark.parametrize("wide", [1, 5])
def test_what_is_read_for_each_row_is_computed_once_if_it_costs_much(own, costs, read, wide):
    shape = {"#columns": f"{wide}x3", "#rows": f"3x{wide}"}[read]
    whole = f"tensor<{shape}xf64>"
    made = loop(("%a", "tensor<3xf64>"), ("%v", "tensor<3xf64>"), own)
    spread = loop(("%b", whole), ("%a", "tensor<3xf64>"), "", read, "#all", TWO)
    text = after(f"(%v: tensor<3xf64>) -> {whole}", f"{made}{spread} return %b : {whole}")
    assert hidden(text) == (costs and wide > 1)


def test_sizes_at_run_time_are_thought_to_be_large():
    made = loop(("%a", "tensor<3xf64>"), ("%v", "tensor<3xf64>"), EXP)
    spread = loop(("%b", "tensor<?x3xf64>"), ("%a", "tensor<3xf64>"), "", "#columns", "#all", TWO)
    spread = spread.replace("tensor.empty()", "tensor.empty(%n)")
    signature = "(%v: tensor<3xf64>, %n: index) -> tensor<?x3xf64>"
    assert hidden(after(signature, f"{made}{spread} return %b : tensor<?x3xf64>")) == 1


def test_costs_add_up_along_a_chain_and_through_reshapes():
    vector, row, whole = "tensor<3xf64>", "tensor<1x3xf64>", "tensor<5x3xf64>"
    made = loop(("%a", vector), ("%v", vector), EXP) + loop(("%b", vector), ("%a", vector), SUM)
    shaped = f"%c = tensor.expand_shape %b [[0, 1]] output_shape [1, 3] : {vector} into {row}"
    zero = "affine_map<(i, j) -> (0, j)>"
    spread = loop(("%d", whole), ("%c", row), "", zero, "#all", TWO)
    text = after(f"(%v: {vector}) -> {whole}", f"{made}{shaped}{spread} return %d : {whole}")
    assert re.search(r"unrealized_conversion_cast %expanded", text)


@pytest.mark.parametrize(("own", "read", "is_hidden"), [
    (EXP, "#all", True), (SUM, "#all", True), ("", "#turned", True), ("", "#all", False),
])  # fmt: skip
def test_nothing_that_costs_is_moved_into_a_loop(own, read, is_hidden):
    kind = "tensor<4x4xf64>"
    made = loop(("%a", kind), ("%v", kind), own, read, "#all", TWO)
    inner = loop(("%b", kind), ("%a", kind), SUM, "#all", "#all", TWO)
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {made}
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %v) -> ({kind}) {{
        {inner}
        scf.yield %b : {kind}
      }}
      return %r : {kind}"""
    assert hidden(after(f"(%v: {kind}, %n: index) -> {kind}", body)) == is_hidden


@pytest.mark.parametrize(("own", "copies"), [("", 3), (SUM, 1)])
def test_a_broadcast_is_repeated_for_each_reader(own, copies):
    whole = "tensor<5x3xf64>"
    spread = loop(("%a", whole), ("%v", "tensor<3xf64>"), own, "#columns", "#all", TWO)
    readers = "".join(
        loop((f"%r{k}", whole), ("%a", whole), EXP, "#all", "#all", TWO) for k in "012"
    )
    results = ", ".join([whole] * 3)
    body = f"{spread}{readers} return %r0, %r1, %r2 : {results}"
    text = after(f"(%v: tensor<3xf64>) -> ({results})", body)
    assert text.count("linalg.generic") == 3 + copies


def test_what_is_returned_as_well_is_still_there():
    whole = "tensor<5x3xf64>"
    spread = loop(("%a", whole), ("%v", "tensor<3xf64>"), "", "#columns", "#all", TWO)
    reader = loop(("%r", whole), ("%a", whole), EXP, "#all", "#all", TWO)
    text = after(
        f"(%v: tensor<3xf64>) -> ({whole}, {whole})",
        f"{spread}{reader} return %a, %r : {whole}, {whole}",
    )
    assert text.count("linalg.generic") == 3


def mixture(x, c):
    """`log` of few numbers beside many, and one broadcast with three readers."""
    d = x[:, None] - c
    return jnp.log(c) + d * d, (x[:, None] * d).sum(0), (x[:, None] / (1 + d * d)).sum(0)


def phases(x, c):
    """A table that is made before a loop and read in it."""
    table = jnp.exp(1j * x)
    return lax.fori_loop(0, 4, lambda _, z: jnp.roll(z, 1) * table, x + c.sum() * 1j)


def in_a_branch(x, c):
    return (
        lax.while_loop(
            lambda s: s[1] < 3,
            lambda s: (
                lax.cond(s[1] > 0, lambda y: y + jnp.sqrt(x), lambda y: y * 2, s[0]),
                s[1] + 1,
            ),
            (x, 0),
        )[0]
        * c.sum()
    )


@pytest.mark.parametrize("function", [mixture, phases, in_a_branch])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (7, 3), (200, 0)])
def test_results_are_those_of_jax(function, sizes):
    generator = np.random.default_rng(3)
    x, c = (generator.uniform(0.5, 2.0, size) for size in sizes)
    for axes in (None, ({0: "n"}, {0: "m"})):
        compiled = qjit(function, abstracted_axes=axes) if axes else qjit(function)
        for found, expected in zip(
            jax.tree.leaves(compiled(x, c)), jax.tree.leaves(jax.jit(function)(x, c)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_loop_reads_its_table():
    body = qjit(phases).lower(np.ones(9), np.ones(2)).as_text("bufferize").split("scf.for")[1]
    assert "complex.exp" not in body
