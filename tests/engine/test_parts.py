"""Engines of what programs call: what is in them, what they compute, when the whole one comes."""

import ctypes
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from diastase_engine.language import called_by, compile_kernels, named_kernels
from diastase_engine.libraries import background_build, build, engine, kernel_library
from diastase_engine.libraries.build import EngineInParts
from diastase_engine.libraries.tuning import settings_for
from diastase_engine.state_vector.exports import EXPORTS
from diastase_runtime.abi import CALLED_BY_THE_LOADER, Artifact, Import
from diastase_toolchain import machine_code
from diastase_toolchain.errors import CacheWarning

LITTLE = frozenset(("num_qubits", "check_wires"))
NEEDED = frozenset(
    "state_create state_release state_copy gate controlled_gate unitary diagonal num_qubits"
    " expval_pauli probabilities amplitudes sample measure".split()
)


def test_all_kernels_are_found_without_compiling_them() -> None:
    host = machine_code.host_processor()
    whole = compile_kernels(EXPORTS, host.triple, settings_for(host))
    compiled = [function for function in whole.functions if not function.is_declaration]
    assert len(called_by(named_kernels(EXPORTS))) == len(compiled)


def test_a_library_has_what_was_asked_for_and_hides_the_rest(tmp_path: Path) -> None:
    parts = build.engine_in_parts()
    parts.build(LITTLE, tmp_path / "little.so")
    little = ctypes.CDLL(str(tmp_path / "little.so"))
    assert hasattr(little, "diastase_engine_check_wires")
    assert not hasattr(little, "failures.fail")
    assert not hasattr(little, "diastase_engine_uniform")
    parts.build({"uniform"}, tmp_path / "more.so")
    more = ctypes.CDLL(str(tmp_path / "more.so"))
    assert hasattr(more, "diastase_engine_check_wires")
    assert hasattr(more, "diastase_engine_uniform")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["little.so", "more.so"]


def test_what_is_there_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[str] = []
    optimised = machine_code.optimised

    def noted(text: str, *others: object) -> object:
        made.extend(re.findall(r'^define .*@"([\w.]+)"', text, re.MULTILINE))
        return optimised(text, *others)

    monkeypatch.setattr(machine_code, "optimised", noted)
    parts = build.single_in_parts()
    parts.build({"uniform"}, tmp_path / "a.so")
    parts.build({"uniform", "check_wires"}, tmp_path / "b.so")
    parts.build({"check_wires"}, tmp_path / "c.so")
    assert "diastase_single_check_wires" in made
    assert len(made) == len(set(made))


def test_a_part_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> bytes:
        raise OSError("no room")

    parts = build.engine_in_parts()
    with monkeypatch.context() as failing:
        failing.setattr(machine_code, "emit_object", fail)
        with pytest.raises(OSError, match="no room"):
            parts.build(LITTLE, tmp_path / "parts.so")
    parts.build(LITTLE, tmp_path / "parts.so")
    assert hasattr(ctypes.CDLL(str(tmp_path / "parts.so")), "diastase_engine_num_qubits")


@pytest.fixture(scope="session")
def of_parts(
    built_once: Callable[[str, Callable[[Path], None]], Path],
) -> Callable[[str], ctypes.CDLL]:
    def load(precision: str) -> ctypes.CDLL:
        parts: Callable[[], EngineInParts]
        parts = build.single_in_parts if precision == "single" else build.engine_in_parts
        path = built_once(f"parts-{precision}.so", lambda path: parts().build(NEEDED, path))
        return ctypes.CDLL(str(path))

    return load


@pytest.mark.sample(2)
@pytest.mark.parametrize("qubits", [2, 5, 11])
def test_it_computes_what_the_whole_engine_does(
    register: Callable, registers: Callable, of_parts: Callable, precision: str, qubits: int
) -> None:
    random = np.random.default_rng(qubits)
    states = [register(qubits, 3), registers(of_parts(precision), qubits, 3)]
    phases = np.exp(1j * random.normal(size=4))
    matrix = np.linalg.qr(random.normal(size=(4, 4)) + 1j * random.normal(size=(4, 4)))[0]
    angles = random.normal(size=(3, qubits))
    outcomes = []
    for state in states:
        for layer in angles:
            for wire, angle in enumerate(layer):
                state.gate("RX", (wire,), angle)
                state.gate("RZ", (wire,), 2 * angle)
                state.gate("CNOT", (wire, (wire + 1) % qubits))
            state.controlled("RY", (0,), (1,), (qubits - 1,), layer[0])
            state.gate("IsingXX", (0, qubits - 1), layer[1])
        state.unitary(matrix, (qubits - 1, 0))
        state.diagonal(phases, (0, 1))
        outcomes.append(state.measure(1))
    assert outcomes[0] == outcomes[1]
    whole, parts = states
    tolerance = parts.within(1e-13)
    np.testing.assert_allclose(parts.amplitudes, whole.amplitudes, atol=tolerance)
    np.testing.assert_allclose(parts.probabilities((0,)), whole.probabilities((0,)), atol=tolerance)
    terms = [(0.5, "XY", (0, 1)), (2.0, "Z", (qubits - 1,))]
    assert parts.pauli("expval_pauli", terms) == pytest.approx(
        whole.pauli("expval_pauli", terms), abs=tolerance
    )
    np.testing.assert_array_equal(parts.sample((0, 1), 50), whole.sample((0, 1), 50))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is built of an engine, in no time; the whole one behind it when `finish` says so."""
    names: list[str] = []

    class Parts:
        def build(self, functions: set[str], library: Path) -> None:
            names.append(" ".join(sorted(functions - CALLED_BY_THE_LOADER)))
            library.write_text(names[-1])

    def whole(library: Path) -> None:
        names.append("whole")
        library.write_text("whole")

    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    builders = SimpleNamespace(engine_in_parts=Parts, build_engine=whole)
    monkeypatch.setattr(engine, "builders", builders)
    monkeypatch.setattr(kernel_library, "builders", builders)
    monkeypatch.setattr(engine, "threads_library", lambda: tmp_path / "threads.so")
    monkeypatch.setattr(engine, "has_python", lambda: True)
    return names


class Behind:
    """Stands for the process that builds the whole engine, and waits until it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._goes_on = threading.Event()
        self._alone = threading.Lock()
        self.calls = 0
        self.told: list[tuple[str, str]] = []
        monkeypatch.setattr(engine, "build_behind", self._build)
        monkeypatch.setattr(engine, "_ENGINES", {"single": engine._Engine("single")})
        self.engine = self.process()

    def process(self) -> "engine._Engine":
        """The engines of another process."""
        found = engine._ENGINES["engine"] = engine._Engine("engine")
        found.tell(lambda old, new: self.told.append((old.read_text(), new.read_text())))
        return found

    def _build(
        self, name: str, key: str, folder: Path, find: Callable[[], object], *, outlives: bool
    ) -> None:
        self.calls += 1
        assert self._goes_on.wait(60)
        with self._alone, pytest.MonkeyPatch.context() as its_own:
            if find() is None:
                its_own.setitem(engine._ENGINES, name, engine._Engine(name))
                its_own.setenv("DIASTASE_CACHE", "1")
                its_own.setenv("DIASTASE_CACHE_DIR", str(folder.parent))
                engine.build_whole(name, key)

    def finish(self) -> None:
        self._goes_on.set()
        for thread in threading.enumerate():
            if thread.name == "diastase-engine":
                thread.join(60)


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> Iterator[Behind]:
    process = Behind(monkeypatch)
    yield process
    process.finish()


def functions(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.mark.parametrize("cached", [True, False])
def test_programs_get_what_they_call_and_then_the_whole_one(
    built: list[str], background: Behind, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    if not cached:
        monkeypatch.setenv("DIASTASE_CACHE", "0")
    ours = background.engine
    first = ours.having(functions("gate"))
    assert ours.having(functions("gate")) == first
    second = ours.having(functions("uniform"))
    assert [first.read_text(), second.read_text()] == built == ["gate", "gate uniform"]
    assert background.told == []
    background.finish()
    assert built[2:] == ["whole"]
    assert background.calls == 1
    assert ours.having(functions("gate")).read_text() == "whole"
    assert background.told == [("gate", "whole"), ("gate uniform", "whole")]
    assert first.exists()


def test_another_process_finds_what_there_is(built: list[str], background: Behind) -> None:
    first = background.engine.having(functions("gate"))
    assert background.process().having(functions("gate")) == first
    assert built == ["gate"]
    background.finish()
    assert background.process().having(functions("uniform")).read_text() == "whole"
    assert sorted(built) == ["gate", "whole"]


def test_one_that_another_process_has_built_is_taken(built: list[str], background: Behind) -> None:
    ours = background.engine
    ours.having(functions("gate"))
    background.process().whole()
    assert ours.having(functions("uniform")).read_text() == "whole"
    assert background.told == [("gate", "whole")]


@pytest.mark.parametrize("whole", [False, True])
def test_what_somebody_has_removed_is_built_again(
    built: list[str], background: Behind, whole: bool
) -> None:
    ours = background.engine
    path = ours.whole() if whole else ours.having(functions("gate"))
    path.unlink()
    with pytest.warns(CacheWarning, match="corrupted"):
        assert ours.having(functions("gate")).exists()
    assert built == (["whole", "gate"] if whole else ["gate", "gate"])


@pytest.mark.filterwarnings("ignore:corrupted")
def test_a_whole_one_that_was_removed_is_built_behind_once_more(
    built: list[str], background: Behind
) -> None:
    ours = background.engine
    ours.having(functions("gate"))
    background.finish()
    ours.having(functions("gate")).unlink()
    assert ours.having(functions("gate")).read_text() == "gate"
    background.finish()
    assert ours.having(functions("gate")).read_text() == "whole"
    assert built == ["gate", "whole", "whole"]
    assert background.told == [("gate", "whole")] * 2


def test_who_wants_another_library_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()

    def found(name: str, folder: str) -> Artifact:
        assert name == "sorting" or goes_on.wait(60)
        return Artifact(name, Path(name), (), ())

    monkeypatch.setattr(engine, "library", found)
    others = engine._Others()
    thread = threading.Thread(target=others.path, args=("fourier",))
    thread.start()
    assert others.path("sorting") == Path("sorting")
    goes_on.set()
    thread.join(60)
    assert others.path("fourier") == Path("fourier")


def test_another_library_that_somebody_has_removed_is_built_again(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        kernel_library.builders, "build_sorting", lambda path: path.write_text("x"), raising=False
    )
    others = engine._Others()
    others.path("sorting").unlink()
    with pytest.warns(CacheWarning, match="corrupted"):
        assert others.path("sorting").exists()


def test_without_a_python_to_run_the_whole_one_is_built_at_once(
    built: list[str], background: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "has_python", lambda: False)
    background.engine.having(functions("gate"))
    assert built == ["whole"]


def test_what_programs_lie_beside_is_the_whole_one(built: list[str], background: Behind) -> None:
    program = Artifact("f", Path("f.so"), (), (), imports=(Import("engine", "gate"),))
    assert engine.with_libraries(program).engine.read_text() == "gate"
    assert engine.with_libraries(program, whole=True).engine.read_text() == "whole"


def test_an_engine_of_other_sources_is_not_built(built: list[str], background: Behind) -> None:
    engine.build_whole("engine", "another key")
    assert built == []


def test_a_forked_process_waits_for_no_thread_of_its_parent(
    built: list[str], background: Behind
) -> None:
    ours = background.engine
    ours.having(functions("gate"))
    with ours._lock:
        engine._begin_again()
        thread = threading.Thread(target=ours.having, args=(functions("uniform"),))
        thread.start()
        thread.join(60)
        assert built == ["gate", "gate uniform"]


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file in which the process that builds says what it was told; it builds nothing."""
    program = background_build._PROGRAM.replace(
        "    build_whole(",
        "    time.sleep(0.2)\n"
        "    print({engine!r}, {key!r}, os.getppid(), os.environ['DIASTASE_CACHE_DIR'],"
        f" file=open({str(tmp_path / 'noted')!r}, 'a'))\n    (",
    ).replace("import sys", "import sys, time")
    monkeypatch.setattr(background_build, "_PROGRAM", program)
    return tmp_path / "noted"


def _folder(tmp_path: Path) -> Path:
    (tmp_path / "cache" / "programs").mkdir(parents=True)
    return tmp_path / "cache" / "programs"


@pytest.mark.parametrize("outlives", [True, False])
def test_a_process_of_its_own(noted: Path, tmp_path: Path, outlives: bool) -> None:
    """Which is nobody's child, and is waited for all the same."""
    folder = _folder(tmp_path)
    background_build.build_behind("engine", "a key", folder, lambda: None, outlives=outlives)
    name, words = "engine", noted.read_text().split()
    assert words[:3] == [name, "a", "key"]
    assert int(words[3]) != os.getpid()
    assert words[4] == str(folder.parent)


def test_of_several_one_builds(noted: Path, tmp_path: Path) -> None:
    folder = _folder(tmp_path)

    def find() -> object:
        return noted if noted.exists() else None

    threads = [
        threading.Thread(
            target=background_build.build_behind,
            args=("engine", "key", folder, find),
            kwargs={"outlives": True},
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(noted.read_text().splitlines()) == 1


def test_who_is_killed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(background_build, "_PROGRAM", "import os, signal\nos.kill(os.getpid(), 9)")
    folder = _folder(tmp_path)
    background_build.build_behind("engine", "key", folder, lambda: None, outlives=True)
    background_build.build_behind("engine", "key", folder, lambda: None, outlives=False)


@pytest.mark.parametrize("refused", ["Popen", "flock"])
def test_where_no_process_can_be_started_no_file_stays_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BlockingIOError

    module = subprocess if refused == "Popen" else background_build.fcntl
    folder, before = _folder(tmp_path), os.listdir("/proc/self/fd")
    monkeypatch.setattr(module, refused, fail)
    background_build.build_behind("engine", "key", folder, lambda: None, outlives=False)
    assert os.listdir("/proc/self/fd") == before


def test_a_folder_that_is_gone_stays_gone(tmp_path: Path) -> None:
    folder = _folder(tmp_path)

    def find() -> None:
        folder.rmdir()
        folder.parent.rmdir()

    background_build.build_behind("engine", "key", folder, find, outlives=True)
    background_build.build_behind("engine", "key", folder, lambda: None, outlives=True)
    assert not folder.parent.exists()


_ENDS = """\
import os, sys, threading, time
from pathlib import Path
from diastase_engine.libraries import background_build
folder, file = map(Path, sys.argv[1:])
background_build._PROGRAM = background_build._PROGRAM.replace(
    "sys.path[:] =", f"print(os.getpid(), file=open({str(file)!r}, 'w'))\\nimport time\\n"
    "time.sleep(600)\\nsys.path[:] =")
args = ("engine", "key", folder, lambda: None)
threading.Thread(
    target=background_build.build_behind, args=args, kwargs={"outlives": False}, daemon=True
).start()
while not (file.exists() and file.read_text()):
    time.sleep(0.01)
os._exit(0)
"""


def test_it_ends_with_the_process_whose_cache_it_builds_in(tmp_path: Path) -> None:
    folder, file = _folder(tmp_path), tmp_path / "pid"
    subprocess.run([sys.executable, "-c", _ENDS, str(folder), str(file)], check=True, timeout=120)
    with background_build._alone(folder):  # which it holds as long as it lives
        assert file.read_text()


_FORKS = """\
import os, sys
from pathlib import Path
from diastase_engine.libraries import background_build
folder = Path(sys.argv[1])
with background_build._alone(folder):
    read, write = os.pipe()
    if not os.fork():
        os.close(write)
        os.read(read, 1)
        os._exit(0)
with background_build._alone(folder):
    print("alone")
"""


def test_a_forked_process_keeps_no_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _FORKS, str(_folder(tmp_path))]
    ran = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    assert ran.stdout == "alone\n"


@pytest.mark.parametrize(
    ("name", "is_python"),
    [
        ("python", True),
        ("python3.11", True),
        ("python-app", False),
        ("", False),
        ("pythonw", False),
    ],
)
def test_a_python_is_known_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, is_python: bool
) -> None:
    monkeypatch.setattr(sys, "executable", f"/usr/bin/{name}" if name else name)
    assert background_build.has_python() == is_python


def test_loops_over_amplitudes_keep_values_in_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: dict[str, machine_code.Level] = {}
    optimised = machine_code.optimised

    def noted(text: str, exported: object, level: machine_code.Level, common: object) -> object:
        for name in re.findall(r'^define .*@"([\w.]+)"', text, re.MULTILINE):
            levels[name] = level
        return optimised(text, exported, level, common)

    monkeypatch.setattr(build.machine_code, "optimised", noted)
    monkeypatch.setattr(build.linker, "link_parts", lambda objects, library: None)
    build.engine_in_parts().build({"expval_pauli"}, Path("unused"))
    assert levels["tiles.tiles.run_tile"] > machine_code.Level.WITHOUT_LOOPS
    assert levels["diastase_engine.call_context.fail"] == machine_code.Level.WITHOUT_LOOPS
