"""Checked builds of programs: what is out of bounds raises, or ends the process on the pool."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import debug, qjit
from diastase.pipelines import default_pipeline
from diastase_mlir.bindings.pass_pipeline import pass_name
from diastase_mlir.driver.pipeline import CHECKS, LAST_LOOPS
from diastase_runtime.abi import CHECK_FAILED_FUNCTION, CHECK_FAILED_ON_THREAD_FUNCTION
from diastase_runtime.errors import InternalError


def checked_pipeline() -> list[tuple[str, list[str]]]:
    """The pipeline that `DIASTASE_CHECKED=bounds` gives."""
    checks = [pass_name(each) for each in CHECKS]
    return [
        (
            stage,
            [
                each
                for step in steps
                for each in ([step, *checks] if step == LAST_LOOPS else [step])
            ],
        )
        for stage, steps in default_pipeline()
    ]


def part(x: jax.Array, start: Any) -> jax.Array:
    return jnp.sin(jax.lax.dynamic_slice(x, (start,), (3,)))


def beyond(function: Any) -> None:
    """Let the slice that the program takes begin one later than it may."""
    text = debug.get_compilation_stage(function, "deallocate")
    clamped, count = re.subn(r"(arith\.constant) 7 : index", r"\1 8 : index", text)
    assert count == 1
    debug.replace_ir(function, "deallocate", clamped)


def test_a_slice_out_of_bounds_is_an_error_of_a_checked_build_only():
    x = np.arange(10.0)
    checked, unchecked = qjit(part, pipelines=checked_pipeline()), qjit(part)
    for function in (checked, unchecked):
        np.testing.assert_allclose(function(x, 9), np.sin(x[7:]))
        beyond(function)
    assert unchecked(x, 9).shape == (3,)
    with pytest.raises(InternalError, match=r"out-of-bounds.*memref.subview"):
        checked(x, 9)
    np.testing.assert_allclose(checked(x, 2), np.sin(x[2:5]))


def test_the_message_has_the_line_of_the_user():
    function = qjit(part, pipelines=checked_pipeline())
    function(np.arange(10.0), 2)
    text = debug.get_compilation_stage(function, "to-llvm")
    line = part.__code__.co_firstlineno + 1
    assert set(re.findall(r", at ([^\"\\]+:\d+)", text)) == {f"{__file__}:{line}"}


def test_loops_of_the_pool_end_the_process_and_others_the_call():
    def program(x):
        return jnp.cumsum(x).sum() + jnp.sin(x)

    function = qjit(program, pipelines=checked_pipeline())
    function(np.ones(100_000))
    text = debug.get_compilation_stage(function, "to-llvm")
    called: dict[str, set[str]] = {}
    for body in text.split("llvm.func ")[1:]:
        for failed in re.findall(rf"call @({CHECK_FAILED_FUNCTION}\w*)", body):
            called.setdefault(failed, set()).add(re.findall(r"@(\w+)\(", body)[0])
    on_threads = called[CHECK_FAILED_ON_THREAD_FUNCTION]
    assert on_threads
    assert all(name.startswith("diastase_loop_") for name in on_threads)
    assert not on_threads & called.get(CHECK_FAILED_FUNCTION, set())


def test_checked_programs_compute_the_same():
    def program(x, n):
        y = jnp.sort(x @ x.T, axis=0)[::-1] + jax.lax.fori_loop(
            0, n, lambda k, z: z.at[k].add(k), x
        )
        return jnp.where(y > 1, jnp.cumsum(y, axis=1), y[:, ::-1])

    x = np.random.default_rng(0).normal(size=(5, 5))
    checked = qjit(program, pipelines=checked_pipeline())
    np.testing.assert_array_equal(checked(x, 3), qjit(program)(x, 3))
