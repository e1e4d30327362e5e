"""Fourier transforms through ctypes, without the compiler, against numpy in double precision."""

import ctypes
import shutil

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from diastase_engine import fourier_library, threads_library
from diastase_runtime.abi import CallContext, ErrorCode, library_symbol

I64, POINTER = ctypes.c_int64, ctypes.c_void_p
PRECISIONS = {"f64": (np.float64, np.complex128), "f32": (np.float32, np.complex64)}
LENGTHS = [512, 997, 1000, 1024, 2048, 2310, 4096, 4099, 6006, 8209, 65536, 100_003, 3 * 2**15]
"""Powers, primes and products, taken in groups, by themselves and by a convolution."""


class Library:
    """The library with its own plans, and a pool of so many threads if it is to have one."""

    def __init__(self, path, threads: int = 0) -> None:
        self.library = ctypes.CDLL(str(shutil.copy(fourier_library(), path / f"{threads}.so")))
        self.context = CallContext()
        if threads:
            pool = ctypes.CDLL(str(shutil.copy(threads_library(), path / "threads.so")))
            pool[library_symbol("threads", "configure")](I64(threads))
            names = ("parallel_for", "thread_count", "poll", "poll_now")
            functions = [pool[library_symbol("threads", name)] for name in names]
            addresses = [ctypes.cast(function, POINTER) for function in functions]
            self.library[library_symbol("fourier", "use_threads")](*addresses)

    def call(self, name: str, source: np.ndarray, target: np.ndarray, *numbers: int) -> np.ndarray:
        kind = "f64" if source.dtype in PRECISIONS["f64"] else "f32"
        arrays = [POINTER(array.ctypes.data) for array in (source, target)]
        function = self.library[library_symbol("fourier", f"{name}_{kind}")]
        context = POINTER(ctypes.addressof(self.context))
        function(context, I64(7), *arrays, *map(I64, numbers))
        return target

    def along(self, x: np.ndarray, target: np.ndarray, *, inverse: bool) -> np.ndarray:
        """The middle one of three axes."""
        divisor = x.shape[1] if inverse else 1
        return self.call("transform", x, target, *x.shape, inverse, divisor)

    def reals(self, x: np.ndarray, length: int, target: np.ndarray) -> np.ndarray:
        sizes = (x.shape[0], length, x.shape[2])
        inverse = x.dtype.kind == "c"
        return self.call("transform_reals", x, target, *sizes, inverse, length if inverse else 1)


@pytest.fixture(scope="module", params=[0, 2], ids=["alone", "threads"])
def library(request, tmp_path_factory) -> Library:
    return Library(tmp_path_factory.mktemp("fourier"), request.param)


def numbers(shape, kind: str) -> np.ndarray:
    generator = np.random.default_rng(sum(shape))
    parts = generator.normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1]).astype(PRECISIONS[kind][1])


def is_close(found: np.ndarray, expected: np.ndarray, length: int) -> None:
    """Errors of some units times the logarithm of the length, relative to the root mean square."""
    scale = np.sqrt((np.abs(expected) ** 2).mean())
    unit = float(np.finfo(found.dtype).eps)
    assert np.abs(found - expected).max() <= 6 * unit * max(1, np.log2(length)) * scale


def all_four(library: Library, kind: str, outer: int, length: int, inner: int) -> None:
    """Complex and real transforms, and their inverses."""
    real, complex_ = PRECISIONS[kind]
    x = numbers((outer, length, inner), kind)
    exact = x.astype(complex)
    forward, back = np.fft.fft(exact, axis=1), np.fft.ifft(exact, axis=1)
    is_close(library.along(x, np.empty_like(x), inverse=False), forward, length)
    is_close(library.along(x, np.empty_like(x), inverse=True), back, length)
    is_close(library.along(x, x, inverse=False), forward, length)
    r = np.ascontiguousarray(exact.real.astype(real))
    spectrum = np.empty((outer, length // 2 + 1, inner), complex_)
    expected = np.fft.rfft(r.astype(float), axis=1)
    is_close(library.reals(r, length, spectrum), expected, length)
    half = numbers(spectrum.shape, kind)
    expected = np.fft.irfft(half.astype(complex), length, axis=1)
    is_close(library.reals(half, length, np.empty_like(r)), expected, length)
    assert library.context.code == ErrorCode.NONE


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(sorted(PRECISIONS)),
    outer=st.integers(1, 40),
    length=st.integers(1, 400),
    inner=st.integers(1, 40),
)
@example(kind="f64", outer=1, length=1, inner=1)
@example(kind="f32", outer=17, length=61, inner=1)
@example(kind="f64", outer=1, length=67, inner=9)
def test_any_shape(library: Library, kind: str, outer: int, length: int, inner: int) -> None:
    all_four(library, kind, outer, length, inner)


@pytest.mark.parametrize("kind", PRECISIONS)
def test_all_lengths(library: Library, kind: str) -> None:
    for length in range(1, 401):
        all_four(library, kind, 1, length, 1)
        if length % 7 == 0:
            all_four(library, kind, 9, length, 1)


@pytest.mark.sample(9)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", PRECISIONS)
def test_long_ones(library: Library, kind: str, length: int) -> None:
    for outer, inner in ((1, 1), (3, 1), (1, 11)) if length > 5000 else ((1, 1), (20, 1), (2, 70)):
        all_four(library, kind, outer, length, inner)


def test_plans_that_the_table_has_no_room_for(tmp_path) -> None:
    """Each is made for one call and freed; those that are kept go on to work."""
    library = Library(tmp_path)
    many = [*range(300_001, 300_081, 2), 40]
    for length in many:
        x = numbers((1, length, 1), "f64")
        found = library.along(x, np.empty_like(x), inverse=False)
        is_close(found, np.fft.fft(x, axis=1), length)


def test_without_memory(tmp_path) -> None:
    """An error of the call; nothing is written then, and nothing more is done in it."""
    library = Library(tmp_path)
    x = numbers((1, 1 << 16, 1), "f64")
    library.context.memory = 1 << 12
    assert (library.along(x, np.zeros_like(x), inverse=False) == 0).all()
    assert (library.context.code, library.context.site) == (ErrorCode.OUT_OF_MEMORY, 7)
    library.context.memory = 0
    assert (library.along(x, np.zeros_like(x), inverse=False) == 0).all()
    library.context.code = 0
    is_close(library.along(x, np.zeros_like(x), inverse=False), np.fft.fft(x, axis=1), x.size)


@pytest.mark.parametrize(
    ("shape", "polls"),
    [((100, 60, 1), 2), ((2, 60, 200), 3), ((40, 4096, 1), 4), ((1, 65536, 1), 3)],
)
def test_a_handler_of_signals_ends_a_transform(tmp_path, shape, polls: int) -> None:
    """What is left is not transformed any more, and nothing polls again."""
    library = Library(tmp_path)
    seen = []

    def poll(_context: int) -> None:
        seen.append(None)
        if len(seen) == polls:
            library.context.code = ErrorCode.INTERRUPTED

    function = ctypes.CFUNCTYPE(None, POINTER)(poll)
    none = POINTER()
    use = library.library[library_symbol("fourier", "use_threads")]
    use(none, none, none, ctypes.cast(function, POINTER))
    x = numbers(shape, "f64")
    found = library.along(x, np.zeros_like(x), inverse=False)
    assert polls <= len(seen) <= polls + 1
    assert (found.reshape(-1)[-1] == 0).all()
    library.context.code = ErrorCode.NONE
    half = np.zeros((shape[0], shape[1] // 2 + 1, shape[2]), complex)
    seen.clear()
    library.reals(x.real.copy(), shape[1], half)
    assert polls <= len(seen) <= polls + 1


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("length", [1, 8, 60, 101, 1000])
def test_what_is_not_finite_reaches_all_elements(library: Library, length: int, value) -> None:
    x = numbers((2, length, 1), "f64")
    x[0, length // 2] = value
    found = library.along(x, np.empty_like(x), inverse=False)
    assert not np.isfinite(found[0]).any()
    assert np.isfinite(found[1]).all()


@pytest.mark.parametrize("length", [8, 9, 99, 4099])
def test_rows_know_nothing_of_each_other(library: Library, length: int) -> None:
    """Each is as accurate as if it was alone, however large others are."""
    scales = 10.0 ** np.linspace(-150, 150, 20)[:, None, None]
    x = numbers((20, length, 1), "f64") * scales
    found = library.along(x, np.empty_like(x), inverse=False)
    r, half = x.real.copy(), np.empty((20, length // 2 + 1, 1), complex)
    library.reals(r, length, half)
    back = library.reals(half, length, np.empty_like(r))
    for row in range(20):
        is_close(found[row], np.fft.fft(x[row], axis=0), length)
        is_close(half[row], np.fft.rfft(r[row], axis=0), length)
        is_close(back[row], r[row], length)


@pytest.mark.parametrize("sizes", [(0, 5, 3), (3, 0, 2), (3, 4, 0)])
def test_nothing(library: Library, sizes: tuple[int, ...]) -> None:
    x = np.zeros(sizes, complex)
    library.along(x, x.copy(), inverse=True)
    spectrum = np.ones((sizes[0], sizes[1] // 2 + 1, sizes[2]), complex)
    library.reals(x.real.copy(), sizes[1], spectrum)
    assert sizes[1] or (spectrum == 0).all()
