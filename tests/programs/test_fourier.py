"""Fourier transforms run on the host, for sizes known and unknown; their derivatives, too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

TRANSFORMS = {
    "fft": jnp.fft.fft,
    "ifft": jnp.fft.ifft,
    "rfft": jnp.fft.rfft,
    "irfft": jnp.fft.irfft,
    "hfft": jnp.fft.hfft,
    "fft2": lambda a: jnp.fft.fft2(a[None] * jnp.ones((2, 1))),
    "irfftn": lambda a: jnp.fft.irfftn(a[None] * jnp.ones((3, 1))),
}


def wave(n, dtype="float64"):
    return (jnp.sin(jnp.arange(n)) + 1).astype(dtype)


def loss(transform):
    return lambda a: jnp.abs(transform(a) * (1 + jnp.arange(transform(a).shape[-1]))).sum()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_of_a_traced_size(name):
    """An odd and an even number of elements have different derivatives."""
    transform = TRANSFORMS[name]

    def function(n):
        narrow = transform(wave(n, "float32"))
        return transform(wave(n)), narrow, jax.grad(loss(transform))(wave(n))

    compiled = qjit(function)
    for n in (2, 3, 5, 8):
        for found, expected in zip(compiled(n), function(n), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert {one.primitive for one in compiled.report()} == {"fft"}


def test_of_known_size():
    def function(a):
        return [(one(a), jax.grad(loss(one))(a)) for one in TRANSFORMS.values()]

    found, expected = qjit(function)(wave(6)), function(wave(6))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
