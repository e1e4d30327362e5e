"""Compiled functions called with PyTorch's tensors, and differentiated by its autograd."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit
from diastase.jit.stages.shared_memory import shared

torch = pytest.importorskip("torch")


def layers(params):
    @for_loop(0, params.shape[0], 1)
    def layer(i):
        qml.RY(params[i, 0], wires=0)
        qml.RX(params[i, 1], wires=1)
        qml.CNOT([0, 1])

    layer()


def circuit(params):
    layers(params)
    return qml.expval(qml.Z(1)), qml.probs(wires=[0, 1])


@pytest.fixture
def params():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(3, 2, dtype=torch.float64, generator=generator, requires_grad=True)


def test_a_qnode_for_torch_gives_tensors_and_gradients(params):
    device = qml.device("lightning.qubit", wires=2)
    compiled = qjit(qml.QNode(circuit, device, interface="torch"))
    energy, probabilities = compiled(params)
    assert isinstance(energy, torch.Tensor)
    loss = energy + (probabilities**2).sum()
    loss.backward()
    plain = params.detach().clone().requires_grad_()

    @qml.qnode(qml.device("default.qubit"), interface="torch", diff_method="backprop")
    def reference(params):
        for row in params:
            qml.RY(row[0], wires=0)
            qml.RX(row[1], wires=1)
            qml.CNOT([0, 1])
        return qml.expval(qml.Z(1)), qml.probs(wires=[0, 1])

    energy, probabilities = reference(plain)
    (energy + (probabilities**2).sum()).backward()
    np.testing.assert_allclose(params.grad, plain.grad, atol=1e-10)


def test_derivatives_of_two_orders_by_finite_differences(params):
    compiled = qjit(qml.QNode(circuit, qml.device("lightning.qubit", wires=2)))
    assert torch.autograd.gradcheck(compiled, (params,))
    assert torch.autograd.gradgradcheck(lambda p: compiled(p)[0], (params,))


def test_complex_numbers_pytrees_and_integers(params):
    @qjit
    def function(tree, scale, n):
        product = jnp.sin(tree["a"]) * tree["z"][0]
        return {"product": product, "more": (jnp.sum(tree["z"][0]) ** 2 * scale, n + 1, n > 2)}

    a = params[:, 0].detach().requires_grad_()
    z = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    n = torch.tensor(3)

    def of_tensors(a, z):
        found = function({"a": a, "z": [z]}, 0.5, n)
        return found["product"], found["more"][0]

    assert torch.autograd.gradcheck(of_tensors, (a, z))
    assert torch.autograd.gradgradcheck(of_tensors, (a, z))
    found = function({"a": a, "z": [z]}, 0.5, n)
    assert (found["more"][1], found["more"][2]) == (torch.tensor(4), torch.tensor(True))
    assert not found["more"][1].requires_grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int32", "bool"])
def test_types_are_kept_and_gradients_have_those_of_their_tensors(dtype):
    @qjit
    def same(x):
        return x[::-1]

    given = torch.ones(3).to(getattr(torch, dtype))
    if given.is_floating_point() or given.is_complex():
        given.requires_grad_()
    found = same(given)
    assert found.dtype == given.dtype
    assert torch.equal(found, given)
    if given.requires_grad:
        (found * torch.arange(3.0)).sum().abs().backward()
        assert given.grad.dtype == given.dtype


def test_memory_is_shared_without_a_graph(params):
    @qjit
    def doubled(x):
        return 2 * x

    assert shared(params).ctypes.data == params.data_ptr()
    seen = doubled(params.detach())
    assert not seen.requires_grad
    with torch.no_grad():
        assert not doubled(params).requires_grad
    conjugate = torch.ones(2, dtype=torch.complex128).mul(1j).conj()
    np.testing.assert_array_equal(doubled(conjugate), [-2j, -2j])


def test_static_arguments_and_keywords():
    @qjit(static_argnames="power")
    def raised(x, *, scale, power):
        return scale * x**power

    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    scale = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    raised(x, scale=scale, power=3).backward()
    assert (x.grad, scale.grad) == (torch.tensor(36.0), torch.tensor(8.0))


def test_numbers_of_python_that_are_returned_have_no_part_in_gradients():
    x = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
    function = qjit(lambda x: {"a": 1.5, "b": jnp.sin(x), "c": 3, "d": 2j, "e": True})
    found = function(x)
    (found["a"] * found["b"] + found["d"].imag).sum().backward()
    torch.testing.assert_close(x.grad, 1.5 * torch.cos(x.detach()))


class Foreign:
    """An array of another package."""

    def __init__(self, values):
        self._values = values

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


@pytest.mark.parametrize("kind", [np.asarray, Foreign])
def test_gradients_are_of_the_arrays_as_they_were_at_the_call(kind):
    values = np.array([2.0, 3.0])
    given = kind(values)
    x = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
    found = qjit(lambda x, y: jnp.sum(x * y))(x, given)
    (values if kind is Foreign else given)[:] = 50.0
    found.backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_what_is_elsewhere_is_refused():
    compiled = qjit(lambda x: 2 * x)
    for tensor, reason in (
        (torch.empty(2, device="meta"), "meta"),
        (torch.eye(2).to_sparse(), "layout"),
        (torch.ones(2).to(torch.float8_e5m2), "dtype"),
    ):
        with pytest.raises(TypeError, match="argument x of") as error:
            compiled(tensor)
        assert reason in str(error.value)


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_what_a_gradient_would_be_lost_of_is_refused():
    x = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
    product = qjit(lambda x, y: jnp.sum(x * y))
    with pytest.raises(TypeError, match="beside a Tensor that requires a gradient"):
        product(x, qml.numpy.tensor([1.0, 2.0], requires_grad=True))
    with pytest.raises(TypeError, match="beside a Tensor that requires a gradient"):
        jax.grad(lambda y: product(x, y))(jnp.ones(2))
    sine = qjit(jnp.sin)
    with pytest.raises(TypeError, match="Tensor that requires a gradient"):
        sine.trace(x).lower().compile()(x)
    forward = torch.autograd.forward_ad
    with forward.dual_level(), pytest.raises(TypeError, match="Tensor with a tangent"):
        sine(forward.make_dual(x.detach(), torch.ones(2, dtype=torch.float64)))


def test_tensors_are_arrays_beside_tracers():
    x = torch.tensor([0.1, 0.2], dtype=torch.float64)
    product = qjit(lambda x, y: jnp.sum(x * y))
    np.testing.assert_allclose(jax.grad(lambda y: product(x, y))(jnp.ones(2)), x)


def test_tensors_are_no_static_arguments():
    scaled = qjit(lambda x, w: x, static_argnums=1)
    for static in (torch.ones(2), (1, torch.ones(2))):
        with pytest.raises(TypeError, match=r"static argument w of .*may change"):
            scaled(2.0, static)


def test_a_module_is_trained():
    """Parameters of `torch.nn`, by an optimizer of PyTorch's."""
    energy = qjit(qml.QNode(lambda p: (layers(p), qml.expval(qml.Z(1)))[1], qml.device(
        "lightning.qubit", wires=2), interface="torch"))  # fmt: skip
    weights = torch.nn.Parameter(torch.full((2, 2), 0.1, dtype=torch.float64))
    optimizer = torch.optim.Adam([weights], lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = energy(weights)
        loss.backward()
        optimizer.step()
    assert loss.item() < -0.99
