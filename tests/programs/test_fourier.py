"""Fourier transforms of programs: natively, for sizes known and unknown; their derivatives, too."""

import jax
import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.signal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import qjit

TRANSFORMS = {
    "fft": jnp.fft.fft,
    "ifft": jnp.fft.ifft,
    "rfft": jnp.fft.rfft,
    "irfft": jnp.fft.irfft,
    "hfft": jnp.fft.hfft,
    "fft2": lambda a: jnp.fft.fft2(a[None] * jnp.ones((2, 1))),
    "irfftn": lambda a: jnp.fft.irfftn(a[None] * jnp.ones((3, 1))),
    "axis 0": lambda a: jnp.fft.rfft(a[:, None] * jnp.ones(3), axis=0).T,
}


def wave(n, dtype="float64"):
    return (jnp.sin(jnp.arange(n)) + 1).astype(dtype)


def loss(transform):
    return lambda a: jnp.abs(transform(a) * (1 + jnp.arange(transform(a).shape[-1]))).sum()


def numbers(*shape):
    generator = np.random.default_rng(sum(shape))
    return generator.normal(size=shape) + 1j * generator.normal(size=shape)


def is_native(function, *arguments, tolerance=1e-9):
    """As JAX, with the same dtypes, and nothing is left to the host."""
    compiled = qjit(function)
    plain = jax.jit(function)  # compiled once, which takes less than each operation for itself
    found, expected = (jax.tree.leaves(f(*arguments)) for f in (compiled, plain))
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    report = compiled.report()
    assert (list(report), report.callbacks) == ([], ())
    return report


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
    assert list(compiled.report()) == []


def test_derivatives_of_known_size():
    def function(a):
        return [(one(a), jax.grad(loss(one))(a)) for one in TRANSFORMS.values()]

    is_native(function, wave(6))


def test_all_functions():
    def function(x):
        real, f = x.real, jnp.fft
        complex_ = [f.fft, f.ifft, f.fft2, f.ifft2, f.fftn, f.ifftn, f.irfft, f.irfft2, f.irfftn]
        reals = [f.rfft, f.rfft2, f.rfftn, f.ihfft, f.fftshift, f.ifftshift]
        return (
            [one(x) for one in complex_],
            [one(real) for one in reals],
            [f.hfft(x), f.hfft(x, n=9), f.fft(x, n=3), f.fft(x, n=11), f.irfft(x, n=7)],
            [f.fft(x, axis=0, norm="ortho"), f.ifft(x, axis=1, norm="forward")],
            [
                f.fftn(x, s=(3, 5), axes=(2, 0)),
                f.irfftn(x, axes=(1, 0)),
                f.rfftn(real, axes=(2, 0)),
            ],
            [f.rfft(real, axis=axis) for axis in range(3)],
            [f.irfft(x, axis=axis) for axis in range(3)],
        )

    is_native(function, numbers(4, 6, 5))
    is_native(function, numbers(4, 6, 5).astype(np.complex64), tolerance=1e-5)


def test_functions_of_scipy():
    def function(x):
        window = jnp.hanning(8)
        _, _, spectrum = jax.scipy.signal.stft(x, nperseg=16)
        return (
            jax.scipy.signal.fftconvolve(x, window),
            spectrum,
            jax.scipy.fft.dct(x),
            jax.scipy.fft.idct(x),
        )

    is_native(function, numbers(60).real)


def test_derivatives():
    def f(v):
        return (jnp.abs(jnp.fft.fft(v**2)) ** 2).sum() + (jnp.fft.rfft(v).real ** 3).sum()

    def function(x):
        batch = jnp.stack([x, x**2])
        return (
            jax.grad(f)(x),
            jax.hessian(f)(x),
            jax.jvp(jnp.fft.fft, (x + 0j,), (1j * x,)),
            jax.jacfwd(lambda v: jnp.fft.irfft(v + 1j * v[::-1]))(x),
            jax.jacrev(lambda v: jnp.fft.rfft(v).real)(x),
            jax.vmap(jax.grad(f))(batch),
            jax.vmap(jnp.fft.fft, in_axes=1, out_axes=1)(batch + 0j),
        )

    is_native(function, numbers(7).real)
    is_native(function, numbers(8).real)


def test_in_loops_and_branches():
    def function(x, n):
        def step(i, carry):
            a, b = carry
            return jnp.fft.fft(b) / 3, jnp.where(i % 2, jnp.fft.ifft(a), a)

        return (
            lax.fori_loop(0, n, step, (x, x)),
            lax.scan(lambda c, row: (jnp.fft.fft(c) / 4 + row, jnp.fft.rfft(row.real)), x[0], x),
            lax.cond(n > 2, lambda: jnp.fft.fft(x, axis=0), lambda: x),
            lax.map(lambda row: jnp.fft.irfft(row), x),
            jax.grad(
                lambda v: lax.fori_loop(0, 3, lambda _, c: jnp.abs(jnp.fft.fft(c)) / 2, v).sum()
            )(x.real),
        )

    is_native(function, numbers(4, 8), 5)


def test_arrays_that_are_read_and_then_written_over():
    """A transform reads what an array holds where it stands, whatever others make of it."""

    def function(argument):
        x = argument * 2
        first = jnp.fft.fft(x)
        changed = x.at[0].set(7)
        again = jnp.fft.fft(x)
        spectrum = first.at[1].add(1)
        of_result = jnp.fft.fft(first)

        def step(i, carry):
            return jnp.fft.fft(x) + carry.at[i].set(0), jnp.fft.ifft(first)

        return (
            (first, changed, again, spectrum, of_result),
            lax.fori_loop(0, 3, lambda i, c: step(i, c)[0].at[0].set(i), x),
            lax.scan(lambda c, i: step(i, c), first, jnp.arange(3)),
        )

    is_native(function, jnp.array(numbers(6)))


def test_moved_axes():
    """Whether or not they are moved back, and where a moved array is used twice."""

    def function(x):
        moved = jnp.moveaxis(x, 0, 2)
        spectrum = jnp.fft.fft(moved)
        turned = jnp.fft.fft(jnp.transpose(x, (2, 1, 0)))
        return (
            jnp.fft.fft(x, axis=1),
            (spectrum, jnp.moveaxis(spectrum, 2, 0), moved),
            jnp.transpose(turned, (1, 2, 0)),
            jnp.transpose(jnp.fft.rfft(jnp.transpose(x.real, (1, 2, 0))), (2, 0, 1)),
            jnp.transpose(jnp.fft.irfft2(jnp.transpose(x, (1, 2, 0))), (2, 0, 1)),
        )

    is_native(function, numbers(5, 6, 7))


@pytest.mark.sample(1)
@settings(max_examples=15, deadline=None)
@given(
    shape=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    axes=st.sets(st.integers(0, 2), min_size=1),
    dtype=st.sampled_from(["complex64", "complex128"]),
)
def test_any_shape_and_axes(shape, axes, dtype):
    x = numbers(*shape).astype(dtype)
    chosen = sorted({axis % x.ndim for axis in axes})
    exact = x.astype(complex)

    def function(x):
        f = jnp.fft
        return f.fftn(x, axes=chosen), f.ifftn(x, axes=chosen), f.rfftn(x.real, axes=chosen)

    f = np.fft
    expected = f.fftn(exact, axes=chosen), f.ifftn(exact, axes=chosen)
    expected = (*expected, f.rfftn(exact.real, axes=chosen))
    for found, other in zip(qjit(function)(x), expected, strict=True):
        unit = float(np.finfo(dtype).eps) * 6 * max(1, np.log2(x.size))
        assert np.abs(found - other).max() <= unit * np.sqrt((np.abs(other) ** 2).mean())


def test_nothing_and_next_to_nothing():
    def function(n):
        x = wave(n) + 0j
        return jnp.fft.fft(x), jnp.fft.ifft(jnp.ones((n, 3)), axis=1)

    compiled = qjit(function)
    for n in (0, 1, 2):
        for found, expected in zip(compiled(n), function(n), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-14)


def test_the_report_names_the_library():
    report = is_native(lambda x: jnp.fft.irfft(jnp.fft.fft(x)), numbers(8))
    assert report.kinds["fourier"] == 2
    assert report.libraries["fourier"] == ("transform_f64", "transform_reals_f64")
    assert "fourier: transform_f64, transform_reals_f64" in str(report)
