"""Fourier transforms: `jax.numpy.fft` and `jax.scipy.fft`."""

import jax.numpy as jnp
import jax.scipy.fft

from classical_200.rows import complexes, family, normal, repeated, row


def low_pass(x):
    """Solve the heat equation of a circle for some time."""
    k = jnp.fft.rfftfreq(x.size, 1 / x.size)
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(-1e-4 * k**2).astype(x.dtype), x.size)


def poisson_step(u):
    """Split step of a wave on a grid."""
    k = jnp.fft.fftfreq(u.shape[0], 1 / u.shape[0])
    phase = jnp.exp(-1e-4j * (k[:, None] ** 2 + k[None, :] ** 2)).astype(u.dtype)
    return jnp.fft.ifft2(phase * jnp.fft.fft2(u))


ROWS = family(
    "jax.numpy.fft",
    row(
        "small f64 forward loop",
        "fori_loop of 1000 fft of 16 points",
        repeated(lambda z: jnp.fft.fft(z) / 4, 1000),
        complexes(16),
        whole=True,
    ),
    row(
        "small f64 forward loop",
        "fori_loop of 1000 fft of 256 points",
        repeated(lambda z: jnp.fft.fft(z) / 16, 1000),
        complexes(256),
        whole=True,
    ),
    row("large f64 forward alone", "fft of (10000, 64)", jnp.fft.fft, complexes(10_000, 64)),
    row("large f64 forward alone", "fft2 1024²", jnp.fft.fft2, complexes(1024, 1024)),
    row(
        "large f64 forward alone",
        "fft along axis 0 of 1024²",
        lambda z: jnp.fft.fft(z, axis=0),
        complexes(1024, 1024),
    ),
    row("small f32 forward alone", "fft 100", jnp.fft.fft, complexes(100)),
    row("cache f64 forward alone", "fft of a prime length", jnp.fft.fft, complexes(10_007)),
    row("large f32 forward alone", "fft 2^20", jnp.fft.fft, complexes(2**20)),
    row("cache f32 gradient alone", "rfft", jnp.fft.rfft, normal(30_000)),
    row("large f64 gradient alone", "irfft of rfft", low_pass, normal(2**20)),
    row("small f32 gradient loop", "low pass", low_pass, normal(128)),
    row(
        "cache f64 forward loop",
        "split steps 128² × 50",
        repeated(poisson_step, 50),
        complexes(128, 128),
        whole=True,
    ),
    row(
        "cache f32 forward alone",
        "rfft2, fftshift",
        lambda x: jnp.fft.fftshift(jnp.fft.rfft2(x), 0),
        normal(300, 300),
    ),
    row("cache f64 gradient alone", "fftn of a cube", jnp.fft.fftn, normal(32, 32, 32)),
    row(
        "cache f64 forward alone",
        "hfft, ihfft",
        lambda x: jnp.fft.hfft(jnp.fft.ihfft(x)),
        normal(200, 250),
    ),
)
COSINES = family(
    "jax.scipy.fft",
    row(
        "small f64 forward loop", "dct 64", lambda x: jax.scipy.fft.dct(x, norm="ortho"), normal(64)
    ),
    row("cache f32 forward alone", "dct of rows", jax.scipy.fft.dct, normal(300, 300)),
    row("large f64 forward alone", "dctn", jax.scipy.fft.dctn, normal(1000, 1000)),
    row(
        "cache f32 gradient alone",
        "idct of dct",
        lambda x: jax.scipy.fft.idct(jax.scipy.fft.dct(x) * 0.9),
        normal(20_000),
    ),
)
ROWS += COSINES
