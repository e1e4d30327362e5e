"""The engine as a library: what it exports, where it is kept, parallel use."""

import ctypes
import importlib.util
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diastase_engine import engine_library
from diastase_engine.language import size_of
from diastase_engine.libraries import engine, kernel_library
from diastase_engine.state_vector.exports import EXPORTS
from diastase_engine.state_vector.state import records
from diastase_runtime.abi import CallContext


def test_the_library_has_every_function() -> None:
    library = ctypes.CDLL(str(engine_library()))
    for name in EXPORTS:
        assert hasattr(library, f"diastase_engine_{name}")
    assert not hasattr(library, "flush.kernel")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """The thread pool, found or built anew: in the way in which the engine is, but in no time."""

    def find() -> Path:
        monkeypatch.setattr(engine, "_OTHERS", engine._Others())
        return engine.threads_library()

    return find


def test_it_is_built_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh: Callable[[], Path]
) -> None:
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    built = fresh()
    assert built.is_relative_to(tmp_path)
    changed = built.stat().st_mtime_ns
    assert fresh() == built
    assert built.stat().st_mtime_ns == changed


def test_it_is_built_without_a_cache(
    monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], Path]
) -> None:
    monkeypatch.setenv("DIASTASE_CACHE", "0")
    built = fresh()
    assert ctypes.CDLL(str(built)).diastase_threads_parallel_for
    assert "programs" not in built.parts


def test_threads_that_come_together_get_one(
    monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], Path]
) -> None:
    """The file of another one would go with it, which without a cache nothing keeps."""
    monkeypatch.setenv("DIASTASE_CACHE", "0")
    fresh()
    monkeypatch.setattr(engine, "_OTHERS", engine._Others())
    found: list[Path] = []
    all_are_there = threading.Barrier(4)

    def find() -> None:
        all_are_there.wait(60)
        found.append(engine.threads_library())

    threads = [threading.Thread(target=find) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert set(found) == {engine.threads_library()}
    assert found[0].exists()


@pytest.mark.parametrize("folder", ["state_vector", "threads", "vector_math", "xla_ffi"])
def test_a_library_is_found_by_all_that_it_is_written_with(folder: str) -> None:
    """What its kernels import of ours is in its key; else a change there would find an old one."""
    hashed = set(kernel_library.sources_of(folder))
    kernels = Path(engine.__file__).parents[1]
    written = [kernels / f"{folder}.py", *kernels.joinpath(folder).rglob("*.py")]
    for file in filter(Path.exists, written):
        assert str(file) in hashed
        for name in re.findall(r"^from (diastase\w*[\w.]*) import", file.read_text(), re.MULTILINE):
            assert importlib.util.find_spec(name).origin in hashed, f"{file} imports {name}"


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
