"""The kernel language: what it computes, against Python on the same text; what it refuses."""

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from diastase_engine.language import (
    KernelLanguageError,
    Record,
    address,
    all_lanes,
    atomic_add,
    atomic_compare_exchange,
    atomic_load,
    atomic_store,
    broadcast,
    broadcast_wide,
    call_through,
    called_by,
    cast,
    code_of,
    compile_kernels,
    count_ones,
    count_trailing_zeros,
    derived,
    equal_lanes,
    external,
    f64,
    horizontal_sum,
    i1,
    i64,
    inline,
    kernel,
    kernel_like,
    lane_numbers,
    lanes_match,
    lanes_where,
    load_unaligned,
    named_kernels,
    pack,
    pause,
    ptr,
    registers,
    select,
    setting,
    shared,
    shift_right_logical,
    shuffle,
    signature,
    size_of,
    square_root,
    stack_array,
    static,
    store_lanes,
    store_unaligned,
    stored,
    to_float,
    to_integer,
    v8,
    vector,
    widen,
)
from diastase_toolchain import linker, machine_code

absolute = external("labs", [i64], i64)
LANES = derived(lambda single: 16 if single else 8, setting("single", 0))
TABLE = {"first": 3, "second": 5}


class Pair(Record):
    count: i64
    weights: Annotated[ptr[f64], 2]
    total: f64


@kernel
def arithmetic(a: i64, b: i64) -> i64:
    c = a * b - (a & b) | (a ^ 7)
    c += a << 3
    c -= b >> 1
    return -c if a > b else ~c


@kernel
def twice(a: i64, b: i64) -> i64:
    return 2 * arithmetic(a, b)


@kernel
def difference(a: i64, b: i64) -> i64:
    return a - b


twice_difference = kernel_like(twice, arithmetic=difference)


@kernel
def collatz(start: i64) -> i64:
    steps: i64 = 0
    number = start
    while number != 1:
        number = 3 * number + 1 if number & 1 == 1 else number >> 1
        steps += 1
    return steps


@kernel
def first_divisor(number: i64) -> i64:
    found: i64 = -1
    for candidate in range(2, number, 1):
        multiple: i64 = 0
        while multiple < number:
            multiple += candidate
        if multiple != number:
            continue
        found = candidate
        break
    return found


@kernel
def even_sum(count: i64) -> i64:
    total: i64 = 0
    for k in range(0, count, 2):
        total += k
    return total


@kernel
def classify(number: i64) -> i64:
    if number < 0:
        return -1
    elif 0 < number <= 10 and not (number == 5 or number == 7):
        return 1
    else:
        return 2


@kernel
def guarded(values: ptr[i64], index: i64, count: i64) -> i1:
    return index < count and values[index] > 0


@kernel
def unrolled(x: i64) -> i64:
    total: i64 = 0
    for name in static(TABLE):
        if name == "first":
            total += x * TABLE[name]
        else:
            total -= TABLE[name] ** 2
    return total


@inline
def swapped(pair: list[Any]) -> Any:
    return [pair[1], pair[0]]


@inline
def scaled(value: Any, factor: Any) -> Any:
    result = value * factor
    return result


@kernel
def through_inlines(a: f64, b: f64) -> f64:
    first, second = swapped([scaled(a, 2.0), b])
    first, second = second, first
    return first - second


@kernel
def factorial(number: i64) -> i64:
    return 1 if number <= 1 else number * factorial(number - 1)


@kernel
def fill_pair(pair: Pair, a: f64, b: f64) -> None:
    pair.count = 2
    pair.weights[0], pair.weights[1] = b, a
    pair.total = 0.0
    for k in static(range(2)):
        pair.total += pair.weights[k]


@kernel
def sum_pairs(pairs: ptr[Pair], count: i64) -> f64:
    total: f64 = 0.0
    for k in range(count):
        total += pairs[k].total
    return total


@kernel
def lanes(numbers: ptr[f64], out: ptr[f64]) -> f64:
    vector = load_unaligned(numbers, 1)
    turned = shuffle(vector, [7, 6, 5, 4, 3, 2, 1, 0])
    mixed = select(lanes_match(5, 1), vector * 2.0 - 1.0, -turned)
    store_unaligned(out, 1, mixed)
    row = registers(v8, 2)
    row[0] = mixed
    row[1] = mixed * 0.0 + numbers[0]
    row[0] = row[0] + row[1]
    return horizontal_sum(row[0])


@kernel
def lane_sets(numbers: ptr[f64], flags: ptr[i64], out: ptr[f64]) -> i64:
    """Comparisons in all lanes, sets in memory, and a root in each lane."""
    some = load_unaligned(numbers, 1)
    chosen = lanes_where(flags, 1) & (some > 1.0)
    store_lanes(flags, 1, chosen)
    store_unaligned(out, 0, select(chosen, square_root(some), 1.0 / some))
    return to_integer(all_lanes(chosen)) + 2 * to_integer(all_lanes(some <= 100.0))


@kernel
def equal_places(numbers: ptr[f64]) -> i64:
    return equal_lanes(load_unaligned(numbers, 0), pack([0.0, 1.0] * 4))


@kernel
def amplitudes(numbers: ptr[f64], narrow: ptr[stored]) -> f64:
    """A number that is stored, a vector and its sum, in the precision that is compiled for."""
    narrow[0] = numbers[0]
    row = stack_array(vector, 1)
    row[0] = broadcast(numbers[0]) * 2.0
    row[0] = select(lanes_match(1, 1), row[0], 0.0) + lane_numbers([1.0] * LANES)
    total = broadcast_wide(numbers[1]) + widen(shuffle(row[0], list(range(LANES))))
    return horizontal_sum(total) + 1000.0 * cast(row, ptr[stored])[1] + 1e6 * narrow[0]


@kernel
def bits(number: i64) -> i64:
    return (
        count_ones(number)
        + 100 * count_trailing_zeros(number)
        + (shift_right_logical(number, 60) << 20)
    )


@kernel
def conversions(number: i64, real: f64) -> f64:
    room = stack_array(f64, 4)
    room[3] = square_root(to_float(number))
    same = cast(room, ptr[i64])
    other = to_float(to_integer(real) + to_integer(number > 3) + (address(same) & 7))
    return cast(same, ptr[f64])[3] + other + to_float(absolute(-number))


class Counters(Record):
    calls: i64
    total: Annotated[ptr[i64], 1]


COUNTERS = shared(Counters)
ADDER = signature([i64, i64], i64)


@kernel
def add_to_total(change: i64, calls: i64) -> i64:
    COUNTERS.calls += calls
    return atomic_add(COUNTERS.total, change)


@kernel
def shared_total(change: i64) -> i64:
    return call_through(code_of(add_to_total), ADDER, change, 1)


@kernel
def swap_total(expected: i64, value: i64) -> i64:
    found = atomic_compare_exchange(COUNTERS.total, expected, value)
    pause()
    if found == expected:
        atomic_store(COUNTERS.total, value + 1)
    return 1000 * found + 10 * atomic_load(COUNTERS.total) + COUNTERS.calls


def load(
    tmp_path: Path, settings: dict[str, int] | None = None, **kernels: Callable[..., Any]
) -> ctypes.CDLL:
    text = str(compile_kernels(kernels, machine_code.host_processor().triple, settings))
    library = tmp_path / "kernels.so"
    with machine_code.optimised(text, set(kernels)) as module:
        linker.link(machine_code.emit_object(module), library)
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    kernels = (
        arithmetic, collatz, first_divisor, even_sum, classify, guarded, unrolled,
        through_inlines, factorial, fill_pair, sum_pairs, lanes, lane_sets, bits, conversions,
        shared_total, swap_total, equal_places,
    )  # fmt: skip
    named = {each.name: each for each in kernels}  # type: ignore[attr-defined]
    loaded = load(tmp_path_factory.mktemp("kernels"), **named)
    for name in ("through_inlines", "sum_pairs", "lanes", "conversions"):
        getattr(loaded, name).restype = ctypes.c_double
    for name in ("arithmetic", "bits", "factorial", "equal_places"):
        getattr(loaded, name).restype = ctypes.c_int64
    loaded.guarded.restype = ctypes.c_bool
    return loaded


def python_of(function: Any) -> Callable[..., Any]:
    """The plain Python function below the decorator."""
    plain = function._function
    globals_of = {**plain.__globals__, "collatz": None}
    return type(plain)(plain.__code__, globals_of)


@pytest.mark.parametrize("function", [arithmetic])
def test_integers(library: ctypes.CDLL, function: Any) -> None:
    for a, b in ((3, 5), (-7, 4), (100, -3), (0, 0)):
        compiled = library.arithmetic(ctypes.c_int64(a), ctypes.c_int64(b))
        assert compiled == python_of(function)(a, b)


def test_a_kernel_like_another_calls_what_it_is_given(tmp_path: Path) -> None:
    library = load(tmp_path, twice=twice, other=twice_difference, arithmetic=arithmetic)
    for function in (library.twice, library.other, library.arithmetic):
        function.restype = ctypes.c_int64
    a, b = ctypes.c_int64(13), ctypes.c_int64(5)
    assert library.other(a, b) == 16
    assert library.twice(a, b) == 2 * library.arithmetic(a, b) != 16
    assert called_by(list(named_kernels({"other": twice_difference})))[1:] == [difference]
    with pytest.raises(KernelLanguageError, match="sum, total in the module of twice"):
        kernel_like(twice, sum=difference, total=1)


def test_loops(library: ctypes.CDLL) -> None:
    for number in (1, 6, 27):
        assert library.collatz(ctypes.c_int64(number)) == python_of(collatz)(number)
    assert [library.first_divisor(ctypes.c_int64(n)) for n in (35, 13, 2, 0)] == [5, -1, -1, -1]
    assert [library.even_sum(ctypes.c_int64(n)) for n in (0, 1, 7)] == [0, 0, 12]


def test_branches(library: ctypes.CDLL) -> None:
    for number in (-3, 0, 1, 5, 7, 10, 11):
        assert library.classify(ctypes.c_int64(number)) == python_of(classify)(number)
    assert library.factorial(ctypes.c_int64(10)) == 3628800


def test_and_does_not_evaluate_too_much(library: ctypes.CDLL) -> None:
    # A null pointer behind a false condition: it would crash if it were read.
    null = ctypes.c_void_p(None)
    assert not library.guarded(null, ctypes.c_int64(3), ctypes.c_int64(2))


def test_static_values(library: ctypes.CDLL) -> None:
    assert library.unrolled(ctypes.c_int64(4)) == 4 * 3 - 25
    two, seven = ctypes.c_double(2.0), ctypes.c_double(7.0)
    assert library.through_inlines(two, seven) == 2 * 2.0 - 7.0


def test_equal_lanes(library: ctypes.CDLL) -> None:
    numbers = np.array([0.0, 1.0, -0.0, np.nan, 1.0, 1.0, 1e-300, np.inf])
    expected = 0b00100111
    assert library.equal_places(ctypes.c_void_p(numbers.ctypes.data)) == expected


def test_records(library: ctypes.CDLL) -> None:
    assert size_of(Pair) == 32
    memory = np.zeros((3, 4))
    for row in memory[1:]:
        pointer = ctypes.c_void_p(row.ctypes.data)
        library.fill_pair(pointer, ctypes.c_double(1.5), ctypes.c_double(-4.0))
    assert memory[1].view(np.int64)[0] == 2
    np.testing.assert_array_equal(memory[2, 1:], [-4.0, 1.5, -2.5])
    assert library.sum_pairs(ctypes.c_void_p(memory.ctypes.data), ctypes.c_int64(3)) == -5.0


@pytest.mark.parametrize(("single", "real"), [(0, np.float64), (1, np.float32)])
def test_precision_of_amplitudes(tmp_path: Path, single: int, real: type) -> None:
    loaded = load(tmp_path, {"single": single}, amplitudes=amplitudes)
    loaded.amplitudes.restype = ctypes.c_double
    numbers, narrow = np.array([1 / 3, 0.25]), np.full(2, 7, real)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (numbers, narrow))
    found = loaded.amplitudes(*pointers)
    lanes, third = 16 if single else 8, float(real(1 / 3))
    odd = float(real(2 * third + 1))  # the other lanes are 1
    expected = lanes * 0.25 + lanes / 2 * (1 + odd) + 1000 * odd + 1e6 * third
    assert found == pytest.approx(expected, rel=1e-15)
    assert list(narrow) == [real(1 / 3), 7]


def test_shared_records_and_addresses_of_functions(library: ctypes.CDLL) -> None:
    assert [library.shared_total(ctypes.c_int64(k)) for k in (5, 7, 1)] == [0, 5, 12]
    assert library.swap_total(ctypes.c_int64(12), ctypes.c_int64(50)) == 13_000 + 130 + 3
    assert library.swap_total(ctypes.c_int64(13), ctypes.c_int64(50)) == 13_000 + 510 + 3


def test_threads_add_to_one_number(library: ctypes.CDLL) -> None:
    before = library.shared_total(ctypes.c_int64(0))

    def add() -> None:
        for _ in range(2000):
            library.shared_total(ctypes.c_int64(1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert library.shared_total(ctypes.c_int64(0)) == before + 8000


def test_vectors(library: ctypes.CDLL) -> None:
    numbers, out = np.arange(9.0) + 0.5, np.zeros(9)
    vector = numbers[1:]
    expected = np.where(np.arange(8) & 5 == 1, 2 * vector - 1, -vector[::-1])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (numbers, out)]
    assert library.lanes(*pointers) == pytest.approx((expected + 0.5).sum())
    np.testing.assert_array_equal(out[1:], expected)


def test_sets_of_lanes(library: ctypes.CDLL) -> None:
    numbers = np.array([np.inf, 4.0, 0.5, 9.0, np.nan, 2.0, 1.0, 100.0, 1.5])
    flags, out = np.array([5, 7, 1, 0, 1, -1, 1, 2**40, 1]), np.zeros(8)
    expected = (flags[1:] != 0) & (numbers[1:] > 1)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (numbers, flags, out)]
    assert library.lane_sets(*pointers) == 0
    np.testing.assert_array_equal(flags, [5, *expected])
    np.testing.assert_array_equal(out, np.where(expected, np.sqrt(numbers[1:]), 1 / numbers[1:]))
    numbers[:], flags[:] = 3.0, 1
    assert library.lane_sets(*pointers) == 3


def test_bits_and_conversions(library: ctypes.CDLL) -> None:
    assert library.bits(ctypes.c_int64(0b1011000)) == 3 + 300
    assert library.bits(ctypes.c_int64(-1)) == 64 + (15 << 20)
    assert library.conversions(ctypes.c_int64(16), ctypes.c_double(-2.7)) == 4 - 2 + 1 + 16


@kernel
def static_changes(flag: i64) -> i64:
    found = 0
    if flag == 1:
        found = 1
    return found


@kernel
def unbound(flag: i64) -> i64:
    if flag == 1:
        found: i64 = 1
    return found


@kernel
def mixes_types(a: i64, b: f64) -> f64:
    return a + b


@kernel
def rounds(a: i64) -> i64:
    return a // 2


@kernel
def catches(a: i64) -> i64:
    try:
        return a
    finally:
        pass


@kernel
def comprehends(a: i64) -> i64:
    return {a: 1}[a]


@kernel
def wrong_field(pair: Pair) -> i64:
    return pair.size


@kernel
def wrong_count(a: i64) -> i64:
    return factorial(a, a)


@kernel
def atomic_float(number: ptr[f64]) -> i64:
    return atomic_load(number)


@kernel
def no_result(a: i64) -> i64:
    a += 1


@kernel
def calls_python(a: i64) -> i64:
    return abs(a)


@kernel
def loops_over_list(a: i64) -> i64:
    for k in [1, 2]:
        a += k
    return a


@inline
def leaves_early(a: i64) -> i64:
    if a > 0:
        return a
    return 0


@kernel
def returns_inside(a: i64) -> i64:
    return leaves_early(a)


@kernel
def breaks_nothing(a: i64) -> i64:
    break_here: i64 = a
    for _ in static(range(2)):
        break
    return break_here


@pytest.mark.parametrize(
    ("function", "message", "line"),
    [
        (static_changes, "a run-time change of the static name 'found'", "found = 1"),
        (unbound, "the name 'found', which is not bound here", "return found"),
        (mixes_types, "f64 where i64 is needed", "return a + b"),
        (rounds, "no FloorDiv on i64", "return a // 2"),
        (catches, "a statement of kind Try", "try:"),
        (comprehends, "the expression", "return {a: 1}[a]"),
        (wrong_field, "the field 'size' of ptr[Pair]", "return pair.size"),
        (wrong_count, "2 arguments for the 1 of factorial", "return factorial(a, a)"),
        (atomic_float, "ptr[i64], not ptr[f64]", "return atomic_load(number)"),
        (no_result, "the end of no_result, reached without a result", "@kernel"),
        (calls_python, "a call of 'abs' with run-time values", "return abs(a)"),
        (loops_over_list, "a loop over anything but", "for k in [1, 2]:"),
        (returns_inside, "return of an inline function in a run-time block", "return a"),
        (breaks_nothing, "break or continue outside a run-time loop", "break"),
    ],
)
def test_what_is_not_in_the_language(function: Any, message: str, line: str) -> None:
    with pytest.raises(KernelLanguageError) as caught:
        compile_kernels({"refused": function}, machine_code.host_processor().triple)
    assert message in str(caught.value)
    assert caught.value.span is not None
    assert caught.value.span.file == __file__
    assert caught.value.span.text in (line, f"def {function.name}(a: i64) -> i64:")


def test_kernels_do_not_run_in_python() -> None:
    with pytest.raises(TypeError, match="kernel"):
        factorial(3)
