"""Programs of several arrays are called by XLA after some calls: same results, same errors."""

import os
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase.jit.dispatch.keys import flat_key
from diastase.jit.interop import xla
from diastase_runtime import Executable
from diastase_runtime.errors import NegativeSizeError
from forks import forked


@pytest.fixture
def made(monkeypatch):
    """Let XLA call from the second call on; the programs that it has been told of."""
    programs = []

    def called_by_xla(executable, *types):
        programs.append(executable)
        return original(executable, *types)

    original = xla.called_by_xla
    monkeypatch.setattr(xla, "called_by_xla", called_by_xla)
    monkeypatch.setattr(xla, "ARRAYS_BEFORE", 1)
    return programs


@pytest.fixture
def from_python(monkeypatch):
    """Count the calls that Python makes."""
    calls = []

    def call(executable, arguments, seed=0):
        calls.append(executable)
        return original(executable, arguments, seed)

    original = Executable.__call__
    monkeypatch.setattr(Executable, "__call__", call)
    return calls


def same(given, expected):
    assert given.dtype == expected.dtype
    assert given.weak_type == expected.weak_type
    assert given.committed == expected.committed
    np.testing.assert_allclose(given, expected, rtol=1e-6)


def test_results_are_those_of_jax(made, from_python):
    def function(tree, scale):
        return jax.tree.map(lambda leaf: leaf * scale, tree), jnp.exp(scale), 2.5

    kinds = [jnp.float32, jnp.float64, jnp.int32, jnp.complex64, jnp.bool_, jnp.bfloat16]
    tree = {str(n): jnp.arange(n).astype(kinds[n % 6]) for n in range(12)} | {"weak": jnp.sin(2.0)}
    compiled, reference = qjit(function), jax.jit(function)
    for scale in map(jnp.asarray, (2.0, 3.0, 4.0)):
        jax.tree.map(same, compiled(tree, scale), reference(tree, scale))
    committed = jax.device_put(tree, jax.devices()[0])
    jax.tree.map(same, compiled(committed, scale), reference(committed, scale))
    assert len(made) == 1
    assert len(from_python) <= 1


def test_errors_are_those_of_a_call_from_python(made):
    @qjit
    def f(n, x, y):
        return jnp.ones(n).sum() + x, y

    three, one = jnp.asarray(3), jnp.asarray(1.0)
    for _ in range(3):
        assert float(f(three, one, one)[0]) == 4
        with pytest.raises(NegativeSizeError):
            f(-three, one, one)
    given = jnp.ones(())
    given.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(three, given, one)


def test_a_call_with_known_arrays_stays_one_inside_of_jax(made):
    f = qjit(lambda x, y: (x * y, x + y))
    x, y = jnp.arange(3.0), jnp.ones(3)
    f(x, y)
    seen = []

    @jax.jit
    def g(z):
        seen.append(f(x, y)[0])
        return seen[0] * z

    np.testing.assert_array_equal(g(2.0), [0.0, 2.0, 4.0])
    assert not isinstance(seen[0], jax.core.Tracer)
    np.testing.assert_array_equal(jax.grad(lambda z: f(x * z, y)[0].sum())(1.0), 3.0)
    assert len(made) == 1


@pytest.mark.parametrize("which", ["large", "numbers", "circuit", "numpy", "few"])
def test_what_python_calls_better(made, which):
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x, y):
        qml.RX(x, 0)
        qml.RY(y, 0)
        return qml.expval(qml.Z(0)), qml.expval(qml.X(0))

    function, *arguments = {
        "large": (lambda x, y: (x + y, x), jnp.ones(5000), jnp.ones(5000)),
        "numbers": (lambda x, y: (x + y, x), 1.0, jnp.ones(3)),
        "circuit": (circuit, jnp.asarray(0.3), jnp.asarray(0.4)),
        "numpy": (lambda x, y: (x + y, x), np.ones(3), np.ones(3)),
        "few": (lambda x: x + 1, jnp.ones(3)),
    }[which]
    compiled = qjit(function)
    for _ in range(3):
        compiled(*arguments)
    assert not made


def test_numbers_that_are_none_are_found_as_before(made):
    f = qjit(lambda x, y: (x / y, x))
    zero = jnp.zeros(2)
    f(zero, zero)
    f(zero, zero)
    with jax.debug_nans(True):
        assert jnp.isnan(np.asarray(f(zero, zero)[0])).all()
    assert made


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_calls_from_python(made):
    f = qjit(lambda x, y: (x * y, x + y))
    x = jnp.arange(3.0)
    f(x, x)
    f(x, x)
    assert made
    child = forked(lambda: np.array_equal(np.asarray(f(x, x)[0]), [0.0, 1.0, 4.0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_decides_about_an_array_is_its_type():
    """So arguments that XLA may be given have other keys than all that it may not."""
    key = flat_key([jnp.ones(3)], ())
    assert key != flat_key([np.ones(3)], ())
    assert key != flat_key([1.0], ())


def test_threads_call_at_once(made):
    f = qjit(lambda x, y: (x * y, x + y))

    def calls(start):
        return [f(jnp.full(3, start + n), jnp.full(3, 2.0))[0] for n in range(30)]

    with ThreadPoolExecutor(4) as pool:
        for start, results in enumerate(pool.map(calls, map(float, range(4)))):
            for n, result in enumerate(results):
                np.testing.assert_array_equal(result, 2.0 * (start + n))
    assert len(made) == 1


def test_calls_within_a_callback_of_jax(made):
    f = qjit(lambda x, y: (x * y, x + y))
    f(jnp.ones(3), jnp.ones(3))

    @jax.jit
    def g(x):
        return jax.pure_callback(lambda x: np.asarray(f(jnp.asarray(x), jnp.ones(3))[1]), x, x) * 2

    for n in range(5):
        np.testing.assert_array_equal(g(jnp.full(3, float(n))), 2.0 * (n + 1))
    assert made


def test_keywords_in_any_order(made):
    @qjit
    def f(b, a, *more, **named):
        return b - a + sum(more), named["z"] - named["c"]

    def four(*numbers):
        return [jnp.asarray(float(number)) for number in numbers]

    a, b, c, z = four(1, 20, 300, 4000)
    for _ in range(3):
        for given in (f(a=a, b=b, c=c, z=z), f(z=z, b=b, c=c, a=a), f(b, z=z, a=a, c=c)):
            assert [*map(float, given)] == [19, 3700]
        assert [*map(float, f(b, a, c, z=z, c=c))] == [319, 3700]
        assert [*map(float, f(b, a=1.0, z=4000, c=np.float32(300)))] == [19, 3700]
    with pytest.raises(TypeError):
        f(b, b=b, a=a, c=c, z=z)
