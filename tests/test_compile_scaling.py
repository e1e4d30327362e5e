"""Compiling takes work in proportion to the program: counted, as a clock would tell of much else.

Each family of `benchmarks/families` is compiled and called with k, 2 k and 4 k of what it is about.
Counted are the lines of Python that run in each function of ours, the calls of functions of others,
and how long the program is after each stage and as LLVM IR. An exponent is that of the differences:
what is the same for all sizes drops out, so linear growth gives 1.00 at any size, and where all are
compared with all, the function that does it gives 2 long before the whole takes noticeable time.

The traps: from some size on a program may take another form (ten gates in a row become a loop),
which looks like growth once, so what exceeds is looked at again with twice as much, up to 16 k. And
what one call of MLIR or LLVM does is not seen, only the size of what it is given: the rest is
measured by `benchmarks/compile_scaling.py`, in seconds.
"""

import gc
import math
import os
import re
import sys
import threading
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import jax
import pytest

from diastase import QJIT, qjit
from diastase_mlir.bindings import ir
from diastase_mlir.bindings.pass_pipeline import Pipeline
from diastase_mlir.driver import compilation, compile_program, continuation

ROOT = Path(__file__).parents[1]
OURS = tuple(f"{ROOT / folder}{os.sep}" for folder in ("frontend", "mlir", "runtime", "tests"))
NOT_COUNTED = str(Path(re.__file__).parent)
"""Regular expressions are compiled when they are not remembered any more, which is by chance."""

HIGHEST, HIGHEST_OF_A_PART = 1.2, 1.5
"""Exponents: of all lines, all calls and the program; of one function. Sorting passes."""
EXPECTED = {
    "adjoint-of-controlled-nested": 2.0,  # each level rebuilds all that stands inside it
    "gradient-of-loops-nested": 2.0,  # the same
    "terms-written-as-a-sum": 2.0,  # PennyLane makes a sum of all terms before for each `+`
    "concatenations-of-dynamic-sizes": 3.0,  # JAX compares sums of minima of sums of minima
    "arrays-made-of-different-sizes": math.inf,  # another form at the largest size: seconds say 1.2
    "rows-set": math.inf,  # likewise: seconds say 0.6
}
"""Exponents of families whose growth is of another kind, and why; infinite where counts say nothing
of it (`benchmarks/results/compile_scaling.md` has the seconds)."""
TELLING = 200
"""What grows by fewer with the last doubling is nothing that anybody would notice,"""
TELLING_SHARE, TELLING_SHARE_OF_ALL = 0.02, 0.01
"""nor by less than this share of what there was, nor a function by less than this of all lines."""
LARGEST_SMALLEST, SIZES = 32, 5

LINES, CALLS = "lines of ours that run", "calls of others"


def families():
    """All families, by name; the modules of `benchmarks/` find each other on the path."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return import_module("families").all_families()
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


FAMILIES = families()


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    for module in (compilation, compile_program):
        monkeypatch.setattr(module, "program_cache", lambda: None)


@cache
def is_ours(code):
    return code.co_filename.startswith(OURS)


def traced(work):
    """How often each code object ran a line, if it is ours, or was called; in a thread of its own.

    There nothing else runs, and the compilation in no other thread (`toolchain/background.py`).
    """
    found, failures = Counter(), []

    def line(frame, event, argument):
        found[frame.f_code] += 1
        return line

    def call(frame, event, argument):
        found[frame.f_code] += 1
        return line if is_ours(frame.f_code) else None

    def run():
        sys.settrace(call)
        try:
            work()
        except BaseException as failure:
            failures.append(failure)
        finally:
            sys.settrace(None)

    size_before = threading.stack_size(64 << 20)  # MLIR and LLVM recur deeply
    thread = threading.Thread(target=run)
    thread.start()
    threading.stack_size(size_before)
    thread.join()
    if failures:
        raise failures[0]
    return found


def compiled_and_called(family, k):
    function, *arguments = family.make(k)
    compiled = function if isinstance(function, QJIT) else qjit(function)  # may compile at once
    jax.block_until_ready(compiled(*arguments))


def counted(monkeypatch, family, k):
    """What compiling and calling takes, by what is counted."""
    found = Counter()

    def see(place, text):
        found[f"lines {place}"] += text.count("\n")
        found[f"characters {place}"] += sum(len(line.strip()) for line in text.splitlines())

    class Sizes:
        after_pass = None

        def __init__(self, name, options):
            pass

        def after_stage(self, stage, number, name, module):
            see(f"after {name}", str(module))

    def seen(text, exported):
        see("of LLVM IR", text)
        return optimised(text, exported)

    optimised = compilation.optimised
    with monkeypatch.context() as patches:
        patches.setattr(compilation, "Dumps", Sizes)
        patches.setattr(compilation, "optimised", seen)
        gc.disable()  # it calls finalisers wherever it happens to run
        try:
            by_code = traced(lambda: compiled_and_called(family, k))
        finally:
            gc.enable()
    for code, count in by_code.items():
        if is_ours(code):
            place = f"{Path(code.co_filename).name}:{code.co_firstlineno}:{code.co_qualname}"
            found[LINES] += count
            found[place] += count
        elif not code.co_filename.startswith(NOT_COUNTED):
            found[CALLS] += count
    return found


def exponent(counts):
    """How the counts of k, 2 k and 4 k grow; where they did not grow before, by the last two."""
    before, last = counts[1] - counts[0], counts[2] - counts[1]
    if before > 0 and last > 0:
        return math.log2(last / before)
    return math.log2(counts[2] / counts[1]) if counts[1] else math.inf


def too_fast(found, expected=1.0):
    """What grows faster than expected with the last three sizes: the counts and the exponent."""
    problems = {}
    all_lines = found[-1][LINES] - found[-2][LINES]
    for what in found[-1]:
        counts = [each[what] for each in found[-3:]]
        least = [TELLING, TELLING_SHARE * counts[1]]
        if " " not in what:
            least.append(TELLING_SHARE_OF_ALL * all_lines)
        if counts[2] <= 2**expected * counts[1]:
            continue  # a constant, and growth in proportion
        highest = HIGHEST if what in (LINES, CALLS) or "lines " in what else HIGHEST_OF_A_PART
        if counts[2] - counts[1] >= max(least) and exponent(counts) > expected - 1 + highest:
            problems[what] = (*counts, round(exponent(counts), 2))
    return problems


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_work_grows_with_the_program(name, monkeypatch):
    family, expected = FAMILIES[name], EXPECTED.get(name, 1.0)
    k = max(2, min(LARGEST_SMALLEST, family.smallest // 8))
    compiled_and_called(family, max(1, k // 2))  # what is made once and kept
    found = [counted(monkeypatch, family, k << doubling) for doubling in range(3)]
    while (problems := too_fast(found, expected)) and len(found) < SIZES:
        found.append(counted(monkeypatch, family, k << len(found)))
    assert not problems


def all_with_all(module):
    """A pass that compares each operation with each."""
    operations = []

    def collect(operation):
        operations.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    for one in operations:
        for other in operations:
            if one is other:
                break


def with_a_pass(pipeline, name, added):
    return Pipeline(
        tuple(
            replace(stage, passes=(*stage.passes, added)) if stage.name == name else stage
            for stage in pipeline.stages
        )
    )


def test_a_pass_that_compares_all_with_all_is_found(monkeypatch):
    pipeline = with_a_pass(continuation.PIPELINE, "scalars", all_with_all)
    monkeypatch.setattr(continuation, "PIPELINE", pipeline)
    family = FAMILIES["elementwise-in-a-chain"]
    found = [counted(monkeypatch, family, k) for k in (4, 8, 16)]
    (name,) = [name for name in too_fast(found) if name.endswith("all_with_all")]
    assert exponent([each[name] for each in found]) > 1.8


@pytest.mark.parametrize(
    ("grown", "found_at"),
    [
        (lambda k: 10_000 + 300 * k, []),
        (lambda k: 10_000 + 300 * k + 10 * k**2, [64, 128]),
        (lambda k: 100 * k * k.bit_length(), [32]),
        (lambda k: 300 * k * (k >= 32), [32]),  # another form from 32 on, which is no growth
        (lambda k: 300 * k**2 * (k >= 32), [32, 64, 128]),
        (lambda k: k**2 // 8, [64, 128]),  # too little, up to 32
        (lambda k: 100_000 + k**2 // 8, []),
    ],
)
def test_what_grows_too_fast(grown, found_at):
    sizes = [8 << doubling for doubling in range(SIZES)]
    found = [Counter({LINES: grown(k)}) for k in sizes]
    assert [sizes[n - 1] for n in range(3, SIZES + 1) if too_fast(found[:n])] == found_at
