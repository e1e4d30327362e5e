"""Lane registers of the engine, through ctypes."""

import ctypes
from collections.abc import Sequence

import numpy as np

from diastase_runtime.abi import CallContext, library_symbol
from diastase_runtime.gate_table import GATES

I64, POINTER = ctypes.c_int64, ctypes.c_void_p
SITE = 7


def integers(values: Sequence[int]) -> tuple[ctypes.c_int64, ctypes.Array[ctypes.c_int64]]:
    return I64(len(values)), (I64 * max(len(values), 1))(*map(int, values))


def address(array: np.ndarray | None) -> ctypes.c_void_p:
    return POINTER(None if array is None else array.ctypes.data)


class LaneRegister:
    """Registers in the lanes of vectors, with their call context."""

    def __init__(
        self,
        library: ctypes.CDLL,
        wires: int,
        lanes: int,
        seed: int = 0,
        context: CallContext | None = None,
        first: int = 0,
    ) -> None:
        self.library, self.wires, self.lanes = library, wires, lanes
        self.context = CallContext() if context is None else context
        if context is None:
            self.context.seed = seed
        self.state: int | None = None
        numbers = map(I64, (SITE, wires, lanes, first))
        self.state = self.call("state_create", *numbers, state=False, result=POINTER)

    def call(self, name: str, *arguments: object, state: bool = True, result: object = None):
        function = getattr(self.library, library_symbol("lanes", name))
        function.restype = result
        head = [POINTER(ctypes.addressof(self.context))]
        if state:
            head.append(POINTER(self.state))
        return function(*head, *arguments)

    def release(self) -> None:
        self.call("state_release")
        self.state = None

    def activate(self, mask: Sequence[int]) -> None:
        numbers = np.array(mask, np.int64)
        assert numbers.shape == (self.lanes,)
        self.call("activate", address(numbers))

    def gate(
        self,
        name: str,
        wires: Sequence[int],
        *parameters: np.ndarray,
        controls: Sequence[int] = (),
        values: Sequence[int] = (),
    ) -> None:
        kept = [np.ascontiguousarray(p, float) for p in parameters]
        assert all(p.shape == (self.lanes,) for p in kept)
        pointers = [address(p) for p in kept] + [address(None)] * (3 - len(kept))
        first, second = (*wires, -5)[:2]
        head = [I64(SITE), I64(GATES[name].code), *integers(controls), integers(values)[1]]
        self.call("gate", *head, I64(first), I64(second), *pointers)

    def gate_run(
        self, count: int, table: Sequence[int], constants: Sequence[float], rows: np.ndarray
    ) -> None:
        numbers, known = np.array(table, np.int64), np.array(constants, float)
        rows = np.ascontiguousarray(rows, float)
        assert rows.shape[1:] == (self.lanes,)
        self.call("gate_run", I64(count), address(numbers), address(known), address(rows))

    def unitary(
        self,
        matrix: np.ndarray,
        wires: Sequence[int],
        controls: Sequence[int] = (),
        values: Sequence[int] = (),
    ) -> None:
        numbers = np.ascontiguousarray(matrix, complex)
        head = [*integers(wires), *integers(controls), integers(values)[1]]
        self.call("unitary", I64(SITE), *head, I64(numbers.ndim == 3), address(numbers))

    def measure(self, wire: int, reset: bool = False) -> np.ndarray:
        out = np.full(self.lanes, -1, np.int64)
        self.call("measure", I64(SITE), I64(wire), I64(reset), address(out))
        return out

    def sample(self, wires: Sequence[int], shots: int) -> np.ndarray:
        out = np.full((self.lanes, max(shots, 1)), -1, np.int64)
        self.call("sample", I64(SITE), *integers(wires), I64(shots), address(out))
        return out

    def probabilities(self, wires: Sequence[int] = ()) -> np.ndarray:
        out = np.full((self.lanes, 2 ** (len(wires) or self.wires)), np.nan)
        self.call("probabilities", I64(SITE), *integers(wires), address(out))
        return out

    @property
    def amplitudes(self) -> np.ndarray:
        out = np.full((self.lanes, 2**self.wires), np.nan, complex)
        self.call("amplitudes", address(out))
        return out

    def pauli_values(self, words: Sequence[tuple[str, Sequence[int]]]) -> np.ndarray:
        offsets = np.cumsum([0, *(len(word) for word, _ in words)])
        codes = ["XYZ".index(letter) + 1 for word, _ in words for letter in word]
        wires = [wire for _, where in words for wire in where]
        out = np.full((len(words), self.lanes), np.nan)
        tables = [integers(numbers)[1] for numbers in (offsets, codes, wires)]
        self.call("pauli_values", I64(SITE), I64(len(words)), *tables, address(out))
        return out

    @property
    def error(self) -> tuple[int, int, list[int]]:
        return self.context.code, self.context.site, list(self.context.detail)
