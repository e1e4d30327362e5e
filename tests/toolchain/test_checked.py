"""Checked builds: what is put into LLVM IR text, and that planted faults are found by it alone."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import checked
from diastase_toolchain.checked.instrumented import instrumented, size_of, top_level_parts
from diastase_toolchain.checked.switch import VARIABLE, checks
from diastase_toolchain.errors import CheckedBuildError

TEXT = """
define i64 @f(ptr %0, ptr %1) {
  %3 = alloca i64, align 8
  %4 = alloca double, i64 16, align 64
  store i64 1, ptr %3, align 8
  %5 = load <3 x double>, ptr %0, align 16
  store { i64, ptr } { i64 1, ptr null }, ptr getelementptr (i8, ptr @g, i64 8), align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %0, ptr %1, i64 24, i1 false)
  %6 = atomicrmw add ptr %1, i64 %2 seq_cst
  ret i64 %6
}
"""


def calls(text: str, start: str) -> list[str]:
    body = text.split("\n}\n")[0]
    return [line.strip().removeprefix("call void @") for line in body.split("\n") if start in line]


def test_accesses_are_checked_and_variables_are_not():
    pair = "ptrtoint (ptr getelementptr ({ i64, ptr }, ptr null, i64 1) to i64)"
    assert calls(instrumented(TEXT, "address"), "@diastase_") == [
        "diastase_read(ptr %0, i64 24, i64 16)",
        f"diastase_write(ptr getelementptr (i8, ptr @g, i64 8), i64 {pair}, i64 8)",
        "diastase_write(ptr %0, i64 24, i64 1)",
        "diastase_read(ptr %1, i64 24, i64 1)",
        "diastase_write(ptr %1, i64 8, i64 8)",
    ]


@pytest.mark.parametrize(
    ("value", "size"),
    [("<8 x double> %1", "64"), ("<8 x double>* %1", "8"), ("i64* %1", "8"), ("float 1.0", "4")],
)
def test_a_pointer_is_stored_as_one_whatever_is_there(value: str, size: str):
    text = f"define void @f(ptr %0) {{\n  store {value}, ptr %0\n  ret void\n}}\n"
    assert f"@diastase_write(ptr %0, i64 {size}, " in instrumented(text, "address")


def test_arrays_on_the_stack_have_room_around_them_until_the_function_returns():
    found = calls(instrumented(TEXT, "address"), "poison_memory_region")
    assert [call.partition("(")[0] for call in found] == [
        "__asan_poison_memory_region",
        "__asan_poison_memory_region",
        "__asan_unpoison_memory_region",
    ]


def test_atomic_operations_are_those_of_the_sanitizer_that_knows_threads():
    text = instrumented(TEXT, "threads")
    assert calls(text, "atomic") == [
        "%6 = call i64 @__tsan_atomic64_fetch_add(ptr %1, i64 %2, i32 5)"
    ]
    assert calls(text, "__tsan_func_exit") == ["__tsan_func_exit()"]


@pytest.mark.parametrize(
    ("kind", "size"), [("i1", "1"), ("ptr", "8"), ("<8 x i1>", "1"), ("<3 x float>", "12")]
)
def test_sizes_of_accesses(kind: str, size: str):
    assert size_of(kind) == size


def test_parts_of_an_instruction():
    assert top_level_parts('<2 x i64> <i64 1, i64 2>, ptr %"a,b", align 8') == [
        "<2 x i64> <i64 1, i64 2>",
        'ptr %"a,b"',
        "align 8",
    ]


@pytest.mark.parametrize(
    ("value", "reason"), [("all", "none of bounds"), ("address", "libasan.so")]
)
def test_checks_that_there_are_not_are_refused(
    value: str, reason: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(CheckedBuildError, match=reason):
        checks.__wrapped__()


FAULTS = {
    "one_too_many": "heap-buffer-overflow",
    "after_free": "heap-use-after-free",
    "beyond_the_stack": "use-after-poison",
    "misaligned": "no multiple of 8",
    "other_field": "index 10 of an array of 10 elements",
    "too_large_a_size": "a product that is no i64",
    "too_large_a_shift": "a shift by 80 bits of 64",
}


@cache
def outcomes(kind: str, *names: str) -> dict[str, tuple[int, str]]:
    """How processes end that run these kernels, and what they say."""
    if kind and checked.library(kind) is None:
        pytest.skip("GCC, which has the sanitizers' libraries, is not there")
    command = [sys.executable, str(Path(__file__).with_name("planted_faults.py")), *names]
    environment = checked.environment(kind) if kind else None
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_faults_of_kernels_are_found():
    found = outcomes("address", *FAULTS, "never_written")
    for name, report in FAULTS.items():
        code, output = found[name]
        assert code != 0
        assert report in output
    assert found["never_written"] == [0, "nan\n"]


def test_a_race_is_found_and_an_atomic_operation_is_none():
    found = outcomes("threads", "racing", "atomic")
    code, output = found["racing"]
    assert code != 0
    assert "data race" in output
    assert found["atomic"] == [0, "2.0\n"]


def test_an_unchecked_build_finds_nothing():
    """Of faults that do no harm; by others the process may end, or may not."""
    found = outcomes("", "beyond_the_stack", "other_field", "too_large_a_size", "racing")
    assert [code for code, _ in found.values()] == [0] * len(found)
