"""Outcome scripts: every string of outcomes once, with its weight; long ones; nothing is leaked."""

import ctypes
import itertools
from collections.abc import Callable

import numpy as np

from diastase_runtime.abi import ErrorCode

I64, F64, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
SHOTS, TREE = 0, 1


class Script:
    """A script in the context of a register."""

    def __init__(self, state, mode: int) -> None:
        self.state = state
        self.pointer = state.call("script_begin", I64(mode), state=False, result=POINTER)

    def call(self, name: str, result: object) -> float:
        return self.state.call(name, POINTER(self.pointer), state=False, result=result)

    def runs(self):
        """Prepare the state for run after run."""
        while self.call("script_next", I64):
            self.state.release()
            self.state.state = self.state.call(
                "state_create", I64(7), I64(3), state=False, result=POINTER
            )
            self.state.call("state_follow", POINTER(self.pointer))
            yield

    @property
    def weight(self) -> float:
        return self.call("script_weight", F64)

    def end(self) -> None:
        self.call("script_end", None)
        assert not self.state.context.scripts


def test_every_string_once(register: Callable) -> None:
    state = register(3)
    script = Script(state, TREE)
    weights = {}
    for _ in script.runs():
        state.gate("RY", (0,), 0.8)
        first = state.measure(0)
        state.gate("RY", (1,), 0.5 + first)
        second = state.measure(1, reset=True)
        third = state.measure(1)
        fourth = state.measure(0)
        key = (first, second, third, fourth)
        assert key not in weights
        weights[key] = script.weight
    script.end()
    chance = np.sin(0.4) ** 2
    inner = [np.sin(0.25 + first / 2) ** 2 for first in (0, 1)]
    for first, second in itertools.product((0, 1), repeat=2):
        expected = [1 - chance, chance][first] * [1 - inner[first], inner[first]][second]
        np.testing.assert_allclose(weights[first, second, 0, first], expected)
    assert len(weights) == 4


def test_long_scripts(register: Callable) -> None:
    """More outcomes than there is room for at first; unlikely strings are drawn to their end."""
    state = register(3, seed=3)
    script = Script(state, TREE)
    total, runs, longest = 0.0, 0, 0
    for _ in script.runs():
        length = 0
        while True:
            state.gate("RY", (0,), 1.0)
            length += 1
            if state.measure(0, reset=True):
                break
        total, runs, longest = total + script.weight, runs + 1, max(longest, length)
    script.end()
    np.testing.assert_allclose(total, 1, atol=1e-12)
    assert 100 < longest < 1000
    assert 100 < runs <= longest + 1


def test_postselection_counts_with_its_probability(register: Callable) -> None:
    state = register(3)
    script = Script(state, TREE)
    total = 0.0
    for _ in script.runs():
        state.gate("RY", (0,), 0.8)
        state.gate("CNOT", (0, 1))
        state.measure(2)
        state.measure(0, postselect=1)
        assert state.measure(1) == 1
        total += script.weight
    script.end()
    np.testing.assert_allclose(total, np.sin(0.4) ** 2)


def test_impossible_postselection(register: Callable) -> None:
    state = register(3)
    script = Script(state, TREE)
    total = 0.0
    for _ in script.runs():
        state.measure(2, postselect=1)
        assert np.isfinite(state.amplitudes).all()
        total += script.weight
    assert total == 0
    state.call("script_require", POINTER(script.pointer), F64(total), state=False)
    assert state.error[0] == ErrorCode.IMPOSSIBLE_POSTSELECTION
    assert state.error[2][:2] == [2, 1]
    assert not script.call("script_next", I64)
    script.end()


def test_drawn_outcomes(register: Callable) -> None:
    """In the mode for shots a run that misses is not valid, and as likely as it is."""
    state = register(3, seed=12)
    script = Script(state, SHOTS)
    valid = 0
    for run, _ in zip(range(4000), script.runs(), strict=False):
        assert run >= 0
        state.gate("RY", (0,), 1.1)
        outcome = state.measure(0, postselect=1)
        is_valid = script.call("script_is_valid", I64)
        assert is_valid == outcome
        valid += is_valid
    script.end()
    chance = np.sin(0.55) ** 2
    assert abs(valid / 4000 - chance) < 4.9 * np.sqrt(chance * (1 - chance) / 4000)
