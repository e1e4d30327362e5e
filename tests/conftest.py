"""What all tests share: a cache directory of their own, and golden files."""

import ctypes
import os
import re
import zlib
from pathlib import Path

import jax
import pytest

import sampled
import settings
from diastase.inspection.explicit_jaxpr import explicit_jaxpr, typecheck_jaxpr
from diastase.tracing.trace import TracedProgram
from diastase_engine import threads_library
from diastase_engine.libraries import engine
from diastase_mlir import CompileOptions, LoweredModule, compile_module
from diastase_runtime import Executable
from diastase_runtime.abi import ENTRY_FUNCTION, ArrayType, library_symbol
from diastase_runtime.libraries import thread_pool
from diastase_runtime.process_limits import number_of_threads
from translation import session

settings.begin()

# A test has the whole engine from the start, whichever test is the first: another one rounds
# differently, and would be exchanged in the middle. `tests/engine/test_parts.py` has others. For
# another processor (`tests/test_processors.py`), a sample has the part that its programs call.
if sampled.is_sample() and "DIASTASE_TARGET_CPU" in os.environ:
    engine.build_behind = lambda *_, **__: None
else:
    engine.has_python = lambda: False


def pytest_configure(config):
    """Nothing is left out of what is asked for by name; rewritings of circuits are checked."""
    sampled.begin(asked_for_all=config.args_source is pytest.Config.ArgsSource.ARGS)
    session.begin(config)


def pytest_collection_modifyitems(config, items):
    """Leave out what `make test-all` runs besides (`sampled`)."""
    if not sampled.is_sample():
        return
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = set()
    for of_function in cases.values():
        mark = of_function[0].get_closest_marker("sample")
        count = len(of_function) if mark is None else mark.args[0]
        if of_function[0].get_closest_marker("thorough") is None:
            kept.update(sampled.spread(of_function, count))
    if sampled.is_tenth():
        kept = set(sampled.spread([item for item in items if item in kept], len(kept) // 10))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    """Intermediate IR is written into the current directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def every_traced_program_is_well_typed(request, monkeypatch):
    """The explicit jaxpr of whatever a test traces is derived, printed and checked."""
    one_of = sampled.checked()
    if one_of is None or zlib.crc32(request.node.nodeid.encode()) % one_of:
        yield
        return
    failures = []
    make = TracedProgram.__init__

    def make_and_check(traced, *args, **kwargs):
        make(traced, *args, **kwargs)
        try:
            program = traced.program
            typecheck_jaxpr(explicit_jaxpr(program.jaxpr, traced.sizes, program.dimensions))
        except Exception as failure:
            failures.append(failure)

    monkeypatch.setattr(TracedProgram, "__init__", make_and_check)
    yield
    if failures:
        raise failures[0]


@pytest.fixture(autouse=True, scope="module")
def a_process_of_bounded_size():
    """XLA keeps what it compiles: three mappings a kernel, of the 65,530 that Linux gives."""
    yield
    if _MAPPINGS.exists() and _MAPPINGS.read_bytes().count(b"\n") > _MOST_MAPPINGS:
        jax.clear_caches()


_MAPPINGS, _MOST_MAPPINGS = Path("/proc/self/maps"), 12_000


@pytest.fixture
def configure():
    """`configure(number)` says how many threads programs have, until the test ends."""
    pool = thread_pool(threads_library())  # loaded as programs do it, who would set the number, too

    def threads(number: int) -> None:
        pool[library_symbol("threads", "configure")](ctypes.c_int64(number))

    yield threads
    threads(number_of_threads())


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


@pytest.fixture
def golden(request):
    """`golden(path, text)` compares a text with a file under `tests/`, or writes the file."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"no {path}: run pytest with --update-golden and read what it wrote"
        assert text == path.read_text()

    return compare


@pytest.fixture
def mlir_program():
    """`mlir_program(text, arguments, results, **fields)` makes a `LoweredModule` by hand.

    Types are written `f64[2]`-like: dtype name and rank, `float64[2]`. The text is the entry's
    signature after the call context and its body, `(%x: tensor<f64>) -> tensor<f64> { … }`,
    optionally followed by further functions.
    """

    def array_types(text: str) -> tuple[ArrayType, ...]:
        return tuple(
            ArrayType(dtype, int(rank)) for dtype, rank in re.findall(r"(\w+)\[(\d+)\]", text)
        )

    def build(text: str, arguments: str, results: str, **fields) -> LoweredModule:
        signature, body = text.strip().split("{", 1)
        signature = re.sub(
            r"(%\w+: tensor<[^>]*>+)", r"\1 {bufferization.writable = false}", signature
        ).replace("(", "(%context: !llvm.ptr, " if "%" in signature else "(%context: !llvm.ptr", 1)
        module = (
            f"func.func @{ENTRY_FUNCTION}{signature} attributes {{llvm.emit_c_interface}} {{{body}"
        )
        fields.setdefault("name", "program")
        return LoweredModule(
            bytecode=module.encode(),
            arguments=array_types(arguments),
            results=array_types(results),
            **fields,
        )

    return build


@pytest.fixture
def load_mlir(mlir_program):
    """`load_mlir(text, arguments, results, **fields)` compiles such a program and loads it."""

    def build(text: str, arguments: str, results: str, **fields) -> Executable:
        lowered = mlir_program(text, arguments, results, **fields)
        compilation = compile_module(lowered, CompileOptions(use_cache=False))
        functions = [callback.function for callback in lowered.callbacks]
        return Executable(compilation.artifact, functions)

    return build
