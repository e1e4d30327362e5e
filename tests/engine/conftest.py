"""The engine through ctypes, without the compiler: `register(n)` makes a state and frees it.

Every test of a register runs in double and in single precision.
"""

import ctypes
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from diastase_engine import (
    engine_library,
    lanes_library,
    mixed_library,
    single_library,
    single_mixed_library,
)
from diastase_engine.language.types import record_layout
from diastase_engine.libraries.build import build_engine
from diastase_engine.libraries.tuning import settings_for
from diastase_engine.state_vector.state.records import State
from diastase_runtime.abi import CallContext, library_symbol
from diastase_runtime.gate_table import gate_of
from diastase_toolchain import machine_code
from emulated_gpu import BACKWARDS, EmulatedGpu
from lane_registers import LaneRegister
from other_processors import build_engine_for

I64, F64, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
SITE = 7
Term = tuple[float, str, Sequence[int]]


class Register:
    """A state of the engine with its own call context."""

    def __init__(self, library: ctypes.CDLL, qubits: int, seed: int = 0) -> None:
        self.library = library
        self.context = CallContext()
        self.is_single = hasattr(library, library_symbol("single", "gate"))
        self.prefix = library_symbol("single" if self.is_single else "engine", "")
        self.context.seed = seed
        self.state: int | None = None
        self.state = self.call("state_create", I64(SITE), I64(qubits), state=False, result=POINTER)

    def call(self, name: str, *arguments: object, state: bool = True, result: object = None):
        function = getattr(self.library, self.prefix + name)
        function.restype = result
        head = [POINTER(ctypes.addressof(self.context))]
        if state:
            head.append(POINTER(self.state))
        return function(*head, *arguments)

    def field(self, name: str) -> ctypes.c_int64:
        """A number in the state's record, to be read or set."""
        place = list(State.__annotations__).index(name)
        offset = sum(8 * max(n, 1) for _, _, n in record_layout(State).fields[:place])
        return I64.from_address(self.state + offset)

    def set_chunk_bits(self, bits: int) -> None:
        """Let the state be planned with chunks of this size, whatever its own size."""
        self.field("chunk_bits").value = bits

    def within(self, double: float, single: float = 2e-6) -> float:
        """The tolerance that fits the precision of the amplitudes."""
        return single if self.is_single else double

    def release(self) -> None:
        self.call("state_release")
        self.state = None

    def gate(self, name: str, wires: Sequence[int], *parameters: float) -> None:
        row = gate_of(name)
        assert row is not None
        if row.entry == "array":
            arranged = integers(row.arranged(wires))
            self.call("gate_on_wires", I64(SITE), I64(row.code), *arranged, *floats(parameters))
            return
        self.call("gate", I64(SITE), I64(row.code), *_fixed(wires, parameters))

    def controlled(
        self,
        name: str,
        controls: Sequence[int],
        values: Sequence[int],
        wires: Sequence[int],
        *parameters: float,
    ) -> None:
        row = gate_of(name)
        assert row is not None
        head = [I64(SITE), I64(row.code), *integers(controls), integers(values)[1]]
        if row.entry == "array":
            tail = [*integers(row.arranged(wires)), *floats(parameters)]
            self.call("controlled_gate_on_wires", *head, *tail)
            return
        self.call("controlled_gate", *head, *_fixed(wires, parameters))

    def unitary(
        self,
        matrix: np.ndarray,
        wires: Sequence[int],
        controls: Sequence[int] = (),
        values: Sequence[int] = (),
    ) -> None:
        arguments = [*integers(wires), *integers(controls), integers(values)[1]]
        self.call("unitary", I64(SITE), *arguments, complexes(matrix))

    def global_phase(self, phi: float) -> None:
        self.call("global_phase", I64(SITE), F64(phi))

    def prepare(self, vector: np.ndarray) -> None:
        """Set the amplitudes, with a (not unitary) matrix on all wires."""
        matrix = np.zeros((len(vector),) * 2, complex)
        matrix[:, 0] = vector
        self.unitary(matrix, range(self.qubits))

    def diagonal(
        self,
        elements: np.ndarray,
        wires: Sequence[int],
        controls: Sequence[int] = (),
        values: Sequence[int] = (),
    ) -> None:
        arguments = [*integers(wires), *integers(controls), integers(values)[1]]
        self.call("diagonal", I64(SITE), *arguments, complexes(elements))

    def prepare_wires(self, vector: np.ndarray, wires: Sequence[int]) -> None:
        self.call("prepare", I64(SITE), *integers(wires), complexes(vector))

    @property
    def qubits(self) -> int:
        return self.call("num_qubits", result=I64)

    @property
    def work_done(self) -> list[int]:
        """Operations pushed, operations applied, walks over the amplitudes."""
        done = (I64 * 3)()
        self.call("work_done", done)
        return list(done)

    @property
    def amplitudes(self) -> np.ndarray:
        dtype = np.complex64 if self.is_single else np.complex128
        out = np.full(2**self.qubits, np.nan, dtype)
        self.call("amplitudes", POINTER(out.ctypes.data))
        return out

    def probabilities(self, wires: Sequence[int] = ()) -> np.ndarray:
        out = np.full(2 ** (len(wires) or self.qubits), np.nan)
        self.call("probabilities", I64(SITE), *integers(wires), POINTER(out.ctypes.data))
        return out

    def measure(self, wire: int, reset: bool = False, postselect: int = -1) -> int:
        arguments = (I64(SITE), I64(wire), I64(reset), I64(postselect))
        return self.call("measure", *arguments, result=I64)

    def sample(self, wires: Sequence[int], shots: int) -> np.ndarray:
        out = np.full(max(shots, 1), -1, np.int64)
        arguments = (I64(SITE), *integers(wires), I64(shots), POINTER(out.ctypes.data))
        self.call("sample", *arguments)
        return out

    def pauli(self, name: str, terms: Sequence[Term]) -> float:
        return self.call(name, I64(SITE), *self.pauli_tables(terms), result=F64)

    def add_pauli_sum(self, source: "Register", terms: Sequence[Term]) -> None:
        self.call("add_pauli_sum", POINTER(source.state), I64(SITE), *self.pauli_tables(terms))

    def pauli_tables(self, terms: Sequence[Term]) -> list[object]:
        offsets = np.cumsum([0, *(len(word) for _, word, _ in terms)])
        codes = ["XYZ".index(letter) + 1 for _, word, _ in terms for letter in word]
        wires = [wire for _, _, where in terms for wire in where]
        return [
            I64(len(terms)),
            floats([coefficient for coefficient, _, _ in terms])[1],
            integers(offsets)[1],
            integers(codes)[1],
            integers(wires)[1],
        ]

    def apply_sparse(self, matrix: scipy.sparse.csr_matrix, wires: Sequence[int]) -> None:
        starts, columns = integers(matrix.indptr)[1], integers(matrix.indices)[1]
        arguments = [*integers(wires), starts, columns, complexes(matrix.data)]
        self.call("apply_sparse", I64(SITE), *arguments)

    def project_on(self, vector: np.ndarray, wires: Sequence[int]) -> None:
        self.call("project_on", I64(SITE), *integers(wires), complexes(vector))

    def density_matrix(self, wires: Sequence[int]) -> np.ndarray:
        out = (F64 * (2 * 4 ** len(wires)))(*[np.nan] * (2 * 4 ** len(wires)))
        self.call("density_matrix", I64(SITE), *integers(wires), out)
        return np.array(out).view(complex).reshape((2 ** len(wires),) * 2)

    def matrix_moment(self, name: str, matrix: np.ndarray, wires: Sequence[int]) -> float:
        return self.call(name, I64(SITE), *integers(wires), complexes(matrix), result=F64)

    def copy(self) -> "Register":
        """A copy in the same call context, to be released by the test."""
        other = object.__new__(Register)
        other.library, other.context = self.library, self.context
        other.is_single, other.prefix = self.is_single, self.prefix
        other.state = self.call("state_copy", I64(SITE), result=POINTER)
        return other

    def scale_add(self, other: "Register", factor: complex) -> None:
        self.call("state_scale_add", POINTER(other.state), I64(SITE), complexes(np.array([factor])))

    def inner(self, other: "Register") -> complex:
        out = (F64 * 2)(np.nan, np.nan)
        self.call("inner_product", POINTER(other.state), I64(SITE), out)
        return complex(*out)

    @property
    def error(self) -> tuple[int, int, list[int]]:
        return self.context.code, self.context.site, list(self.context.detail)


class MixedRegister(Register):
    """A density matrix of `wires` wires, with derivative wires, and its own call context."""

    def __init__(
        self, library: ctypes.CDLL, wires: int, derivatives: int = 0, seed: int = 0
    ) -> None:
        self.library = library
        self.context = CallContext()
        self.is_single = hasattr(library, library_symbol("single_mixed", "gate"))
        self.prefix = library_symbol("single_mixed" if self.is_single else "mixed", "")
        self.context.seed = seed
        self.derivatives = derivatives
        self.state = self.call(
            "state_create", I64(SITE), I64(wires), I64(derivatives), state=False, result=POINTER
        )

    def superoperator(self, matrix: np.ndarray, wires: Sequence[int], checked: bool = False):
        numbers = floats(np.ravel(matrix))[1]
        self.call("superoperator", I64(SITE), *integers(wires), numbers, I64(checked))

    def replace(self, matrix: np.ndarray, wires: Sequence[int]) -> None:
        self.call("replace", I64(SITE), *integers(wires), complexes(matrix))

    def add_pauli_words(self, terms: Sequence[Term]) -> None:
        self.call("add_pauli_words", I64(SITE), *self.pauli_tables(terms))

    def add_operator(self, matrix: np.ndarray, wires: Sequence[int]) -> None:
        self.call("add_operator", I64(SITE), *integers(wires), complexes(matrix))

    def add_diagonal(self, elements: np.ndarray, wires: Sequence[int]) -> None:
        self.call("add_diagonal", I64(SITE), *integers(wires), floats(elements)[1])

    def record(self) -> None:
        self.call("tape_record", I64(SITE))

    def differentiated(self) -> None:
        self.call("tape_differentiated")

    def sweep(self, adjoint: "MixedRegister") -> np.ndarray:
        size = self.call("tape_length", result=I64)
        out = np.full(size, np.nan)
        arguments = (POINTER(adjoint.state), I64(SITE), I64(size), POINTER(out.ctypes.data))
        self.call("tape_sweep", *arguments)
        return out

    def half(self, which: int) -> "MixedRegister":
        return self.other("half", I64(which))

    def other(self, name: str, *arguments: object) -> "MixedRegister":
        """A state that a function makes, in the same call context, to be released by the test."""
        made = object.__new__(MixedRegister)
        made.__dict__.update(self.__dict__)
        made.state = self.call(name, I64(SITE), *arguments, result=POINTER)
        return made

    @property
    def matrix(self) -> np.ndarray:
        return self.density_matrix(range(self.qubits))


def integers(values: Sequence[int]) -> tuple[I64, ctypes.Array[I64]]:
    return I64(len(values)), (I64 * max(len(values), 1))(*map(int, values))


def floats(values: Sequence[float]) -> tuple[I64, ctypes.Array[F64]]:
    return I64(len(values)), (F64 * max(len(values), 1))(*values)


def complexes(matrix: np.ndarray) -> ctypes.Array[F64]:
    numbers = np.ascontiguousarray(matrix, complex).view(float).ravel()
    return (F64 * len(numbers))(*numbers)


def _fixed(wires: Sequence[int], parameters: Sequence[float]) -> list[object]:
    """Wires and parameters filled up to the two and three of the C functions."""
    first, second = (*wires, 0, 0)[:2] if len(wires) > 1 else (wires[0], -5)
    return [I64(first), I64(second), *(F64(p) for p in (*parameters, 0.1, 0.2, 0.3)[:3])]


@pytest.fixture(scope="session", params=["double", "single"])
def precision(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def load_engine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    """Load the engine that programs have, in a precision, once more.

    A copy: the system loads a file only once, and programs have given theirs threads.
    """

    def load(precision: str) -> ctypes.CDLL:
        if os.environ.get("DIASTASE_EMULATED_GPU"):
            folder = tmp_path_factory.mktemp("gpu")
            return EmulatedGpu(folder, "single" if precision == "single" else "engine").library
        library = single_library() if precision == "single" else engine_library()
        path = tmp_path_factory.mktemp("engine") / library.name
        return ctypes.CDLL(str(shutil.copy(library, path)))

    return load


@pytest.fixture(scope="session")
def engines(load_engine: Callable[[str], ctypes.CDLL]) -> Callable[[str], ctypes.CDLL]:
    """The engine in a precision, loaded once each."""
    return cache(load_engine)


@pytest.fixture(scope="session")
def built_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Callable[[Path], None]], Path]:
    """`built_once(name, build)`: a file that one of the workers builds for all of them."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder

    def path_of(name: str, build: Callable[[Path], None]) -> Path:
        path = folder / name
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                build(path)
        return path

    return path_of


@pytest.fixture(scope="session")
def slots() -> int:
    """What the tiles of programs have: three with AVX-512, otherwise one."""
    return settings_for(machine_code.host_processor())["slots"]


@pytest.fixture(scope="session")
def engine_with_slots(
    built_once: Callable[[str, Callable[[Path], None]], Path],
) -> Callable[[int], ctypes.CDLL]:
    """The engine in double precision with tiles of a size other than this processor's.

    One slot is asked for with AVX-512 only, and is built as for the processors that have one.
    """

    def load(slots: int) -> ctypes.CDLL:
        settings = {"slots": slots, "chunk_bits": 9, "single": 0}
        build = partial(build_engine, settings=settings)
        if slots == 1:
            build = partial(build_engine_for, "haswell", settings)
        return ctypes.CDLL(str(built_once(f"slots-{slots}.so", build)))

    return cache(load)


@pytest.fixture
def engine(engines: Callable[[str], ctypes.CDLL], precision: str) -> ctypes.CDLL:
    """The engine in the test's precision; not of the session, as modules override `precision`.

    pytest would hand a module with its own `precision` the engine of the precision before it.
    """
    return engines(precision)


@pytest.fixture
def registers() -> Iterator[Callable[..., Register]]:
    """Make registers of any library, `registers(library, qubits)`, released when the test ends."""
    made: list[Register] = []

    def make(library: ctypes.CDLL, qubits: int, seed: int = 0) -> Register:
        made.append(Register(library, qubits, seed))
        return made[-1]

    yield make
    for each in made:
        each.release()


@pytest.fixture
def register(registers: Callable[..., Register], engine: ctypes.CDLL) -> Callable[..., Register]:
    """The same with the engine in the test's precision."""
    return partial(registers, engine)


@pytest.fixture(scope="module", params=["double", "single", "backwards"])
def gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EmulatedGpu:
    """In both precisions, and with the threads and blocks of all launches in reverse."""
    order = BACKWARDS if request.param == "backwards" else 0
    name = "single" if request.param == "single" else "engine"
    return EmulatedGpu(tmp_path_factory.mktemp("gpu"), name, order=order)


@pytest.fixture
def gpu_register(gpu: EmulatedGpu, registers: Callable) -> Iterator[Callable]:
    """Make registers there, in a driver as it is at first, and after the test again."""
    gpu.settings()
    yield partial(registers, gpu.library)
    gpu.settings()


@pytest.fixture(scope="session")
def mixed_engines(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], ctypes.CDLL]:
    """The engine of density matrices in a precision, loaded once each."""

    def load(precision: str) -> ctypes.CDLL:
        library = single_mixed_library() if precision == "single" else mixed_library()
        path = tmp_path_factory.mktemp("mixed") / library.name
        return ctypes.CDLL(str(shutil.copy(library, path)))

    return cache(load)


@pytest.fixture
def mixed(
    mixed_engines: Callable[[str], ctypes.CDLL], precision: str
) -> Iterator[Callable[..., MixedRegister]]:
    """Make density matrices, `mixed(wires, derivatives)`, released when the test ends."""
    made: list[MixedRegister] = []

    def make(wires: int, derivatives: int = 0, seed: int = 0) -> MixedRegister:
        made.append(MixedRegister(mixed_engines(precision), wires, derivatives, seed))
        return made[-1]

    yield make
    for each in made:
        each.release()


@pytest.fixture(scope="session")
def lanes_engine(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The engine of registers side by side, loaded once."""
    if os.environ.get("DIASTASE_EMULATED_GPU"):
        return EmulatedGpu(tmp_path_factory.mktemp("gpu"), "lanes").library
    path = tmp_path_factory.mktemp("lanes") / lanes_library().name
    return ctypes.CDLL(str(shutil.copy(lanes_library(), path)))


@pytest.fixture
def lanes(lanes_engine: ctypes.CDLL) -> Iterator[Callable[..., LaneRegister]]:
    """Make lane registers, `lanes(wires, count, seed)`, released when the test ends."""
    made: list[LaneRegister] = []

    def make(*arguments: object, **options: object) -> LaneRegister:
        made.append(LaneRegister(lanes_engine, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.release()
