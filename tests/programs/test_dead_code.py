"""What nobody needs of a program is not refused, and does not run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import for_loop, pure_callback, qjit
from diastase_mlir import LoweringError

NOT_LOWERED = {
    "argmax of complex128: complex numbers have no order": lambda x: jnp.argmax(x * 1j),
    "argmin of complex64": lambda x: lax.argmin(x.astype(complex).astype(jnp.complex64), 0, int),
    "cumlogsumexp of int64": lambda x: lax.cumlogsumexp(x.astype(int)),
}


def dead(function):
    def program(x):
        function(x)
        inner = for_loop(0, 2, 1)(lambda _, c: (function(c), c + x)[1])(x)
        return inner, lax.cond(x[0] > 0, lambda: (function(x), x)[1], lambda: -x)

    return program


@pytest.mark.parametrize(("message", "function"), NOT_LOWERED.items())
def test_what_is_not_lowered_is_an_error_where_it_is_needed_only(message, function):
    x = np.array([1.0, 2.0])
    with pytest.raises(LoweringError, match=message) as caught:
        qjit(function)(x)
    assert caught.value.span.file == __file__
    for wanted, found in zip((3 * x, x), qjit(dead(function))(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
    rows = np.stack([x, -x])
    np.testing.assert_array_equal(qjit(jax.vmap(dead(function)))(rows)[0], 3 * rows)


def test_a_result_that_nobody_needs_is_not_computed_in_python():
    seen = []

    def noted(x) -> float:
        seen.append(x)
        return x

    assert qjit(lambda x: (pure_callback(noted)(x), x)[1])(0.5) == 0.5
    assert seen == []
    assert qjit(lambda x: pure_callback(noted)(x) + x)(0.5) == 1.0
    assert seen == [0.5]


@pytest.mark.parametrize("axes", ["i,i->i", "i,j->ij", "ij,kj->jik", "ij,ij->i"])
def test_products_of_flags_are_flags(axes):
    flags = [np.random.default_rng(n).random((3, 3)[: axes.find(",")]) > 0.5 for n in range(2)]
    found = qjit(lambda *flags: jnp.einsum(axes, *flags))(*flags)
    np.testing.assert_array_equal(found, jnp.einsum(axes, *flags))
    assert found.dtype == bool
