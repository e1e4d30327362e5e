"""`updates_to_stores`: long chains of updates are two writes to bufferization, and no wrong answer.

Random programs set and add elements, rows and slices of arrays, keep old versions, and do so in
loops and branches. In them chains of any length become stores; what is computed is JAX's.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit
from diastase_mlir.bindings import session
from diastase_mlir.dialects import parse
from diastase_mlir.passes.updates_to_stores import chains, updates_to_stores, without_brackets

jax.config.update("jax_enable_x64", True)

SHAPE = (5, 4)
UPDATES = chains.LEAST + 2


@pytest.fixture
def every_chain(monkeypatch):
    """Chains of any length become stores; programs of other tests are not found instead."""
    monkeypatch.setattr(chains, "LEAST", 1)
    monkeypatch.setenv("DIASTASE_CACHE", "0")


def function(body, result="%last"):
    return f"""
        func.func @f(%a: tensor<9xf64>, %b: tensor<9xf64>, %x: f64, %i: index, %n: index, %t: i1)
            -> tensor<9xf64> {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          {body}
          return {result} : tensor<9xf64>
        }}"""


def after_pass(body, result="%last"):
    """The text, and how many operations are there for bufferization only."""
    with session():
        module = parse(function(body, result).encode())
        updates_to_stores(module)
        assert module.operation.verify()
        text = str(module)
        return text, text.count("diastase.bracket")


def insertions(first, last, count=UPDATES, value="%x"):
    """A chain, with names of its own."""
    names = [first, *(f"{last}_{number}" for number in range(1, count)), last]
    return "\n".join(
        f"{after} = tensor.insert {value} into {before}[%i] : tensor<9xf64>"
        for before, after in pairwise(names)
    )


def test_a_chain_is_stores_between_two_writes():
    text, brackets = after_pass(insertions("%a", "%last"))
    assert (text.count("memref.store"), text.count("tensor.insert"), brackets) == (UPDATES, 0, 3)


def test_few_updates_stay_as_they_are():
    text, brackets = after_pass(insertions("%a", "%last", chains.LEAST - 1))
    assert (text.count("tensor.insert"), brackets) == (chains.LEAST - 1, 0)


def test_branches_and_loops_that_update_are_part_of_a_chain():
    branch = """
      %branch = scf.if %t -> (tensor<9xf64>) {{
        {inside}
        scf.yield %inside : tensor<9xf64>
      }} else {{ scf.yield {given} : tensor<9xf64> }}
      %loop = scf.for %k = %c0 to %n step %c1 iter_args(%c = %branch) -> (tensor<9xf64>) {{
        %d = tensor.insert %x into %c[%k] : tensor<9xf64>
        scf.yield %d : tensor<9xf64>
      }}
      %read = tensor.extract %loop[%i] : tensor<9xf64>
      %last = tensor.insert %read into %loop[%i] : tensor<9xf64>
    """
    text, brackets = after_pass(branch.format(given="%a", inside=insertions("%a", "%inside")))
    assert (text.count("memref.store"), text.count("memref.load"), brackets) == (UPDATES + 2, 1, 3)
    assert "-> (tensor<9xf64>)" not in text[: text.rindex("return")].partition("{")[2]
    text, _ = after_pass(branch.format(given="%b", inside=insertions("%a", "%inside")))
    assert "scf.yield %arg1" in text, "which of two arrays goes on is no update"


def test_a_version_that_is_used_later_ends_a_chain():
    later = insertions("%a", "%old") + insertions("%old", "%new")
    kept = "%e = tensor.extract %old[%i] : tensor<9xf64>\n" + insertions(
        "%new", "%last", value="%e"
    )
    text, brackets = after_pass(later + kept)
    assert brackets == 6
    assert "tensor.extract" in text


SLICE = """
  %slice = tensor.extract_slice %old[0] [2] [1] : tensor<9xf64> to tensor<2xf64>
  {before}
  %next = tensor.insert %x into %old[%i] : tensor<9xf64>
  {after}
"""
READ = "%e = tensor.extract %slice[%c0] : tensor<2xf64>"


def test_slices_that_are_read_before_the_next_update_do_not_end_a_chain():
    rest = insertions("%next", "%last", value="%e")
    before = SLICE.format(before=READ, after="")
    assert after_pass(insertions("%a", "%old") + before + rest)[1] == 3
    after = SLICE.format(before="", after=READ)
    assert after_pass(insertions("%a", "%old") + after + rest)[1] == 6


def test_bufferization_sees_as_much_of_a_long_chain_as_of_a_short_one():
    def tensors(count):
        text, _ = after_pass(insertions("%a", "%last", count))
        return text.count("-> tensor<9xf64>")

    assert tensors(20) == tensors(400)


def test_brackets_are_removed():
    with session():
        module = parse(
            b"""func.func @f(%m: memref<9xf64>, %x: f64, %i: index) {
              linalg.generic {
                indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
              } outs(%m : memref<9xf64>) attrs = {diastase.bracket = 0 : i64} {
              ^bb0(%out: f64):
                linalg.yield %out : f64
              }
              %c = builtin.unrealized_conversion_cast to memref<9xf64, strided<[?], offset: ?>>
                {diastase.bracket = 0 : i64}
              memref.store %x, %c[%i] : memref<9xf64, strided<[?], offset: ?>>
              return
            }"""
        )
        without_brackets(module)
        assert module.operation.verify()
        text = str(module)
    assert "linalg" not in text
    assert "memref.cast %arg0" in text


places = st.tuples(st.integers(0, 4), st.integers(0, 3))
arrays = st.integers(0, 2)
steps = st.one_of(
    st.tuples(st.just("set"), arrays, places, arrays, places),
    st.tuples(st.just("set"), arrays, places, arrays, places),
    st.tuples(st.just("set somewhere"), arrays, places, arrays),
    st.tuples(st.just("add"), arrays, places),
    st.tuples(st.just("row"), arrays, places, arrays),
    st.tuples(st.just("slice"), arrays, places, arrays),
    st.tuples(st.just("slice somewhere"), arrays, places, arrays),
    st.tuples(st.just("scatter"), arrays, arrays),
    st.tuples(st.just("sum"), arrays, places, arrays),
    st.tuples(st.just("sum of a slice"), arrays, places, arrays),
    st.tuples(st.just("slice before"), arrays, places, arrays),
    st.tuples(st.just("combine"), arrays, arrays),
    st.tuples(st.just("flip"), arrays, arrays),
    st.tuples(st.just("copy"), arrays, arrays),
    st.tuples(st.just("keep"), arrays),
)
programs = st.lists(
    st.recursive(
        steps,
        lambda inner: st.one_of(
            st.tuples(st.just("for"), st.integers(0, 3), st.lists(inner, max_size=4)),
            st.tuples(st.just("rotate"), st.integers(0, 3), st.lists(inner, max_size=4)),
            st.tuples(st.just("while"), st.integers(0, 2), st.lists(inner, max_size=4)),
            st.tuples(
                st.just("cond"),
                st.lists(inner, max_size=3),
                st.lists(inner, min_size=1, max_size=3),
            ),
        ),
        max_leaves=8,
    ),
    min_size=1,
    max_size=8,
)


def run(program, state, n, kept):
    """Apply steps in order; `kept` are versions to be returned, None inside of control flow."""
    state = list(state)
    for name, *rest in program:
        if name == "for":
            turns, body = rest
            state = lax.fori_loop(0, turns, lambda i, s, b=body: run(b, s, i + n * 0, None), state)
        elif name == "rotate":
            turns, body = rest
            state = lax.fori_loop(
                0, turns, lambda i, s, b=body: run(b, [*s[1:], s[0]], i + n * 0, None), state
            )
        elif name == "while":
            turns, body = rest
            _, state = lax.while_loop(
                lambda c, turns=turns: c[0] < turns,
                lambda c, b=body: (c[0] + 1, run(b, c[1], c[0], None)),
                (jnp.int64(0), state),
            )
        elif name == "cond":
            yes, no = (lambda s, b=body: run(b, s, n, None) for body in rest)
            state = lax.cond(n > 1, yes, no, state)
        elif name == "keep":
            if kept is not None:
                kept.append(state[rest[0]])
        else:
            state[rest[0]] = STEPS[name](state, n, *rest)
    return state


def slice_before(state, n, a, p, b):
    part = state[b][1:4, :2]
    changed = state[a].at[p].add(1)
    return changed.at[0, 0].set(part.sum(dtype=part.dtype))


STEPS = {
    "set": lambda s, n, a, p, b, q: s[a].at[p].set(s[b][q]),
    "set somewhere": lambda s, n, a, p, b: s[a].at[n + p[0], p[1]].set(s[b][n, p[1]] + 1),
    "add": lambda s, n, a, p: s[a].at[p].add(3),
    "row": lambda s, n, a, p, b: s[a].at[p[0]].set(s[b][p[1]]),
    "slice": lambda s, n, a, p, b: (
        s[a].at[p[0] % 4 :, p[1] % 3 :].set(s[b][p[0] % 4 :, p[1] % 3 :])
    ),
    "slice somewhere": lambda s, n, a, p, b: lax.dynamic_update_slice(
        s[a], s[b][1:3, :2], (n + p[0], p[1])
    ),
    "scatter": lambda s, n, a, b: s[a].at[jnp.array([0, 2, 0]) + n].add(s[b][:3]),
    "sum": lambda s, n, a, p, b: s[a].at[p].set(s[b].sum(dtype=s[b].dtype)),
    "sum of a slice": lambda s, n, a, p, b: (
        s[a].at[p].set(lax.dynamic_slice(s[b], (n, p[1]), (2, 2)).sum(dtype=s[b].dtype))
    ),
    "slice before": slice_before,
    "combine": lambda s, n, a, b: s[a] + s[b],
    "flip": lambda s, n, a, b: jnp.flip(s[b], 1),
    "copy": lambda s, n, a, b: s[b],
}


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    programs,
    st.sampled_from(["int8", "int64", "float32", "complex128"]),
    st.integers(-1, 5),
    st.booleans(),
)
def test_random_programs(every_chain, program, dtype, n, given):
    def values(n, *state):
        kept = []
        state = state if given else [jnp.full(SHAPE, 2, a.dtype) for a in state]
        return run(program, [a.astype(dtype) for a in state], n, kept), kept

    state = [jnp.arange(20).reshape(SHAPE).astype(dtype) + number for number in range(3)]
    before = [np.array(a) for a in state]
    got, expected = qjit(values)(n, *state), jax.jit(values)(n, *state)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, equal_nan=True)
    for one, other in zip(state, before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_second_derivatives_in_a_long_program():
    def program(x):
        results = []
        for k in range(2):
            results += [jax.hessian(lambda v: (v**3).sum() * v[0])(x + k), jnp.sort(-x) * x]
            for i in range(12):
                x = x.at[i * k % 6].add(x[i % 6] * 0.1)
            results.append(jnp.cumsum(x))
        return results

    x = jnp.arange(6.0)
    for got, expected in zip(qjit(program)(x), program(x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)
