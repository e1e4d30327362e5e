"""Plain JAX behaves as ever, after the import, and in other threads while one is tracing."""

import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import pytest

from diastase.capture.context import is_tracing
from diastase.tracing.trace import trace

SIZED = lambda n: jnp.ones(n)  # noqa: E731


def test_jax_refuses_traced_sizes_after_the_import():
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values"):
        jax.jit(SIZED)(3)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda n: jnp.arange(n))(3)
    with pytest.raises(IndexError):
        jax.jit(lambda a, n: a[:n])(jnp.ones(3), 2)


def test_jax_is_undisturbed_in_another_thread_during_our_tracing():
    inside, done = threading.Event(), threading.Event()
    failures = []

    def elsewhere():
        inside.wait(60)
        try:
            assert not is_tracing()
            assert not jax.config.jax_disable_jit
            with pytest.raises(TypeError, match="Shapes must be 1D"):
                jax.jit(SIZED)(3)
            assert jax.jit(lambda x: jnp.squeeze(x))(jnp.ones((1, 2))).shape == (2,)
        except BaseException as failure:
            failures.append(failure)
        done.set()

    def function(n):
        inside.set()
        assert done.wait(60)
        return [jnp.ones(n)]

    thread = threading.Thread(target=elsewhere)
    thread.start()
    trace(function, [jax.typeof(3)], "f")
    thread.join()
    assert not failures, failures


def test_settings_are_as_before_after_a_trace_that_fails():
    before = dict(jax.config.values)

    def fail(n):
        assert is_tracing()
        raise KeyError(1)

    with pytest.raises(KeyError):
        trace(fail, [jax.typeof(3)], "f")
    assert not is_tracing()
    assert not jax.config.jax_disable_jit
    assert dict(jax.config.values) == before


def test_two_traces_of_one_function_share_nothing():
    """A cached inner jaxpr would bring the symbols of the first trace into the second."""

    def step(carry, x):
        return carry + x * jnp.ones(carry.shape[0]).sum(), None

    def function(n, xs):
        return [jax.lax.scan(step, jnp.ones(n), xs)[0]]

    for _ in range(2):
        traced = trace(function, [jax.typeof(3), jax.typeof(jnp.ones(4))], "f")
        assert len(traced.program.dimensions.values) == 1


def test_traces_in_several_threads_at_once():
    results = {}

    def work(number):
        def function(n):
            sizes = [jnp.ones(n + k) for k in range(number)]
            return [jnp.concatenate([*sizes, jnp.ones(n)])]

        results[number] = trace(function, [jax.typeof(3)], "f").out_avals[0].shape

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(1, 5):
        constant = sum(range(number))
        expected = f"{number + 1}*d0" + (f" + {constant}" if constant else "")
        assert str(results[number][0]) == expected


def test_loops_that_jax_unrolls_without_jit_are_staged():
    def function(x):
        return [jax.lax.fori_loop(0, 3, lambda i, v: v + i, x)]

    names = [e.primitive.name for e in trace(function, [jax.typeof(1.0)], "f").program.jaxpr.eqns]
    assert names == ["scan"]


def test_jits_are_inlined():
    def function(x):
        return [jax.jit(jnp.sin)(x)]

    names = [e.primitive.name for e in trace(function, [jax.typeof(1.0)], "f").program.jaxpr.eqns]
    assert names == ["sin"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("setting", ["jax_disable_jit", "jax_enable_checks"])
def test_tracing_under_the_users_settings(setting):
    program = (
        "import jax, jax.numpy as jnp\n"
        f"jax.config.update('{setting}', True)\n"
        "from diastase.tracing.trace import trace\n"
        "print(trace(lambda n: [jnp.ones(n) * 2], [jax.typeof(3)], 'f').out_avals)\n"
        f"assert jax.config.{setting}\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "float64[d0]" in run.stdout
