"""Arrays of other packages as arguments and from results: on the same memory, by DLPack."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase_runtime
from diastase import qjit
from diastase_runtime.arrays import dlpack


class Exchanged:
    """An array that says nothing but where its memory is."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device, self.exports = array, device, 0

    def __dlpack__(self, **options):
        self.exports += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


@qjit
def doubled(x):
    return 2 * x


TYPES = ["float64", "float32", "complex128", "complex64", "int64", "int32", "int8", "uint8", "bool"]


@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_results_are_those_of_the_array_itself(dtype, shape):
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2, dtype)
    found, expected = doubled(Exchanged(array)), doubled(array)
    assert found.dtype == expected.dtype
    assert isinstance(found, jax.Array)
    np.testing.assert_array_equal(found, expected)


def test_the_memory_is_shared():
    array = np.arange(6.0)
    seen = dlpack.view(Exchanged(array))
    assert np.shares_memory(seen, array)
    transposed = np.arange(6.0).reshape(2, 3).T[::-1]
    np.testing.assert_array_equal(doubled(Exchanged(transposed)), 2 * transposed)
    given = Exchanged(array)
    doubled(given)
    array[:] = 7.0
    np.testing.assert_array_equal(doubled(given), 14.0)


def test_in_pytrees_by_name_and_beside_others():
    @qjit(static_argnames="factor")
    def combined(tree, *, scale, factor):
        return tree["a"] @ tree["b"][0] * scale * factor

    a, b = np.arange(3.0), np.arange(3.0, 6.0)
    tree = {"a": Exchanged(a), "b": [jnp.asarray(b)]}
    found = combined(tree, scale=Exchanged(np.asarray(2.0)), factor=3)
    assert found == 6 * a @ b


def test_stages_take_them():
    given = Exchanged(np.arange(3.0))
    compiled = doubled.trace(given).lower().compile()
    np.testing.assert_array_equal(compiled(given), [0, 2, 4])
    assert doubled.eval_shape(given).shape == (3,)


def test_declared_types():
    @qjit
    def declared(x: jax.ShapeDtypeStruct((3,), "float64"), n: float):
        return x * n

    given = Exchanged(np.arange(3.0)), Exchanged(np.asarray(2.0))
    np.testing.assert_array_equal(declared(*given), [0, 2, 4])


def test_methods_of_pytrees():
    @jax.tree_util.register_pytree_node_class
    class Model:
        def __init__(self, weight):
            self.weight = weight

        def tree_flatten(self):
            return (self.weight,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

        @qjit
        def scaled(self, x):
            return self.weight * x

    np.testing.assert_array_equal(Model(3.0).scaled(Exchanged(np.arange(3.0))), [0, 3, 6])


def test_what_is_elsewhere_is_refused_by_name():
    with pytest.raises(TypeError, match=r"argument x of doubled is a Exchanged") as error:
        doubled(Exchanged(np.arange(3.0), device=(2, 0)))
    assert "its memory is on a device: CUDA" in str(error.value)


def test_types_that_nobody_has_are_refused():
    class Strange(Exchanged):
        def __dlpack__(self, **options):
            raise BufferError("a dtype of my own.")

    with pytest.raises(TypeError, match="a dtype of my own"):
        doubled(Strange(np.arange(3.0)))


def test_results_are_taken_without_copies():
    result = doubled(np.arange(1000.0))
    taken = np.from_dlpack(result)
    assert taken.ctypes.data == result.unsafe_buffer_pointer()
    assert jax.dlpack.from_dlpack(result).unsafe_buffer_pointer() == taken.ctypes.data


# --- saved functions -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "doubled.diastase"
    doubled.save(path, types=["f64[n]", "bf16[n]", "f64[n,m]"])
    return diastase_runtime.load(path)


def test_saved_functions_take_them(saved):
    np.testing.assert_array_equal(saved(Exchanged(np.arange(3.0))), [0, 2, 4])
    transposed = np.arange(6.0).reshape(2, 3).T
    np.testing.assert_array_equal(saved(Exchanged(transposed)), 2 * transposed)
    assert str(saved(jnp.ones(3, jnp.bfloat16)).dtype) == "bfloat16"


def test_saved_functions_refuse_what_is_elsewhere(saved):
    with pytest.raises(TypeError, match="its memory is on a device: CUDA"):
        saved(Exchanged(np.arange(3.0), device=(2, 0)))


def test_saved_functions_take_tensors(saved):
    torch = pytest.importorskip("torch")
    x = torch.arange(3.0, dtype=torch.float64)
    result = saved(x)
    np.testing.assert_array_equal(result, [0, 2, 4])
    assert torch.from_dlpack(result).data_ptr() == result.ctypes.data
    with pytest.raises(TypeError, match="gradient"):
        saved(x.requires_grad_())
    with pytest.raises(TypeError, match=r"BFloat16|bfloat16|dtype"):
        saved(x.detach().bfloat16())


def test_autograd_differentiates_functions_that_return_numbers_of_python():
    @qjit
    def function(x):
        return {"a": 1.5, "b": jnp.sin(x), "c": 3}

    def loss(x):
        found = function(x)
        return found["a"] * found["b"]

    x = qml.numpy.tensor(0.3, requires_grad=True)
    np.testing.assert_allclose(qml.grad(loss)(x), 1.5 * np.cos(0.3), atol=1e-12)
