"""`grad`, `value_and_grad`, `jacobian`, `jvp`, `vjp`, `vmap`, in programs and outside of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import (
    cond,
    for_loop,
    grad,
    jacobian,
    jvp,
    qjit,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from diastase.api.differentiable import (
    DerivativeArgumentError,
    DerivativeMethodError,
    DerivativeTargetError,
    DerivativeTypeError,
    ScalarResultError,
)

DEVICE = qml.device("default.qubit", wires=2)
X = jnp.array([0.3, 0.7, -1.1])
TREE = {"a": X, "b": (jnp.float64(0.4), X[:2])}


def energy(x, y=2.0):
    return jnp.sum(jnp.sin(x) * y) ** 2


def of_tree(tree):
    return jnp.sum(jnp.exp(tree["a"]) * tree["b"][0]) * tree["b"][1][1] ** 2


def several(x, y):
    return {"vector": jnp.cumsum(x**2) * y, "number": x @ x + y**3}


@qml.qnode(DEVICE)
def circuit(x, wire=0):
    qml.RX(x[0], wires=wire)
    qml.RY(x[1] * x[2], wires=1)
    qml.CNOT([0, 1])
    return qml.expval(qml.Z(1))


def agree(found, expected, atol=1e-12):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=atol), found, expected)


def both_ways(program, *arguments):
    """The results of a program, compiled and as plain Python, which are the same."""
    compiled, plain = qjit(program)(*arguments), program(*arguments)
    agree(compiled, plain)
    return compiled


def test_gradients_are_those_of_jax():
    def program(x, tree):
        return {
            "grad": grad(energy)(x),
            "pair": grad(energy, argnums=(0, 1))(x, 1.5),
            "list": grad(energy, argnums=[1])(x, 1.5),
            "last": grad(argnums=-1)(energy)(x, 1.5),
            "keyword": grad(energy)(x, y=1.5),
            "tree": grad(of_tree)(tree),
            "value": value_and_grad(energy, argnums=1)(x, 1.5),
            "value decorated": value_and_grad(argnums=(0,))(of_tree)(tree),
            "aux": grad(lambda x: (energy(x), {"x": x, "n": 3}), has_aux=True)(x),
            "value, aux": value_and_grad(lambda x: (energy(x), x), has_aux=True)(x),
            "in a list": grad(lambda x: [energy(x)])(x),
            "holomorphic": grad(lambda z: z**3, holomorphic=True)(x[0] + 1j),
            "real of complex": grad(lambda z: jnp.abs(z) ** 2)(x[0] + 1j),
            "circuit": grad(circuit)(x),
            "second": jacobian(grad(energy))(x),
        }

    def aux(x):
        return energy(x), {"x": x, "n": 3}

    expected = {
        "grad": jax.grad(energy)(X),
        "pair": jax.grad(energy, (0, 1))(X, 1.5),
        "list": (jax.grad(energy, 1)(X, 1.5),),
        "last": jax.grad(energy, 1)(X, 1.5),
        "keyword": jax.grad(energy)(X, y=1.5),
        "tree": jax.grad(of_tree)(TREE),
        "value": jax.value_and_grad(energy, 1)(X, 1.5),
        "value decorated": jax.value_and_grad(of_tree, (0,))(TREE),
        "aux": jax.grad(aux, has_aux=True)(X),
        "value, aux": ((energy(X), X), jax.grad(energy)(X)),
        "in a list": [jax.grad(energy)(X)],
        "holomorphic": 3 * (X[0] + 1j) ** 2,
        "real of complex": 2 * (X[0] - 1j),
        "circuit": jax.grad(circuit)(X),
        "second": jax.hessian(energy)(X),
    }
    agree(both_ways(program, X, TREE), expected)


def test_jacobians_are_those_of_jax():
    def program(x, y):
        return {
            "both": jacobian(several, argnums=(0, 1))(x, y),
            "first": jacobian(several)(x, y),
            "keyword": jacobian(argnums=[0])(several)(x, y=y),
            "aux": jacobian(lambda x: (x**2, energy(x)), has_aux=True)(x),
            "holomorphic": jacobian(lambda z: z**2, holomorphic=True)(x * 1j),
        }

    expected = {
        "both": jax.jacobian(several, (0, 1))(X, 0.5),
        "first": jax.jacobian(several)(X, 0.5),
        "keyword": jax.jacobian(several, (0,))(X, 0.5),
        "aux": (jnp.diag(2 * X), energy(X)),
        "holomorphic": jnp.diag(2j * X),
    }
    agree(both_ways(program, X, 0.5), expected)


def test_complex_results_of_real_arguments_have_jacobians():
    @qml.qnode(DEVICE)
    def state(x):
        qml.RX(x[0], 0)
        qml.CRY(x[1] * x[2], [0, 1])
        return qml.state()

    def program(x):
        return jacobian(state)(x), jacobian(lambda x: (jnp.exp(1j * x), x @ x))(x)

    found = both_ways(program, X)
    agree(found[0], jax.jacfwd(state)(X))
    agree(found[1], jax.jacfwd(lambda x: (jnp.exp(1j * x), x @ x))(X))


def test_products_are_those_of_jax():
    weights = {"number": 0.7, "vector": jnp.array([1.0, -0.5, 2.0])}

    def program(x, y):
        return {
            "jvp": jvp(several, (x, y), (x, 0.5), argnums=(0, 1)),
            "jvp by the second": jvp(several, [x, y], [0.5], argnums=1),
            "jvp of a circuit": jvp(circuit, [x], [x]),
            "jvp of a tree": jvp(of_tree, [TREE], [TREE]),
            "vjp": vjp(several, (x, y), weights, argnums=(0, 1)),
            "vjp by the first": vjp(several, (x, y), (0.7, weights["vector"])),
            "vjp in a tuple": vjp(several, (x, y), weights, argnums=[1]),
            "vjp of a circuit": vjp(circuit, [x], 2.0),
        }

    _, pull_back = jax.vjp(several, X, 0.5)
    by_x, by_y = pull_back(weights)
    value = several(X, 0.5)
    expected = {
        "jvp": jax.jvp(several, (X, 0.5), (X, 0.5)),
        "jvp by the second": jax.jvp(lambda y: several(X, y), (0.5,), (0.5,)),
        "jvp of a circuit": jax.jvp(circuit, (X,), (X,)),
        "jvp of a tree": jax.jvp(of_tree, (TREE,), (TREE,)),
        "vjp": (value, (by_x, by_y)),
        "vjp by the first": (value, by_x),
        "vjp in a tuple": (value, (by_y,)),
        "vjp of a circuit": (circuit(X), 2 * jax.grad(circuit)(X)),
    }
    agree(both_ways(program, X, 0.5), expected)


def test_integers_have_derivatives_without_type():
    def program(x, n):
        return grad(lambda x, n: jnp.sum(x**2) * n, argnums=(0, 1), allow_int=True)(x, n)

    for by_x, by_n in (qjit(program)(X, 3), program(X, 3)):
        np.testing.assert_allclose(by_x, 6 * X)
        assert by_n.dtype == jax.dtypes.float0
    zero = np.zeros((), jax.dtypes.float0)
    value, change = qjit(lambda x, n: jvp(lambda x, n: x * n, [x, n], [x, zero], argnums=[0, 1]))(
        X, 3
    )
    np.testing.assert_allclose((value, change), (3 * X, 3 * X))


def test_finite_differences_are_of_the_whole_function():
    """Forward differences: (f(x + h) - f(x)) / h, as their formula gives them."""
    h = 0.05

    def by_formula(f, x):
        return jnp.stack(
            [(f(x + h * unit) - f(x)) / h for unit in jnp.eye(x.size).reshape(-1, *x.shape)]
        )

    def chosen(x):
        @cond(x[0] > 0)
        def branch():
            return x[1]

        @branch.otherwise
        def branch():
            return x[2]

        return branch()

    def hybrid(x):
        @for_loop(0, 3, 1)
        def loop(i, total):
            return total + circuit(x * (i + 1.0)) ** 2

        @while_loop(lambda total: total < 5.0)
        def grow(total):
            return 2.0 * total

        return grow(loop(0.1)) + chosen(x)

    def program(x, tree):
        options = {"method": "fd", "h": h}
        return {
            "grad": grad(hybrid, **options)(x),
            "value": value_and_grad(hybrid, **options)(x),
            "jacobian": jacobian(several, argnums=(0, 1), **options)(x, 0.5),
            "jvp": jvp(hybrid, [x], [x], **options),
            "vjp": vjp(several, [x, 0.5], (2.0, x), **options),
            "tree": grad(of_tree, **options)(tree),
            "aux": grad(lambda x: (energy(x), x), has_aux=True, **options)(x),
            "none": grad(lambda x: jnp.sum(x), **options)(x[:0]),
            "matrix": jacobian(lambda m: m @ m, **options)(jnp.outer(x, x)),
            "complex": grad(lambda z: jnp.abs(z) ** 2, **options)(x[0] + 1j),
            "default": grad(hybrid, method="fd")(x),
            "twice": grad(lambda x: grad(hybrid, method="fd", h=1e-3)(x)[0], method="fd", h=1e-3)(
                x
            ),
        }

    found = both_ways_nearly(program, X, TREE)
    np.testing.assert_allclose(found["grad"], by_formula(hybrid, X), atol=1e-11)
    np.testing.assert_allclose(found["value"][0], hybrid(X), atol=1e-12)
    np.testing.assert_allclose(found["jvp"][1], (hybrid(X * (1 + h)) - hybrid(X)) / h, atol=1e-11)
    rows = by_formula(lambda x: several(x, 0.5)["vector"], X).T
    np.testing.assert_allclose(found["jacobian"]["vector"][0], rows, atol=1e-11)
    np.testing.assert_allclose(found["vjp"][1], X @ rows + 2 * (2 * X + h), atol=1e-11)
    np.testing.assert_allclose(found["complex"], (2 * X[0] + h) - 1j * (2 + h), atol=1e-11)
    np.testing.assert_allclose(found["default"], jax.grad(smooth_part)(X), atol=1e-5)
    assert found["matrix"].shape == (3, 3, 3, 3)
    assert found["none"].shape == (0,)
    np.testing.assert_allclose(found["aux"][1], X)


def both_ways_nearly(program, *arguments):
    compiled, plain = qjit(program)(*arguments), program(*arguments)
    agree(compiled, plain, atol=1e-8)
    return compiled


def smooth_part(x):
    total = 0.1 + sum(circuit(x * (i + 1.0)) ** 2 for i in range(3))
    doublings = int(np.ceil(np.log2(5.0 / float(jax.lax.stop_gradient(total)))))
    return total * 2.0**doublings + x[1]


def test_vmap_is_that_of_jax():
    batch = jnp.arange(6.0).reshape(2, 3)

    def program(batch, x):
        return {
            "all": vmap(energy)(batch, x[:2]),
            "decorated": vmap(in_axes=(0, None))(energy)(batch, 2.0),
            "columns": vmap(lambda c: c * 2, in_axes=-1, out_axes=1)(batch),
            "tree": vmap(lambda t: t["a"] * t["b"], in_axes=({"a": 0, "b": None},))(
                {"a": x, "b": 2.0}
            ),
            "unmapped": vmap(lambda v: v * 1.0, in_axes=(None,), axis_size=2)(x),
            "of grad": vmap(grad(energy))(batch),
            "in grad": grad(lambda b: jnp.sum(vmap(energy)(b) ** 2))(batch),
            "circuit": vmap(circuit)(batch),
            "gradient of a circuit": vmap(grad(circuit))(batch),
        }

    expected = {
        "all": jax.vmap(energy)(batch, X[:2]),
        "decorated": jax.vmap(energy, (0, None))(batch, 2.0),
        "columns": 2 * batch,
        "tree": 2 * X,
        "unmapped": jnp.stack([X, X]),
        "of grad": jax.vmap(jax.grad(energy))(batch),
        "in grad": jax.grad(lambda b: jnp.sum(jax.vmap(energy)(b) ** 2))(batch),
        "circuit": jnp.stack([circuit(row) for row in batch]),
        "gradient of a circuit": jnp.stack([jax.grad(circuit)(row) for row in batch]),
    }
    agree(qjit(program)(batch, X), expected)


def test_decorated_functions_are_compiled_as_such():
    """Names and hints are those of the function; a batch of it has no hints."""

    def cube(x: float):
        """Its volume."""
        return x**3

    assert (grad(cube).__name__, grad(cube).__doc__) == ("cube", "Its volume.")
    compiled = qjit(grad(cube))
    assert compiled.jaxpr.in_avals  # compiled from the hint, before any call
    np.testing.assert_allclose(compiled(2.0), 12.0)
    np.testing.assert_allclose(qjit(vmap(cube))(X), X**3)


def test_compiled_functions_in_programs():
    compiled = qjit(lambda x: jnp.sin(x) * circuit(jnp.stack([x, x, x])))
    found = qjit(lambda x: (grad(compiled)(x), vmap(grad(compiled))(jnp.stack([x, x]))))(0.4)
    expected = jax.grad(compiled.original_function)(0.4)
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    np.testing.assert_allclose(found[1], [expected] * 2, atol=1e-12)


REFUSED = {
    "no function": (lambda x: grad(3.0)(x), DerivativeTargetError, "grad takes a function"),
    "vmap of no function": (lambda x: vmap(3.0)(x), DerivativeTargetError, "of type float"),
    "method": (lambda x: grad(energy, method="adjoint")(x), DerivativeMethodError, "diff_method"),
    "text for a step": (lambda x: jacobian(energy, h="a")(x), DerivativeMethodError, "h='a'"),
    "no step": (lambda x: jvp(energy, [x], [x], h=0), DerivativeMethodError, "h=0"),
    "argnums": (lambda x: grad(energy, argnums=2)(x), DerivativeArgumentError, "energy gets 1 pos"),
    "by keyword": (lambda x: grad(energy)(x=x), DerivativeArgumentError, "gets 0 positional"),
    "vector": (lambda x: grad(jnp.sin)(x), ScalarResultError, r"of sin, .* float64\[3\]"),
    "one in an array": (
        lambda x: value_and_grad(lambda x: x[:1], method="fd")(x),
        ScalarResultError,
        r"float64\[1\]",
    ),
    "two": (lambda x: grad(lambda x: (x[0], x))(x), ScalarResultError, r"2 arrays \(float64\[\], "),
    "integer result": (lambda x: grad(lambda x: 3)(x), ScalarResultError, r"int64\[\]"),
    "complex result": (lambda x: grad(lambda x: x[0] * 1j)(x), ScalarResultError, "complex128"),
    "integer": (lambda x: grad(lambda n: n * 2.0)(3), DerivativeTypeError, "argument 0 is int64"),
    "truth": (lambda x: jacobian(lambda n: n * 2.0)(True), DerivativeTypeError, "0 is bool"),
    "text": (lambda x: jacobian(lambda n: x)("a"), DerivativeTypeError, "type str"),
    "integers returned": (
        lambda x: jacobian(lambda x: jnp.argmax(x))(x),
        DerivativeTypeError,
        "a result is int64",
    ),
    "not holomorphic": (
        lambda x: jacobian(jnp.exp)(x * 1j),
        DerivativeTypeError,
        "say holomorphic=True",
    ),
    "holomorphic of real": (
        lambda x: jacobian(jnp.exp, holomorphic=True)(x),
        DerivativeTypeError,
        "takes complex ones",
    ),
    "no pair": (lambda x: grad(energy, has_aux=True)(x), DerivativeTypeError, "return a pair"),
    "tangent's shape": (lambda x: jvp(energy, [x], [1.0]), DerivativeArgumentError, r"shape \(\)"),
    "tangent's type": (lambda x: jvp(energy, [x[0]], [1]), DerivativeTypeError, "tangent int64"),
    "tangents": (lambda x: jvp(energy, [x], [x, x]), DerivativeTypeError, "2 tangents"),
    "tangents' tree": (lambda x: jvp(of_tree, [TREE], [x]), DerivativeArgumentError, "PyTreeDef"),
    "no list": (lambda x: vjp(energy, x, 1.0), DerivativeArgumentError, "not an array"),
    "cotangents": (lambda x: vjp(energy, [x], (1.0, 2.0)), DerivativeTypeError, "1 arrays, 2"),
    "cotangent's shape": (lambda x: vjp(energy, [x], x), DerivativeArgumentError, r"\(3,\)"),
}


@pytest.mark.parametrize(("program", "error", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(program, error, text):
    """With the same error in programs and outside of them; in programs with the user's line."""
    with pytest.raises(error, match=text) as plain:
        program(X)
    with pytest.raises(error, match=text) as compiled:
        qjit(program)(X)
    assert str(plain.value).split("-->")[0] == str(compiled.value).split("-->")[0]
    assert "test_api.py" in str(compiled.value)
