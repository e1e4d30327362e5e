"""Explicit jaxprs: golden texts, among them the first program of the reference document."""

import textwrap

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.api.control_flow import cond, for_loop, while_loop
from diastase.inspection.explicit_jaxpr import ExplicitJaxpr, derive_explicit
from diastase.tracing.trace import trace


def explicit(function, *arguments):
    avals = [jax.typeof(argument) for argument in arguments]
    return derive_explicit(trace(lambda *xs: jax.tree.leaves(function(*xs)), avals, "f"))


def check(function, arguments, text):
    assert str(explicit(function, *arguments)) == textwrap.dedent(text).strip()


def test_the_first_program_of_the_document():
    def circuit(sz):
        a0 = jnp.ones([sz], dtype=float)

        @for_loop(0, 10, 1)
        def loop(i, a):
            return a * sz

        a2 = loop(a0)
        return a0 + a2

    check(
        circuit,
        (3,),
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
            _:i64[] c:f64[a] = for_loop[
              apply_reverse_transform=False
              body_jaxpr={ lambda ; d:i64[] e:i64[] f:i64[] g:f64[e]. let
                  h:f64[] = convert_element_type[new_dtype=float64 weak_type=False] d
                  i:f64[e] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] h e
                  j:f64[e] = mul g i
                in (e, j) }
              body_nconsts=1
              nimplicit=1
              preserve_dimensions=True
            ] a a 0:i64[] 10:i64[] 1:i64[] 0:i64[] b
            k:f64[a] = add b c
          in (k,) }
        """,
    )


def test_a_size_of_a_result_is_an_implicit_result():
    check(
        lambda sz: jnp.ones((sz + 1,), dtype=float),
        (3,),
        """
        { lambda ; a:i64[]. let
            b:i64[] = add a 1:i64[]
            c:f64[b] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] b
          in (b, c) }
        """,
    )


def test_sizes_that_no_variable_holds_are_computed():
    check(
        lambda n: jnp.concatenate([jnp.ones(n), jnp.ones(n), jnp.zeros(2)]),
        (3,),
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
            c:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
            d:f64[2] = broadcast_in_dim 0.0:f64[]
            e:i64[] = mul a 2:i64[]
            f:i64[] = add e 2:i64[]
            g:f64[f] = concatenate[dimension=0] b c d
          in (f, g) }
        """,
    )


def test_the_size_of_an_array_as_a_value_is_the_variable():
    check(
        lambda n: jnp.ones(n).shape[0] * 2,
        (3,),
        """
        { lambda ; a:i64[]. let
            _:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
            b:i64[] = mul a 2:i64[]
          in (b,) }
        """,
    )


def test_sizes_of_captured_arrays_are_constants_of_a_loop():
    def program(n):
        outside = jnp.ones(n)

        @while_loop(lambda total, count: count < 3)
        def loop(total, count):
            return total + jnp.sum(outside), count + 1

        return loop(0.0, 0)

    check(
        program,
        (3,),
        """
        { lambda ; a:i64[]. let
            b:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
            c:f64[] d:i64[] = while_loop[
              body_jaxpr={ lambda ; e:i64[] f:f64[e] g:f64[] h:i64[]. let
                  i:f64[] = reduce_sum[axes=(0,) out_sharding=None] f
                  j:f64[] = add g i
                  k:i64[] = add h 1:i64[]
                in (j, k) }
              body_nconsts=2
              cond_jaxpr={ lambda ; l:f64[] m:i64[]. let n:bool[] = lt m 3:i64[] in (n,) }
              cond_nconsts=0
              nimplicit=0
              preserve_dimensions=True
            ] a b 0.0:f64[] 0:i64[]
          in (c, d) }
        """,
    )


def test_branches_take_the_sizes_they_need():
    def program(n):
        a = jnp.ones(n)

        @cond(n > 3)
        def branch():
            return a

        @branch.otherwise
        def other():
            return a * 2

        return branch()

    (switch,) = [e for e in explicit(program, 3).equations if e.primitive == "switch"]
    for branch in switch.params["branch_jaxprs"]:
        assert branch.num_consts == 2
        assert len(branch.inputs) == 2


def test_the_object_model():
    jaxpr = explicit(lambda n: jnp.ones((n, 2)), 3)
    assert isinstance(jaxpr, ExplicitJaxpr)
    (size,) = jaxpr.inputs
    (equation,) = jaxpr.equations
    assert equation.primitive == "broadcast_in_dim"
    assert equation.params["shape"] == (None, 2)
    assert equation.operands[-1] is size
    assert equation.results[0].type.shape == (size, 2)
    assert str(equation.results[0].type) == "f64[?,2]"
    assert jaxpr.num_implicit_outputs == 0


def test_a_program_without_symbolic_sizes_is_jaxs_own_jaxpr():
    def function(x):
        return jnp.sin(x) * 2

    jaxpr = explicit(function, 1.0)
    assert isinstance(jaxpr, ClosedJaxpr)
    assert str(jaxpr) == str(jax.make_jaxpr(function)(1.0))


def test_loops_of_jax_take_sizes_too():
    def program(n):
        return jax.lax.fori_loop(0, 3, lambda i, x: x * 2, jnp.ones(n))

    (scan,) = [e for e in explicit(program, 3).equations if e.primitive == "scan"]
    (size,) = scan.params["jaxpr"].inputs[:1]
    assert scan.params["jaxpr"].inputs[-1].type.shape == (size,)
