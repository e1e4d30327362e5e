"""Kernels of grids: on the host against NumPy, in several orders of threads; as PTX by `ptxas`."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diastase_engine.language import (
    KernelLanguageError,
    Record,
    atomic_add,
    compile_grids,
    each_thread,
    f64,
    i64,
    kernel,
    lane_of,
    pair,
    pair_of,
    ptr,
    registers,
    shared_array,
    shuffle,
    stack_array,
    static,
)
from diastase_engine.state_vector.device.arithmetic import THREADS, add_up
from diastase_toolchain import linker, machine_code
from diastase_toolchain.ptx import ARCHITECTURE, TRIPLE, ptx
from ptx_assembler import ARCHITECTURES, assembled, assembler

ORDERS = (0, 127, 37)
"""Threads as they are numbered, backwards, and mixed up."""


class Arrays(Record):
    count: i64
    x: ptr[pair]
    y: ptr[pair]
    factor: f64
    sums: ptr[f64]
    counts: ptr[i64]


@kernel
def combine(block: i64, arguments: Arrays) -> None:
    for thread in each_thread():
        k = block * THREADS + thread
        if k >= arguments.count:
            continue
        z = arguments.x[k]
        turned = shuffle(z, [1, 0]) * pair_of(-1.0, 1.0)
        arguments.y[k] = arguments.factor * arguments.y[k] + turned


@kernel
def squares(block: i64, arguments: Arrays) -> None:
    parts = shared_array(f64, THREADS)
    for thread in each_thread():
        k = block * THREADS + thread
        parts[thread] = 0.0
        if k < arguments.count:
            u, v = lane_of(arguments.x[k], 0), lane_of(arguments.x[k], 1)
            parts[thread] = u * u + v * v
    add_up(parts)
    for thread in each_thread():
        if thread == 0:
            arguments.sums[block] = parts[0]


@kernel
def reverse_blocks(block: i64, arguments: Arrays) -> None:
    kept = shared_array(pair, THREADS)
    for thread in each_thread():
        kept[thread] = arguments.x[block * THREADS + thread]
    for thread in each_thread():
        arguments.y[block * THREADS + thread] = kept[THREADS - 1 - thread]


@kernel
def classes(block: i64, arguments: Arrays) -> None:
    for thread in each_thread():
        k = block * THREADS + thread
        if k < arguments.count:
            atomic_add(arguments.counts + (k & 3), k)


@kernel
def smooth_badly(block: i64, arguments: Arrays) -> None:
    """What a thread reads, another one writes in the same loop."""
    kept = shared_array(f64, THREADS)
    for thread in each_thread():
        kept[thread] = to_real(arguments, block, thread)
    for thread in each_thread():
        if thread > 0:
            kept[thread] = kept[thread] + kept[thread - 1]
    for thread in each_thread():
        arguments.sums[block * THREADS + thread] = kept[thread]


@kernel
def to_real(arguments: Arrays, block: i64, thread: i64) -> f64:
    return lane_of(arguments.x[block * THREADS + thread], 0)


@kernel
def reads_what_is_not_set(block: i64, arguments: Arrays) -> None:
    kept = shared_array(f64, THREADS)
    for thread in each_thread():
        arguments.sums[block * THREADS + thread] = kept[thread]


KERNELS = (combine, squares, reverse_blocks, classes, smooth_badly, reads_what_is_not_set)
NAMED: dict[str, Callable[..., Any]] = {each.name: each for each in KERNELS}  # type: ignore[attr-defined]


class Launched:
    """The kernels on the host, in one precision and one order of threads."""

    def __init__(self, folder: Path, single: bool, order: int) -> None:
        self.single = single
        settings = {"threads": 128, "single": int(single), "order": order}
        text = str(compile_grids(NAMED, machine_code.host_processor().triple, settings))
        library = folder / f"grids{int(single)}-{order}.so"
        with machine_code.optimised(text, NAMED) as module:
            linker.link(machine_code.emit_object(module), library)
        self.library = ctypes.CDLL(str(library))

    def numbers(self, count: int, seed: int) -> np.ndarray:
        random = np.random.default_rng(seed)
        numbers = random.normal(size=count) + 1j * random.normal(size=count)
        return numbers.astype(np.complex64 if self.single else np.complex128)

    def run(self, name: str, blocks: int, **given: Any) -> None:
        words = (ctypes.c_double * 6)()
        for place, field in enumerate(Arrays.__annotations__):
            value = given.get(field, 0)
            kind = ctypes.c_double if field == "factor" else ctypes.c_int64
            number = value.ctypes.data if isinstance(value, np.ndarray) else value
            kind.from_buffer(words, 8 * place).value = number
        getattr(self.library, name)(ctypes.c_int64(blocks), words)


@pytest.fixture(scope="module", params=[(s, o) for s in (False, True) for o in ORDERS], ids=str)
def launched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Launched:
    return Launched(tmp_path_factory.mktemp("grids"), *request.param)


@pytest.mark.parametrize("count", [1, 127, 128, 129, 1000])
def test_a_grid_goes_through_arrays_of_any_size(launched: Launched, count: int) -> None:
    x, y = launched.numbers(count, 1), launched.numbers(count, 2)
    before = y.copy()
    launched.run("combine", (count + 127) // 128, count=count, x=x, y=y, factor=0.5)
    np.testing.assert_allclose(y, 0.5 * before + 1j * x, rtol=1e-6 if launched.single else 1e-15)


@pytest.mark.parametrize("count", [1, 300])
def test_the_threads_of_a_block_add_up(launched: Launched, count: int) -> None:
    x, blocks = launched.numbers(count, 3), (count + 127) // 128
    sums = np.full(blocks, np.nan)
    launched.run("squares", blocks, count=count, x=x, sums=sums)
    for block in range(blocks):
        part = x[128 * block : 128 * block + 128].astype(complex)
        np.testing.assert_allclose(sums[block], np.vdot(part, part).real, rtol=1e-14)


def test_sums_do_not_depend_on_the_order_of_threads(tmp_path: Path) -> None:
    found: list[bytes] = []
    for order in ORDERS:
        one = Launched(tmp_path, single=False, order=order)
        sums = np.zeros(4)
        one.run("squares", 4, count=500, x=one.numbers(500, 4), sums=sums)
        found.append(sums.tobytes())
    assert found[0] == found[1] == found[2]


def test_threads_see_what_others_have_written(launched: Launched) -> None:
    x = launched.numbers(256, 5)
    y = np.zeros_like(x)
    launched.run("reverse_blocks", 2, count=256, x=x, y=y)
    np.testing.assert_array_equal(y, x.reshape(2, 128)[:, ::-1].ravel())


def test_threads_add_to_the_same_number(launched: Launched) -> None:
    counts = np.zeros(4, np.int64)
    launched.run("classes", 8, count=1000, counts=counts)
    np.testing.assert_array_equal(counts, [np.arange(k, 1000, 4).sum() for k in range(4)])


def test_another_order_shows_that_threads_are_in_each_others_way(tmp_path: Path) -> None:
    found: list[np.ndarray] = []
    for order in (0, 127):
        one = Launched(tmp_path, single=False, order=order)
        sums = np.zeros(128)
        one.run("smooth_badly", 1, count=128, x=one.numbers(128, 6), sums=sums)
        found.append(sums)
    assert not np.allclose(*found)


def test_memory_of_a_block_is_not_a_number_at_first(launched: Launched) -> None:
    sums = np.zeros(256)
    launched.run("reads_what_is_not_set", 2, sums=sums)
    assert np.isnan(sums).all()


@kernel
def writes_together(block: i64, arguments: Arrays) -> None:
    arguments.counts[block] = 1


@kernel
def adds_up_outside(block: i64, arguments: Arrays) -> None:
    found: i64 = 0
    for thread in each_thread():
        found += thread
    for thread in each_thread():
        arguments.counts[thread] = found


@kernel
def has_registers_outside(block: i64, arguments: Arrays) -> None:
    x = registers(pair, 2)
    for thread in each_thread():
        x[0] = arguments.x[thread]


@kernel
def looks_into_the_block(block: i64, arguments: Arrays) -> None:
    parts = shared_array(f64, THREADS)
    for thread in each_thread():
        parts[thread] = 0.0
    if parts[0] > 0.0:
        for thread in each_thread():
            arguments.sums[thread] = 1.0


@kernel
def stops_early(block: i64, arguments: Arrays) -> None:
    for thread in each_thread():
        if thread > arguments.count:
            return


@kernel
def breaks_off(block: i64, arguments: Arrays) -> None:
    for thread in each_thread():
        if thread > arguments.count:
            break


@kernel
def goes_through_threads_twice(block: i64, arguments: Arrays) -> None:
    for thread in each_thread():
        for other in each_thread():
            arguments.counts[thread] = other


@kernel
def is_a_thread_of_its_own(block: i64, arguments: Arrays) -> None:
    numbers = stack_array(f64, 4)
    for thread in each_thread():
        arguments.sums[thread] = numbers[0]


@kernel
def calls_together(block: i64, arguments: Arrays) -> None:
    first = to_real(arguments, block, 0)
    for thread in each_thread():
        arguments.sums[thread] = first


@kernel
def wants_too_much(block: i64, arguments: Arrays) -> None:
    for _ in static(range(4)):
        shared_array(pair, 1024)


@kernel
def is_no_grid(count: i64) -> None:
    for _thread in each_thread():
        pass


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (writes_together, "a change of memory outside of each_thread"),
        (adds_up_outside, "a change of a variable from outside of each_thread"),
        (has_registers_outside, "a change of a variable from outside of each_thread"),
        (looks_into_the_block, "a look into the block's memory outside of each_thread"),
        (stops_early, "return of a thread"),
        (breaks_off, "break of a thread"),
        (goes_through_threads_twice, "inside of another"),
        (is_a_thread_of_its_own, "memory on the stack"),
        (calls_together, "a call of to_real outside of each_thread"),
        (wants_too_much, "65536 bytes for a block, which has 49152"),
        (is_no_grid, "is_no_grid as a grid's kernel"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_would_differ_between_host_and_gpu_is_refused(
    function: Callable[..., Any], what: str
) -> None:
    with pytest.raises(KernelLanguageError, match=what):
        compile_grids({"refused": function}, TRIPLE, {"threads": 128})


@pytest.mark.skipif(
    assembler() is None, reason="no ptxas (pip install nvidia-cuda-nvcc), or checks"
)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("single", [0, 1])
def test_the_assembler_takes_all_kernels(architecture: str, single: int, tmp_path: Path) -> None:
    text = str(compile_grids(NAMED, TRIPLE, {"threads": 128, "single": single}))
    used = assembled(ptx(text, ARCHITECTURE), architecture, tmp_path)
    assert used.keys() == NAMED.keys()
    for usage in used.values():
        assert usage.spilled == 0
        assert usage.registers <= 32
