"""The engine as a library: what it exports, where it is kept, parallel use."""

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diastase_mlir.kernels import engine, engine_library
from diastase_mlir.kernels.language import size_of
from diastase_mlir.kernels.state_vector import records
from diastase_mlir.kernels.state_vector.exports import EXPORTS
from diastase_runtime.abi import CallContext


def test_the_library_has_every_function() -> None:
    library = ctypes.CDLL(str(engine_library()))
    for name in EXPORTS:
        assert hasattr(library, f"diastase_engine_{name}")
    assert not hasattr(library, "flush.kernel")


def test_it_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    engine._engine.cache_clear()
    built = engine._engine().library
    changed = built.stat().st_mtime_ns
    engine._engine.cache_clear()
    assert engine._engine().library == built
    assert built.stat().st_mtime_ns == changed
    engine._engine.cache_clear()


def test_it_is_built_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIASTASE_CACHE", "0")
    engine._engine.cache_clear()
    assert ctypes.CDLL(str(engine._engine().library)).diastase_engine_gate
    engine._engine.cache_clear()


def test_the_context_is_the_runtimes() -> None:
    assert list(records.CallContext.__annotations__) == [name for name, _ in CallContext._fields_]
    assert size_of(records.CallContext) == ctypes.sizeof(CallContext)


def test_states_in_parallel_threads(register: Callable) -> None:
    def work(state, seed: int) -> None:
        for k in range(300):
            state.gate("RY", (k % 8,), 0.1 * seed + k)
            state.gate("CNOT", (k % 8, (k + 1 + seed) % 8))
            state.pauli("expval_pauli", [(1.0, "XZ", (0, 5))])

    states = [register(8) for _ in range(4)]
    expected = register(8)
    work(expected, 1)
    threads = [threading.Thread(target=work, args=(state, 1)) for state in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for state in states:
        np.testing.assert_array_equal(state.amplitudes, expected.amplitudes)
