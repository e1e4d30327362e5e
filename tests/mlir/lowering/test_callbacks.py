"""Python called from compiled code: values, order, errors; and primitives run by eager JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from diastase_runtime.errors import CallbackResultError

V = np.array([2.0, -1.0, 5.0, 0.5])
SHAPE = jax.ShapeDtypeStruct((4,), np.float64)


def test_pure_callback(compare):
    compare(lambda v: jax.pure_callback(lambda x: np.sort(x), SHAPE, v) * 2, V)


def test_several_results(compare):
    shapes = (jax.ShapeDtypeStruct((), np.int32), {"a": jax.ShapeDtypeStruct((2, 2), bool)})
    results = (np.int32(7), {"a": np.array([[True, False], [False, True]])})
    compare(lambda v: jax.pure_callback(lambda x: results, shapes, v), V)


def test_callbacks_run_in_program_order(compile_function):
    seen = []

    def function(v):
        def body(i, x):
            jax.debug.callback(lambda n: seen.append(int(n)), i)
            io_callback(lambda n: seen.append(-int(n)), None, i, ordered=True)
            return x + i

        return lax.fori_loop(0, 3, body, v)

    compiled = compile_function(function, V)
    seen.clear()
    compiled(V)
    assert seen == [0, 0, 1, -1, 2, -2]


def test_callback_in_an_untaken_branch_is_not_called(compile_function):
    seen = []

    def noted(x):
        jax.debug.callback(lambda y: seen.append(y), x[0])
        return x

    compiled = compile_function(lambda v: lax.cond(v[0] > 0, lambda x: x, noted, v), V)
    compiled(V)
    assert seen == []
    compiled(-V)
    assert seen == [-2.0]


def test_debug_print(compile_function, capsys):
    compile_function(lambda v: (jax.debug.print("sum {s}", s=v.sum()), v)[1], V)(V)
    assert capsys.readouterr().out == "sum 6.5\n"


def fail(x):
    raise KeyError("from the callback")


def test_exception_of_a_callback_comes_through(compile_function):
    compiled = compile_function(lambda v: jax.pure_callback(fail, SHAPE, v), V)
    for _ in range(2):
        with pytest.raises(KeyError, match="from the callback"):
            compiled(V)


def test_error_ends_a_loop_that_waits_for_the_callback(compile_function):
    """The condition would hold forever: results of a failed callback are undefined."""

    def function(v):
        def body(x):
            return jax.pure_callback(fail, SHAPE, x) * 0

        return lax.while_loop(lambda x: x[0] < 100, body, v)

    with pytest.raises(KeyError):
        compile_function(function, V)(V)


def test_error_skips_later_callbacks(compile_function):
    seen = []

    def function(v):
        v = jax.pure_callback(fail, SHAPE, v)
        jax.debug.callback(lambda x: seen.append(x), v[0])
        return v

    with pytest.raises(KeyError):
        compile_function(function, V)(V)
    assert seen == []


def test_eager_primitive_inside_another_trace(compile_function):
    """A compiled program called while JAX traces something else runs on concrete values."""
    compiled = compile_function(lambda v: jnp.fft.fft(v).real, V)

    def outer(x):
        return x + compiled(V)[0].sum()

    assert jax.jit(outer)(1.0) == 1.0 + np.fft.fft(V).real.sum()


def test_eager_primitive_with_64_bits_disabled(compile_function):
    compiled = compile_function(lambda v: jnp.linalg.eigvalsh(jnp.outer(v, v)), V)
    with jax.enable_x64(False):
        (found,) = compiled(V)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[-1], V @ V, rtol=1e-12)


def test_primitive_that_nobody_has_a_rule_for(compare):
    primitive = jax.extend.core.Primitive("has_no_rule")
    primitive.def_abstract_eval(lambda aval: aval)
    primitive.def_impl(lambda x: jnp.asarray(x) * 3)
    compare(lambda v: primitive.bind(v) + 1, V)


def test_keys_reach_primitives_run_on_the_host(compare):
    """RBG keys have no rule that converts."""
    key = jax.random.key(3, impl="rbg")
    compare(lambda k: jax.random.bits(k, (3,)), key)


@pytest.mark.parametrize("returned", [np.zeros(5), np.zeros(4, np.int32), (V, V), [], 3.0], ids=str)
def test_results_that_were_not_declared_are_refused(compile_function, returned):
    compiled = compile_function(lambda v: jax.pure_callback(lambda x: returned, SHAPE, v), V)
    with pytest.raises(CallbackResultError, match="declared was float64") as caught:
        compiled(V)
    assert caught.value.span.file == __file__
