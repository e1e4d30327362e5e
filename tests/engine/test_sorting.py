"""Lines of integers sorted by the library, through ctypes: order, stability, memory, threads."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase_engine import sorting_library, threads_library
from diastase_engine.sorting.large import LARGE
from diastase_runtime.abi import SHORT_LINE, CallContext, ErrorCode, library_symbol
from diastase_runtime.libraries import USED_BY_ENGINES, thread_pool

I64, POINTER = ctypes.c_int64, ctypes.c_void_p
GUARD = 0x5A5A5A5A5A5A5A5A
LIMITS = np.iinfo(np.int64)


@pytest.fixture(name="library", scope="module")
def library_fixture():
    """The library, told of the thread pool as the loader does it."""
    library, pool = ctypes.CDLL(str(sorting_library())), thread_pool(threads_library())
    names = [library_symbol("threads", name) for name in USED_BY_ENGINES]
    library[library_symbol("sorting", "use_threads")](
        *(ctypes.cast(pool[name], POINTER) for name in names)
    )
    return library


def sort_lines(library, numbers, more=None, wanted=None, minus_zero=0, code=0):
    """Sort lines in place, with memory just as large as the library asks for."""
    *others, length = numbers.shape
    count = int(np.prod(others))
    size_of = library[library_symbol("sorting", "scratch_size")]
    size_of.restype = I64
    wanted = length if wanted is None else wanted
    facts = count, length, wanted, more is not None, minus_zero != 0
    size = size_of(*map(I64, facts))
    scratch = np.full(size + 2, GUARD)
    context = CallContext()
    context.code = code
    library[library_symbol("sorting", "sort_lines")](
        POINTER(ctypes.addressof(context)),
        POINTER(numbers.ctypes.data),
        POINTER(0 if more is None else more.ctypes.data),
        I64(count),
        I64(length),
        I64(wanted),
        I64(minus_zero),
        POINTER(scratch[1:].ctypes.data),
        I64(size),
    )
    assert scratch[0] == scratch[-1] == GUARD


def kinds_of_numbers(length, seed):
    """Numbers of many distributions: apart, equal, in order, and where buckets are uneven."""
    rng = np.random.default_rng(seed)
    return {
        "any": rng.integers(LIMITS.min, LIMITS.max, length, endpoint=True),
        "few": rng.integers(0, 10, length),
        "close": LIMITS.max - rng.integers(0, 2**20, length),
        "floats": rng.standard_normal(length).view(np.int64),
        "powers": np.left_shift(1, rng.integers(0, 63, length)),
        "extremes": rng.choice([LIMITS.min, LIMITS.max, 0, -1], length),
        "one apart": np.where(np.arange(length) == length // 2, LIMITS.min, 7),
        "in order": np.arange(length),
        "reversed": np.arange(length)[::-1].copy(),
        "equal": np.full(length, -5),
    }


def check(library, numbers):
    """Keys and pairs, all of them and the first ones, against NumPy's stable sort."""
    order, length = np.argsort(numbers, axis=-1, kind="stable"), numbers.shape[-1]
    for wanted in {length, min(1, length), length // 9}:
        keys, pairs = numbers.copy(), numbers.copy()
        positions = np.broadcast_to(np.arange(length), numbers.shape).copy()
        sort_lines(library, keys, wanted=wanted)
        sort_lines(library, pairs, positions, wanted=wanted)
        expected = np.take_along_axis(numbers, order, -1)[..., :wanted]
        np.testing.assert_array_equal(keys[..., :wanted], expected)
        np.testing.assert_array_equal(pairs[..., :wanted], expected)
        np.testing.assert_array_equal(positions[..., :wanted], order[..., :wanted])


@given(length=st.integers(0, 300), seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_short_lines(library, length, seed):
    for numbers in kinds_of_numbers(length, seed).values():
        check(library, numbers)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("length", [5000, LARGE - 1, LARGE, 3 * LARGE + 1])
def test_long_lines(library, configure, length, threads):
    configure(threads)
    for numbers in kinds_of_numbers(length, length).values():
        check(library, numbers)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "shape", [(0, 5), (5, 0), (5, 1), (3000, 7), (400, SHORT_LINE + 1), (7, 5000), (2, LARGE)]
)
def test_many_lines(library, configure, shape, threads):
    configure(threads)
    check(library, np.random.default_rng(0).integers(-50, 50, shape))


@pytest.mark.parametrize("length", [2, SHORT_LINE, 300, LARGE])
def test_zeros_stay_in_order(library, length):
    minus, plus = -(2**62), 1 - 2**62
    others = [LIMITS.min, minus - 1, plus + 1, LIMITS.max]
    for choices in ([minus, plus], [minus], [plus], [minus, plus, *others], others):
        numbers = np.random.default_rng(length).choice(choices, (2, length))
        order = np.argsort(np.where(numbers == minus, plus, numbers), axis=-1, kind="stable")
        expected = np.take_along_axis(numbers, order, -1)
        sort_lines(library, numbers, minus_zero=minus)
        np.testing.assert_array_equal(numbers, expected)


def test_nothing_happens_after_an_error(library):
    numbers = np.arange(100)[::-1].copy()
    sort_lines(library, numbers, code=ErrorCode.INTERRUPTED)
    np.testing.assert_array_equal(numbers, np.arange(100)[::-1])
