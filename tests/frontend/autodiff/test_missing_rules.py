"""What has no derivative, or is differentiated as it cannot be: errors of ours, with the line."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import for_loop, grad, qjit, while_loop
from diastase.primitives.errors import NotTransformableError, TransformationUseError
from diastase_mlir.errors import LoweringError

X = jnp.array([0.7, 0.3, -0.4])


def in_python(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@jax.custom_jvp
def without_jvp(x):
    return jnp.sin(x)


@jax.custom_vjp
def without_vjp(x):
    return jnp.sin(x)


@jax.custom_vjp
def in_reverse_only(x):
    return jnp.sin(x)


in_reverse_only.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct * jnp.cos(x),))


def while_of(step):
    return lambda x: while_loop(lambda i, _: i < 2)(lambda i, c: (i + 1, step(c)))(0, x)[1]


def for_of(step):
    return lambda x: for_loop(0, 2, 1)(lambda _, c: step(c))(x)


def scan_of(step):
    return lambda x: lax.scan(lambda c, _: (step(c), None), x, None, length=2)[0]


def after_one(x):
    return jnp.nextafter(x, 1.0)


MISSING = {
    "while, callback": (while_of(in_python), "pure_callback has no jvp rule", while_of),
    "for, callback": (for_of(in_python), "pure_callback has no jvp rule", for_of),
    "scan, callback": (scan_of(in_python), "pure_callback has no jvp rule", scan_of),
    "while, no rule of JAX": (while_of(after_one), "nextafter has no jvp rule", while_of),
    "no rule of JAX": (after_one, "nextafter has no jvp rule", after_one),
    "custom_jvp": (while_of(without_jvp), "function without_jvp has no jvp rule", while_of),
    "custom_vjp": (without_vjp, "function without_vjp has no reverse-mode rule", None),
    "all of the SVD": (
        lambda x: jnp.linalg.svd(jnp.outer(x, x)[:2])[0],
        "not implemented for full matrices",
        None,
    ),
    "scatter": (
        lambda x: x.at[jnp.array([0, 0])].multiply(x[:2]),
        r"indices\]\.multiply.*unique_indices=True",
        None,
    ),
    "a reduction by hand": (
        lambda x: lax.reduce_window(x, 1.0, lax.mul, (2,), (1,), "VALID"),
        "computed in one loop",
        None,
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_rules_that_are_missing(name):
    function, text, place = MISSING[name]
    with pytest.raises(NotTransformableError, match=text) as raised:
        qjit(lambda x: jax.grad(lambda x: jnp.sum(function(x)))(x))(X)
    span = raised.value.span
    assert span is not None
    assert span.file == __file__
    if place is not None:
        lines, start = inspect.getsourcelines(place)
        assert start <= span.line < start + len(lines)


def test_forward_derivatives_of_rules_in_reverse():
    for function in (in_reverse_only, for_of(in_reverse_only)):
        with pytest.raises(LoweringError, match="in reverse only"):
            qjit(lambda x: jax.jvp(function, (x,), (x,))[1])(X)  # noqa: B023
    with pytest.raises(NotTransformableError, match=r"jax\.custom_jvp gives both"):
        qjit(lambda x: jax.hessian(lambda x: jnp.sum(for_of(in_reverse_only)(x)))(x))(X)


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda x: jax.grad(lambda x: x * 2)(x), "scalar-output"),
        (lambda x: jax.grad(lambda x: jnp.sum(x).astype(int))(x), "got int64"),
        (lambda x: jax.grad(lambda x: jnp.sum(x * 1j))(x), "got complex128"),
        (lambda x: jax.grad(lambda n: n * x[0])(3), "allow_int"),
        (lambda x: jax.grad(lambda x: jnp.sum(x), argnums=2)(x), "argnums=2 requires"),
        (lambda x: jax.grad(lambda x: jnp.sum(x), has_aux=True)(x), "two-element tuple"),
        (lambda x: jax.jvp(jnp.sin, (x,), (x[:2],)), "different primal and tangent"),
        (lambda x: jax.vmap(jnp.add)(x, x[:2]), "size 3.*size 2"),
        (lambda x: jax.vmap(jnp.sum, in_axes=4)(x), "along axis 4"),
    ],
)
def test_transformations_of_jax_that_do_not_fit(use, text):
    with pytest.raises(TransformationUseError, match=text) as raised:
        qjit(use)(X)
    assert isinstance(raised.value, TypeError)
    assert isinstance(raised.value, ValueError)
    assert raised.value.span.file == __file__


@pytest.mark.parametrize("argnums", [(0, 0), "x", 0.5, ()])
def test_argnums_that_are_no_positions(argnums):
    with pytest.raises(ValueError, match="neither a position nor several"):
        qjit(lambda x: grad(lambda x, y: jnp.sum(x * y), argnums=argnums)(x, x))(X)


def test_a_while_loop_has_no_transpose_of_its_own():
    """Until issue 14 it promised one that was nowhere, and ended in a bare StopIteration."""

    def doubled(x):
        return while_loop(lambda i, y: i < 3)(lambda i, y: (i + 1, 2 * y))(0, x)[1]

    @qjit
    def transposed(x):
        return jax.linear_transpose(doubled, x)(x)

    with pytest.raises(NotTransformableError, match=r"while_loop has no transpose rule.*jax\.vjp"):
        transposed(X)
    pulled_back = qjit(lambda x: jax.vjp(doubled, x)[1](x)[0])
    np.testing.assert_allclose(pulled_back(X), 8 * X)
