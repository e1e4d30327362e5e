"""What a call does with arrays of JAX's: read where they lie, made of results, keys of calls."""

import gc
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from numpy.testing import assert_array_equal

from diastase import qjit
from diastase.jit.dispatch import keys

double = qjit(lambda x: x + x)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,), (2, 3), (5000,)])
def test_arrays_of_every_type_and_size(dtype, shape):
    x = jnp.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2, dtype)
    for _ in range(2):
        result = double(x)
        assert_array_equal(result, x + x)
        assert (result.dtype, result.aval) == (x.dtype, (x + x).aval)


def test_an_array_in_another_order():
    x = jnp.arange(6.0).reshape(2, 3)
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    columns = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), sharding))
    with pytest.raises(BufferError):
        memoryview(columns)
    assert_array_equal(double(columns), x + x)


def test_a_deleted_array():
    x = jnp.arange(4.0)
    double(x)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        double(x)
    assert_array_equal(double(jnp.ones(4)), 2)


def test_a_result_stays_when_its_memory_is_used_again():
    results = [double(jnp.full(100, float(number))) for number in range(50)]
    gc.collect()
    for number, result in enumerate(results):
        assert_array_equal(result, 2 * number)


@pytest.mark.parametrize("count", [3, 100_000])
def test_results_that_are_one_array(count):
    f = qjit(lambda x: (lambda y: (y, y, y * 2, y))(x + 1))
    for _ in range(3):
        first, second, third, last = f(jnp.ones(count))
        assert_array_equal(jnp.stack([first, second, last]), 2)
        assert_array_equal(third, 4)


def test_committed_arguments_make_committed_results():
    x = jax.device_put(jnp.ones(3), jax.devices()[0])
    assert (double(x).committed, double(jnp.ones(3)).committed) == (True, False)


def test_shapes_and_kinds_of_arguments_change_from_call_to_call():
    f = qjit(lambda x, s: x * s, abstracted_axes=({0: "n", 1: "m"}, {}))
    for shape in ((2, 3), (4, 1), (2, 3), (0, 5), (3, 2)):
        for factor in (2.0, jnp.float64(3.0), np.float64(4.0), 2.0):
            x = jnp.arange(float(np.prod(shape))).reshape(shape)
            assert_array_equal(f(x, factor), x * factor)


def test_settings_decide_which_program_serves_a_call():
    x = np.arange(3, dtype=np.int32)
    f = qjit(lambda d: d["x"] * 1.5)
    for _ in range(2):
        assert f({"x": x}).dtype == np.float64
        with jax.enable_x64(False):
            assert f({"x": x}).dtype == np.float32
    assert keys.flat_key((x,), ()) == keys.flat_key((x,), ())


def test_no_settings_are_kept_but_those_of_programs():
    before = len(keys._known)
    for number in range(20):
        with jax.default_matmul_precision(["float32", "bfloat16"][number % 2]):
            keys.flat_key((1.0,), ())
    gc.collect()
    assert len(keys._known) <= before + 1


def test_many_threads():
    wrong = []

    def call(number):
        for _ in range(300):
            if not (double(jnp.full(10, float(number))) == 2 * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_leave_nothing_behind():
    x, tree = jnp.ones(1000), {"a": jnp.ones(3)}
    f = qjit(lambda tree: tree["a"] * 2)
    for _ in range(10):
        double(x), f(tree)
    gc.collect()
    before = len(gc.get_objects()), len(jax.live_arrays())
    for _ in range(200):
        double(x), f(tree)
    gc.collect()
    assert len(gc.get_objects()) <= before[0] + 20
    assert len(jax.live_arrays()) == before[1]
