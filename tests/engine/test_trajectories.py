"""Channels that are drawn, and scripts of trajectories: every one in one run, whatever its others.

Run from run, a trajectory's history (what it chose) does not depend on how many there are.
"""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from diastase_runtime.abi import ErrorCode

I64, F64, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
AVERAGED, SHOTS = 2, 3
X, Y, Z = (np.array(m, complex) for m in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]))
RANDOM = np.random.default_rng(5)


def isometry(count: int, size: int) -> np.ndarray:
    """Random Kraus matrices."""
    numbers = RANDOM.normal(size=(count * size, size, 2)) @ [1, 1j]
    return np.linalg.qr(numbers)[0].reshape(count, size, size)


def kraus(state, matrices: np.ndarray, *wires: int) -> None:
    numbers = np.ascontiguousarray(matrices, complex)
    table = (I64 * len(wires))(*wires)
    pointer = numbers.ctypes.data_as(POINTER)
    state.call("kraus", I64(7), I64(len(wires)), table, I64(len(numbers)), pointer)


class Script:
    """A script of trajectories in the context of a register."""

    def __init__(self, state, mode: int, count: int) -> None:
        self.state, self.count = state, count
        arguments = (I64(mode), I64(count))
        self.pointer = state.call("trajectories_begin", *arguments, state=False, result=POINTER)

    def call(self, name: str, *arguments: object, result: object = None):
        pointer = POINTER(self.pointer)
        return self.state.call(name, pointer, *arguments, state=False, result=result)

    def runs(self, qubits: int = 3):
        while self.call("script_next", result=I64):
            self.state.release()
            self.state.state = self.state.call(
                "state_create", I64(7), I64(qubits), state=False, result=POINTER
            )
            self.state.call("state_follow", POINTER(self.pointer))
            yield
        self.call("script_end")
        assert not self.state.context.scripts

    @property
    def members(self) -> list[int]:
        out = (I64 * self.count)()
        self.call("run_members", I64(self.count), out)
        return [number for number, is_member in enumerate(out) if is_member]

    @property
    def weight(self) -> float:
        return self.call("script_weight", result=F64)


@pytest.mark.parametrize("wires", [(0,), (2,), (1, 0), (0, 2), (2, 0, 1)])
@pytest.mark.parametrize("count", [1, 3])
def test_one_operator_is_applied_and_the_state_normalised(
    register: Callable, wires: tuple[int, ...], count: int
) -> None:
    matrices = isometry(count, 2 ** len(wires))
    rest = [wire for wire in range(3) if wire not in wires]
    start = RANDOM.normal(size=(8, 2)) @ [1, 1j]
    start /= np.linalg.norm(start)

    def applied(matrix: np.ndarray) -> np.ndarray:
        moved = np.transpose(start.reshape(2, 2, 2), [*wires, *rest]).reshape(len(matrix), -1)
        return np.transpose((matrix @ moved).reshape(2, 2, 2), np.argsort([*wires, *rest])).reshape(
            8
        )

    wanted = [applied(matrix) for matrix in matrices]
    seen = set()
    for seed in range(40):
        state = register(3, seed=seed)
        state.prepare(start)
        kraus(state, matrices, *wires)
        found = state.amplitudes
        overlaps = [abs(np.vdot(each, found)) / np.linalg.norm(each) for each in wanted]
        seen.add(int(np.argmax(overlaps)))
        np.testing.assert_allclose(max(overlaps), 1, atol=state.within(1e-12))
        np.testing.assert_allclose(np.linalg.norm(found), 1, atol=state.within(1e-12))
    assert seen == {k for k, each in enumerate(wanted) if np.linalg.norm(each) > 1e-9}


def test_a_mixture_of_unitaries_waits_with_the_gates(register: Callable) -> None:
    """It is a gate like others, and none where nothing happens."""
    pauli = np.stack([np.sqrt(1 - 0.3) * np.eye(2), *(np.sqrt(0.1) * m for m in (X, Y, Z))])
    for seed in range(10):
        state = register(5, seed=seed)
        for _ in range(20):
            state.gate("RX", (4,), 0.3)
            kraus(state, pauli, 4)
        pushed, applied, walks = state.work_done
        assert 20 <= pushed < 40
        assert (applied, walks) == (1, 1)


def history(state) -> tuple:
    """A body with measurements, channels of all kinds and feedback; what it chose."""
    pauli = np.stack([np.sqrt(0.6) * np.eye(2), np.sqrt(0.4) * X])
    damping = np.array([[[1, 0], [0, np.sqrt(0.5)]], [[0, np.sqrt(0.5)], [0, 0]]])
    state.gate("RY", (0,), 1.2)
    kraus(state, pauli, 1)
    first = state.measure(0)
    state.gate("RY", (1,), 0.5 + first)
    kraus(state, damping, 1)
    kraus(state, KRAUS, 2, 0)
    second = state.measure(1, reset=True)
    kraus(state, pauli, 1)
    return first, second, state.measure(1), tuple(np.round(np.abs(state.amplitudes), 4).tolist())


KRAUS = isometry(3, 4)


@pytest.mark.parametrize("mode", [AVERAGED, SHOTS])
def test_every_trajectory_in_one_run(register: Callable, mode: int) -> None:
    found: dict[int, dict[int, tuple]] = {}
    for count in (1, 7, 200):
        state = register(3, seed=11)
        script = Script(state, mode, count)
        found[count] = {}
        runs = 0
        for _ in script.runs():
            own = history(state)
            members = script.members
            assert script.weight == len(members) > 0
            assert not set(members) & set(found[count])
            found[count].update(dict.fromkeys(members, own))
            runs += 1
        assert sorted(found[count]) == list(range(count))
        if count > 100:
            assert runs < count
    for count in (1, 7):
        assert all(found[200][number] == own for number, own in found[count].items())
    ones = [own[0] for own in found[200].values()]
    assert abs(np.mean(ones) - np.sin(0.6) ** 2) < 5 * np.sqrt(0.25 / 200)


def test_postselection(register: Callable) -> None:
    """Averaged: a weight. Shots: those that drew something else are left out."""
    chance = np.sin(0.4) ** 2
    flip = np.stack([np.sqrt(0.5) * np.eye(2), np.sqrt(0.5) * X])
    for mode in (AVERAGED, SHOTS):
        state = register(3, seed=1)
        script = Script(state, mode, 1000)
        total, members = 0.0, []
        for _ in script.runs():
            kraus(state, flip, 2)
            state.gate("RY", (0,), 0.8)
            state.measure(0, postselect=1)
            kraus(state, flip, 1)
            np.testing.assert_allclose(np.linalg.norm(state.amplitudes), 1, atol=1e-5)
            total += script.weight
            members += script.members
        assert len(set(members)) == len(members)
        if mode == AVERAGED:
            np.testing.assert_allclose(total, 1000 * chance)
            assert len(members) == 1000
        else:
            assert total == len(members)
            assert abs(total - 1000 * chance) < 5 * np.sqrt(1000 * chance)


@pytest.mark.parametrize("mode", [AVERAGED, SHOTS])
def test_impossible_postselection(register: Callable, mode: int) -> None:
    state = register(3)
    total = 0.0
    script = Script(state, mode, 10)
    for _ in script.runs():
        state.measure(2, postselect=1)
        kraus(state, KRAUS, 0, 1)
        state.measure(1)
        assert np.isfinite(state.amplitudes).all()
        total += script.weight
        assert script.members == []
    assert total == 0


def test_shots_are_the_members_own(register: Callable) -> None:
    state = register(2, seed=3)
    script = Script(state, SHOTS, 500)
    outcomes = np.full(500, -1)
    flip = np.stack([np.sqrt(0.7) * np.eye(2), np.sqrt(0.3) * X])
    for _ in script.runs(2):
        kraus(state, flip, 0)
        state.gate("RY", (1,), 1.0)
        flipped = round(abs(state.amplitudes[2]) ** 2 + abs(state.amplitudes[3]) ** 2)
        out = (I64 * 500)()
        state.call("sample", I64(7), I64(0), None, I64(500), out)
        for number in script.members:
            assert out[number] >> 1 == flipped
            outcomes[number] = out[number]
    assert set(outcomes) == {0, 1, 2, 3}
    assert abs(np.mean(outcomes & 1) - np.sin(0.5) ** 2) < 5 * np.sqrt(0.2 / 500)


@pytest.mark.parametrize(
    "matrices",
    [
        np.stack([np.eye(2), 0.1 * X]),
        np.stack([0.9 * np.eye(2)]),
        np.stack([np.eye(2), np.nan * X]),
        np.full((1, 2, 2), np.inf),
        np.stack([np.array([[1, 0.1], [0, 1]])]),
    ],
)
def test_what_is_no_channel(register: Callable, matrices: np.ndarray) -> None:
    state = register(2)
    kraus(state, matrices, 1)
    assert state.context.code == ErrorCode.NOT_TRACE_PRESERVING


def test_wires(register: Callable) -> None:
    for wires, code in (((5,), "WIRE_OUT_OF_RANGE"), ((1, 1), "OVERLAPPING_WIRES")):
        state = register(2)
        kraus(state, isometry(2, 2 ** len(wires)), *wires)
        assert state.context.code == ErrorCode[code]


def test_a_state_that_is_no_number(register: Callable) -> None:
    state = register(2)
    state.gate("RX", (0,), np.nan)
    kraus(state, isometry(2, 2), 1)
    assert state.context.code == ErrorCode.NOT_A_NUMBER
